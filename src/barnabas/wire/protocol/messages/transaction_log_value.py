"""TransactionLogValue: the value of a record of an internal topic, after its int16 version.

Generated from the TransactionLogValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    WireBuffer,
    check_count,
    read_int32s,
    write_int32s,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_qhibi: Final = Struct(">qhibi").pack
_pack_qq: Final = Struct(">qq").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_qhibi: Final = Struct(">qhibi").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from


class PartitionsSchema(Part):
    """Part of TransactionLogValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partition_ids",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partition_ids: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partition_ids: list[int] = [] if partition_ids is None else partition_ids


class TransactionLogValue(Message):
    """TransactionLogValue, versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("transaction_partitions", PartitionsSchema, True),)

    SCHEMA_NAME: ClassVar[str] = "TransactionLogValue"
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[TransactionLogValue, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[TransactionLogValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None | Missing = MISSING,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions: list[PartitionsSchema] | None = (
            [] if isinstance(transaction_partitions, Missing) else transaction_partitions
        )
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms


def _decode_partitions_schema_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionsSchema, int]:
    (topic_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_length
    if topic_length < 0 or end > len(buf):
        raise wrong_length("string", topic_length, pos, buf)
    topic = str(buf[pos:end], "utf-8")
    pos = end
    (partition_ids_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_ids_count
    if partition_ids_count < 0 or elements_left < 0 or partition_ids_count * 4 > len(buf) - pos:
        check_count(partition_ids_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partition_ids = read_int32s(buf, pos, partition_ids_count)
    pos += 4 * partition_ids_count
    return PartitionsSchema(topic, partition_ids), pos


def _encode_partitions_schema_v0(msg: PartitionsSchema, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partition_ids))
    write_int32s(msg.partition_ids, out)


def _decode_transaction_log_value_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TransactionLogValue, int]:
    producer_id, producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions_count = (
        _unpack_qhibi(buf, pos)
    )
    pos += 19
    transaction_partitions: list[PartitionsSchema] | None = None
    if transaction_partitions_count >= 0:
        elements_left = budget.elements_left - transaction_partitions_count
        if transaction_partitions_count < 0 or elements_left < 0 or transaction_partitions_count * 6 > len(buf) - pos:
            check_count(transaction_partitions_count, len(buf) - pos, 6, budget)
        budget.elements_left = elements_left
        transaction_partitions = []
        for _ in range(transaction_partitions_count):
            transaction_partitions_item, pos = _decode_partitions_schema_v0(buf, pos, budget)
            transaction_partitions.append(transaction_partitions_item)
    transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _unpack_qq(buf, pos)
    return TransactionLogValue(
        producer_id,
        producer_epoch,
        transaction_timeout_ms,
        transaction_status,
        transaction_partitions,
        transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms,
    ), pos + 16


def _encode_transaction_log_value_v0(msg: TransactionLogValue, out: WireBuffer) -> None:
    out += _pack_qhibi(
        msg.producer_id,
        msg.producer_epoch,
        msg.transaction_timeout_ms,
        msg.transaction_status,
        -1 if msg.transaction_partitions is None else len(msg.transaction_partitions),
    )
    if msg.transaction_partitions:
        for transaction_partitions_item in msg.transaction_partitions:
            _encode_partitions_schema_v0(transaction_partitions_item, out)
    out += _pack_qq(msg.transaction_last_update_timestamp_ms, msg.transaction_start_timestamp_ms)


TransactionLogValue.DECODERS = (_decode_transaction_log_value_v0,)

TransactionLogValue.ENCODERS = (_encode_transaction_log_value_v0,)
