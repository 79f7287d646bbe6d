"""A disk that fails on demand and forgets what was not synced.

It works on real files, so `sendfile` works on it too. What a program wrote but did not fsync may be gone after
`crash()`, in part or in whole, as after a power cut; killing a process alone loses nothing.

Source: style page, tests; design page, log.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from barnabas.log.files import FileLock, LocalFileSystem, RecordFile, storage_errors
from barnabas.records.batch import Buffer


class FaultyDisk(LocalFileSystem):
    """The machine's disk with faults.

    Attributes:
        free_bytes: What record files may still take before the disk is full; None without a limit.
        fails_to_read: Record files can't be read any more.
        fails_to_sync: Every fsync fails.
        fails_to_sync_under: So does every fsync in this directory; None for none.
        sync_count: How many files were synced.
    """

    __slots__ = (
        "_locks",
        "_synced_bytes",
        "fails_to_read",
        "fails_to_sync",
        "fails_to_sync_under",
        "free_bytes",
        "sync_count",
    )

    def __init__(self) -> None:
        self.free_bytes: int | None = None
        self.fails_to_read = False
        self.fails_to_sync = False
        self.fails_to_sync_under: Path | None = None
        self.sync_count = 0
        self._synced_bytes: dict[Path, int] = {}
        self._locks: list[FileLock] = []

    def open_records(self, path: Path, *, is_new: bool = False) -> RecordFile:
        file = super().open_records(path, is_new=is_new)
        # The descriptor has two owners for a moment; each closes its own.
        faulty = FaultyRecordFile(os.dup(file.fd), path, file.size)
        faulty.disk = self
        self._note_write(path, 0 if is_new else file.size)
        return faulty

    def append(self, path: Path, data: bytes) -> None:
        self._note_write(path, path.stat().st_size if path.exists() else 0)
        super().append(path, data)

    def write(self, path: Path, data: bytes) -> None:
        self._synced_bytes[path] = 0
        super().write(path, data)

    def replace(self, path: Path, data: bytes, *, is_synced: bool = True) -> None:
        if is_synced:
            self.note_sync(path, len(data))
        else:
            self._synced_bytes[path] = 0
        super().replace(path, data, is_synced=is_synced)

    def truncate(self, path: Path, size: int) -> None:
        self._synced_bytes[path] = min(self._synced_bytes.get(path, size), size)
        super().truncate(path, size)

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        for path in list(self._synced_bytes):
            if path == source or source in path.parents:
                self._synced_bytes[target / path.relative_to(source)] = self._synced_bytes.pop(path)

    def remove(self, path: Path) -> None:
        super().remove(path)
        self._synced_bytes.pop(path, None)

    def sync(self, path: Path) -> None:
        if path.is_file():
            self.note_sync(path, path.stat().st_size)
        super().sync(path)

    def lock(self, path: Path) -> FileLock | None:
        lock = super().lock(path)
        if lock is not None:
            self._locks.append(lock)
        return lock

    def take(self, size: int) -> int:
        """How many of `size` bytes the disk still takes.

        Raises:
            OSError: It is full.
        """
        if self.free_bytes is None:
            return size
        taken = min(size, self.free_bytes)
        if taken == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.free_bytes -= taken
        return taken

    def note_sync(self, path: Path, size: int) -> None:
        """Note that the first `size` bytes of a file are safe.

        Raises:
            StorageError: `fails_to_sync` is set, or `fails_to_sync_under` and the file is there.
        """
        under = self.fails_to_sync_under
        with storage_errors(path):
            if self.fails_to_sync or (under is not None and path.is_relative_to(under)):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.sync_count += 1
        self._synced_bytes[path] = size

    def note_cut(self, path: Path, size: int) -> None:
        """Note that a file was cut to `size` bytes."""
        self._synced_bytes[path] = min(self._synced_bytes.get(path, size), size)

    def _note_write(self, path: Path, size: int) -> None:
        self._synced_bytes.setdefault(path, size)

    def crash(self, keep: Callable[[int], int] = lambda unsynced_bytes: 0) -> None:
        """Lose power: of each file the bytes since its last fsync are lost, but for what `keep` lets stay.

        Args:
            keep: Given how many bytes are unsafe, says how many of them survive.
        """
        for path, synced_bytes in self._synced_bytes.items():
            if not path.is_file():
                continue
            unsafe_bytes = max(path.stat().st_size - synced_bytes, 0)
            if unsafe_bytes:
                os.truncate(path, synced_bytes + keep(unsafe_bytes))
        self._synced_bytes.clear()
        self.kill()

    def kill(self) -> None:
        """End the process that used the disk: locks fall, written bytes stay."""
        for lock in self._locks:
            lock.release()
        self._locks.clear()


class FaultyRecordFile(RecordFile):
    """A record file on a faulty disk."""

    __slots__ = ("disk",)

    disk: FaultyDisk

    def write(self, data: Buffer) -> int:
        return super().write(memoryview(data)[: self.disk.take(len(data))])

    def read(self, position: int, length: int) -> bytes:
        self._check_readable()
        return super().read(position, length)

    def warm(self, position: int, length: int) -> None:
        self._check_readable()
        super().warm(position, length)

    def _check_readable(self) -> None:
        with storage_errors(self.path):
            if self.disk.fails_to_read:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def truncate(self, size: int) -> None:
        super().truncate(size)
        self.disk.note_cut(self.path, size)

    def sync(self) -> None:
        self.disk.note_sync(self.path, self.size)
        super().sync()
