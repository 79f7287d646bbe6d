"""The offset checkpoints of the log directories: their contents, and when they are written.

Invariants:
    - a checkpoint has one writer at a time, in the executor, and is written only if its contents changed;
    - the entries of a damaged log keep the values that they had when the damage was found.

Source: log-format facts, files in a log dir.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.directories.log_dirs import LogDirs
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.loading import DamagedLog
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending, completed
from barnabas.core.types import TopicPartition


class Checkpoints:
    """The checkpoints of all directories. Owned by the event loop."""

    def __init__(
        self,
        executor: Executor,
        directories: LogDirs,
        logs: Mapping[TopicPartition, PartitionLog],
        damaged: Mapping[TopicPartition, DamagedLog],
        known_high_watermarks: Callable[[], Mapping[TopicPartition, int]],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Args:
        executor: Writes the files.
        directories: The online directories.
        logs: All open logs; a live mapping.
        damaged: The logs that can't be opened; a live mapping.
        known_high_watermarks: Returns the high watermarks by partition.
        failed: Called with the error of a failed write.
        """
        self._executor = executor
        self._directories = directories
        self._logs = logs
        self._damaged = damaged
        self._known_high_watermarks = known_high_watermarks
        self._failed = failed
        self._being_written: set[Path] = set()
        self._ended: Pending[None] = completed(None)
        self._written: dict[Path, Mapping[TopicPartition, int]] = {}
        # By directory: truncations and deletions that wait for its checkpoints.
        self._truncated: dict[Path, list[Pending[None]]] = {}

    # --- contents

    def logs_in(self, directory: LogDirectory) -> list[PartitionLog]:
        """Return the open logs of a directory."""
        # Compares strings, because path operations are slow and there may be very many logs.
        start = f"{directory.path}/"
        length = len(start)
        return [
            log
            for log in self._logs.values()
            if (path := str(log.directory)).startswith(start) and "/" not in path[length:]
        ]

    def damaged_in(self, directory: LogDirectory) -> dict[TopicPartition, DamagedLog]:
        """Return the logs of a directory that can't be opened."""
        return {
            key: each
            for key, damaged in self._damaged.items()
            for each in damaged.all()
            if each.directory.parent == directory.path
        }

    def high_watermarks(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        """Return the contents for a directory's replication-offset-checkpoint: its logs' high watermarks."""
        known = self._known_high_watermarks()
        hosted = [log.topic_partition for log in self.logs_in(directory)]
        return {key: known[key] for key in (*hosted, *self.damaged_in(directory)) if key in known}

    def _recovery_points(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        damaged = {key: each.recovery_point for key, each in self.damaged_in(directory).items()}
        return _known(damaged) | {log.topic_partition: log.recovery_point for log in self.logs_in(directory)}

    def _log_start_offsets(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        damaged = {key: each.log_start_offset for key, each in self.damaged_in(directory).items()}
        return _known(damaged) | {
            log.topic_partition: log.log_start_offset
            for log in self.logs_in(directory)
            if log.log_start_offset > log.segments[0].base_offset
        }

    def _cleaner_offsets(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        damaged = {key: each.first_dirty_offset for key, each in self.damaged_in(directory).items()}
        return _known(damaged | {log.topic_partition: log.first_dirty_offset for log in self.logs_in(directory)})

    # --- writing

    def write_recovery_points(self, then: Callable[[LogDirectory], object]) -> None:
        """Write all recovery-point-offset-checkpoints; `then` is called with each directory whose file is on disk."""
        for directory in self._directories:
            self._write(directory.recovery_points, self._recovery_points(directory), partial(then, directory))

    def write_log_start_offsets(self) -> None:
        """Write all log-start-offset-checkpoints."""
        for directory in self._directories:
            self._write(directory.log_start_offsets, self._log_start_offsets(directory))

    def write_high_watermarks(self) -> None:
        """Write all replication-offset-checkpoints, even unchanged ones.

        As in Kafka, this detects a lost directory even if its logs get no appends.
        """
        for directory in self._directories:
            self._written.pop(directory.high_watermarks.path, None)
            self._write(directory.high_watermarks, self.high_watermarks(directory))

    def write_cleaner_offsets(self, directory: LogDirectory) -> None:
        """Write the cleaner-offset-checkpoint of a directory."""
        # Checks again after the write, because a change during the write does not cause another call.
        self._write(
            directory.cleaner_offsets,
            self._cleaner_offsets(directory),
            partial(self.write_cleaner_offsets, directory),
        )

    def write_after_truncation(self, log_directory: Path) -> Pending[None]:
        """Write the checkpoints that a truncation or deletion of a log has invalidated; requests share one write.

        Returns:
            Completes when the checkpoints are on disk, or could not be written.
        """
        told: Pending[None] = Pending()
        waiting = self._truncated.setdefault(log_directory.parent, [])
        waiting.append(told)
        if len(waiting) == 1:
            self._write_truncated(log_directory.parent)
        return told

    def _write_truncated(self, path: Path) -> None:
        directory = next((each for each in self._directories if each.path == path), None)
        if directory is None:
            # The directory failed meanwhile.
            _complete(self._truncated.pop(path))
            return
        checkpoints = (directory.recovery_points, directory.log_start_offsets, directory.cleaner_offsets)
        if any(checkpoint.path in self._being_written for checkpoint in checkpoints):
            # `_check_ended` calls this again after that write.
            return
        wanted = [
            (directory.recovery_points, self._recovery_points(directory)),
            (directory.log_start_offsets, self._log_start_offsets(directory)),
            (directory.cleaner_offsets, self._cleaner_offsets(directory)),
        ]
        told = self._truncated.pop(path)
        changed = [each for each in wanted if self._written.get(each[0].path) != each[1]]
        left_count = len(changed)

        def one_ended() -> None:
            nonlocal left_count
            left_count -= 1
            if not left_count:
                _complete(told)

        for checkpoint, offsets in changed:
            self._write(checkpoint, offsets, one_ended, one_ended)
        if not changed:
            _complete(told)

    def write_all(self, directory: LogDirectory, high_watermarks: dict[TopicPartition, int]) -> None:
        """Write the checkpoints of a directory whose logs are closed; in an executor, after `ended` has completed.

        Raises:
            StorageError: The disk failed.
        """
        directory.recovery_points.write(self._recovery_points(directory))
        directory.log_start_offsets.write(self._log_start_offsets(directory))
        directory.high_watermarks.write(high_watermarks)
        cleaner_offsets = self._cleaner_offsets(directory)
        if self._written.get(directory.cleaner_offsets.path, cleaner_offsets) != cleaner_offsets:
            directory.cleaner_offsets.write(cleaner_offsets)

    def ended(self) -> Pending[None]:
        """Complete when no write is in progress any more; supports only one waiter."""
        self._ended = Pending() if self._being_written else completed(None)
        return self._ended

    def _write(
        self,
        checkpoint: OffsetCheckpoint,
        offsets: dict[TopicPartition, int],
        then: Callable[[], object] = lambda: None,
        otherwise: Callable[[], object] = lambda: None,
    ) -> None:
        """Replace a checkpoint in the executor, unless it is unchanged or being replaced."""
        # differs from Kafka (checkpoint-unchanged): Kafka writes all checkpoints at every interval, even if unchanged.
        path = checkpoint.path
        if self._written.get(path) == offsets or path in self._being_written:
            return
        self._being_written.add(path)

        def written(_: None) -> None:
            self._written[path] = offsets
            self._being_written.discard(path)
            try:
                # Before `_check_ended`, because it may begin another write.
                then()
            finally:
                self._check_ended()

        def failed(error: BaseException) -> None:
            self._being_written.discard(path)
            otherwise()
            self._check_ended()
            self._failed(error)

        self._executor.run(lambda: checkpoint.write(offsets), written, failed)

    def _check_ended(self) -> None:
        for directory in list(self._truncated):
            self._write_truncated(directory)
        if not self._being_written:
            self._ended.complete(None)


def _complete(told: list[Pending[None]]) -> None:
    for pending in told:
        pending.complete(None)


def _known(offsets: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
    return {key: offset for key, offset in offsets.items() if offset is not None}
