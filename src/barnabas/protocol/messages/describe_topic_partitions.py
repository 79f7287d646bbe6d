"""DescribeTopicPartitions (API key 75): request and response.

Generated from the DescribeTopicPartitions schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    ZERO_UUID,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_uvarint,
)

_pack_b = Struct(">b").pack
_pack_h = Struct(">h").pack
_pack_hiii = Struct(">hiii").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ib = Struct(">ib").pack
_pack_ut = Struct(">16s?").pack
_unpack_b = Struct(">b").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hiii = Struct(">hiii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ib = Struct(">ib").unpack_from
_unpack_ut = Struct(">16s?").unpack_from


class TopicRequest(Part):
    """Part of DescribeTopicPartitionsRequest."""

    __slots__ = ("name",)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class Cursor(Part):
    """Part of DescribeTopicPartitionsRequest."""

    __slots__ = (
        "topic_name",
        "partition_index",
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsRequest(Message):
    """DescribeTopicPartitionsRequest (API key 75), versions 0."""

    __slots__ = (
        "topics",
        "response_partition_limit",
        "cursor",
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeTopicPartitionsRequest"
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeTopicPartitionsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeTopicPartitionsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[TopicRequest] | None = None,
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics: list[TopicRequest] = [] if topics is None else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor


class DescribeTopicPartitionsResponsePartition(Part):
    """Part of DescribeTopicPartitionsResponse."""

    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] | None = None,
        isr_nodes: list[int] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] | None = None,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is None else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is None else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas: list[int] = [] if offline_replicas is None else offline_replicas


class DescribeTopicPartitionsResponseTopic(Part):
    """Part of DescribeTopicPartitionsResponse."""

    __slots__ = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] | None = None,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions: list[DescribeTopicPartitionsResponsePartition] = [] if partitions is None else partitions
        self.topic_authorized_operations = topic_authorized_operations


class DescribeTopicPartitionsResponse(Message):
    """DescribeTopicPartitionsResponse (API key 75), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "topics",
        "next_cursor",
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeTopicPartitionsResponse"
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeTopicPartitionsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeTopicPartitionsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] | None = None,
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DescribeTopicPartitionsResponseTopic] = [] if topics is None else topics
        self.next_cursor = next_cursor


def _decode_topic_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicRequest, int]:
    name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicRequest(name), pos


def _encode_topic_request_v0(msg: TopicRequest, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out.append(0)


def _decode_cursor_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Cursor, int]:
    topic_name, pos = read_compact_string(buf, pos)
    (partition_index,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Cursor(topic_name, partition_index), pos


def _encode_cursor_v0(msg: Cursor, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_iB(msg.partition_index, 0)


def _decode_describe_topic_partitions_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeTopicPartitionsRequest, int]:
    topics_count, pos = read_compact_count(buf, pos, 2, budget)
    topics: list[TopicRequest] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_topic_request_v0(buf, pos, budget)
        topics.append(topics_item)
    response_partition_limit, cursor_marker = _unpack_ib(buf, pos)
    pos += 5
    cursor: Cursor | None = None
    if cursor_marker >= 0:
        cursor, pos = _decode_cursor_v0(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor), pos


def _encode_describe_topic_partitions_request_v0(msg: DescribeTopicPartitionsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_topic_request_v0(topics_item, out)
    out += _pack_ib(msg.response_partition_limit, -1 if msg.cursor is None else 1)
    if msg.cursor is not None:
        _encode_cursor_v0(msg.cursor, out)
    out.append(0)


def _decode_describe_topic_partitions_response_partition_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeTopicPartitionsResponsePartition, int]:
    error_code, partition_index, leader_id, leader_epoch = _unpack_hiii(buf, pos)
    replica_nodes_count, pos = read_compact_count(buf, pos + 14, 4, budget)
    replica_nodes = read_int32s(buf, pos, replica_nodes_count)
    pos += 4 * replica_nodes_count
    isr_nodes_count, pos = read_compact_count(buf, pos, 4, budget)
    isr_nodes = read_int32s(buf, pos, isr_nodes_count)
    pos += 4 * isr_nodes_count
    eligible_leader_replicas_count, pos = read_compact_nullable_count(buf, pos, 4, budget)
    eligible_leader_replicas: list[int] | None = None
    if eligible_leader_replicas_count >= 0:
        eligible_leader_replicas = read_int32s(buf, pos, eligible_leader_replicas_count)
        pos += 4 * eligible_leader_replicas_count
    last_known_elr_count, pos = read_compact_nullable_count(buf, pos, 4, budget)
    last_known_elr: list[int] | None = None
    if last_known_elr_count >= 0:
        last_known_elr = read_int32s(buf, pos, last_known_elr_count)
        pos += 4 * last_known_elr_count
    offline_replicas_count, pos = read_compact_count(buf, pos, 4, budget)
    offline_replicas = read_int32s(buf, pos, offline_replicas_count)
    pos += 4 * offline_replicas_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeTopicPartitionsResponsePartition(
        error_code,
        partition_index,
        leader_id,
        leader_epoch,
        replica_nodes,
        isr_nodes,
        eligible_leader_replicas,
        last_known_elr,
        offline_replicas,
    ), pos


def _encode_describe_topic_partitions_response_partition_v0(
    msg: DescribeTopicPartitionsResponsePartition, out: WireBuffer
) -> None:
    out += _pack_hiii(msg.error_code, msg.partition_index, msg.leader_id, msg.leader_epoch)
    write_uvarint(len(msg.replica_nodes) + 1, out)
    write_int32s(msg.replica_nodes, out)
    write_uvarint(len(msg.isr_nodes) + 1, out)
    write_int32s(msg.isr_nodes, out)
    write_uvarint(0 if msg.eligible_leader_replicas is None else len(msg.eligible_leader_replicas) + 1, out)
    if msg.eligible_leader_replicas:
        write_int32s(msg.eligible_leader_replicas, out)
    write_uvarint(0 if msg.last_known_elr is None else len(msg.last_known_elr) + 1, out)
    if msg.last_known_elr:
        write_int32s(msg.last_known_elr, out)
    write_uvarint(len(msg.offline_replicas) + 1, out)
    write_int32s(msg.offline_replicas, out)
    out.append(0)


def _decode_describe_topic_partitions_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeTopicPartitionsResponseTopic, int]:
    (error_code,) = _unpack_h(buf, pos)
    name, pos = read_compact_nullable_string(buf, pos + 2)
    topic_id, is_internal = _unpack_ut(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 17, 20, budget)
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_topic_partitions_response_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    (topic_authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeTopicPartitionsResponseTopic(
        error_code, name, topic_id, is_internal, partitions, topic_authorized_operations
    ), pos


def _encode_describe_topic_partitions_response_topic_v0(
    msg: DescribeTopicPartitionsResponseTopic, out: WireBuffer
) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.name, out)
    out += _pack_ut(msg.topic_id, msg.is_internal)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_topic_partitions_response_partition_v0(partitions_item, out)
    out += _pack_iB(msg.topic_authorized_operations, 0)


def _decode_describe_topic_partitions_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeTopicPartitionsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 26, budget)
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_topic_partitions_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    (next_cursor_marker,) = _unpack_b(buf, pos)
    pos += 1
    next_cursor: Cursor | None = None
    if next_cursor_marker >= 0:
        next_cursor, pos = _decode_cursor_v0(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor), pos


def _encode_describe_topic_partitions_response_v0(msg: DescribeTopicPartitionsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_topic_partitions_response_topic_v0(topics_item, out)
    out += _pack_b(-1 if msg.next_cursor is None else 1)
    if msg.next_cursor is not None:
        _encode_cursor_v0(msg.next_cursor, out)
    out.append(0)


DescribeTopicPartitionsRequest.DECODERS = (_decode_describe_topic_partitions_request_v0,)

DescribeTopicPartitionsRequest.ENCODERS = (_encode_describe_topic_partitions_request_v0,)

DescribeTopicPartitionsResponse.DECODERS = (_decode_describe_topic_partitions_response_v0,)

DescribeTopicPartitionsResponse.ENCODERS = (_encode_describe_topic_partitions_response_v0,)
