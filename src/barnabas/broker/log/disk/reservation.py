"""Reserves disk space for a file that will grow (preallocate=true).

The room lies beyond the file's end, so a file never holds bytes that nobody wrote, even after a crash; cutting the file
at its end gives the rest back. Loaded only where a topic wants it: `ctypes` costs start-up time.

# differs from Kafka (preallocate): it sets the file's size itself, and has to cut the zeros off again.

Source: configuration page, preallocate; fallocate(2).
"""

import ctypes
import errno
import os

_KEEP_SIZE = 1
_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def reserve(fd: int, size: int) -> None:
    """Reserve disk space for the first `size` bytes of a file, if system and disk support it.

    Raises:
        OSError: There is not so much room.
    """
    fallocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    if fallocate is None:
        return
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if fallocate(fd, _KEEP_SIZE, 0, size) != 0:
        number = ctypes.get_errno()
        if number not in _NOT_SUPPORTED:
            raise OSError(number, os.strerror(number))
