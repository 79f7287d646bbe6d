"""All file access of logs, in one place, so that tests can inject torn, truncated or lost writes.

Invariants:
    - a record file's `size` counts only complete writes: a partial write is truncated. Data that is written ahead is
      beyond `size`, and is never read;
    - a descriptor is closed when the last reference to its `RecordFile` is gone and never earlier, so a file slice
      that waits to be sent can't send another file's bytes;
    - only regular files are opened, and links to files are not followed. Otherwise, a link, pipe or device with the
      name of a log's file could make the broker read, empty or wait for any other file. Directories may be links, as in
      Kafka (a partition on another disk); deleting such a directory deletes only the link.

Source: design page, section 3, traps.
"""

import contextlib
import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import NamedTuple, Protocol

from barnabas.core.errors import StorageError
from barnabas.wire.records.batch import Buffer

_WARMED_BYTES = 256 * 1024
# File systems use a few blocks more than a file's size.
_MOST_OVERHEAD_BYTES = 64 * 1024


class DirectoryEntry(NamedTuple):
    """An entry of a directory.

    Attributes:
        is_directory: Whether it is a directory, or a link to one.
        size_bytes: The size of a file.
        is_regular: Whether it is a regular file: not a link, pipe, device, socket or directory.
    """

    name: str
    is_directory: bool
    size_bytes: int
    is_regular: bool


class RecordFile(Protocol):
    """An open `.log` file.

    Attributes:
        fd: Valid as long as this object is referenced; -1 if the file is not a file of the operating system.
        path: The path with which it was opened; renaming does not change it.
        size: Bytes in the file.
    """

    fd: int
    path: Path
    size: int

    def append(self, data: Buffer) -> None:
        """Append all of `data`; if this same object was written ahead, only change the file's size.

        Raises:
            StorageError: Not all of it could be written; the file is truncated to its previous size.
        """
        ...

    def write_ahead(self, data: Buffer) -> None:
        """Write all of `data` beyond the end without changing `size`; any thread may call this.

        Call `append` or `drop_ahead` afterwards. Nothing else may be appended meanwhile.

        Raises:
            StorageError: As `append`.
        """
        ...

    def drop_ahead(self) -> None:
        """Remove bytes that were written ahead and not appended, if there are any."""
        ...

    def reserve(self, size: int) -> None:
        """Reserve `size` bytes on disk; the file's size does not change.

        Raises:
            StorageError: The disk has too little free space.
        """
        ...

    def release_reserved(self) -> None:
        """Release disk space that is reserved beyond the file's end, if there is any.

        Raises:
            StorageError: The disk failed.
        """
        ...

    def read(self, position: int, length: int) -> bytes:
        """Return at most `length` bytes from `position` on; fewer only at the file's end.

        Raises:
            StorageError: The disk failed.
        """
        ...

    def warm(self, position: int, length: int) -> None:
        """Read a part of the file into the page cache, and wait until it is there; never on the event loop.

        Raises:
            StorageError: The disk failed.
        """
        ...

    def truncate(self, size: int) -> None:
        """Truncate the file to `size` bytes."""
        ...

    def sync(self) -> None:
        """Wait until all of the file is on disk; never on the event loop."""
        ...


class LocalRecordFile:
    """A file on the local disk; see `RecordFile`."""

    __slots__ = ("__weakref__", "_ahead", "fd", "path", "size")

    def __init__(self, fd: int, path: Path, size: int) -> None:
        self._ahead: Buffer | None = None
        self.fd = fd
        self.path = path
        self.size = size

    def append(self, data: Buffer) -> None:
        # hot path: benchmarks/micro/test_log.py
        size = len(data)
        try:
            written_bytes = size if self._ahead is data else self.write(data)
            if written_bytes < size:
                self._write_rest(data, written_bytes)
        except OSError as error:
            raise self._truncate_partial(error) from error
        self._ahead = None
        self.size += size

    def write_ahead(self, data: Buffer) -> None:
        try:
            self._write_rest(data, 0)
        except OSError as error:
            raise self._truncate_partial(error) from error
        self._ahead = data

    def drop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead = None
            self.truncate(self.size)

    def _write_rest(self, data: Buffer, written_bytes: int) -> None:
        while written_bytes < len(data):
            written_bytes += self.write(memoryview(data)[written_bytes:] if written_bytes else data)

    def _truncate_partial(self, error: OSError) -> StorageError:
        """Remove the part of a write that failed halfway."""
        with contextlib.suppress(OSError):
            os.ftruncate(self.fd, self.size)
        return as_storage_error(self.path, error)

    def reserve(self, size: int) -> None:
        from barnabas.broker.log.disk.reservation import reserve

        with storage_errors(self.path):
            reserve(self.fd, size)

    def release_reserved(self) -> None:
        with storage_errors(self.path):
            used_bytes = os.fstat(self.fd).st_blocks * 512
        # Not in any case, because truncating also changes the file's modification time.
        if used_bytes > self.size + _MOST_OVERHEAD_BYTES:
            self.truncate(self.size)

    def write(self, data: Buffer) -> int:
        """Write `data` and return the number of bytes written, perhaps only a part."""
        return os.write(self.fd, data)

    def read(self, position: int, length: int) -> bytes:
        try:
            data = os.pread(self.fd, length, position)
            while len(data) < length:
                more = os.pread(self.fd, length - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise as_storage_error(self.path, error) from error
        return data

    def warm(self, position: int, length: int) -> None:
        with storage_errors(self.path):
            if hasattr(os, "posix_fadvise"):
                # Requests all of it at once, without the kernel's own readahead: that would continue later on the event
                # loop, when the loop sends pages marked for readahead.
                os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_RANDOM)
                os.posix_fadvise(self.fd, position, length, os.POSIX_FADV_WILLNEED)
            end = position + length
            while position < end:
                count = _wait_for(self.fd, position, end - position)
                if count == 0:
                    return
                position += count

    def truncate(self, size: int) -> None:
        with storage_errors(self.path):
            os.ftruncate(self.fd, size)
        self.size = size

    def sync(self) -> None:
        with storage_errors(self.path):
            os.fdatasync(self.fd)

    def __del__(self) -> None:
        # Closing is tied to the last reference on purpose: see the module's invariants.
        os.close(self.fd)


def _wait_for(fd: int, position: int, length: int) -> int:
    """Wait until a part of a file is in the page cache; return how many bytes certainly are, 0 at the file's end."""
    try:
        # Copies nothing and needs one system call: 17 µs for 1 MB in the cache, while a read takes 46 µs.
        with open(os.devnull, "wb", buffering=0) as nowhere:
            return os.sendfile(nowhere.fileno(), fd, position, length)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSOCK):
            raise
    return len(os.pread(fd, min(_WARMED_BYTES, length), position))


class FileSlice:
    """A run of bytes of a record file; keeps the file open."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: RecordFile, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    @property
    def fd(self) -> int:
        return self.file.fd

    def read(self) -> bytes:
        """Return the bytes themselves, for callers that cannot use `sendfile`."""
        return self.file.read(self.position, self.length)


class FileLock(Protocol):
    """An exclusive lock on a file, until `release` or the end of the process."""

    def release(self) -> None:
        """Release the lock and keep the file; does nothing if the lock was released already."""
        ...


class LocalFileLock:
    """A lock of the operating system; see `FileLock`."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class FileSystem(Protocol):
    """The file operations that logs use. Failures raise `StorageError`, except for a missing file where noted."""

    def open_records(self, path: Path, *, is_new: bool = False) -> RecordFile:
        """Open a record file for reading and appending; `is_new` creates or empties it."""
        ...

    def read(self, path: Path) -> bytes | None:
        """Return the whole file; None if it does not exist."""
        ...

    def read_end(self, path: Path, length: int) -> bytes | None:
        """Return the last `length` bytes of a file, or all of a shorter file; None if it does not exist."""
        ...

    def append(self, path: Path, data: bytes) -> None:
        """Append to a small file that is not kept open; creates it if it is missing."""
        ...

    def write(self, path: Path, data: bytes) -> None:
        """Write a file with `data`; a crash may leave any contents."""
        ...

    def replace(self, path: Path, data: bytes, *, is_synced: bool = True) -> None:
        """Replace a file by `data` atomically: through `<name>.tmp`, fsync (if `is_synced`) and rename."""
        ...

    def truncate(self, path: Path, size: int) -> None:
        """Truncate a file to `size` bytes."""
        ...

    def sync(self, path: Path) -> None:
        """fsync a file or directory; a missing file is ignored. Never on the event loop."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file or directory, replacing an existing one."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file; does nothing if it does not exist."""
        ...

    def remove_tree(self, path: Path) -> None:
        """Remove a directory with its contents, or a link without its target; does nothing if it does not exist."""
        ...

    def make_directory(self, path: Path) -> None:
        """Create a directory and its parents; does nothing if it exists."""
        ...

    def list(self, path: Path) -> list[DirectoryEntry]:
        """List the entries of a directory, by name."""
        ...

    def lock(self, path: Path) -> FileLock | None:
        """Lock a file, creating it if it is missing; None if it is already locked, in any process."""
        ...

    def exists(self, path: Path) -> bool:
        """Return whether a file or directory exists."""
        ...

    def modified_ms(self, path: Path) -> int:
        """Return when a file was last changed, in milliseconds since the epoch."""
        ...

    def set_modified(self, path: Path, modified_ms: int) -> None:
        """Set the time at which the file was last changed."""
        ...

    def space(self, path: Path) -> tuple[int, int]:
        """Return the size of the disk under a path, and how many bytes this process may still write to it."""
        ...


class LocalFileSystem:
    """The local disk."""

    __slots__ = ()

    def open_records(self, path: Path, *, is_new: bool = False) -> LocalRecordFile:
        with storage_errors(path):
            flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT | os.O_TRUNC if is_new else 0)
            fd, size = _open_own(path, flags)
            return LocalRecordFile(fd, path, size)

    def read(self, path: Path) -> bytes | None:
        with storage_errors(path):
            try:
                fd, size = _open_own(path, os.O_RDONLY)
            except FileNotFoundError:
                return None
            try:
                # One byte more than the file's size, so that a single read shows that the file has no more bytes.
                data = os.read(fd, size + 1)
                part = data
                while part:
                    part = os.read(fd, _WARMED_BYTES)
                    data += part
                return data
            finally:
                os.close(fd)

    def read_end(self, path: Path, length: int) -> bytes | None:
        with storage_errors(path):
            try:
                fd, size = _open_own(path, os.O_RDONLY)
            except FileNotFoundError:
                return None
            try:
                return os.pread(fd, length, max(size - length, 0))
            finally:
                os.close(fd)

    def append(self, path: Path, data: bytes) -> None:
        with storage_errors(path), open(path, "ab", buffering=0, opener=_opener) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                written_bytes = 0
                while written_bytes < len(data):
                    written_bytes += file.write(data[written_bytes:])
            except OSError:
                # A full disk may have written a part; a partial entry would damage the file.
                with contextlib.suppress(OSError):
                    file.truncate(size)
                raise

    def write(self, path: Path, data: bytes) -> None:
        with storage_errors(path), open(path, "wb", opener=_opener) as file:
            file.write(data)

    def replace(self, path: Path, data: bytes, *, is_synced: bool = True) -> None:
        temporary = path.with_name(path.name + ".tmp")
        with storage_errors(temporary):
            with open(temporary, "wb", opener=_opener) as file:
                with contextlib.suppress(FileNotFoundError):
                    # Keeps the permissions, so that other users, such as Kafka's, can still read the file.
                    os.fchmod(file.fileno(), stat.S_IMODE(path.lstat().st_mode))
                file.write(data)
                if is_synced:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
        if is_synced:
            self.sync(path.parent)

    def truncate(self, path: Path, size: int) -> None:
        with storage_errors(path), open(path, "r+b", buffering=0, opener=_opener) as file:
            file.truncate(size)

    def sync(self, path: Path) -> None:
        with storage_errors(path):
            try:
                # The path may be a link to a directory. O_NONBLOCK: opening a pipe must not wait.
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except FileNotFoundError:
                return
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def rename(self, source: Path, target: Path) -> None:
        with storage_errors(source):
            source.replace(target)

    def remove(self, path: Path) -> None:
        with storage_errors(path):
            path.unlink(missing_ok=True)

    def remove_tree(self, path: Path) -> None:
        # Imported here because it imports bz2 and lzma, which would add 2 ms to every start.
        from shutil import rmtree

        with storage_errors(path), contextlib.suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                path.unlink()
            elif stat.S_ISDIR(mode):
                rmtree(path)

    def make_directory(self, path: Path) -> None:
        with storage_errors(path):
            path.mkdir(parents=True, exist_ok=True)

    def list(self, path: Path) -> list[DirectoryEntry]:
        with storage_errors(path), os.scandir(path) as entries:
            found = []
            for entry in entries:
                # Another thread may remove files meanwhile (replaced segments, snapshots).
                with contextlib.suppress(FileNotFoundError):
                    is_directory = os.path.isdir(entry) if entry.is_symlink() else entry.is_dir()
                    size_bytes = entry.stat(follow_symlinks=False).st_size
                    is_regular = entry.is_file(follow_symlinks=False)
                    found.append(DirectoryEntry(entry.name, is_directory, size_bytes, is_regular))
            return sorted(found)

    def lock(self, path: Path) -> FileLock | None:
        with storage_errors(path):
            fd, _ = _open_own(path, os.O_RDWR | os.O_CREAT)
        try:
            # lockf is the lock that a JVM uses; flock also excludes other locks of the same process.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        return LocalFileLock(fd)

    def exists(self, path: Path) -> bool:
        with storage_errors(path):
            return path.exists()

    def modified_ms(self, path: Path) -> int:
        with storage_errors(path):
            return path.lstat().st_mtime_ns // 1_000_000

    def set_modified(self, path: Path, modified_ms: int) -> None:
        with storage_errors(path):
            os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000), follow_symlinks=False)

    def space(self, path: Path) -> tuple[int, int]:
        with storage_errors(path):
            found = os.statvfs(path)
            return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def open_regular(path: Path | str, flags: int) -> tuple[int, int]:
    """Open a path that must be a regular file, without blocking on a pipe.

    Returns:
        The file's descriptor and size.

    Raises:
        OSError: The file can't be opened, or is not a regular file.
    """
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a symbolic link, no regular file") from error
        if error.errno == errno.ENXIO:
            # A pipe without a reader, or a socket.
            raise OSError(errno.ENXIO, "is a pipe or socket, no regular file") from error
        raise
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "is a pipe, device or directory, no regular file")
    return fd, status.st_size


def _open_own(path: Path | str, flags: int) -> tuple[int, int]:
    """Open a file in a log directory as `open_regular` does, without following a link."""
    return open_regular(path, flags | os.O_NOFOLLOW)


def _opener(path: str, flags: int) -> int:
    return _open_own(path, flags)[0]


def as_storage_error(path: Path, error: OSError) -> StorageError:
    """Return a `StorageError` for an operating system error about a file."""
    return StorageError(f"{path}: {error.strerror or error}", path)


class storage_errors:  # noqa: N801 - it is used like a function
    """Turn operating system errors into `StorageError`s that name the file."""

    # A class, because a generator would cost more than many of the system calls in its block.
    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise as_storage_error(self._path, error) from error
