"""The segments of one log in order: finds the batches for a reader.

Invariants: there is always one segment, they are sorted by base offset, and the last is the active one. The chain
changes at once and its files follow (`disk_work.py`); files renamed to `.deleted` are removed after
file.delete.delay.ms.

Source: implementation page, log, reads; log-format facts, retention.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

from barnabas.broker.log.config import LogConfig
from barnabas.broker.log.disk.cold_reads import AskedOnce, Cached, ColdSlice, NotCachedError
from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.broker.log.disk.files import FileSlice, FileSystem
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.file_names import DELETED_SUFFIX, LOG_SUFFIX, file_name
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.broker.log.segments.batch_reader import read_batches
from barnabas.broker.log.segments.next_segment_file import NextSegmentFile
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.segments.tail import BatchTail
from barnabas.broker.log.segments.time_search import LargestTimestamps
from barnabas.wire.records.batch import BatchHeader

_base_offset = attrgetter("base_offset")


class SegmentChain:
    """All segments of a log.

    Attributes:
        segments: In order; changed in place.
        tail: The newest batches of the active segment.
        next_file: The prepared file for the next segment.
    """

    __slots__ = ("_directory", "_env", "_failed", "_timestamps", "_work", "next_file", "segments", "tail")

    def __init__(
        self,
        env: LogEnvironment,
        directory: Path,
        segments: list[Segment],
        work: DiskWork,
        failed: Callable[[BaseException], object],
    ) -> None:
        """Args:
        env: The environment of the log.
        directory: The log's directory.
        segments: In order, at least one.
        work: The log's disk work.
        failed: Called with the error of a failed removal.
        """
        self._env = env
        self._directory = directory
        self._work = work
        self._failed = failed
        self.segments = segments
        self.next_file = NextSegmentFile(env.files, directory, work)
        self.tail = BatchTail()
        self._timestamps = LargestTimestamps()

    @property
    def size_bytes(self) -> int:
        """Bytes in all `.log` files."""
        return sum(segment.size for segment in self.segments)

    def prepare_next(self, config: LogConfig, then: Callable[[], object] = lambda: None) -> None:
        """Prepare the next segment's file in the executor; `then` is called when it is ready, or on failure."""
        self.next_file.prepare(config.segment_bytes if config.preallocate else 0, then)

    def add(self, config: LogConfig, base_offset: int) -> Segment:
        """Begin a new active segment; its index files do not exist yet.

        Raises:
            StorageError: The disk failed; the chain is unchanged.
        """
        files, path = self._env.files, self._directory / file_name(base_offset, LOG_SUFFIX)
        file = self.next_file.take(path)
        if file is None:
            self._env.on_loop(f"{path} was made")
            file = files.open_records(path, is_new=True)
            if config.preallocate:
                file.reserve(config.segment_bytes)
        segment = Segment.begin(files, self._directory, base_offset, self._env.clock.now_ms(), file)
        self.segments.append(segment)
        self.choose_jitter(config)
        self.tail.clear()
        return segment

    def completion(self, segment: Segment) -> Callable[[], None]:
        """Return a function that writes the last index entries of a full segment, for the log's disk work."""
        persist, file = segment.completion(), segment.file

        def work() -> None:
            persist()
            # Also without preallocate, which may have been switched off since the file was made.
            file.release_reserved()

        return work

    def choose_jitter(self, config: LogConfig) -> None:
        """Choose how much earlier than segment.ms the active segment rolls."""
        limit_ms = min(config.segment_jitter_ms, config.segment_ms)
        self.segments[-1].roll_jitter_ms = self._env.choose_jitter(limit_ms) if limit_ms > 0 else 0

    def drop(self, dropped: list[Segment], delay_ms: int) -> None:
        """Remove segments from the chain, rename their files, and delete these after `delay_ms`."""
        self.detach(dropped)
        self._work.run(
            lambda: mark_deleted(self._env.files, dropped), partial(self.remove_later, delay_ms), self._failed
        )

    def replace_all(self, config: LogConfig, base_offset: int) -> Segment:
        """Replace all segments by a new one, whose files must be created after the old files are renamed."""
        segment = Segment.planned(self._env.files, self._directory, base_offset, self._env.clock.now_ms())
        self.detach(list(self.segments))
        self.segments.append(segment)
        self.choose_jitter(config)
        return segment

    def replace(
        self,
        replaced: list[Segment],
        replacing: Segment,
        put_in_place: Callable[[], list[Path]],
        delay_ms: int,
        then: Callable[[], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Replace segments by one segment; see `PartitionLog.replace_segments`."""
        self.segments.insert(self.segments.index(replaced[0]), replacing)
        self.detach(replaced)

        def done(renamed: list[Path]) -> None:
            replacing.unload()
            self.remove_later(delay_ms, renamed)
            then()

        self._work.run(put_in_place, done, failed)

    def detach(self, dropped: list[Segment]) -> None:
        """Remove segments from the chain; their files are kept."""
        for segment in dropped:
            self._env.loaded.forget(segment)
            segment.unload()
        gone = set(dropped)
        self.segments[:] = [segment for segment in self.segments if segment not in gone]
        # A truncation makes an older segment the active one.
        for segment in self.segments[-1:]:
            self._env.loaded.forget(segment)
        # It refers to the dropped segments.
        self._timestamps = LargestTimestamps()

    def note_rolled(self, segment: Segment) -> None:
        """Note that the index files of a rolled segment are complete, so that its indexes may be released."""
        if segment in self.segments[:-1]:
            self._note(segment)

    def _note(self, segment: Segment) -> None:
        self._env.loaded.note(segment, self._env.clock.monotonic_ms())

    def remove_later(self, delay_ms: int, paths: list[Path]) -> None:
        """Remove renamed files after `delay_ms`."""
        if paths:
            self._env.timers.call_later(delay_ms, self._remove_files, paths)

    def _remove_files(self, paths: list[Path]) -> None:
        def remove() -> None:
            for path in paths:
                self._env.files.remove(path)

        self._env.executor.run(remove, lambda _: None, self._failed)

    def index_of(self, offset: int) -> int:
        """Return the index of the segment for `offset`: the last one that begins at or below it."""
        return max(bisect_right(self.segments, offset, key=_base_offset) - 1, 0)

    def read(
        self,
        offset: int,
        max_bytes: int,
        end_offset: int,
        log_end_offset: int,
        at_least_one: bool,
        cached: Cached | None = None,
        allows_partial_batch: bool = True,
        taken_bytes: int = 0,
    ) -> FileSlice | None:
        """Find the bytes of the batches from `offset` on; see `PartitionLog.read`."""
        # hot path: benchmarks/micro/test_log.py
        if offset >= end_offset:
            return None
        segment = self.segments[-1]
        is_to_end = end_offset >= log_end_offset
        found = self.tail.find(offset, segment.size)
        if found is None:
            if cached is not None:
                cached = AskedOnce(cached, max_bytes)
            located = self._locate(offset, cached)
            if located is None:
                return None
            index, found = located
            segment = self.segments[index]
            if index + 1 < len(self.segments):
                if segment is not self._env.loaded.newest:
                    self._note(segment)
                is_to_end = is_to_end or end_offset >= self.segments[index + 1].base_offset
        position, batch_end_position = found
        limit = segment.size if is_to_end else self._position_of(segment, end_offset, cached)
        length = limit - position
        if length > max_bytes:
            batch_size = batch_end_position - position
            if max_bytes >= batch_size or (allows_partial_batch and not at_least_one):
                length = max_bytes
            elif at_least_one:
                length = min(length, batch_size)
            else:
                return FileSlice(segment.file, position, 0)
        if length <= 0:
            return None
        file = segment.file
        if cached is not None and length > taken_bytes and not cached.holds(file, position, length):
            raise NotCachedError(ColdSlice(file, position, length))
        return FileSlice(file, position, length)

    def _locate(self, offset: int, cached: Cached | None = None) -> tuple[int, tuple[int, int]] | None:
        """Return the segment, start and end of the first batch whose last offset is at or above `offset`."""
        for index in range(self.index_of(offset), len(self.segments)):
            segment = self.segments[index]
            found = segment.locate(max(offset, segment.base_offset), cached)
            if found is not None:
                position, header = found
                return index, (position, position + header.size_in_bytes)
        return None

    def _position_of(self, segment: Segment, end_offset: int, cached: Cached | None) -> int:
        """Return the position of the batch that contains `end_offset`."""
        if segment is self.segments[-1]:
            found = self.tail.find(end_offset, segment.size)
            if found is not None:
                return found[0]
        located = segment.locate(max(end_offset, segment.base_offset), cached)
        return segment.size if located is None else located[0]

    def aborted_transactions(self, offset: int, part: FileSlice, log_end_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions for a reader of `part`; see `PartitionLog.aborted_transactions`."""
        index = self._index_of_part(offset, part)
        end_offset = self.segments[index].offset_after(part.position + part.length)
        if end_offset is None:
            is_last = index + 1 == len(self.segments)
            end_offset = log_end_offset if is_last else self.segments[index + 1].base_offset
        found: list[AbortedTransaction] = []
        for segment in self.segments[index:]:
            some, is_all = segment.transactions.find(offset, end_offset)
            found += some
            if is_all:
                break
        if index + 1 < len(self.segments):
            self._note(self.segments[index])
        return found

    def base_offset_of(self, offset: int, part: FileSlice | None = None) -> int:
        """Return a segment's base offset; see `PartitionLog.segment_base_offset`."""
        if part is None and offset >= self.segments[-1].base_offset:
            return self.segments[-1].base_offset
        index = self.index_of(offset) if part is None else self._index_of_part(offset, part)
        return self.segments[index].base_offset

    def _index_of_part(self, offset: int, part: FileSlice) -> int:
        """Return the index of the segment that contains `part`, which was read for `offset`."""
        index = self.index_of(offset)
        while self.segments[index].file is not part.file:
            index += 1
        return index

    def find_timestamp(
        self, target_ms: int, start_offset: int, cached: Cached | None = None
    ) -> tuple[int, int, int] | None:
        """Return the first record at or after `start_offset` whose timestamp is at least `target_ms`.

        Returns:
            Its timestamp, offset and leader epoch; None if there is none.

        Raises:
            NotCachedError: `cached` is given, and a read would need the disk.
        """
        for segment in self.segments[self._timestamps.first_segment(self.segments, target_ms, cached) :]:
            if segment.largest_timestamp() >= target_ms:
                found = segment.find_timestamp(target_ms, start_offset, cached)
                if segment is not self.segments[-1]:
                    self._note(segment)
                if found is not None:
                    return found
        return None

    def batches(self, start_offset: int, end_offset: int) -> Iterator[memoryview]:
        """Return all batches with an offset from `start_offset` to `end_offset` - 1; see `PartitionLog.batches`."""
        located = self._locate(start_offset)
        if located is None:
            return iter(())
        index, (position, _) = located
        slices = [
            FileSlice(segment.file, 0, segment.size)
            for segment in self.segments[index:]
            if segment.base_offset < end_offset
        ]
        if slices:
            slices[0].position = position
            slices[0].length -= position
        return _walk(slices, end_offset)


def mark_deleted(files: FileSystem, segments: Sequence[Segment]) -> list[Path]:
    """Rename the files of segments, the oldest first, to mark them as deleted; for the log's disk work.

    Returns:
        Their new names.

    Raises:
        StorageError: The disk failed.
    """
    renamed: list[Path] = []
    for segment in segments:
        for path in segment.paths:
            if files.exists(path):
                target = path.with_name(path.name + DELETED_SUFFIX)
                files.rename(path, target)
                renamed.append(target)
    return renamed


def _walk(slices: list[FileSlice], end_offset: int) -> Iterator[memoryview]:
    next_offset = 0
    for part in slices:
        for _, header, batch in read_batches(part.file, part.position, part.position + part.length):
            # The base offset of a wrapper of format 0 or 1 is unknown: it is at or above the end of the previous batch.
            if (header.base_offset if isinstance(header, BatchHeader) else next_offset) >= end_offset:
                return
            yield batch
            next_offset = header.last_offset + 1
