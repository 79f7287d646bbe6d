"""ConsumerProtocolSubscription: a structure kept in records or files.

Generated from the ConsumerProtocolSubscription schema by scripts/generate.

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
    read_string,
    take_nullable_bytes,
    write_int32s,
    write_nullable_bytes,
    write_string,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class TopicPartition(Part):
    """Part of ConsumerProtocolSubscription."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",  # versions 1+
        "partitions",  # versions 1+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is None else partitions


class ConsumerProtocolSubscription(Message):
    """ConsumerProtocolSubscription, versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "user_data",
        "owned_partitions",  # versions 1+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("owned_partitions", TopicPartition, True),)

    SCHEMA_NAME: ClassVar[str] = "ConsumerProtocolSubscription"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ConsumerProtocolSubscription, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerProtocolSubscription, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[str] | None = None,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] | None = None,
    ) -> None:
        self.topics: list[str] = [] if topics is None else topics
        self.user_data = user_data
        self.owned_partitions: list[TopicPartition] = [] if owned_partitions is None else owned_partitions


def _decode_consumer_protocol_subscription_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerProtocolSubscription, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 2 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    topics: list[str] = []
    for _ in range(topics_count):
        topics_item, pos = read_string(buf, pos)
        topics.append(topics_item)
    (user_data_length,) = _unpack_i(buf, pos)
    user_data, pos = take_nullable_bytes(buf, pos + 4, user_data_length)
    return ConsumerProtocolSubscription(topics, user_data), pos


def _encode_consumer_protocol_subscription_v0(msg: ConsumerProtocolSubscription, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        write_string(topics_item, out)
    write_nullable_bytes(msg.user_data, out)


def _decode_topic_partition_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartition, int]:
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


def _encode_topic_partition_v1(msg: TopicPartition, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_consumer_protocol_subscription_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerProtocolSubscription, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 2 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    topics: list[str] = []
    for _ in range(topics_count):
        topics_item, pos = read_string(buf, pos)
        topics.append(topics_item)
    (user_data_length,) = _unpack_i(buf, pos)
    user_data, pos = take_nullable_bytes(buf, pos + 4, user_data_length)
    (owned_partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - owned_partitions_count
    if owned_partitions_count < 0 or elements_left < 0 or owned_partitions_count * 6 > len(buf) - pos:
        check_count(owned_partitions_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    owned_partitions: list[TopicPartition] = []
    for _ in range(owned_partitions_count):
        owned_partitions_item, pos = _decode_topic_partition_v1(buf, pos, budget)
        owned_partitions.append(owned_partitions_item)
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions), pos


def _encode_consumer_protocol_subscription_v1(msg: ConsumerProtocolSubscription, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        write_string(topics_item, out)
    write_nullable_bytes(msg.user_data, out)
    out += _pack_i(len(msg.owned_partitions))
    for owned_partitions_item in msg.owned_partitions:
        _encode_topic_partition_v1(owned_partitions_item, out)


ConsumerProtocolSubscription.DECODERS = (
    _decode_consumer_protocol_subscription_v0,
    _decode_consumer_protocol_subscription_v1,
)

ConsumerProtocolSubscription.ENCODERS = (
    _encode_consumer_protocol_subscription_v0,
    _encode_consumer_protocol_subscription_v1,
)
