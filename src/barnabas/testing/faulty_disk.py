"""A disk that fails on demand and loses data that was not synced.

It works on real files, so `sendfile` works on it too. Data that a program wrote without fsync may be lost in `crash()`,
in part or in whole, as after a power cut: bytes of files, and names (created, renamed or removed files) in directories
that were not synced. Killing a process alone loses nothing.

An fsync is recorded and not executed: `crash()` uses the records, and a real one takes one to ten milliseconds.

Source: style page, tests; design page, log.
"""

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from barnabas.broker.log.disk.files import FileLock, LocalFileSystem, LocalRecordFile, as_storage_error, storage_errors
from barnabas.wire.records.batch import Buffer

T = TypeVar("T")

# The former content of a name: the bytes of a file, or a directory's names with their contents.
_Saved: TypeAlias = "bytes | dict[str, _Saved]"


@dataclass(slots=True)
class _Change:
    """A change of a name in a directory since its last fsync.

    Attributes:
        name: The changed name.
        source: The former name after a rename; None: the name was created or removed.
        before: The former content; None: the name did not exist.
    """

    name: str
    source: str | None
    before: "_Saved | None"


class FaultyDisk(LocalFileSystem):
    """The local disk with faults.

    Attributes:
        free_bytes: Bytes that record files may still grow by; None without a limit.
        fails_to_read: Reads of record files fail.
        fails_to_read_under: Reads of whole files below this directory fail; None: no directory.
        fails_to_rename: Renames of this file or directory fail; None: no path.
        fails_to_sync: Every fsync fails.
        fails_to_sync_under: Every fsync below this directory fails; None: no directory.
        sync_count: The number of synced files.
    """

    __slots__ = (
        "_changes",
        "_locks",
        "_synced_bytes",
        "fails_to_read",
        "fails_to_read_under",
        "fails_to_rename",
        "fails_to_sync",
        "fails_to_sync_under",
        "free_bytes",
        "sync_count",
    )

    def __init__(self) -> None:
        self.free_bytes: int | None = None
        self.fails_to_read = False
        self.fails_to_read_under: Path | None = None
        self.fails_to_rename: Path | None = None
        self.fails_to_sync = False
        self.fails_to_sync_under: Path | None = None
        self.sync_count = 0
        self._synced_bytes: dict[Path, int] = {}
        self._locks: list[FileLock] = []
        self._changes: dict[Path, list[_Change]] = {}

    def open_records(self, path: Path, *, is_new: bool = False) -> LocalRecordFile:
        if is_new:
            self._note_made(path)
        file = super().open_records(path, is_new=is_new)
        # The descriptor has two owners for a moment; each closes its own.
        faulty = FaultyRecordFile(os.dup(file.fd), path, file.size)
        faulty.disk = self
        self._note_write(path, 0 if is_new else file.size)
        return faulty

    def read(self, path: Path) -> bytes | None:
        if path.parent == self.fails_to_read_under:
            raise as_storage_error(path, OSError(errno.EIO, os.strerror(errno.EIO)))
        return super().read(path)

    def append(self, path: Path, data: bytes) -> None:
        self._note_made(path)
        with storage_errors(path):
            size = path.stat().st_size if path.exists() else 0
        self._note_write(path, size)
        super().append(path, data)

    def write(self, path: Path, data: bytes) -> None:
        self._note_made(path)
        self._synced_bytes[path] = 0
        super().write(path, data)

    def replace(self, path: Path, data: bytes, *, is_synced: bool = True) -> None:
        temporary = path.with_name(path.name + ".tmp")
        self.write(temporary, data)
        if is_synced:
            self.sync(temporary)
        self.rename(temporary, path)
        if is_synced:
            self.sync(path.parent)

    def truncate(self, path: Path, size: int) -> None:
        self._synced_bytes[path] = min(self._synced_bytes.get(path, size), size)
        super().truncate(path, size)

    def rename(self, source: Path, target: Path) -> None:
        if source == self.fails_to_rename:
            raise as_storage_error(source, OSError(errno.EIO, os.strerror(errno.EIO)))
        with storage_errors(source):
            replaced = self._saved(target)
        super().rename(source, target)
        self._note_change(target, _Change(target.name, source.name, replaced))
        _rename_keys(self._synced_bytes, source, target)
        _rename_keys(self._changes, source, target)

    def remove(self, path: Path) -> None:
        self._note_gone(path)
        super().remove(path)
        self._synced_bytes.pop(path, None)

    def remove_tree(self, path: Path) -> None:
        self._note_gone(path)
        super().remove_tree(path)
        for known in [known for known in self._changes if known == path or path in known.parents]:
            del self._changes[known]

    def make_directory(self, path: Path) -> None:
        for each in (*reversed(path.parents), path):
            self._note_made(each)
        super().make_directory(path)

    def sync(self, path: Path) -> None:
        with storage_errors(path):
            is_file = path.is_file()
        if is_file:
            self.note_sync(path, path.stat().st_size)
        self._changes.pop(path, None)

    def lock(self, path: Path) -> FileLock | None:
        lock = super().lock(path)
        if lock is not None:
            self._locks.append(lock)
        return lock

    def take(self, size: int) -> int:
        """Use up to `size` bytes of free space, and return how many were available.

        Raises:
            OSError: The disk is full.
        """
        if self.free_bytes is None:
            return size
        taken = min(size, self.free_bytes)
        if taken == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.free_bytes -= taken
        return taken

    def note_sync(self, path: Path, size: int) -> None:
        """Record that the first `size` bytes of a file are durable.

        Raises:
            StorageError: `fails_to_sync` is set, or the file is below `fails_to_sync_under`.
        """
        under = self.fails_to_sync_under
        with storage_errors(path):
            if self.fails_to_sync or (under is not None and path.is_relative_to(under)):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.sync_count += 1
        self._synced_bytes[path] = size

    def note_truncation(self, path: Path, size: int) -> None:
        """Record that a file was truncated to `size` bytes."""
        self._synced_bytes[path] = min(self._synced_bytes.get(path, size), size)

    def _note_write(self, path: Path, size: int) -> None:
        self._synced_bytes.setdefault(path, size)

    def _note_made(self, path: Path) -> None:
        with storage_errors(path):
            is_made = not path.exists()
        if is_made:
            self._note_change(path, _Change(path.name, None, None))

    def _note_gone(self, path: Path) -> None:
        with storage_errors(path):
            saved = self._saved(path)
        if saved is not None:
            self._note_change(path, _Change(path.name, None, saved))

    def _note_change(self, path: Path, change: _Change) -> None:
        self._changes.setdefault(path.parent, []).append(change)

    def _saved(self, path: Path) -> "_Saved | None":
        """Return the durable content of a file or directory; None if it has none."""
        if path.is_dir():
            return {each.name: saved for each in path.iterdir() if (saved := self._saved(each)) is not None}
        if not path.exists():
            return None
        return path.read_bytes()[: self._synced_bytes.get(path)]

    def crash(
        self,
        keep: Callable[[int], int] = lambda unsynced_bytes: 0,
        keep_names: Callable[[int], int] = lambda change_count: 0,
    ) -> None:
        """Simulate a power loss: drop changes since the last fsync that `keep` and `keep_names` do not preserve.

        Args:
            keep: Receives the number of a file's unsynced bytes; returns how many survive.
            keep_names: Receives the number of a directory's unsynced name changes; returns how many of the first ones
                survive.
        """
        for path, synced_bytes in self._synced_bytes.items():
            if not path.is_file():
                continue
            unsafe_bytes = max(path.stat().st_size - synced_bytes, 0)
            if unsafe_bytes:
                os.truncate(path, synced_bytes + keep(unsafe_bytes))
        self._synced_bytes.clear()
        # The deepest first, because its parents may be moved or removed.
        for directory in sorted(self._changes, key=lambda path: len(path.parts), reverse=True):
            changes = self._changes[directory]
            for change in reversed(changes[keep_names(len(changes)) :]):
                _undo(directory, change)
        self._changes.clear()
        self.kill()

    def kill(self) -> None:
        """End the process that used the disk: release its locks, keep its written bytes."""
        for lock in self._locks:
            lock.release()
        self._locks.clear()


def _rename_keys(by_path: dict[Path, T], source: Path, target: Path) -> None:
    if not target.is_dir():
        # A file has no children, so no search is needed.
        if source in by_path:
            by_path[target] = by_path.pop(source)
        return
    depth = len(source.parts)
    for path in [path for path in by_path if path.parts[:depth] == source.parts]:
        by_path[target / path.relative_to(source)] = by_path.pop(path)


def _undo(directory: Path, change: _Change) -> None:
    path = directory / change.name
    if change.source is not None:
        path.rename(directory / change.source)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if change.before is not None:
        _restore(path, change.before)


def _restore(path: Path, saved: _Saved) -> None:
    if isinstance(saved, bytes):
        path.write_bytes(saved)
        return
    path.mkdir()
    for name, below in saved.items():
        _restore(path / name, below)


class FaultyRecordFile(LocalRecordFile):
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
        self.disk.note_truncation(self.path, size)

    def sync(self) -> None:
        self.disk.note_sync(self.path, self.size)
