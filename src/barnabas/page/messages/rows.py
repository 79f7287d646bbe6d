"""A record as displayed: masked, then decoded, then truncated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.core.errors import ProtocolError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, INTERNAL_TOPICS
from barnabas.page.messages.decoding import AUTO, MOST_SHOWN_BYTES, NULL, Shown, decode
from barnabas.page.messages.masks import Mask, masked
from barnabas.page.messages.reading import Fate, Found
from barnabas.wire.records.control import read_marker
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record

_MOST_KEY_BYTES: Final = 512
_MOST_HEADERS: Final = 20
_MOST_HEADER_NAME: Final = 100
_MOST_HEADER_BYTES: Final = 256


class Header(NamedTuple):
    """A header of a record."""

    name: str
    value: Shown


class Row(NamedTuple):
    """A record; `header_count` counts all headers, even those not shown."""

    partition: int
    offset: int
    timestamp_ms: int
    fate: Fate
    key: Shown
    value: Shown
    headers: tuple[Header, ...]
    header_count: int


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """The display options of a topic's records.

    Attributes:
        masks: The masks of this topic.
        key_as, value_as: One of `decoding.KINDS`.
        most_bytes: The most displayed bytes of a value; the limits of other parts are lower or equal.
    """

    topic: str
    masks: tuple[Mask, ...] = ()
    key_as: str = AUTO
    value_as: str = AUTO
    most_bytes: int = MOST_SHOWN_BYTES

    def rows(self, partition: int, found: Sequence[Found]) -> tuple[Row, ...]:
        """Return the rows of records."""
        return tuple(self._row(partition, each) for each in found)

    def _row(self, partition: int, found: Found) -> Row:
        record = found.record
        if found.is_readable:
            # Markers are not masked: they contain only the coordinator's data.
            seen = record if found.fate is Fate.MARKER else masked(record, self.masks)
            return self.row_of_masked(partition, seen, found.fate)
        value = Shown("can't be read", (record.value or b"").decode(), 0, False)
        return Row(partition, record.offset, record.timestamp_ms, Fate.UNKNOWN, NULL, value, (), 0)

    def row_of_masked(self, partition: int, record: Record, fate: Fate) -> Row:
        """Return the row of a masked record."""
        key, value = self._key_and_value(record, fate)
        headers = tuple(
            Header(name[:_MOST_HEADER_NAME], decode(each, most_bytes=_MOST_HEADER_BYTES))
            for name, each in record.headers[:_MOST_HEADERS]
        )
        return Row(partition, record.offset, record.timestamp_ms, fate, key, value, headers, len(record.headers))

    def _key_and_value(self, record: Record, fate: Fate) -> tuple[Shown, Shown]:
        if fate is Fate.MARKER:
            return NULL, _marker(record)
        if self.topic in INTERNAL_TOPICS:
            try:
                key, value = _internal_texts(self.topic, record)
                return self._internal(key, record.key), self._internal(value, record.value)
            except ProtocolError:
                # Clients with write access may write any bytes to the topic: decode the record like any other.
                pass
        most_key_bytes = max(self.most_bytes // 4, _MOST_KEY_BYTES)
        return decode(record.key, self.key_as, most_key_bytes), decode(record.value, self.value_as, self.most_bytes)

    def _internal(self, text: str, data: bytes | None) -> Shown:
        return Shown(self.topic, text[: self.most_bytes], len(data or b""), len(text) > self.most_bytes)


def _internal_texts(topic: str, record: Record) -> tuple[str, str]:
    """Return key and value of an internal topic's record as text. Raises ProtocolError."""
    # Imported here, because few users need it, and it would delay the start of the page.
    from barnabas.clients.internal_records import decode_offsets_record, decode_transaction_record

    return decode_offsets_record(record) if topic == GROUP_OFFSETS_TOPIC else decode_transaction_record(record)


def _marker(record: Record) -> Shown:
    try:
        marker = read_marker(record)
    except CorruptRecordsError:
        return decode(record.value)
    text = "" if marker is None else marker.marker_type.name.lower()
    return Shown("marker", text, len(record.value or b""), False)
