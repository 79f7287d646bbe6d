"""Reader of `.snapshot` files; the layout is in `broker/log/producers/producer_snapshot.py`.

Source: KIP-98; log-format facts, producer snapshot.
"""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from barnabas.core.errors import StorageError
from barnabas.wire.records.batch import SEQUENCE_MASK
from barnabas.wire.records.crc import crc32c

_VERSION = 1
_HEAD = Struct(">hIi")
_CRC_END = 6
_ENTRY = Struct(">qhiqiqiq")


class SnapshotEntry(NamedTuple):
    """A producer; last sequence and offset are -1 if it has no data batches."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    transaction_first_offset: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MASK


def read_snapshot(data: bytes, path: Path) -> Iterator[SnapshotEntry]:
    """Return all producers of a snapshot, after checking its version, CRC and length.

    Raises:
        StorageError: Version, CRC or length is wrong.
    """
    if len(data) < _HEAD.size:
        raise StorageError(f"{path}: a snapshot of {len(data)} bytes is cut short")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise StorageError(f"{path}: version {version} of the snapshot is not supported")
    computed_crc = crc32c(memoryview(data)[_CRC_END:])
    if computed_crc != crc:
        raise StorageError(f"{path}: the snapshot's CRC is {computed_crc}, but must be {crc}")
    if count * _ENTRY.size != len(data) - _HEAD.size:
        raise StorageError(f"{path}: {count} producers do not match {len(data) - _HEAD.size} bytes")
    for entry in _ENTRY.iter_unpack(memoryview(data)[_HEAD.size :]):
        yield SnapshotEntry._make(entry)
