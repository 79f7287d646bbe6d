"""Reads bytes that are not in the page cache, off the event loop.

    handler ─► log, with the page cache ─► a response
                        └► NotCachedError ─► ColdReads.read ─► executor ─► the handler repeats the read

Records are read only into the page cache, and the response is sent with `sendfile` as usual. They are read in parts of
1 MB, aligned to 1 MB. Some following parts are read, too, because consumers usually continue to read.

Invariants:
    - a part is read once for all requests that wait for it;
    - callbacks run after the last byte is in memory, and always on the event loop.

Source: design page, section 3.
"""

import logging
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from barnabas.broker.log.disk.files import RecordFile
from barnabas.broker.log.disk.page_cache import PageCache
from barnabas.core.executor import Executor

_logger = logging.getLogger(__name__)

# differs from Kafka (cold-reads): in Kafka, the network thread that sends the records waits for the disk, and delays
# all its connections.
PART_BYTES = 1024 * 1024
READ_AHEAD_BYTES = 4 * PART_BYTES

T = TypeVar("T")


class Cached(Protocol):
    """Reads bytes from the page cache only, for the event loop."""

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        """Return whether a whole part of a file can be read without the disk."""
        ...

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        """Return a small part of a file; None if a read would need the disk. Raises StorageError."""
        ...


class ColdWork(Generic[T]):
    """Data that has to be read from disk.

    Attributes:
        key: Identifies the data; work with the same key is read once.
        read: Reads the data; runs in an executor's thread.
        finish: Processes the result of `read`; runs on the event loop.
    """

    __slots__ = ("finish", "key", "read")

    def __init__(self, key: Hashable, read: Callable[[], T], finish: Callable[[T], object]) -> None:
        self.key = key
        self.read = read
        self.finish = finish


class NotCachedError(Exception):
    """The requested bytes are not in the page cache.

    Attributes:
        work: The read to complete before the request is repeated.
    """

    def __init__(self, work: "ColdWork[Any] | ColdSlice") -> None:
        super().__init__("not in the page cache")
        self.work = work


class ColdSlice:
    """A part of a record file."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: RecordFile, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length


class CachedFile:
    """A record file that is read from the page cache only; for `batch_reader`."""

    __slots__ = ("_file", "_page_cache", "path")

    def __init__(self, file: RecordFile, page_cache: "Cached") -> None:
        self._file = file
        self._page_cache = page_cache
        self.path = file.path

    def read(self, position: int, length: int) -> bytes:
        """Read like `RecordFile.read`, from the page cache only.

        Raises:
            NotCachedError: A read would need the disk.
        """
        length = min(length, self._file.size - position)
        if not self._page_cache.holds(self._file, position, length):
            raise NotCachedError(ColdSlice(self._file, position, length))
        return self._file.read(position, length)


class AskedOnce:
    """Queries the page cache once for a whole read, including the bytes that follow: headers, then batches."""

    __slots__ = ("_ahead_bytes", "_cached", "_end", "_file", "_start")

    def __init__(self, cached: Cached, ahead_bytes: int) -> None:
        """Args:
        ahead_bytes: How many more bytes the read may need after its first request.
        """
        self._cached = cached
        self._ahead_bytes = ahead_bytes
        self._file: RecordFile | None = None
        self._start = self._end = 0

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        """See `Cached`."""
        # hot path: benchmarks/load (every fetch that is not at the tail)
        end = position + length
        if file is self._file and self._start <= position and end <= self._end:
            return True
        ahead_end = max(end, min(end + self._ahead_bytes, file.size))
        if self._cached.holds(file, position, ahead_end - position):
            self._file, self._start, self._end = file, position, ahead_end
            return True
        return ahead_end > end and self._cached.holds(file, position, length)

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        """See `Cached`."""
        return self._cached.take(file, position, length)


_Waiting = Callable[[BaseException | None], object]


class ColdReads:
    """Reads from the disk that are in progress, with their waiting callbacks. Owned by the event loop.

    Attributes:
        read_count: Number of reads from disk.
    """

    __slots__ = ("_executor", "_page_cache", "_waiting", "read_count")

    def __init__(self, executor: Executor, page_cache: PageCache) -> None:
        """Args:
        executor: Runs the reads.
        """
        self._executor = executor
        self._waiting: dict[Hashable, list[_Waiting]] = {}
        self._page_cache = page_cache
        self.read_count = 0

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        """Return whether a part of a file is in the page cache, and not being read from disk."""
        # hot path: benchmarks/load (every fetch)
        waiting = self._waiting
        if waiting and any((file, index) in waiting for index in _part_indexes(position, length)):
            return False
        return self._page_cache.holds(file, position, length)

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        """Return a small part of a file; None if a read would need the disk. Raises StorageError."""
        return self._page_cache.take(file, position, length)

    def read(
        self, wanted: Sequence["ColdWork[Any] | ColdSlice"], then: Callable[[list[BaseException | None]], object]
    ) -> None:
        """Read data from disk.

        Args:
            wanted: The `work` of some `NotCachedError`s.
            then: Called when all reads have ended, with the error of each; None for a successful read.
        """
        failures: list[BaseException | None] = [None] * len(wanted)
        # One more than the number of reads, so that `then` is not called before all reads have begun.
        left_count = 1

        def one_done() -> None:
            nonlocal left_count
            left_count -= 1
            if left_count == 0:
                then(failures)

        for number, work in enumerate(wanted):

            def ended(error: BaseException | None, number: int = number) -> None:
                failures[number] = failures[number] or error
                one_done()

            parts = self._parts_of(work) if isinstance(work, ColdSlice) else [work]
            left_count += len(parts)
            for part in parts:
                self._run(part, ended)
        for work in wanted:
            if isinstance(work, ColdSlice):
                self._read_ahead(work)
        one_done()

    def _parts_of(self, part: ColdSlice) -> list[ColdWork[None]]:
        return [self._part(part.file, index) for index in _part_indexes(part.position, part.length)]

    def _read_ahead(self, part: ColdSlice) -> None:
        file = part.file
        end = part.position + part.length
        for index in _part_indexes(end, min(READ_AHEAD_BYTES, file.size - end)):
            if not self.holds(file, index * PART_BYTES, min(PART_BYTES, file.size - index * PART_BYTES)):
                self._run(self._part(file, index), None)

    def _part(self, file: RecordFile, index: int) -> ColdWork[None]:
        position = index * PART_BYTES
        length = min(PART_BYTES, file.size - position)
        return ColdWork(
            (file, index),
            lambda: file.warm(position, length),
            lambda _: self._page_cache.check_read(file, position, length),
        )

    def _run(self, work: ColdWork[Any], waiting: _Waiting | None) -> None:
        key = work.key
        known = self._waiting.get(key)
        if known is not None:
            if waiting is not None:
                known.append(waiting)
            return
        self._waiting[key] = [] if waiting is None else [waiting]
        self.read_count += 1

        def read(result: object) -> None:
            callbacks = self._waiting.pop(key)
            try:
                work.finish(result)
            except Exception as error:
                _call(callbacks, error)
            else:
                _call(callbacks, None)

        self._executor.run(work.read, read, lambda error: _call(self._waiting.pop(key), error))


def _part_indexes(position: int, length: int) -> range:
    return range(position // PART_BYTES, (position + length - 1) // PART_BYTES + 1) if length > 0 else range(0)


def _call(callbacks: list[_Waiting], error: BaseException | None) -> None:
    for callback in callbacks:
        try:
            callback(error)
        except Exception:
            # Several callbacks may wait for the same bytes: a bug in one must not affect the others.
            _logger.exception("a callback failed after a read from disk")
