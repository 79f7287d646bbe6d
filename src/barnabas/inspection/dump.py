"""Log files as lines of text: the same lines as Kafka 2.7.2's DumpLogSegments, field for field.

Contents go to one sink and problems to another. Index entries that contradict the log and gaps between offsets are
reported after all files, as in Kafka.

# differs from Kafka (dump-unreadable-file): a file that can't be read further is reported in one line, and the next
# file follows; Kafka ends there with a stack trace.

Source: cli facts, kafka-dump-log; the behaviour of Kafka 2.7.2's tool (tests/compat/test_log_dump.py compares them).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.broker.log.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from barnabas.clients.hash_order import in_hash_order, string_hash
from barnabas.core.errors import BarnabasError, ProtocolError, StorageError
from barnabas.inspection.decoders import DEFAULT_DECODER, RecordDecoder, decoder_of, plain
from barnabas.inspection.index_files import (
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    TRANSACTION_ENTRY_BYTES,
    TRANSACTION_INDEX_VERSION,
    aborted_transactions,
    base_offset_of,
    offset_entries,
    read_bytes,
    time_entries,
)
from barnabas.inspection.index_files import lookup as index_lookup
from barnabas.inspection.log_file import LogFile
from barnabas.inspection.snapshot_file import SnapshotEntry, read_snapshot
from barnabas.inspection.stored_batch import StoredBatch, StoredRecord
from barnabas.wire.records.control import read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record

DEFAULT_MAX_MESSAGE_BYTES = 5 * 1024 * 1024

_NO_TIMESTAMP = -1
_MOST_SLICE_BYTES = 2**31 - 1

Sink = Callable[[str], None]
Pairs = dict[str, list[tuple[int, int]]]


@dataclass(slots=True)
class DumpOptions:
    """The contents to show.

    Attributes:
        is_deep: Show the records of each batch.
        decode: Decoder of keys and values; None shows neither. Needs `is_deep`.
        is_index_sanity_only, is_index_check_only: For indexes, show only the check's result, or only problems.
        max_message_bytes: The largest batch that an index entry may point to.
    """

    is_deep: bool = False
    decode: RecordDecoder | None = None
    is_index_sanity_only: bool = False
    is_index_check_only: bool = False
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES


@dataclass(slots=True)
class _Mistakes:
    """Problems to report after all files: pairs of numbers by file."""

    offset_index: Pairs = field(default_factory=dict)
    timestamps: Pairs = field(default_factory=dict)
    timestamp_order: Pairs = field(default_factory=dict)
    not_found: Pairs = field(default_factory=dict)
    gaps: Pairs = field(default_factory=dict)


class LogDump:
    """Dumps one file after the other.

    Attributes:
        failure_count: Files, batches and records that could not be read.
    """

    def __init__(
        self, options: DumpOptions, write: Sink, complain: Sink, note_bytes: Callable[[int], None] = lambda _: None
    ) -> None:
        """Args:
        options: The contents to show.
        write: Receives each line of the result.
        complain: Receives each line about a problem.
        note_bytes: Receives the numbers of processed bytes.
        """
        self._options = options
        self._decode = options.decode
        self._write = write
        self._complain = complain
        self._note_bytes = note_bytes
        self._mistakes = _Mistakes()
        self.failure_count = 0

    def dump(self, path: Path) -> None:
        """Show one file, by the suffix of its name."""
        self._write(f"Dumping {path}")
        suffix = path.suffix
        try:
            if suffix == LOG_SUFFIX:
                self._dump_log(path)
            elif suffix == OFFSET_INDEX_SUFFIX:
                self._dump_offset_index(path)
            elif suffix == TIME_INDEX_SUFFIX:
                self._dump_time_index(path)
            elif suffix == SNAPSHOT_SUFFIX:
                self._dump_snapshot(path)
            elif suffix == TRANSACTION_INDEX_SUFFIX:
                self._dump_transaction_index(path)
            else:
                self._complain(f"Ignoring unknown file {path}")
        except (StorageError, CorruptRecordsError) as error:
            self._fail(path, error)

    def finish(self) -> None:
        """Report the problems found in indexes and offsets."""
        # Kafka reports all kinds but one with the newest first.
        tell = self._tell
        mistakes = self._mistakes
        tell(mistakes.offset_index, "Mismatches in :{}", "  Index offset: {}, log offset: {}")
        tell(mistakes.timestamps, "Found timestamp mismatch in :{}", "  Index timestamp: {}, log timestamp: {}")
        tell(
            mistakes.timestamp_order,
            "Found out of order timestamp in :{}",
            "  Index timestamp: {}, Previously indexed timestamp: {}",
        )
        tell(
            mistakes.not_found,
            "The following indexed offsets are not found in the log.",
            "Indexed offset: {}, found log offset: {}",
            is_oldest_first=True,
        )
        tell(mistakes.gaps, "Non-consecutive offsets in {}", "  {} is followed by {}")

    def _tell(self, pairs: Pairs, heading: str, line: str, *, is_oldest_first: bool = False) -> None:
        for name in in_hash_order(pairs, string_hash):
            self._complain(heading.format(name))
            listed = pairs[name]
            for pair in listed if is_oldest_first else reversed(listed):
                self._complain(line.format(*pair))

    def _fail(self, path: Path, error: BarnabasError) -> None:
        text = str(error)
        self._complain(text if text.startswith(str(path)) else f"{path}: {text}")
        self.failure_count += 1

    def _dump_log(self, path: Path) -> None:
        self._write(f"Starting offset: {base_offset_of(path)}")
        with LogFile(path) as file:
            valid_bytes = 0
            walk = _Walk(str(path.absolute()), self._mistakes.gaps)
            for batch in file.batches():
                self._write(batch_line(batch))
                if self._options.is_deep:
                    self._dump_records(path, batch, walk)
                valid_bytes += batch.size_in_bytes
                self._note_bytes(batch.size_in_bytes)
            if valid_bytes < file.size:
                self._write(f"Found {file.size - valid_bytes} invalid bytes at the end of {path.name}")
                self._note_bytes(file.size - valid_bytes)

    def _dump_records(self, path: Path, batch: StoredBatch, walk: "_Walk") -> None:
        try:
            for record in batch.records():
                walk.note(record.offset)
                self._write(self._record_line(path, batch, record))
        except CorruptRecordsError as error:
            self._complain(f"{path}: the records of the batch at position {batch.position}: {error}")
            self.failure_count += 1

    def _record_line(self, path: Path, batch: StoredBatch, record: StoredRecord) -> str:
        line = (
            f"| offset: {record.offset} {batch.timestamp_type}: {record.timestamp_ms} keysize: {_size(record.key)} "
            f"valuesize: {_size(record.value)}"
        )
        if record.crc is None:
            line += f" sequence: {record.sequence} headerKeys: [{','.join(record.header_keys)}]"
        else:
            line += f" crc: {record.crc} isvalid: {str(record.is_valid).lower()}"
        if batch.is_control:
            return line + _marker(record)
        if self._decode is None:
            return line
        try:
            key, value = self._decode(record)
        except ProtocolError as error:
            self._complain(f"{path}: record {record.offset} does not fit the decoder: {error}")
            self.failure_count += 1
            return line
        if key is not None:
            line += f" key: {key}"
        return line if value is None else f"{line} payload: {value}"

    def _dump_offset_index(self, path: Path) -> None:
        base_offset = base_offset_of(path)
        data = read_bytes(path)
        entries = offset_entries(data, base_offset)
        self._note_bytes(len(data))
        with LogFile(path.with_name(f"{path.stem}{LOG_SUFFIX}")) as log:
            if self._options.is_index_sanity_only:
                is_sane = not entries or entries[-1].offset >= base_offset
                self._tell_sanity(path, is_sane and len(data) % OFFSET_ENTRY_BYTES == 0)
                return
            # differs from Kafka (dump-empty-segment): which ends with a stack trace where nothing was ever written to a
            # segment.
            if log.size == 0 and not any(data):
                return
            for index, entry in enumerate(entries):
                # The file of an active segment, whose end is zeros.
                if entry.offset == base_offset and index > 0:
                    return
                found = _first_last_offset(log, entry.position, self._options.max_message_bytes)
                if found is None:
                    limit = self._options.max_message_bytes
                    raise StorageError(
                        f"{path}: no batch of at most {limit} bytes is at position {entry.position} of the log"
                    )
                if found != entry.offset:
                    self._mistakes.offset_index.setdefault(str(path.absolute()), []).append((entry.offset, found))
                if not self._options.is_index_check_only:
                    self._write(f"offset: {entry.offset} position: {entry.position}")

    def _tell_sanity(self, path: Path, is_sane: bool) -> None:
        if is_sane:
            self._write(f"{path} passed sanity check.")
        else:
            raise StorageError(f"{path}: the index is corrupt: a broker would rebuild it at start")

    def _dump_time_index(self, path: Path) -> None:
        base_offset = base_offset_of(path)
        data = read_bytes(path)
        entries = time_entries(data, base_offset)
        self._note_bytes(len(data))
        if self._options.is_index_sanity_only:
            is_sane = not entries or (
                entries[-1].timestamp_ms >= entries[0].timestamp_ms and entries[-1].offset >= base_offset
            )
            self._tell_sanity(path, is_sane and len(data) % TIME_ENTRY_BYTES == 0)
            return
        offsets = offset_entries(read_bytes(path.with_name(f"{path.stem}{OFFSET_INDEX_SUFFIX}")), base_offset)
        name = str(path.absolute())
        mistakes = self._mistakes
        previous_ms = _NO_TIMESTAMP
        with LogFile(path.with_name(f"{path.stem}{LOG_SUFFIX}")) as log:
            for index, (timestamp_ms, offset) in enumerate(entries):
                if offset == base_offset and index > 0:
                    return
                batch = _find(log, index_lookup(offsets, offset), offset)
                if batch is None or batch.last_offset != offset:
                    found = -1 if batch is None else batch.last_offset
                    mistakes.not_found.setdefault(name, []).append((offset, found))
                else:
                    largest_ms = max((record.timestamp_ms for record in batch.records()), default=_NO_TIMESTAMP)
                    if largest_ms != timestamp_ms:
                        mistakes.timestamps.setdefault(name, []).append((timestamp_ms, largest_ms))
                    if previous_ms >= timestamp_ms:
                        mistakes.timestamp_order.setdefault(name, []).append((timestamp_ms, previous_ms))
                if not self._options.is_index_check_only:
                    self._write(f"timestamp: {timestamp_ms} offset: {offset}")
                previous_ms = timestamp_ms

    def _dump_snapshot(self, path: Path) -> None:
        data = read_bytes(path)
        self._note_bytes(len(data))
        for entry in read_snapshot(data, path):
            self._write(snapshot_line(entry))

    def _dump_transaction_index(self, path: Path) -> None:
        data = read_bytes(path)
        self._note_bytes(len(data))
        for entry in aborted_transactions(data):
            # Kafka reads one byte of the version's two.
            version = entry.version >> 8
            if version > TRANSACTION_INDEX_VERSION:
                raise StorageError(f"{path}: version {version} of an aborted transaction is not supported")
            self._write(
                f"version: {version} producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
                f"lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
            )
        if len(data) % TRANSACTION_ENTRY_BYTES:
            raise StorageError(f"{path}: {len(data) % TRANSACTION_ENTRY_BYTES} bytes at the end are not a whole entry")


class _Walk:
    """Checks that the offsets of a file's records have no gaps."""

    __slots__ = ("_gaps", "_last_offset", "_name")

    def __init__(self, name: str, gaps: Pairs) -> None:
        self._name = name
        self._gaps = gaps
        self._last_offset = -1

    def note(self, offset: int) -> None:
        if self._last_offset != -1 and offset != self._last_offset + 1:
            self._gaps.setdefault(self._name, []).append((self._last_offset, offset))
        self._last_offset = offset


def batch_line(batch: StoredBatch) -> str:
    """Return the line of a batch, or of an outer message of v0 or v1."""
    header = batch.header
    if header is None:
        line = f"offset: {batch.last_offset}"
    else:
        line = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
            f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
            f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
            f"partitionLeaderEpoch: {header.leader_epoch} isTransactional: {str(header.is_transactional).lower()} "
            f"isControl: {str(header.is_control).lower()}"
        )
    return (
        f"{line} position: {batch.position} {batch.timestamp_type}: {batch.timestamp_ms} size: {batch.size_in_bytes} "
        f"magic: {batch.magic} compresscodec: {batch.codec_name} crc: {batch.crc} "
        f"isvalid: {str(batch.is_valid).lower()}"
    )


def snapshot_line(entry: SnapshotEntry) -> str:
    """Return the line of a producer; without data batches it ends in a space."""
    first_offset = f"Some({entry.transaction_first_offset})" if entry.transaction_first_offset >= 0 else "None"
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
        f"coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: {first_offset} "
    )
    if entry.last_offset < 0:
        return line
    return (
        f"{line}firstSequence: {entry.first_sequence} lastSequence: {entry.last_sequence} "
        f"lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp_ms}"
    )


def default_decode() -> RecordDecoder:
    """Decode keys and values as UTF-8 text."""
    return plain(decoder_of(DEFAULT_DECODER), decoder_of(DEFAULT_DECODER))


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _marker(record: StoredRecord) -> str:
    marker = read_marker(Record(record.offset, record.timestamp_ms, record.key, record.value))
    if marker is None:
        number = int.from_bytes((record.key or b"")[2:4], "big", signed=True)
        # Kafka 2.7 has only these two types.
        return f" controlType: UNKNOWN({number})"
    return f" endTxnMarker: {marker.marker_type.name} coordinatorEpoch: {marker.coordinator_epoch}"


def _first_last_offset(log: LogFile, position: int, max_bytes: int) -> int | None:
    """Return the last offset of the batch at a position; None if no whole batch of at most `max_bytes` is there."""
    batch = next(_batches(log, position, min(max_bytes, _MOST_SLICE_BYTES)), None)
    return None if batch is None else batch.last_offset


def _find(log: LogFile, position: int, offset: int) -> StoredBatch | None:
    return next((batch for batch in _batches(log, position, log.size) if batch.last_offset >= offset), None)


def _batches(log: LogFile, position: int, max_bytes: int) -> Iterator[StoredBatch]:
    return log.batches(position, position + max_bytes)
