"""Opens a log: trusts it after a clean stop, checks and mends it after a kill.

After a kill every segment from the recovery point on is read whole: batches are checked (length, magic, CRC, ascending
offsets), indexes and leader epochs are rebuilt, and at the first damaged batch the log is cut and later segments go.
Producer state is read from the newest snapshot that can be trusted and brought up to the log end from the batches'
headers.

Invariant: an acknowledged batch that reached the page cache is never cut: the log is cut only where bytes are missing
or wrong.

Source: implementation page, log, guarantees; log-format facts, load and recovery.
"""

import logging
import zlib
from pathlib import Path

from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from barnabas.log.batch_reader import read_batches, read_headers
from barnabas.log.config import LogConfig
from barnabas.log.directory_files import read_directory
from barnabas.log.environment import LogEnvironment
from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.partition_log import LogParts, PartitionLog
from barnabas.log.producer_snapshot import ProducerSnapshots
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import MAX_RELATIVE_OFFSET, Segment
from barnabas.records.batch import LOG_OVERHEAD, MAGIC, MAGIC_POSITION, UINT32, batch_crc, read_header
from barnabas.records.control import read_marker
from barnabas.records.errors import CorruptRecordsError
from barnabas.records.record import iterate_records

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
) -> PartitionLog:
    """Open the log in `directory`, which is made when it is missing. Blocks: for an executor's thread.

    Args:
        env: The disk and the rest.
        topic_partition: Whose log.
        directory: Where it is.
        config: The topic's settings.
        was_clean: The broker closed all logs when it last stopped.
        recovery_point: From the checkpoint; everything below is on disk. Not asked for after a clean stop.
        log_start_offset: From the checkpoint.

    Raises:
        StorageError: The disk failed, or the log holds messages of formats 0 or 1.
        CorruptRecordsError: The log was damaged below the recovery point.
    """
    now_ms = env.clock.now_ms()
    found = read_directory(env.files, directory, now_ms)
    epochs = LeaderEpochs(env.files, directory)
    segments = found.segments
    first_unflushed = len(segments)
    if was_clean:
        epochs.load()
    else:
        # Without the epochs of the older segments all of them are read again.
        first_unflushed = _first_unflushed(segments, recovery_point) if epochs.load_after_crash() else 0
    for index, segment in enumerate(segments):
        if index < first_unflushed and segment.base_offset not in found.damaged:
            continue
        if _recover_segment(segment, config, epochs):
            for later in segments[index + 1 :]:
                _remove(env, later)
            del segments[index + 1 :]
            break

    log_end_offset = segments[-1].read_next_offset() if segments else 0
    if not segments or log_end_offset < log_start_offset:
        for segment in segments:
            _remove(env, segment)
        segments = [Segment.create(env.files, directory, log_start_offset, now_ms)]
        log_end_offset = log_start_offset
    segments[-1].first_timestamp_ms = segments[-1].read_first_timestamp()
    log_start_offset = max(log_start_offset, segments[0].base_offset)
    epochs.truncate_from_end(log_end_offset)
    epochs.truncate_from_start(log_start_offset)

    snapshots = ProducerSnapshots(env.files, directory, found.snapshot_offsets)
    if was_clean and not snapshots.offsets:
        producers = ProducerState()
    else:
        producers = load_producers(env, segments, snapshots, log_start_offset, log_end_offset)
    parts = LogParts(
        segments,
        epochs,
        producers,
        snapshots,
        log_start_offset,
        log_end_offset,
        log_end_offset if was_clean else min(recovery_point, log_end_offset),
    )
    return PartitionLog(env, topic_partition, directory, config, parts)


def _first_unflushed(segments: list[Segment], recovery_point: int) -> int:
    """Index of the segment that holds the recovery point."""
    below = sum(1 for segment in segments if segment.base_offset <= recovery_point)
    return max(below - 1, 0)


def _remove(env: LogEnvironment, segment: Segment) -> None:
    segment.close()
    for path in segment.paths:
        env.files.remove(path)


def _recover_segment(segment: Segment, config: LogConfig, epochs: LeaderEpochs) -> bool:
    """Check all batches of a segment and rebuild its indexes; whether something had to be cut off."""
    segment.forget_indexes()
    file = segment.file
    valid_position, next_offset = 0, segment.base_offset
    reason = "an incomplete batch"
    try:
        for position, header, batch in read_batches(file, 0, file.size):
            if batch_crc(batch, 0, len(batch)) != header.crc:
                reason = "a wrong CRC"
                break
            # differs from Kafka: offsets must ascend, too; the base offset is not under the CRC.
            if header.base_offset < next_offset or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                reason = f"offset {header.base_offset} where at least {next_offset} must be"
                break
            segment.note(header, position, config.index_interval_bytes)
            if header.leader_epoch > epochs.latest_epoch:
                epochs.assign(header.leader_epoch, header.base_offset)
            next_offset = header.last_offset + 1
            valid_position = position + len(batch)
    except CorruptRecordsError as error:
        reason = str(error)
    cut_bytes = file.size - valid_position
    if cut_bytes:
        _refuse_old_format(segment, valid_position)
        _logger.warning(
            "%s: cut at position %d, offset %d: %s (%d bytes lost)",
            segment.path,
            valid_position,
            next_offset,
            reason,
            cut_bytes,
        )
        file.truncate(valid_position)
    segment.persist_indexes()
    return cut_bytes > 0


def _refuse_old_format(segment: Segment, position: int) -> None:
    """Raise where what looks damaged is an intact message of format 0 or 1."""
    head = segment.file.read(position, MAGIC_POSITION + 1)
    if len(head) <= MAGIC_POSITION or head[MAGIC_POSITION] >= MAGIC:
        return
    size = int.from_bytes(head[8:12], "big", signed=True)
    if not 0 < size <= segment.size - position - LOG_OVERHEAD:
        return
    message = segment.file.read(position + LOG_OVERHEAD, size)
    if zlib.crc32(memoryview(message)[4:]) == UINT32.unpack_from(message)[0]:
        format_name = f"format {head[MAGIC_POSITION]} (message.format.version below 0.11)"
        raise StorageError(f"{segment.path}: messages of {format_name} can't be read yet")


def load_producers(
    env: LogEnvironment, segments: list[Segment], snapshots: ProducerSnapshots, start_offset: int, end_offset: int
) -> ProducerState:
    """What the producers wrote up to `end_offset`: the newest snapshot, brought up to date from the log.

    A snapshot of `end_offset` is written unless there is one. Snapshots that say nothing about the log from
    `start_offset` to `end_offset` are removed.
    """
    snapshots.remove_outside(start_offset, end_offset)
    loaded = snapshots.load_latest()
    replay_offset, state = loaded if loaded is not None else (start_offset, ProducerState())
    state.remove_expired(env.clock.now_ms() - env.producer_expiration_ms)
    if replay_offset == end_offset:
        return state
    for index, segment in enumerate(segments):
        if index + 1 < len(segments) and segments[index + 1].base_offset <= replay_offset:
            continue
        found = segment.locate(max(replay_offset, segment.base_offset))
        if found is not None:
            _replay(segment, found[0], end_offset, state)
    snapshots.take(end_offset, state)
    return state


def _replay(segment: Segment, position: int, end_offset: int, state: ProducerState) -> None:
    for batch_position, header in read_headers(segment.file, position, segment.size):
        if header.base_offset >= end_offset:
            return
        if header.producer_id < 0:
            continue
        if not header.is_control:
            state.update(header, header.base_offset, header.max_timestamp_ms)
            continue
        batch = segment.file.read(batch_position, header.size_in_bytes)
        for record in iterate_records(batch):
            marker = read_marker(record)
            if marker is not None:
                state.end_transaction(read_header(batch), marker.coordinator_epoch)
