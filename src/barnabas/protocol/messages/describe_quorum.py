"""DescribeQuorum (API key 55): request and response.

Generated from the DescribeQuorum schemas by scripts/generate.

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
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihiiq = Struct(">ihiiq").pack
_pack_iiq = Struct(">iiq").pack
_pack_iqB = Struct(">iqB").pack
_pack_iqqqB = Struct(">iqqqB").pack
_pack_iuqqqB = Struct(">i16sqqqB").pack
_unpack_H = Struct(">H").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihiiq = Struct(">ihiiq").unpack_from
_unpack_iiq = Struct(">iiq").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_iqqq = Struct(">iqqq").unpack_from
_unpack_iuqqq = Struct(">i16sqqq").unpack_from


class DescribeQuorumRequestPartitionData(Part):
    """Part of DescribeQuorumRequest."""

    __slots__ = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class DescribeQuorumRequestTopicData(Part):
    """Part of DescribeQuorumRequest."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumRequestPartitionData] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[DescribeQuorumRequestPartitionData] = [] if partitions is None else partitions


class DescribeQuorumRequest(Message):
    """DescribeQuorumRequest (API key 55), versions 0-2."""

    __slots__ = ("topics",)

    SCHEMA_NAME: ClassVar[str] = "DescribeQuorumRequest"
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeQuorumRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeQuorumRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[DescribeQuorumRequestTopicData] | None = None,
    ) -> None:
        self.topics: list[DescribeQuorumRequestTopicData] = [] if topics is None else topics


class ReplicaState(Part):
    """Part of DescribeQuorumResponse."""

    __slots__ = (
        "replica_id",
        "replica_directory_id",  # versions 2+
        "log_end_offset",
        "last_fetch_timestamp",  # versions 1+
        "last_caught_up_timestamp",  # versions 1+
    )

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


class DescribeQuorumResponsePartitionData(Part):
    """Part of DescribeQuorumResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",  # versions 2+
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] | None = None,
        observers: list[ReplicaState] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters: list[ReplicaState] = [] if current_voters is None else current_voters
        self.observers: list[ReplicaState] = [] if observers is None else observers


class DescribeQuorumResponseTopicData(Part):
    """Part of DescribeQuorumResponse."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumResponsePartitionData] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[DescribeQuorumResponsePartitionData] = [] if partitions is None else partitions


class Listener(Part):
    """Part of DescribeQuorumResponse."""

    __slots__ = (
        "name",  # versions 2+
        "host",  # versions 2+
        "port",  # versions 2+
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class Node(Part):
    """Part of DescribeQuorumResponse."""

    __slots__ = (
        "node_id",  # versions 2+
        "listeners",  # versions 2+
    )

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] | None = None,
    ) -> None:
        self.node_id = node_id
        self.listeners: list[Listener] = [] if listeners is None else listeners


class DescribeQuorumResponse(Message):
    """DescribeQuorumResponse (API key 55), versions 0-2."""

    __slots__ = (
        "error_code",
        "error_message",  # versions 2+
        "topics",
        "nodes",  # versions 2+
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeQuorumResponse"
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeQuorumResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeQuorumResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponseTopicData] | None = None,
        nodes: list[Node] | None = None,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[DescribeQuorumResponseTopicData] = [] if topics is None else topics
        self.nodes: list[Node] = [] if nodes is None else nodes


def _decode_describe_quorum_request_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumRequestPartitionData, int]:
    (partition_index,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumRequestPartitionData(partition_index), pos


def _encode_describe_quorum_request_partition_data_v0(msg: DescribeQuorumRequestPartitionData, out: WireBuffer) -> None:
    out += _pack_iB(msg.partition_index, 0)


def _decode_describe_quorum_request_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumRequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 5, budget)
    partitions: list[DescribeQuorumRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_quorum_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumRequestTopicData(topic_name, partitions), pos


def _encode_describe_quorum_request_topic_data_v0(msg: DescribeQuorumRequestTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_quorum_request_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_describe_quorum_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeQuorumRequest, int]:
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[DescribeQuorumRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_quorum_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumRequest(topics), pos


def _encode_describe_quorum_request_v0(msg: DescribeQuorumRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_quorum_request_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_replica_state_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ReplicaState, int]:
    replica_id, log_end_offset = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReplicaState(replica_id, ZERO_UUID, log_end_offset), pos


def _encode_replica_state_v0(msg: ReplicaState, out: WireBuffer) -> None:
    if msg.replica_directory_id != ZERO_UUID:
        raise not_in_version("ReplicaState.replica_directory_id")
    out += _pack_iqB(msg.replica_id, msg.log_end_offset, 0)


def _decode_describe_quorum_response_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch, high_watermark = _unpack_ihiiq(buf, pos)
    current_voters_count, pos = read_compact_count(buf, pos + 22, 13, budget)
    current_voters: list[ReplicaState] = []
    for _ in range(current_voters_count):
        current_voters_item, pos = _decode_replica_state_v0(buf, pos, budget)
        current_voters.append(current_voters_item)
    observers_count, pos = read_compact_count(buf, pos, 13, budget)
    observers: list[ReplicaState] = []
    for _ in range(observers_count):
        observers_item, pos = _decode_replica_state_v0(buf, pos, budget)
        observers.append(observers_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponsePartitionData(
        partition_index, error_code, "", leader_id, leader_epoch, high_watermark, current_voters, observers
    ), pos


def _encode_describe_quorum_response_partition_data_v0(
    msg: DescribeQuorumResponsePartitionData, out: WireBuffer
) -> None:
    out += _pack_ihiiq(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch, msg.high_watermark)
    write_uvarint(len(msg.current_voters) + 1, out)
    for current_voters_item in msg.current_voters:
        _encode_replica_state_v0(current_voters_item, out)
    write_uvarint(len(msg.observers) + 1, out)
    for observers_item in msg.observers:
        _encode_replica_state_v0(observers_item, out)
    out.append(0)


def _decode_describe_quorum_response_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 25, budget)
    partitions: list[DescribeQuorumResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_quorum_response_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponseTopicData(topic_name, partitions), pos


def _encode_describe_quorum_response_topic_data_v0(msg: DescribeQuorumResponseTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_quorum_response_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_describe_quorum_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 2, 3, budget)
    topics: list[DescribeQuorumResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_quorum_response_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponse(error_code, "", topics), pos


def _encode_describe_quorum_response_v0(msg: DescribeQuorumResponse, out: WireBuffer) -> None:
    if msg.nodes:
        raise not_in_version("DescribeQuorumResponse.nodes")
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_quorum_response_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_replica_state_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ReplicaState, int]:
    replica_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp = _unpack_iqqq(buf, pos)
    pos += 29
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReplicaState(replica_id, ZERO_UUID, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp), pos


def _encode_replica_state_v1(msg: ReplicaState, out: WireBuffer) -> None:
    if msg.replica_directory_id != ZERO_UUID:
        raise not_in_version("ReplicaState.replica_directory_id")
    out += _pack_iqqqB(msg.replica_id, msg.log_end_offset, msg.last_fetch_timestamp, msg.last_caught_up_timestamp, 0)


def _decode_describe_quorum_response_partition_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch, high_watermark = _unpack_ihiiq(buf, pos)
    current_voters_count, pos = read_compact_count(buf, pos + 22, 29, budget)
    current_voters: list[ReplicaState] = []
    for _ in range(current_voters_count):
        current_voters_item, pos = _decode_replica_state_v1(buf, pos, budget)
        current_voters.append(current_voters_item)
    observers_count, pos = read_compact_count(buf, pos, 29, budget)
    observers: list[ReplicaState] = []
    for _ in range(observers_count):
        observers_item, pos = _decode_replica_state_v1(buf, pos, budget)
        observers.append(observers_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponsePartitionData(
        partition_index, error_code, "", leader_id, leader_epoch, high_watermark, current_voters, observers
    ), pos


def _encode_describe_quorum_response_partition_data_v1(
    msg: DescribeQuorumResponsePartitionData, out: WireBuffer
) -> None:
    out += _pack_ihiiq(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch, msg.high_watermark)
    write_uvarint(len(msg.current_voters) + 1, out)
    for current_voters_item in msg.current_voters:
        _encode_replica_state_v1(current_voters_item, out)
    write_uvarint(len(msg.observers) + 1, out)
    for observers_item in msg.observers:
        _encode_replica_state_v1(observers_item, out)
    out.append(0)


def _decode_describe_quorum_response_topic_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 25, budget)
    partitions: list[DescribeQuorumResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_quorum_response_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponseTopicData(topic_name, partitions), pos


def _encode_describe_quorum_response_topic_data_v1(msg: DescribeQuorumResponseTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_quorum_response_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_describe_quorum_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 2, 3, budget)
    topics: list[DescribeQuorumResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_quorum_response_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponse(error_code, "", topics), pos


def _encode_describe_quorum_response_v1(msg: DescribeQuorumResponse, out: WireBuffer) -> None:
    if msg.nodes:
        raise not_in_version("DescribeQuorumResponse.nodes")
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_quorum_response_topic_data_v1(topics_item, out)
    out.append(0)


def _decode_replica_state_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ReplicaState, int]:
    replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp = _unpack_iuqqq(
        buf, pos
    )
    pos += 45
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReplicaState(
        replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp
    ), pos


def _encode_replica_state_v2(msg: ReplicaState, out: WireBuffer) -> None:
    out += _pack_iuqqqB(
        msg.replica_id,
        msg.replica_directory_id,
        msg.log_end_offset,
        msg.last_fetch_timestamp,
        msg.last_caught_up_timestamp,
        0,
    )


def _decode_describe_quorum_response_partition_data_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponsePartitionData, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    leader_id, leader_epoch, high_watermark = _unpack_iiq(buf, pos)
    current_voters_count, pos = read_compact_count(buf, pos + 16, 45, budget)
    current_voters: list[ReplicaState] = []
    for _ in range(current_voters_count):
        current_voters_item, pos = _decode_replica_state_v2(buf, pos, budget)
        current_voters.append(current_voters_item)
    observers_count, pos = read_compact_count(buf, pos, 45, budget)
    observers: list[ReplicaState] = []
    for _ in range(observers_count):
        observers_item, pos = _decode_replica_state_v2(buf, pos, budget)
        observers.append(observers_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponsePartitionData(
        partition_index, error_code, error_message, leader_id, leader_epoch, high_watermark, current_voters, observers
    ), pos


def _encode_describe_quorum_response_partition_data_v2(
    msg: DescribeQuorumResponsePartitionData, out: WireBuffer
) -> None:
    out += _pack_ih(msg.partition_index, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_iiq(msg.leader_id, msg.leader_epoch, msg.high_watermark)
    write_uvarint(len(msg.current_voters) + 1, out)
    for current_voters_item in msg.current_voters:
        _encode_replica_state_v2(current_voters_item, out)
    write_uvarint(len(msg.observers) + 1, out)
    for observers_item in msg.observers:
        _encode_replica_state_v2(observers_item, out)
    out.append(0)


def _decode_describe_quorum_response_topic_data_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 26, budget)
    partitions: list[DescribeQuorumResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_quorum_response_partition_data_v2(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponseTopicData(topic_name, partitions), pos


def _encode_describe_quorum_response_topic_data_v2(msg: DescribeQuorumResponseTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_quorum_response_partition_data_v2(partitions_item, out)
    out.append(0)


def _decode_listener_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[Listener, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    (port,) = _unpack_H(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Listener(name, host, port), pos


def _encode_listener_v2(msg: Listener, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_string(msg.host, out)
    out += _pack_HB(msg.port, 0)


def _decode_node_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[Node, int]:
    (node_id,) = _unpack_i(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 4, 5, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v2(buf, pos, budget)
        listeners.append(listeners_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Node(node_id, listeners), pos


def _encode_node_v2(msg: Node, out: WireBuffer) -> None:
    out += _pack_i(msg.node_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v2(listeners_item, out)
    out.append(0)


def _decode_describe_quorum_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeQuorumResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[DescribeQuorumResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_quorum_response_topic_data_v2(buf, pos, budget)
        topics.append(topics_item)
    nodes_count, pos = read_compact_count(buf, pos, 6, budget)
    nodes: list[Node] = []
    for _ in range(nodes_count):
        nodes_item, pos = _decode_node_v2(buf, pos, budget)
        nodes.append(nodes_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeQuorumResponse(error_code, error_message, topics, nodes), pos


def _encode_describe_quorum_response_v2(msg: DescribeQuorumResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_quorum_response_topic_data_v2(topics_item, out)
    write_uvarint(len(msg.nodes) + 1, out)
    for nodes_item in msg.nodes:
        _encode_node_v2(nodes_item, out)
    out.append(0)


DescribeQuorumRequest.DECODERS = (
    _decode_describe_quorum_request_v0,
    _decode_describe_quorum_request_v0,
    _decode_describe_quorum_request_v0,
)

DescribeQuorumRequest.ENCODERS = (
    _encode_describe_quorum_request_v0,
    _encode_describe_quorum_request_v0,
    _encode_describe_quorum_request_v0,
)

DescribeQuorumResponse.DECODERS = (
    _decode_describe_quorum_response_v0,
    _decode_describe_quorum_response_v1,
    _decode_describe_quorum_response_v2,
)

DescribeQuorumResponse.ENCODERS = (
    _encode_describe_quorum_response_v0,
    _encode_describe_quorum_response_v1,
    _encode_describe_quorum_response_v2,
)
