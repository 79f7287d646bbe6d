"""Opens a log: trusts it after a clean stop, checks and repairs it after a kill.

After a kill, every segment from the recovery point on is read whole. Its batches are checked (length, magic, CRC,
ascending offsets), and indexes and leader epochs are rebuilt. The log is truncated, and later segments are deleted, at
the first damaged batch, or where a segment ends before the next one begins. Damage below the recovery point affects
only its own segment.
Producer state is read from the newest valid snapshot, and updated to the log end from the batches' headers.

Invariant: an acknowledged batch that reached the page cache is never truncated: the log is truncated only where bytes
are missing or wrong.

Source: implementation page, log, guarantees; log-format facts, load and recovery.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.log.appends.rules import COMPACT
from barnabas.broker.log.config import LogConfig
from barnabas.broker.log.directories.directory_files import LogFiles, read_directory
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.leader_epochs import LeaderEpochs
from barnabas.broker.log.log_components import LogComponents
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.producers.producer_replay import MOST_REPLAYED_OFFSETS, load_producers, rebuild_transactions
from barnabas.broker.log.producers.producer_snapshot import ProducerSnapshots
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.batch_reader import read_batches, read_headers
from barnabas.broker.log.segments.segment import MAX_RELATIVE_OFFSET, Segment
from barnabas.core.config.versions import message_magic
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import MAGIC, BatchHeader, batch_crc
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.legacy import message_crc

_PROGRESS_INTERVAL_MS = 1_000

_logger = logging.getLogger(__name__)


def open_log(
    env: LogEnvironment,
    topic_partition: TopicPartition,
    directory: Path,
    config: LogConfig,
    *,
    was_clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    is_found: bool = False,
) -> PartitionLog:
    """Open the log in `directory`, creating it if it is missing. Blocks: call it in an executor's thread.

    Args:
        env: The environment of the log.
        topic_partition: The log's partition.
        directory: The log's directory.
        config: The topic's settings.
        was_clean: Whether the broker closed all logs when it last stopped.
        recovery_point: The checkpoint's offset below which everything is on disk. Ignored after a clean stop.
        log_start_offset: The log start offset in the checkpoint.
        is_found: Whether the directory exists; the caller then syncs its name before the log's first flush.

    Raises:
        StorageError: The disk failed.
        CorruptRecordsError: The log is damaged where it must be on disk, an offset does not fit into its segment, or
            `directory` or a file in it has the wrong type.
    """
    now_ms = env.clock.now_ms()
    if not is_found:
        _make_directory(env, directory)
    found = read_directory(env.files, directory, now_ms)
    epochs = LeaderEpochs(env.files, directory)
    snapshots = ProducerSnapshots(env.files, directory, found.snapshot_offsets)
    segments = found.segments
    is_old_format = message_magic(config.message_format_version) < MAGIC
    # differs from Kafka (epochs-torn): in Kafka, a torn or missing leader-epoch-checkpoint is an error.
    # Without known epochs, all segments are read again to rebuild them.
    if was_clean:
        on_disk_count = len(segments)
        knows_epochs = epochs.load_after_clean_stop()
    else:
        on_disk_count = _first_unflushed(segments, recovery_point)
        knows_epochs = is_old_format or epochs.load_after_crash()
        if on_disk_count:
            # This segment may have been rolled just before the crash, without its last time index entry.
            segments[on_disk_count - 1].complete_times()
    known_epochs = epochs.entries
    walk = _Walk(env, directory, config, found, epochs, snapshots, log_start_offset)
    last_recovered, recovered_end_offset = walk.recover(on_disk_count, knows_epochs)
    is_end_known = bool(segments) and segments[-1] is last_recovered
    log_end_offset = 0
    if segments:
        log_end_offset = recovered_end_offset if is_end_known else segments[-1].read_next_offset()
    if not segments or log_end_offset < log_start_offset:
        for segment in segments:
            _remove(env, segment)
        segments = [Segment.create(env.files, directory, log_start_offset, now_ms)]
        if config.preallocate:
            segments[0].file.reserve(config.segment_bytes)
        log_end_offset = log_start_offset
    if not is_end_known:
        segments[-1].first_timestamp_ms = segments[-1].read_first_timestamp()
    log_start_offset = max(log_start_offset, segments[0].base_offset)
    epochs.truncate_from_end(log_end_offset)
    epochs.truncate_from_start(log_start_offset)

    # No damage was found, and nothing was written.
    is_as_closed = was_clean and segments is found.segments and not found.damaged and epochs.entries == known_epochs
    known_snapshots = snapshots.offsets
    if not known_snapshots and (was_clean or is_old_format):
        # A log from Kafka before 0.11, without producers. As in Kafka, a snapshot saves later starts reading it all.
        producers = ProducerState()
        if log_end_offset - log_start_offset > MOST_REPLAYED_OFFSETS:
            snapshots.take(log_end_offset, producers)
    else:
        producers = load_producers(env, segments, snapshots, log_start_offset, log_end_offset)
    is_as_closed = is_as_closed and snapshots.offsets == known_snapshots
    for segment in segments[:-1]:
        # Rebuilt ones would stay in memory even if nobody reads the segment.
        segment.release_indexes()
    parts = LogComponents(
        segments,
        epochs,
        producers,
        snapshots,
        log_start_offset,
        log_end_offset,
        log_end_offset if was_clean else min(recovery_point, log_end_offset),
        is_as_closed,
        is_found,
    )
    return PartitionLog(env, topic_partition, directory, config, parts)


def _make_directory(env: LogEnvironment, directory: Path) -> None:
    try:
        env.files.make_directory(directory)
    except StorageError as error:
        if isinstance(error.__cause__, FileExistsError):
            # A link to a disk that is not mounted, or a file: this is not a disk failure.
            raise CorruptRecordsError(f"{directory} is no directory, and is left as it is") from error
        raise


@dataclass(slots=True)
class _Walk:
    """Recovers the segments of one log, checking those that are not known to be intact."""

    env: LogEnvironment
    directory: Path
    config: LogConfig
    found: LogFiles
    epochs: LeaderEpochs
    snapshots: ProducerSnapshots
    log_start_offset: int

    def recover(self, on_disk_count: int, knows_epochs: bool) -> tuple[Segment | None, int]:
        """Check and repair segments; remove the segments after one that had to be truncated.

        Args:
            on_disk_count: Number of segments that count as on disk; of these, only those with damaged indexes are
                checked.
            knows_epochs: Whether the leader epochs of the segments on disk are known; if not, they are collected.

        Returns:
            The last segment that was checked, and its end offset.

        Raises:
            CorruptRecordsError: An offset does not fit into its segment.
        """
        env, found, segments = self.env, self.found, self.found.segments
        last: tuple[Segment | None, int] = (None, 0)
        is_made_anew = False
        reported_ms = env.clock.monotonic_ms()
        for index, segment in enumerate(segments):
            if env.clock.monotonic_ms() - reported_ms >= _PROGRESS_INTERVAL_MS:
                reported_ms = env.clock.monotonic_ms()
                _logger.info("%s: recovered %d of %d segments", self.directory, index, len(segments))
            is_damaged = segment.base_offset in found.damaged
            if index < on_disk_count and not is_damaged:
                if not knows_epochs:
                    _collect_epochs(segment, self.epochs)
                continue
            next_base_offset = segments[index + 1].base_offset if index + 1 < len(segments) else None
            recovered = _recover_segment(segment, next_base_offset, self.config, self.epochs)
            # The next flush writes the index files of the active segment, as usual.
            if is_damaged or index < len(segments) - 1:
                # Adds the last time index entry, as in every closed segment.
                segment.complete()
            last = segment, recovered.end_offset
            if recovered.has_markers:
                rebuild_transactions(segments, index, self.snapshots, self.log_start_offset)
            if index < on_disk_count:
                # It is not synced later.
                segment.sync()
                is_made_anew = True
            elif recovered.is_truncated or self._lacks_end(index, last[1]):
                # The lost records were not known to be on disk.
                for later in segments[index + 1 :]:
                    _remove(env, later)
                del segments[index + 1 :]
                break
        if is_made_anew:
            env.files.sync(self.directory)
        return last

    def _lacks_end(self, index: int, end_offset: int) -> bool:
        """Return whether a power failure lost a segment's end but kept the next segment, or at least its file name.

        Gaps in a compacted log are not counted as lost.
        """
        segments = self.found.segments
        if index + 1 >= len(segments) or COMPACT in self.config.cleanup_policy:
            return False
        next_offset = segments[index + 1].base_offset
        if max(end_offset, self.log_start_offset) >= next_offset:
            return False
        # differs from Kafka (recovery-lost-end): in Kafka, the log continues after the gap, and followers never detect
        # it.
        _logger.warning(
            "%s: ends at offset %d, the next segment starts at %d: the records between are lost, the later ones are "
            "deleted",
            segments[index].path,
            end_offset,
            next_offset,
        )
        return True


def _first_unflushed(segments: list[Segment], recovery_point: int) -> int:
    """Return the index of the segment that contains the recovery point."""
    below = sum(1 for segment in segments if segment.base_offset <= recovery_point)
    return max(below - 1, 0)


def _remove(env: LogEnvironment, segment: Segment) -> None:
    segment.close()
    for path in segment.paths:
        env.files.remove(path)


class _Recovered(NamedTuple):
    """The result for a segment: whether it was truncated, whether it has transaction markers, and its end."""

    is_truncated: bool
    has_markers: bool
    end_offset: int


def _collect_epochs(segment: Segment, epochs: LeaderEpochs) -> None:
    """Add the leader epochs of a segment; damaged batches are only logged."""
    try:
        for _, header in read_headers(segment.file, 0, segment.size):
            if header.leader_epoch > epochs.latest_epoch and isinstance(header, BatchHeader):
                epochs.assign(header.leader_epoch, header.base_offset)
    except CorruptRecordsError as error:
        _logger.error("cannot collect all leader epochs: %s", error)
    segment.close()


def _recover_segment(
    segment: Segment, next_base_offset: int | None, config: LogConfig, epochs: LeaderEpochs
) -> _Recovered:
    """Check all batches of a segment and rebuild its indexes in memory; clear its transaction index.

    Raises:
        CorruptRecordsError: An offset is too large for an index entry, but valid: the next segment begins above it.
            Nothing was truncated.
    """
    segment.forget_indexes()
    has_markers = is_overflow = False
    file = segment.file
    valid_position, next_offset = 0, segment.base_offset
    reason = "an incomplete batch"
    try:
        for position, header, batch in read_batches(file, 0, file.size):
            if isinstance(header, BatchHeader):
                first_offset, crc = header.base_offset, batch_crc(batch, 0, len(batch))
            else:
                first_offset, crc = header.last_offset, message_crc(batch, 0, len(batch))
            if crc != header.crc:
                reason = "a wrong CRC"
                break
            # differs from Kafka (recovery-ascending-offsets): offsets must also ascend, because the CRC does not cover
            # the base offset.
            if first_offset < next_offset or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                reason = f"offset {first_offset}, expected {next_offset} or higher"
                is_ascending = first_offset >= next_offset
                is_overflow = is_ascending and next_base_offset is not None and header.last_offset < next_base_offset
                break
            segment.note(header, position, config.index_interval_bytes)
            has_markers = has_markers or header.is_control
            if header.leader_epoch > epochs.latest_epoch:
                epochs.assign(header.leader_epoch, first_offset)
            next_offset = header.last_offset + 1
            valid_position = position + len(batch)
    except CorruptRecordsError as error:
        reason = str(error)
    if is_overflow:
        # differs from Kafka (recovery-overflow): Kafka splits such a segment.
        raise CorruptRecordsError(
            f"{segment.path}: the records from offset {next_offset} on are too far above the segment's base offset, as "
            "after compaction by Kafka before 2.0: remove this segment's .index file and start Kafka 2.7 once, which "
            "splits the segment; or delete this replica's directory, or the topic"
        )
    segment.forget_transactions()
    cut_bytes = file.size - valid_position
    if cut_bytes:
        _logger.warning(
            "%s: truncated at position %d, offset %d: %s (%d bytes lost)",
            segment.path,
            valid_position,
            next_offset,
            reason,
            cut_bytes,
        )
        file.truncate(valid_position)
    return _Recovered(cut_bytes > 0, has_markers, next_offset)
