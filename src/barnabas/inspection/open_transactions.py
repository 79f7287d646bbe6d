"""Finds the open transactions of a log that no broker has open, without reading all of it.

The newest producer snapshot lists the transactions open at its offset; the batch headers above it give the rest. The
result equals a broker's state after opening the log, except for batches that recovery would truncate because of a wrong
CRC: records are not read here. Read-only.

Source: KIP-98; log-format facts, producer snapshot, load and recovery.
"""

from collections.abc import Iterator
from itertools import zip_longest

from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.file_names import LOG_SUFFIX, SNAPSHOT_SUFFIX
from barnabas.broker.log.producers.open_transactions import OpenTransaction, begin_ms
from barnabas.broker.log.producers.producer_replay import replay
from barnabas.broker.log.producers.producer_snapshot import CorruptSnapshotError, decode_snapshot
from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.batch_reader import read_headers
from barnabas.inspection.log_file import LogFile
from barnabas.inspection.log_listing import LogListing
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.errors import CorruptRecordsError


def find_open_transactions(
    listing: LogListing, *, log_start_offset: int = 0, was_clean: bool = False
) -> list[OpenTransaction]:
    """Return the open transactions of a log, the earliest first.

    Args:
        listing: The log's files.
        log_start_offset: Log start offset of the checkpoint.
        was_clean: The last stop closed the log, which left a snapshot of its end.

    Raises:
        StorageError: The disk failed.
    """
    if not listing.segments:
        return []
    found = []
    state = _state(listing, max(log_start_offset, listing.segments[0]), was_clean)
    for producer_id, first_offset in state.open_transactions():
        entry = state.get(producer_id)
        epoch = -1 if entry is None else entry.epoch
        found.append(OpenTransaction(producer_id, epoch, first_offset, _since_ms(listing, first_offset)))
    return found


def _state(listing: LogListing, start_offset: int, was_clean: bool) -> ProducerState:
    last = listing.segments[-1]
    for offset, state in _snapshots(listing, start_offset):
        is_empty = listing.sizes[listing.file(last, LOG_SUFFIX).name] == 0
        if was_clean and (offset > last or (offset == last and is_empty)):
            return state
        # A snapshot may be of records that a kill has torn off the end.
        if _bring_up_to_date(listing, state, offset) >= offset:
            return state
    state = ProducerState()
    # A cleanly closed log without a snapshot was written before Kafka had producer ids.
    if not was_clean or listing.snapshots:
        _bring_up_to_date(listing, state, start_offset)
    return state


def _snapshots(listing: LogListing, start_offset: int) -> Iterator[tuple[int, ProducerState]]:
    """Return the snapshots that a start would use, the newest first."""
    for offset in reversed(listing.snapshots):
        data = LocalFileSystem().read(listing.file(offset, SNAPSHOT_SUFFIX))
        try:
            if offset > start_offset:
                yield offset, decode_snapshot(data or b"")
        except CorruptSnapshotError:
            continue


def _bring_up_to_date(listing: LogListing, state: ProducerState, from_offset: int) -> int:
    """Replay all batches from an offset on; return the offset after the last one."""
    end_offset = listing.segments[0]
    for base_offset, next_base in zip_longest(listing.segments, listing.segments[1:]):
        if next_base is not None and next_base <= from_offset:
            continue
        end_offset = max(end_offset, base_offset)
        with LogFile(listing.file(base_offset, LOG_SUFFIX)) as file:
            try:
                for position, header in read_headers(file, 0, file.size):
                    end_offset = header.last_offset + 1
                    if header.last_offset >= from_offset:
                        replay(file, position, header, state)
            except CorruptRecordsError:
                # A preallocated file ends in zeros; recovery truncates a torn end.
                break
    return end_offset


def _since_ms(listing: LogListing, offset: int) -> int:
    base_offset = max((each for each in listing.segments if each <= offset), default=None)
    if base_offset is None:
        return -1
    with LogFile(listing.file(base_offset, LOG_SUFFIX)) as file:
        try:
            for _, header in read_headers(file, 0, file.size):
                if header.last_offset >= offset:
                    return begin_ms(header) if isinstance(header, BatchHeader) else -1
        except CorruptRecordsError:
            return -1
    return -1
