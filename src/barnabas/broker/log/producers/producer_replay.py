"""Brings producer state and transaction indexes up to date from batches that are already in the log.

Invariant: replaying a batch has the same effect on the state as its append.

Source: KIP-98; log-format facts, load and recovery, 4 and 7.
"""

from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.producers.producer_snapshot import ProducerSnapshots
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.aborted_transaction import AbortedTransaction
from barnabas.broker.log.segments.batch_reader import AnyHeader, ReadableFile, read_headers
from barnabas.broker.log.segments.segment import Segment
from barnabas.wire.records.batch import BatchHeader, Buffer
from barnabas.wire.records.control import EndTransactionMarker, read_marker
from barnabas.wire.records.record import iterate_records

MOST_REPLAYED_OFFSETS = 1_000


def read_batch_marker(batch: Buffer) -> EndTransactionMarker | None:
    """Return the transaction marker of a control batch; None if it has none (as after compaction).

    Raises:
        CorruptRecordsError: The batch can't be read.
    """
    for record in iterate_records(batch):
        return read_marker(record)
    return None


def load_producers(
    env: LogEnvironment, segments: list[Segment], snapshots: ProducerSnapshots, start_offset: int, end_offset: int
) -> ProducerState:
    """Load the producers' state up to `end_offset`: the newest snapshot, brought up to date from the log.

    A snapshot of `end_offset` is written unless there is one, or little had to be read: a kill will find as little to
    read again, and a stop writes one. Snapshots that say nothing about the log from
    `start_offset` to `end_offset` are removed.
    """
    snapshots.remove_outside(start_offset, end_offset)
    loaded = snapshots.load_latest()
    if loaded is not None:
        loaded[1].remove_expired(env.clock.now_ms() - env.producer_expiration_ms)
    state = _load_state(segments, loaded, start_offset, end_offset)
    if end_offset - (start_offset if loaded is None else loaded[0]) > MOST_REPLAYED_OFFSETS:
        snapshots.take(end_offset, state)
    return state


def _load_state(
    segments: list[Segment], snapshot: tuple[int, ProducerState] | None, start_offset: int, end_offset: int
) -> ProducerState:
    """Load the producers' state up to `end_offset`: a snapshot, brought up to date from the log.

    Args:
        segments: The log's.
        snapshot: Its offset and state, which is changed; None to begin with nothing at `start_offset`.
        start_offset: The log start.
        end_offset: Batches from here on are left out.
    """
    replay_offset, state = snapshot if snapshot is not None else (start_offset, ProducerState())
    if replay_offset >= end_offset:
        return state
    for index, segment in enumerate(segments):
        if segment.base_offset >= end_offset:
            break
        if index + 1 < len(segments) and segments[index + 1].base_offset <= replay_offset:
            continue
        found = segment.locate(max(replay_offset, segment.base_offset))
        if found is not None:
            for position, header in read_headers(segment.file, found[0], segment.size):
                if header.last_offset >= end_offset:
                    break
                replay(segment.file, position, header, state)
    return state


def rebuild_transactions(
    segments: list[Segment], index: int, snapshots: ProducerSnapshots, log_start_offset: int
) -> None:
    """Rebuild the transaction index of one segment from its batches.

    Args:
        segments: The log's; those below are whole.
        index: Which.
        snapshots: For the state at the segment's beginning.
        log_start_offset: Where replaying begins without a snapshot.
    """
    segment = segments[index]
    state = _load_state(segments, snapshots.load_at(segment.base_offset), log_start_offset, segment.base_offset)
    segment.forget_transactions()
    for position, header in read_headers(segment.file, 0, segment.size):
        aborted = replay(segment.file, position, header, state)
        if aborted is not None:
            segment.transactions.append(aborted)


def replay(file: ReadableFile, position: int, header: AnyHeader, state: ProducerState) -> AbortedTransaction | None:
    """Apply a batch to the state as its append did.

    Returns:
        The entry for the segment's transaction index; None if nothing was aborted.

    Raises:
        CorruptRecordsError: A control batch can't be read.
    """
    if header.producer_id < 0 or not isinstance(header, BatchHeader):
        return None
    return note_batch(file.read(position, header.size_in_bytes) if header.is_control else b"", header, state)


def note_batch(batch: Buffer, header: BatchHeader, state: ProducerState) -> AbortedTransaction | None:
    """Apply one batch, as `replay`.

    Args:
        batch: Looked into only if it is a control batch.
    """
    if not header.is_control:
        state.update(header, header.base_offset, header.max_timestamp_ms)
        return None
    marker = read_batch_marker(batch)
    return None if marker is None else state.end_transaction(header, header.base_offset, marker)
