"""Reserves disk space for a file that will grow (preallocate=true).

The reserved space is beyond the file's end, so a file never contains bytes that were not written, even after a crash.
Truncating the file to its size releases the unused space. Imported only if a topic uses it, because importing `ctypes`
takes time at start.

# differs from Kafka (preallocate): Kafka increases the file's size itself, and must truncate the zeros later.

Source: configuration page, preallocate; fallocate(2).
"""

import ctypes
import errno
import os

_KEEP_SIZE = 1
_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def reserve(fd: int, size: int) -> None:
    """Reserve disk space for the first `size` bytes of a file, if the operating system and file system support it.

    Raises:
        OSError: The disk has too little free space.
    """
    fallocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    if fallocate is None:
        return
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if fallocate(fd, _KEEP_SIZE, 0, size) != 0:
        number = ctypes.get_errno()
        if number not in _NOT_SUPPORTED:
            raise OSError(number, os.strerror(number))
