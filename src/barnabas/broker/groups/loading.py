"""Reads the groups and offsets of one partition of `__consumer_offsets`. Runs off the event loop.

Invariants:

- The last record of a key is valid.
- Offsets of a transaction become valid with its commit marker; without a marker they are pending.
- Memory depends on the live contents of the partition, not on the size of its log.
- The result consists of new objects that no other code references.

Source: design page, offset tracking; semantics, coordinator moves.
"""

import logging
from collections.abc import Callable, Iterable

from barnabas.broker.coordination.ownership import LoadedPartition
from barnabas.broker.groups.group import CommittedOffset, Group, GroupSettings
from barnabas.broker.groups.storage import OffsetKey, decode_group_value, decode_key, decode_offset_value
from barnabas.core.errors import ProtocolError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.control import MarkerType, read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import AnyHeader, iterate_any_records, read_any_header
from barnabas.wire.records.record import Record

log = logging.getLogger(__name__)


def read_groups(
    batches: Iterable[memoryview], settings: GroupSettings, is_stopped: Callable[[], bool] = lambda: False
) -> LoadedPartition[Group]:
    """Read a whole partition.

    Args:
        batches: Its record batches, oldest first.
        settings: Settings for the loaded groups.
        is_stopped: Called before each batch; if it returns True, reading stops and the result must not be used.
    """
    loading = _Loading(settings)
    for batch in batches:
        if is_stopped():
            break
        loading.read_batch(batch)
    return loading.finish()


class _Loading:
    __slots__ = ("_groups", "_offsets", "_result", "_settings", "_undecided")

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._groups: dict[str, Group] = {}
        self._offsets: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        # By producer id: offsets whose transaction's end has not been read yet.
        self._undecided: dict[int, dict[OffsetKey, CommittedOffset]] = {}
        self._result: LoadedPartition[Group] = LoadedPartition()

    def read_batch(self, batch: memoryview) -> None:
        header = read_any_header(batch)
        try:
            for record in iterate_any_records(batch):
                if header.is_control:
                    self._end_transaction(header.producer_id, record)
                else:
                    self._read_record(record, header)
        except CorruptRecordsError as error:
            self._skip(header.last_offset, error)

    def finish(self) -> LoadedPartition[Group]:
        for group_id, offsets in self._offsets.items():
            self._group(group_id).offsets = offsets
        for producer_id, undecided in self._undecided.items():
            for key, committed in undecided.items():
                pending = self._group(key.group_id).pending_transactions
                pending.setdefault(producer_id, {})[key.topic_partition] = committed
        self._result.items = list(self._groups.values())
        return self._result

    def _group(self, group_id: str) -> Group:
        group = self._groups.get(group_id)
        if group is None:
            # The group has only offsets: its consumers use manual assignment, or its metadata was removed.
            group = self._groups[group_id] = Group(group_id, self._settings)
        return group

    def _read_record(self, record: Record, header: AnyHeader) -> None:
        self._result.record_count += 1
        try:
            key = decode_key(record.key or b"")
            if isinstance(key, OffsetKey):
                self._read_offset(key, record.value, header)
            elif key is not None:
                self._read_group(key.group_id, record.value)
            else:
                raise ProtocolError("unknown key type")
        except ProtocolError as error:
            # differs from Kafka (offsets-record-unreadable): an unreadable record is skipped; Kafka 2.7 stops loading
            # there, and loses the rest.
            self._skip(record.offset, error)

    def _read_offset(self, key: OffsetKey, value: bytes | None, header: AnyHeader) -> None:
        if value is not None:
            committed = decode_offset_value(value)
            # The base offset of the batch. Old formats lack it, but it is only used to compare with transactions, which
            # those formats do not have.
            committed.append_offset = header.base_offset if isinstance(header, BatchHeader) else header.last_offset
            if header.is_transactional:
                self._undecided.setdefault(header.producer_id, {})[key] = committed
            else:
                self._offsets.setdefault(key.group_id, {})[key.topic_partition] = committed
            return
        if header.is_transactional:
            self._undecided.get(header.producer_id, {}).pop(key, None)
            return
        offsets = self._offsets.get(key.group_id)
        if offsets is not None:
            offsets.pop(key.topic_partition, None)
            if not offsets:
                del self._offsets[key.group_id]

    def _end_transaction(self, producer_id: int, record: Record) -> None:
        marker = read_marker(record)
        if marker is None:
            return
        decided = self._undecided.pop(producer_id, {})
        if marker.marker_type is not MarkerType.COMMIT:
            return
        for key, committed in decided.items():
            offsets = self._offsets.setdefault(key.group_id, {})
            current = offsets.get(key.topic_partition)
            # A commit without transaction that was appended while the transaction was open is newer.
            if current is None or current.append_offset < committed.append_offset:
                offsets[key.topic_partition] = committed

    def _read_group(self, group_id: str, value: bytes | None) -> None:
        if value is None:
            self._groups.pop(group_id, None)
        else:
            self._groups[group_id] = decode_group_value(group_id, value, self._settings)

    def _skip(self, offset: int, error: Exception) -> None:
        self._result.skipped_count += 1
        log.warning("skipped the record at offset %d: %s", offset, error)
