"""Tracks the part of a log that is on disk, and flushes the rest.

Invariants:
    - everything below `recovery_point` is on disk and unchanged in the log;
    - a flush syncs everything that a start after a crash needs: segments, snapshots, epochs, and the directories with
      their names.

Source: implementation page, log; log-format facts, load and recovery; design page, section 2.
"""

from collections.abc import Callable
from pathlib import Path

from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.flusher import Flusher, Waiting
from barnabas.broker.log.log_components import LogComponents
from barnabas.broker.log.segments.segment_chain import SegmentChain


class Durability:
    """The part of one log that is flushed to disk. Owned by the event loop; only `sync_all` runs in another thread.

    Attributes:
        recovery_point: Everything below this offset is on disk.
        due_offset: Log end offset at which flush.messages requires a flush.
        last_flush_ms: The time at which the last flush ended.
    """

    __slots__ = (
        "_chain",
        "_clock",
        "_directory",
        "_end_offset",
        "_epochs",
        "_files",
        "_flush_messages",
        "_flush_start_ns",
        "_flushed",
        "_flusher",
        "_flushes",
        "_is_name_safe",
        "_snapshots",
        "_truncation_offset",
        "due_offset",
        "last_flush_ms",
        "recovery_point",
    )

    def __init__(
        self,
        env: LogEnvironment,
        directory: Path,
        parts: LogComponents,
        chain: SegmentChain,
        work: DiskWork,
        end_offset: Callable[[], int],
        flushed: Callable[[], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Args:
        env: The disk and the clock.
        directory: The log's directory.
        parts: The log's epochs, snapshots and recovery point.
        chain: Its segments.
        work: The log's disk work.
        end_offset: Returns the log end offset.
        flushed: Called after a flush, before the callbacks of its requests.
        failed: Called with the error of a failed flush.
        """
        self._files = env.files
        self._clock = env.clock
        self._flushes = env.flushes
        self._flush_start_ns = 0
        self._directory = directory
        self._chain = chain
        self._epochs = parts.epochs
        self._snapshots = parts.snapshots
        self._end_offset = end_offset
        self._flushed = flushed
        self._flusher = Flusher(work, self._prepare, self._note, failed)
        self.recovery_point = self.due_offset = parts.recovery_point
        self._flush_messages = 0
        self.last_flush_ms = env.clock.now_ms()
        # The lowest log end offset since the running flush began.
        self._truncation_offset = parts.log_end_offset
        # If the directory is new, the first flush must sync its parent, which contains its name.
        self._is_name_safe = parts.is_name_safe

    def update(self, flush_messages: int) -> None:
        """Apply flush.messages."""
        self._flush_messages = flush_messages
        self.due_offset = self.recovery_point + flush_messages

    def request(self) -> None:
        """Begin a flush, after the running one if there is one."""
        self._flusher.request(None)

    def flush(self, then: Waiting | None) -> None:
        """Flush the log's current contents; see `PartitionLog.flush`."""
        end_offset = self._end_offset()
        if self.recovery_point >= end_offset:
            if then is not None:
                then(None)
            return
        # The append has already requested a flush if flush.messages requires it. That flush covers the log's current
        # contents, unless the log was truncated since the flush began.
        if then is not None and self._truncation_offset >= end_offset and self._flusher.join(end_offset, then):
            return
        self._flusher.request(then)

    def truncate_to(self, offset: int) -> None:
        """Note that the log ends at `offset`: bytes above it on disk may change."""
        self._truncation_offset = min(self._truncation_offset, offset)
        self._set_recovery_point(min(self.recovery_point, offset))

    def pause(self) -> None:
        """Begin no flush until `resume`: the files are being truncated."""
        self._flusher.pause()

    def resume(self) -> None:
        """Begin the flush requested meanwhile, if any."""
        self._flusher.resume()

    def sync_all(self) -> None:
        """Flush the log's contents at once, in an executor's thread, while no other work is in progress.

        Raises:
            StorageError: The disk failed.
        """
        self._sync_work()()
        self._set_recovery_point(self._end_offset())

    def _prepare(self) -> tuple[int, Callable[[], None]]:
        persist_indexes, sync = self._chain.segments[-1].persistence(), self._sync_work()
        end_offset = self._truncation_offset = self._end_offset()
        self._flush_start_ns = self._clock.monotonic_ns()

        def work() -> None:
            persist_indexes()
            sync()

        return end_offset, work

    def _sync_work(self) -> Callable[[], None]:
        # Includes the segment that ends at the recovery point: its last index entries may have been written after its
        # records were flushed.
        segments = self._chain.segments[self._chain.index_of(self.recovery_point - 1) :]
        files = self._files
        paths = [self._snapshots.path(segment.base_offset) for segment in segments]
        paths += [self._snapshots.path(self._end_offset()), self._epochs.path, self._directory]
        if not self._is_name_safe:
            paths.append(self._directory.parent)

        def work() -> None:
            for segment in segments:
                segment.sync()
            for path in paths:
                files.sync(path)

        return work

    def _note(self, end_offset: int) -> None:
        self._set_recovery_point(max(self.recovery_point, min(end_offset, self._truncation_offset)))
        self._is_name_safe = True
        self.last_flush_ms = self._clock.now_ms()
        self._flushes.note(max(self._clock.monotonic_ns() - self._flush_start_ns, 0))
        self._flushed()

    def _set_recovery_point(self, offset: int) -> None:
        self.recovery_point = offset
        self.due_offset = offset + self._flush_messages
