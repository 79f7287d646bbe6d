"""Control batches: the markers that end a transaction in each partition that it touched.

One record in a batch of its own with the transactional and control bits, the transaction's producer id and epoch, and
no sequence (78 bytes in all). All integers are big-endian.

    key    int16 version 0 | int16 type: 0 abort, 1 commit
    value  int16 version 0 | int32 coordinator epoch

Source: implementation page, control batches; KIP-98.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_VERSION = 0


class MarkerType(IntEnum):
    """The outcome of a transaction."""

    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(NamedTuple):
    """The content of a marker."""

    marker_type: MarkerType
    coordinator_epoch: int


def read_marker(record: Record) -> EndTransactionMarker | None:
    """Decode a control record; None for a type that is no transaction marker, which readers skip.

    Raises:
        CorruptRecordsError: Key or value is too short, or of a version below 0.
    """
    key, value = record.key or b"", record.value or b""
    if len(key) < _KEY.size:
        raise CorruptRecordsError(f"the key of control record {record.offset} has {len(key)} bytes")
    version, type_number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecordsError(f"version {version} of control record {record.offset}")
    if type_number not in (MarkerType.ABORT, MarkerType.COMMIT):
        return None
    if len(value) < _VALUE.size:
        raise CorruptRecordsError(f"the value of control record {record.offset} has {len(value)} bytes")
    version, coordinator_epoch = _VALUE.unpack_from(value)
    if version < 0:
        raise CorruptRecordsError(f"version {version} of the marker in control record {record.offset}")
    return EndTransactionMarker(MarkerType(type_number), coordinator_epoch)


def build_marker(
    producer_id: int,
    producer_epoch: int,
    marker: EndTransactionMarker,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """Build the batch that ends a transaction of `producer_id`."""
    builder = BatchBuilder(Codec.NONE, producer_id, producer_epoch, is_transactional=True, is_control=True)
    builder.append(
        timestamp_ms,
        _KEY.pack(_VERSION, marker.marker_type),
        _VALUE.pack(_VERSION, marker.coordinator_epoch),
    )
    return builder.build(base_offset, leader_epoch)
