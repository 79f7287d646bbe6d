"""ProducerSnapshot: a structure kept in records or files.

Generated from the ProducerSnapshot schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, Part, WireBuffer, check_count

_pack_Ii = Struct(">Ii").pack
_pack_qhiqiqiq = Struct(">qhiqiqiq").pack
_unpack_Ii = Struct(">Ii").unpack_from
_unpack_qhiqiqiq = Struct(">qhiqiqiq").unpack_from


class ProducerEntry(Part):
    """Part of ProducerSnapshot."""

    __slots__ = (
        "producer_id",
        "epoch",
        "last_sequence",
        "last_offset",
        "offset_delta",
        "timestamp",
        "coordinator_epoch",
        "current_txn_first_offset",
    )

    def __init__(
        self,
        producer_id: int = 0,
        epoch: int = 0,
        last_sequence: int = 0,
        last_offset: int = 0,
        offset_delta: int = 0,
        timestamp: int = 0,
        coordinator_epoch: int = 0,
        current_txn_first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = current_txn_first_offset


class ProducerSnapshot(Message):
    """ProducerSnapshot, versions 1."""

    __slots__ = (
        "crc",
        "producer_entries",
    )

    SCHEMA_NAME: ClassVar[str] = "ProducerSnapshot"
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ProducerSnapshot, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ProducerSnapshot, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        crc: int = 0,
        producer_entries: list[ProducerEntry] | None = None,
    ) -> None:
        self.crc = crc
        self.producer_entries: list[ProducerEntry] = [] if producer_entries is None else producer_entries


def _decode_producer_entry_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ProducerEntry, int]:
    (
        producer_id,
        epoch,
        last_sequence,
        last_offset,
        offset_delta,
        timestamp,
        coordinator_epoch,
        current_txn_first_offset,
    ) = _unpack_qhiqiqiq(buf, pos)
    return ProducerEntry(
        producer_id,
        epoch,
        last_sequence,
        last_offset,
        offset_delta,
        timestamp,
        coordinator_epoch,
        current_txn_first_offset,
    ), pos + 46


def _encode_producer_entry_v1(msg: ProducerEntry, out: WireBuffer) -> None:
    out += _pack_qhiqiqiq(
        msg.producer_id,
        msg.epoch,
        msg.last_sequence,
        msg.last_offset,
        msg.offset_delta,
        msg.timestamp,
        msg.coordinator_epoch,
        msg.current_txn_first_offset,
    )


def _decode_producer_snapshot_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ProducerSnapshot, int]:
    crc, producer_entries_count = _unpack_Ii(buf, pos)
    pos += 8
    check_count(producer_entries_count, len(buf) - pos, 46, budget)
    producer_entries: list[ProducerEntry] = []
    for _ in range(producer_entries_count):
        producer_entries_item, pos = _decode_producer_entry_v1(buf, pos, budget)
        producer_entries.append(producer_entries_item)
    return ProducerSnapshot(crc, producer_entries), pos


def _encode_producer_snapshot_v1(msg: ProducerSnapshot, out: WireBuffer) -> None:
    out += _pack_Ii(msg.crc, len(msg.producer_entries))
    for producer_entries_item in msg.producer_entries:
        _encode_producer_entry_v1(producer_entries_item, out)


ProducerSnapshot.DECODERS = (
    None,
    _decode_producer_snapshot_v1,
)

ProducerSnapshot.ENCODERS = (
    None,
    _encode_producer_snapshot_v1,
)
