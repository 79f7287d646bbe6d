"""ConsumerGroupPartitionMetadataValue: the value of a record of an internal topic, after its int16 version.

Generated from the ConsumerGroupPartitionMetadataValue schema by scripts/generate.

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
    read_compact_string,
    skip_tagged_fields,
    write_compact_string,
    write_uvarint,
)

_pack_i = Struct(">i").pack
_pack_u = Struct(">16s").pack
_unpack_i = Struct(">i").unpack_from
_unpack_u = Struct(">16s").unpack_from


class PartitionMetadata(Part):
    """Part of ConsumerGroupPartitionMetadataValue."""

    __slots__ = (
        "partition",
        "racks",
    )

    def __init__(
        self,
        partition: int = 0,
        racks: list[str] | None = None,
    ) -> None:
        self.partition = partition
        self.racks: list[str] = [] if racks is None else racks


class TopicMetadata(Part):
    """Part of ConsumerGroupPartitionMetadataValue."""

    __slots__ = (
        "topic_id",
        "topic_name",
        "num_partitions",
        "partition_metadata",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata: list[PartitionMetadata] = [] if partition_metadata is None else partition_metadata


class ConsumerGroupPartitionMetadataValue(Message):
    """ConsumerGroupPartitionMetadataValue, versions 0."""

    __slots__ = ("topics",)

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupPartitionMetadataValue"
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupPartitionMetadataValue, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupPartitionMetadataValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[TopicMetadata] | None = None,
    ) -> None:
        self.topics: list[TopicMetadata] = [] if topics is None else topics


def _decode_partition_metadata_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionMetadata, int]:
    (partition,) = _unpack_i(buf, pos)
    racks_count, pos = read_compact_count(buf, pos + 4, 1, budget)
    racks: list[str] = []
    for _ in range(racks_count):
        racks_item, pos = read_compact_string(buf, pos)
        racks.append(racks_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionMetadata(partition, racks), pos


def _encode_partition_metadata_v0(msg: PartitionMetadata, out: WireBuffer) -> None:
    out += _pack_i(msg.partition)
    write_uvarint(len(msg.racks) + 1, out)
    for racks_item in msg.racks:
        write_compact_string(racks_item, out)
    out.append(0)


def _decode_topic_metadata_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicMetadata, int]:
    (topic_id,) = _unpack_u(buf, pos)
    topic_name, pos = read_compact_string(buf, pos + 16)
    (num_partitions,) = _unpack_i(buf, pos)
    partition_metadata_count, pos = read_compact_count(buf, pos + 4, 6, budget)
    partition_metadata: list[PartitionMetadata] = []
    for _ in range(partition_metadata_count):
        partition_metadata_item, pos = _decode_partition_metadata_v0(buf, pos, budget)
        partition_metadata.append(partition_metadata_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicMetadata(topic_id, topic_name, num_partitions, partition_metadata), pos


def _encode_topic_metadata_v0(msg: TopicMetadata, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_compact_string(msg.topic_name, out)
    out += _pack_i(msg.num_partitions)
    write_uvarint(len(msg.partition_metadata) + 1, out)
    for partition_metadata_item in msg.partition_metadata:
        _encode_partition_metadata_v0(partition_metadata_item, out)
    out.append(0)


def _decode_consumer_group_partition_metadata_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupPartitionMetadataValue, int]:
    topics_count, pos = read_compact_count(buf, pos, 23, budget)
    topics: list[TopicMetadata] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_topic_metadata_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupPartitionMetadataValue(topics), pos


def _encode_consumer_group_partition_metadata_value_v0(
    msg: ConsumerGroupPartitionMetadataValue, out: WireBuffer
) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_topic_metadata_v0(topics_item, out)
    out.append(0)


ConsumerGroupPartitionMetadataValue.DECODERS = (_decode_consumer_group_partition_metadata_value_v0,)

ConsumerGroupPartitionMetadataValue.ENCODERS = (_encode_consumer_group_partition_metadata_value_v0,)
