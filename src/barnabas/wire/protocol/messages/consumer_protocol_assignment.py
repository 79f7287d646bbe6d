"""ConsumerProtocolAssignment: a structure kept in records or files.

Generated from the ConsumerProtocolAssignment schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    WireBuffer,
    check_count,
    read_int32s,
    take_nullable_bytes,
    write_int32s,
    write_nullable_bytes,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class TopicPartition(Part):
    """Part of ConsumerProtocolAssignment."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is None else partitions


class ConsumerProtocolAssignment(Message):
    """ConsumerProtocolAssignment, versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "assigned_partitions",
        "user_data",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("assigned_partitions", TopicPartition, True),)

    SCHEMA_NAME: ClassVar[str] = "ConsumerProtocolAssignment"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ConsumerProtocolAssignment, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerProtocolAssignment, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        assigned_partitions: list[TopicPartition] | None = None,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions: list[TopicPartition] = [] if assigned_partitions is None else assigned_partitions
        self.user_data = user_data


def _decode_topic_partition_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartition, int]:
    (topic_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_length
    if topic_length < 0 or end > len(buf):
        raise wrong_length("string", topic_length, pos, buf)
    topic = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 4 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    return TopicPartition(topic, partitions), pos


def _encode_topic_partition_v0(msg: TopicPartition, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_consumer_protocol_assignment_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerProtocolAssignment, int]:
    (assigned_partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - assigned_partitions_count
    if assigned_partitions_count < 0 or elements_left < 0 or assigned_partitions_count * 6 > len(buf) - pos:
        check_count(assigned_partitions_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    assigned_partitions: list[TopicPartition] = []
    for _ in range(assigned_partitions_count):
        assigned_partitions_item, pos = _decode_topic_partition_v0(buf, pos, budget)
        assigned_partitions.append(assigned_partitions_item)
    (user_data_length,) = _unpack_i(buf, pos)
    user_data, pos = take_nullable_bytes(buf, pos + 4, user_data_length)
    return ConsumerProtocolAssignment(assigned_partitions, user_data), pos


def _encode_consumer_protocol_assignment_v0(msg: ConsumerProtocolAssignment, out: WireBuffer) -> None:
    out += _pack_i(len(msg.assigned_partitions))
    for assigned_partitions_item in msg.assigned_partitions:
        _encode_topic_partition_v0(assigned_partitions_item, out)
    write_nullable_bytes(msg.user_data, out)


ConsumerProtocolAssignment.DECODERS = (
    _decode_consumer_protocol_assignment_v0,
    _decode_consumer_protocol_assignment_v0,
)

ConsumerProtocolAssignment.ENCODERS = (
    _encode_consumer_protocol_assignment_v0,
    _encode_consumer_protocol_assignment_v0,
)
