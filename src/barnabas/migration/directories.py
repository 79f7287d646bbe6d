"""Survey of a broker's data directories, for migration. Read-only.

Source: log-format facts, files in a log dir, producer snapshot; zookeeper.md, /latest_producer_id_block.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from struct import Struct

from barnabas.broker.log.directories.checkpoint import OffsetCheckpoint, parse_lines
from barnabas.broker.log.directories.directory import CLEAN_SHUTDOWN_FILE, Identity, LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem, storage_errors
from barnabas.broker.log.file_names import EPOCHS_FILE, LOG_SUFFIX, SNAPSHOT_SUFFIX, TIME_INDEX_SUFFIX
from barnabas.broker.log.producers.open_transactions import OpenTransaction
from barnabas.broker.log.producers.producer_snapshot import CorruptSnapshotError, decode_snapshot
from barnabas.core.errors import StartupError, StorageError
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, TopicPartition
from barnabas.inspection.directory_check import CLEANER_OFFSETS, running_broker
from barnabas.inspection.log_listing import LogListing, list_directory, list_log
from barnabas.inspection.open_transactions import find_open_transactions
from barnabas.wire.records.batch import HEADER_BYTES, LOG_OVERHEAD, MAGIC, MAGIC_POSITION, Codec, read_header
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import iterate_records

REGISTRY_FILE = "registry.sqlite"
LOG_START_OFFSETS_FILE = "log-start-offset-checkpoint"

_OFFSET_AND_LENGTH = Struct(">qi")
# The beginning of a transaction's state in its topic: int16 version, int64 producer id.
_TRANSACTION_STATE = Struct(">hq")


@dataclass(slots=True)
class LogFacts:
    """Facts about one log.

    Attributes:
        latest_epoch: Latest leader epoch in the log; -1 if unknown.
        magics: Formats of the first batch of each segment, and of all other batches that were read.
        highest_producer_id: -1 if none was found, or the survey did not look for it.
        open_transactions: The earliest first; empty before `look_for_transactions`.
        has_time_index: A time index file exists.
        has_zstd: One of the batches that were read is compressed with zstd.
        irregular: Names of log files that are not regular files; such a log is not read further.
        leads_to: Target of the link `path`; None if it is not a link.
    """

    path: Path
    size_bytes: int = 0
    segment_count: int = 0
    latest_epoch: int = NO_EPOCH
    magics: set[int] = field(default_factory=set)
    highest_producer_id: int = NO_PRODUCER_ID
    open_transactions: list[OpenTransaction] = field(default_factory=list)
    has_time_index: bool = False
    has_zstd: bool = False
    irregular: list[str] = field(default_factory=list)
    leads_to: Path | None = None


@dataclass(slots=True)
class DirectoryFacts:
    """Facts about one directory of log.dirs.

    Attributes:
        identity: Contents of meta.properties, if it exists.
        is_in_use: A broker has the directory open.
        was_clean: The last shutdown was clean.
        has_registry: It contains an embedded registry.
        has_log_start_offsets: It contains the checkpoint of log start offsets.
        logs: Logs by partition.
        former: Names of logs that are being deleted or copied.
        compacted: Partitions that the cleaner has compacted.
        problem: The reason why the directory can't be read, if any.
    """

    path: Path
    identity: Identity | None = None
    is_in_use: bool = False
    was_clean: bool = False
    has_registry: bool = False
    has_log_start_offsets: bool = False
    logs: dict[TopicPartition, LogFacts] = field(default_factory=dict)
    former: list[str] = field(default_factory=list)
    compacted: frozenset[TopicPartition] = frozenset()
    problem: str | None = None


def survey(path: Path, *, finds_producers: bool, is_locked: bool = False) -> DirectoryFacts:
    """Survey a data directory.

    Args:
        finds_producers: Also find the highest producer id, which reads more data.
        is_locked: This process has locked the directory. Then the lock must not be queried: POSIX releases it when the
            process closes any descriptor of the file.
    """
    facts = DirectoryFacts(path)
    if not path.is_dir():
        facts.problem = "the directory does not exist"
        return facts
    files = LocalFileSystem()
    try:
        facts.identity = LogDirectory(files, path).identity()
        facts.is_in_use = not is_locked and running_broker(path) is not None
        facts.was_clean = (path / CLEAN_SHUTDOWN_FILE).exists()
        facts.has_registry = (path / REGISTRY_FILE).exists()
        facts.has_log_start_offsets = (path / LOG_START_OFFSETS_FILE).exists()
        listing = list_directory(path)
        facts.former = [each.name for each in listing.former]
        facts.compacted = frozenset(OffsetCheckpoint(files, path / CLEANER_OFFSETS).read())
        for topic_partition, directory in listing.logs.items():
            facts.logs[topic_partition] = _survey_log(
                topic_partition, directory, finds_producers=finds_producers, was_clean=facts.was_clean
            )
    except (StartupError, StorageError) as error:
        facts.problem = str(error)
    return facts


def look_for_transactions(facts: DirectoryFacts) -> None:
    """Find the open transactions of all logs of a directory."""
    try:
        log_start_offsets = LogDirectory(LocalFileSystem(), facts.path).log_start_offsets.read()
        for topic_partition, log in facts.logs.items():
            log.open_transactions = find_open_transactions(
                list_log(log.path),
                log_start_offset=log_start_offsets.get(topic_partition, 0),
                was_clean=facts.was_clean,
            )
    except StorageError as error:
        facts.problem = str(error)


def _survey_log(topic_partition: TopicPartition, path: Path, *, finds_producers: bool, was_clean: bool) -> LogFacts:
    listing = list_log(path)
    facts = LogFacts(path, segment_count=len(listing.segments), irregular=listing.irregular)
    if path.is_symlink():
        facts.leads_to = path.resolve()
    if facts.irregular:
        return facts
    epochs = LocalFileSystem().read(path / EPOCHS_FILE)
    try:
        entries = parse_lines(epochs or b"", 2, path / EPOCHS_FILE)
    except StorageError:
        # Torn by a kill: the broker rebuilds it from the batches, whose headers are read below.
        entries = []
    facts.latest_epoch = max((int(epoch) for epoch, _ in entries), default=NO_EPOCH)
    for base_offset in listing.segments:
        segment = listing.file(base_offset, LOG_SUFFIX)
        facts.size_bytes += listing.sizes[segment.name]
        facts.has_time_index |= listing.has(listing.file(base_offset, TIME_INDEX_SUFFIX))
        for head, _ in _heads(segment, 1):
            _note_format(facts, head)
    if not entries and facts.size_bytes:
        _read_headers(facts, listing, 0)
    if finds_producers:
        _find_producers(facts, listing, was_clean)
        if topic_partition.topic == TRANSACTION_STATE_TOPIC:
            _find_transactional_producers(facts, listing)
    return facts


def _find_producers(facts: LogFacts, listing: LogListing, was_clean: bool) -> None:
    """Find the highest producer id of the snapshots and of batches after the newest snapshot."""
    snapshot_offset = -1
    for offset in listing.snapshots:
        data = LocalFileSystem().read(listing.file(offset, SNAPSHOT_SUFFIX))
        try:
            known = decode_snapshot(data or b"")
        except CorruptSnapshotError:
            continue
        snapshot_offset = offset
        for producer_id, _ in known.items():
            facts.highest_producer_id = max(facts.highest_producer_id, producer_id)
    # A clean shutdown leaves a snapshot of the log end.
    if not was_clean or snapshot_offset < max(listing.segments, default=0):
        _read_headers(facts, listing, snapshot_offset)


def _read_headers(facts: LogFacts, listing: LogListing, from_offset: int) -> None:
    """Read all batch headers of segments with offsets at or above `from_offset`."""
    for base_offset, end_offset in zip_longest(listing.segments, listing.segments[1:]):
        if end_offset is not None and end_offset <= from_offset:
            continue
        for head, _ in _heads(listing.file(base_offset, LOG_SUFFIX)):
            _note_format(facts, head)
            if head[MAGIC_POSITION] == MAGIC and len(head) >= HEADER_BYTES:
                header = read_header(head)
                facts.highest_producer_id = max(facts.highest_producer_id, header.producer_id)
                facts.latest_epoch = max(facts.latest_epoch, header.leader_epoch)


def _note_format(facts: LogFacts, head: bytes) -> None:
    magic = head[MAGIC_POSITION]
    facts.magics.add(magic)
    if magic == MAGIC and len(head) >= HEADER_BYTES:
        facts.has_zstd |= read_header(head).codec == Codec.ZSTD


def _find_transactional_producers(facts: LogFacts, listing: LogListing) -> None:
    """Include producer ids of transactional ids, which outlive the logs."""
    for base_offset in listing.segments:
        path = listing.file(base_offset, LOG_SUFFIX)
        with storage_errors(path):
            data = memoryview(path.read_bytes())
        for head, position in _heads(path):
            if head[MAGIC_POSITION] != MAGIC:
                continue
            size = _OFFSET_AND_LENGTH.unpack_from(head)[1] + LOG_OVERHEAD
            try:
                for record in iterate_records(data[position : position + size]):
                    if record.value is not None and len(record.value) >= _TRANSACTION_STATE.size:
                        producer_id: int = _TRANSACTION_STATE.unpack_from(record.value)[1]
                        facts.highest_producer_id = max(facts.highest_producer_id, producer_id)
            except CorruptRecordsError:
                # Torn by a kill: recovery would truncate it.
                break


def _heads(path: Path, most: int | None = None) -> Iterator[tuple[bytes, int]]:
    """Iterate over the first bytes and positions of whole batches and messages of a segment."""
    with storage_errors(path), path.open("rb") as file:
        size = path.stat().st_size
        position = 0
        while size - position > MAGIC_POSITION and most != 0:
            file.seek(position)
            head = file.read(HEADER_BYTES)
            length = _OFFSET_AND_LENGTH.unpack_from(head)[1] if len(head) > MAGIC_POSITION else 0
            # A preallocated file ends in zeros.
            if length <= 0 or head[MAGIC_POSITION] > MAGIC or position + LOG_OVERHEAD + length > size:
                return
            yield head, position
            position += LOG_OVERHEAD + length
            most = None if most is None else most - 1
