"""ConsumerGroupTargetAssignmentMemberValue: the value of a record of an internal topic, after its int16 version.

Generated from the ConsumerGroupTargetAssignmentMemberValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    Part,
    WireBuffer,
    ZERO_UUID,
    read_compact_count,
    read_int32s,
    skip_tagged_fields,
    write_int32s,
    write_uvarint,
)

_pack_u = Struct(">16s").pack
_unpack_u = Struct(">16s").unpack_from


class TopicPartition(Part):
    """Part of ConsumerGroupTargetAssignmentMemberValue."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is None else partitions


class ConsumerGroupTargetAssignmentMemberValue(Message):
    """ConsumerGroupTargetAssignmentMemberValue, versions 0."""

    __slots__ = ("topic_partitions",)

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMemberValue"
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupTargetAssignmentMemberValue, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupTargetAssignmentMemberValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topic_partitions: list[TopicPartition] | None = None,
    ) -> None:
        self.topic_partitions: list[TopicPartition] = [] if topic_partitions is None else topic_partitions


def _decode_topic_partition_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartition, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicPartition(topic_id, partitions), pos


def _encode_topic_partition_v0(msg: TopicPartition, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_consumer_group_target_assignment_member_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupTargetAssignmentMemberValue, int]:
    topic_partitions_count, pos = read_compact_count(buf, pos, 18, budget)
    topic_partitions: list[TopicPartition] = []
    for _ in range(topic_partitions_count):
        topic_partitions_item, pos = _decode_topic_partition_v0(buf, pos, budget)
        topic_partitions.append(topic_partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupTargetAssignmentMemberValue(topic_partitions), pos


def _encode_consumer_group_target_assignment_member_value_v0(
    msg: ConsumerGroupTargetAssignmentMemberValue, out: WireBuffer
) -> None:
    write_uvarint(len(msg.topic_partitions) + 1, out)
    for topic_partitions_item in msg.topic_partitions:
        _encode_topic_partition_v0(topic_partitions_item, out)
    out.append(0)


ConsumerGroupTargetAssignmentMemberValue.DECODERS = (_decode_consumer_group_target_assignment_member_value_v0,)

ConsumerGroupTargetAssignmentMemberValue.ENCODERS = (_encode_consumer_group_target_assignment_member_value_v0,)
