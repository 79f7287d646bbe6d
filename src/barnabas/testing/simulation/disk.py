"""A disk in memory that loses unsynced data at a power cut: bytes of files, and names in directories.

Only POSIX's guarantees hold: fsync of a file saves its bytes, fsync of a directory its names. Of later changes, a power
cut keeps a random part:

    directory       the first changes, none or all of them
    appended file   a part of the new bytes, whose end may be zeros
    rewritten file  the old bytes, the new bytes, or the beginning of the new bytes

The end of a process alone loses nothing.

Source: fsync(2); style page, tests.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from barnabas.broker.log.disk.files import DirectoryEntry
from barnabas.core.errors import StorageError
from barnabas.wire.records.batch import Buffer

_SECTOR_BYTES = 512


class _File:
    """A file's bytes, and the durable ones among them.

    Attributes:
        data: The content that programs see.
        durable: The content at the last fsync.
        untouched_bytes: The number of first bytes unchanged since then, which survive a power cut.
        modified_ms: When it was changed.
    """

    __slots__ = ("data", "durable", "modified_ms", "untouched_bytes")

    def __init__(self, modified_ms: int) -> None:
        self.data = bytearray()
        self.durable = b""
        self.untouched_bytes = 0
        self.modified_ms = modified_ms

    def lose_power(self, dice: Random) -> None:
        """Simulate a power loss."""
        data, durable = bytes(self.data), self.durable
        if data.startswith(durable):
            kept = _some(dice, len(data) - len(durable))
            left = bytearray(data[: len(durable) + kept])
            if kept and dice.random() < 0.3:
                # The file's new size was written, but its last bytes were not.
                lost = min(_some(dice, kept), -(-kept // _SECTOR_BYTES) * _SECTOR_BYTES)
                left[len(left) - lost :] = bytes(lost)
        else:
            least = self.untouched_bytes
            left = bytearray(dice.choice((durable, data, data[: least + _some(dice, len(data) - least)])))
        self.data = left
        self.note_durable()

    def note_durable(self) -> None:
        """Mark all bytes as durable."""
        self.durable = bytes(self.data)
        self.untouched_bytes = len(self.data)

    def truncate_to(self, size: int) -> None:
        """Truncate the file to `size`."""
        del self.data[size:]
        self.untouched_bytes = min(self.untouched_bytes, len(self.data))


class _Directory:
    """A directory's names, and the durable ones among them.

    Attributes:
        entries: The names that programs see.
        durable: The names at the last fsync.
        changes: The changes since then, in order.
    """

    __slots__ = ("changes", "durable", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, _Node] = {}
        self.durable: dict[str, _Node] = {}
        self.changes: list[dict[str, _Node | None]] = []

    def change(self, change: "dict[str, _Node | None]") -> None:
        """Change the targets of names, all at once; None removes a name."""
        self._apply(change)
        self.changes.append(change)

    def _apply(self, change: "dict[str, _Node | None]") -> None:
        for name, node in change.items():
            if node is None:
                self.entries.pop(name, None)
            else:
                self.entries[name] = node

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.changes.clear()

    def lose_power(self, dice: Random) -> None:
        """Simulate a power loss."""
        self.entries = self.durable
        for change in self.changes[: _some(dice, len(self.changes))]:
            self._apply(change)
        self.sync()
        for node in self.entries.values():
            node.lose_power(dice)


_Node = _File | _Directory


def _some(dice: Random, count: int) -> int:
    """Draw how many of `count` survive: none, all, or a number between, each with equal probability."""
    return dice.choice((0, count, dice.randint(0, count)))


class MemoryRecordFile:
    """An open record file; see `RecordFile`."""

    __slots__ = ("_ahead", "_disk", "_file", "fd", "path", "size")

    def __init__(self, disk: "MemoryDisk", file: _File, path: Path) -> None:
        self._ahead: Buffer | None = None
        self._disk = disk
        self._file = file
        self.fd = -1
        self.path = path
        self.size = len(file.data)

    def append(self, data: Buffer) -> None:
        if self._ahead is not data:
            self.write_ahead(data)
        self._ahead = None
        self.size = len(self._file.data)

    def write_ahead(self, data: Buffer) -> None:
        self._disk.put(self._file, len(self._file.data), bytes(data), self.path)
        self._ahead = data

    def drop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead = None
            self.truncate(self.size)

    def reserve(self, size: int) -> None:
        return

    def release_reserved(self) -> None:
        return

    def read(self, position: int, length: int) -> bytes:
        self._disk.check(self.path)
        return bytes(self._file.data[position : position + length])

    def warm(self, position: int, length: int) -> None:
        self._disk.check(self.path)

    def truncate(self, size: int) -> None:
        self._disk.check(self.path)
        self._file.truncate_to(size)
        self.size = len(self._file.data)

    def sync(self) -> None:
        self._disk.sync_file(self._file, self.path)


class _Lock:
    """A file lock; see `FileLock`."""

    __slots__ = ("_held", "_path")

    def __init__(self, held: dict[Path, "_Lock"], path: Path) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        if self._held.get(self._path) is self:
            del self._held[self._path]


class MemoryDisk:
    """All disks of a machine, below one root: a directory may be a disk of its own. See `FileSystem`.

    Attributes:
        free_bytes: Free space; None without a limit.
        is_broken: Whether everything fails.
    """

    def __init__(self, now_ms: Callable[[], int], note: Callable[[str], object] = lambda text: None) -> None:
        """Args:
        now_ms: Wall time.
        note: Called for every fsync.
        """
        self.free_bytes: int | None = None
        self.is_broken = False
        self._now_ms = now_ms
        self._note = note
        self._root = _Directory()
        self._locks: dict[Path, _Lock] = {}
        self._failed: dict[Path, None] = {}

    # --- faults

    def fail(self, directory: Path) -> None:
        """Let the disk below a directory fail, until it is replaced or repaired."""
        self._failed[directory] = None

    def mend(self, directory: Path) -> None:
        """Let the disk below a directory work again, with all its data."""
        self._failed.pop(directory, None)

    def replace_by_empty(self, directory: Path) -> None:
        """Replace a directory's disk by an empty one. Open files still belong to the old disk."""
        self.mend(directory)
        node: _Node = self._root
        for name in directory.parts[1:-1]:
            found = node.entries.get(name) if isinstance(node, _Directory) else None
            if found is None:
                return
            node = found
        if isinstance(node, _Directory) and directory.name in node.entries:
            # A mount point exists regardless of its content.
            node.entries[directory.name] = node.durable[directory.name] = _Directory()

    def cut_power(self, dice: Random) -> None:
        """Lose data that is not durable, in part or in whole."""
        self._root.lose_power(dice)
        self.kill()

    def kill(self) -> None:
        """Release the locks of the process that used the disk."""
        self._locks.clear()

    def check(self, path: Path) -> None:
        """Check that the disk works."""
        if self.is_broken or (self._failed and any(path.is_relative_to(each) for each in self._failed)):
            raise _failure(path, errno.EIO)

    # --- nodes

    def _find(self, path: Path) -> _Node | None:
        node: _Node = self._root
        for name in path.parts[1:]:
            found = node.entries.get(name) if isinstance(node, _Directory) else None
            if found is None:
                return None
            node = found
        return node

    def _directory(self, path: Path) -> _Directory:
        self.check(path)
        node = self._find(path)
        if not isinstance(node, _Directory):
            raise _failure(path, errno.ENOENT if node is None else errno.ENOTDIR)
        return node

    def _file(self, path: Path) -> _File | None:
        self.check(path)
        node = self._find(path)
        if isinstance(node, _Directory):
            raise _failure(path, errno.EISDIR)
        return node

    def _made(self, path: Path) -> _File:
        """Return the file; create it if it is missing."""
        file = self._file(path)
        if file is None:
            file = _File(self._now_ms())
            self._directory(path.parent).change({path.name: file})
        return file

    def put(self, file: _File, position: int, data: bytes, path: Path) -> None:
        """Write at `position`, the end of the file.

        Raises:
            StorageError: The disk is full or broken; the file is unchanged.
        """
        self.check(path)
        if self.free_bytes is not None:
            if len(data) > self.free_bytes:
                raise _failure(path, errno.ENOSPC)
            self.free_bytes -= len(data)
        file.truncate_to(position)
        file.data += data
        file.modified_ms = self._now_ms()

    def sync_file(self, file: _File, path: Path) -> None:
        """Make the file's bytes durable."""
        self.check(path)
        file.note_durable()
        self._note(f"fsync {path} {len(file.durable)}")

    # --- FileSystem

    def open_records(self, path: Path, *, is_new: bool = False) -> MemoryRecordFile:
        file = self._made(path) if is_new else self._file(path)
        if file is None:
            raise _failure(path, errno.ENOENT)
        if is_new:
            file.truncate_to(0)
        return MemoryRecordFile(self, file, path)

    def read(self, path: Path) -> bytes | None:
        file = self._file(path)
        return None if file is None else bytes(file.data)

    def read_end(self, path: Path, length: int) -> bytes | None:
        file = self._file(path)
        return None if file is None else bytes(file.data[max(len(file.data) - length, 0) :])

    def append(self, path: Path, data: bytes) -> None:
        file = self._made(path)
        self.put(file, len(file.data), data, path)

    def write(self, path: Path, data: bytes) -> None:
        self.put(self._made(path), 0, data, path)

    def replace(self, path: Path, data: bytes, *, is_synced: bool = True) -> None:
        temporary = path.with_name(path.name + ".tmp")
        self.write(temporary, data)
        if is_synced:
            self.sync(temporary)
        self.rename(temporary, path)
        if is_synced:
            self.sync(path.parent)

    def truncate(self, path: Path, size: int) -> None:
        file = self._file(path)
        if file is None:
            raise _failure(path, errno.ENOENT)
        file.truncate_to(size)

    def sync(self, path: Path) -> None:
        self.check(path)
        node = self._find(path)
        if isinstance(node, _Directory):
            node.sync()
            self._note(f"fsync {path}/")
        elif node is not None:
            self.sync_file(node, path)

    def rename(self, source: Path, target: Path) -> None:
        if source.parent != target.parent:
            raise ValueError(f"{source} and {target} are not in one directory")
        directory = self._directory(source.parent)
        if source.name not in directory.entries:
            raise _failure(source, errno.ENOENT)
        directory.change({source.name: None, target.name: directory.entries[source.name]})

    def remove(self, path: Path) -> None:
        self.check(path)
        parent = self._find(path.parent)
        if isinstance(parent, _Directory) and path.name in parent.entries:
            parent.change({path.name: None})

    def remove_tree(self, path: Path) -> None:
        self.remove(path)

    def make_directory(self, path: Path) -> None:
        self.check(path)
        for each in (*reversed(path.parents), path):
            if self._find(each) is None:
                self._directory(each.parent).change({each.name: _Directory()})

    def list(self, path: Path) -> list[DirectoryEntry]:
        return sorted(
            DirectoryEntry(name, False, len(node.data), True)
            if isinstance(node, _File)
            else DirectoryEntry(name, True, 0, False)
            for name, node in self._directory(path).entries.items()
        )

    def lock(self, path: Path) -> _Lock | None:
        self._made(path)
        if path in self._locks:
            return None
        lock = self._locks[path] = _Lock(self._locks, path)
        return lock

    def exists(self, path: Path) -> bool:
        return self._find(path) is not None

    def modified_ms(self, path: Path) -> int:
        file = self._file(path)
        if file is None:
            raise _failure(path, errno.ENOENT)
        return file.modified_ms

    def set_modified(self, path: Path, modified_ms: int) -> None:
        file = self._file(path)
        if file is not None:
            file.modified_ms = modified_ms

    def space(self, path: Path) -> tuple[int, int]:
        # Size and free space.
        return 1 << 40, 1 << 40 if self.free_bytes is None else self.free_bytes


def _failure(path: Path, number: int) -> StorageError:
    return StorageError(f"{path}: {os.strerror(number)}", path)
