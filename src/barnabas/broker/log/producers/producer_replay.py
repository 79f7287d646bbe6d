"""Updates producer state and transaction indexes from batches that are already in the log.

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
    """Return the transaction marker of a control batch; None if it has none, such as after compaction.

    Raises:
        CorruptRecordsError: The batch can't be read.
    """
    for record in iterate_records(batch):
        return read_marker(record)
    return None


def load_producers(
    env: LogEnvironment, segments: list[Segment], snapshots: ProducerSnapshots, start_offset: int, end_offset: int
) -> ProducerState:
    """Load the producers' state up to `end_offset` from the newest snapshot and the log's batches after it.

    If more than `MOST_REPLAYED_OFFSETS` had to be read, write a snapshot of `end_offset`. Otherwise none is needed: the
    next start after a kill reads as little again, and a clean stop writes one. Snapshots at or below `start_offset`, or
    above `end_offset`, are removed.
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
    """Load the producers' state up to `end_offset` from a snapshot and the log's batches after it.

    Args:
        segments: The log's segments.
        snapshot: Its offset and state, which is changed; None to begin without producers at `start_offset`.
        start_offset: The log start offset.
        end_offset: Batches at or above it are ignored.
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
        segments: The log's segments; those below `index` must be valid.
        index: Index of the segment in `segments`.
        snapshots: Snapshots for the state at the segment's beginning.
        log_start_offset: The offset at which replaying begins without a snapshot.
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
    """Apply one batch in memory; see `replay`.

    Args:
        batch: The batch; read only if it is a control batch.
    """
    if not header.is_control:
        state.update(header, header.base_offset, header.max_timestamp_ms)
        return None
    marker = read_batch_marker(batch)
    return None if marker is None else state.end_transaction(header, header.base_offset, marker)
