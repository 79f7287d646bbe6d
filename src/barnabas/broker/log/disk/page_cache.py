"""Checks whether a part of a file is in the page cache: reading other parts would block the event loop.

Invariant: results are only hints. A page may leave the cache after the check; a read then blocks, but is still correct.

Source: design page, section 3.
"""

import errno
import sys
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.log.disk.files import RecordFile, as_storage_error


class PageCache(Protocol):
    """The page cache: reads that need no disk."""

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        """Return whether a whole part of a file is in memory."""
        ...

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        """Return a small part of a file if all of it is in memory; None if a read would need the disk.

        Raises:
            StorageError: The disk failed.
        """
        ...

    def check_read(self, file: RecordFile, position: int, length: int) -> None:
        """Check the kernel's answer for a part that was just read; stop using a query whose answer is wrong."""
        ...


class _Probe(Protocol):
    def holds(self, fd: int, position: int, length: int) -> bool:
        """Raises:
        OSError: The kernel does not support the query.
        """
        ...


class EverythingCached:
    """The page cache on systems without such queries: every part counts as cached."""

    __slots__ = ()

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        return True

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        return file.read(position, length)

    def check_read(self, file: RecordFile, position: int, length: int) -> None:
        return


class LinuxPageCache:
    """The page cache of the Linux kernel."""

    __slots__ = ("_may_take", "_probes", "_take")

    def __init__(self) -> None:
        self._probes: list[_Probe] | None = None
        self._take: Callable[[int, int, int], bytearray | None] | None = None
        self._may_take = True

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        # hot path: benchmarks/load (every fetch that is not at the tail)
        if self._probes is None:
            from barnabas.broker.log.disk.kernel_pages import Cachestat, Mincore

            self._probes = [Cachestat(), Mincore()]
        if length <= 0 or not self._probes:
            return True
        try:
            return self._probes[0].holds(file.fd, position, length)
        except OSError:
            # The kernel is too old, or does not permit the query.
            del self._probes[0]
            return self.holds(file, position, length)

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        # hot path: benchmarks/load (every small fetch): one system call for the check and the read
        if self._may_take:
            if self._take is None:
                from barnabas.broker.log.disk.kernel_pages import take

                self._take = take
            try:
                return self._take(file.fd, position, length)
            except OSError as error:
                if error.errno != errno.EOPNOTSUPP:
                    raise as_storage_error(file.path, error) from error
                # This file system does not support it: from now on all files are checked first, then read.
                self._may_take = False
        return file.read(position, length) if self.holds(file, position, length) else None

    def check_read(self, file: RecordFile, position: int, length: int) -> None:
        # Stacked file systems (overlayfs) cache the pages under another file, which cachestat does not check.
        if self._probes and len(self._probes) > 1 and not self.holds(file, position, 1):
            del self._probes[0]


def system_page_cache() -> PageCache:
    """Return the page cache of this operating system."""
    return LinuxPageCache() if sys.platform == "linux" else EverythingCached()
