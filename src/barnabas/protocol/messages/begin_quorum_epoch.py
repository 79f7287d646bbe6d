"""BeginQuorumEpoch (API key 53): request and response.

Generated from the BeginQuorumEpoch schemas by scripts/generate.

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
    check_count,
    check_tag_end,
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_tagged_fields,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_ihii = Struct(">ihii").pack
_pack_ihiiB = Struct(">ihiiB").pack
_pack_iii = Struct(">iii").pack
_pack_iuiiB = Struct(">i16siiB").pack
_unpack_H = Struct(">H").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihii = Struct(">ihii").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_iuii = Struct(">i16sii").unpack_from


class BeginQuorumEpochRequestPartitionData(Part):
    """Part of BeginQuorumEpochRequest."""

    __slots__ = (
        "partition_index",
        "voter_directory_id",  # versions 1+
        "leader_id",
        "leader_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.voter_directory_id = voter_directory_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class BeginQuorumEpochRequestTopicData(Part):
    """Part of BeginQuorumEpochRequest."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[BeginQuorumEpochRequestPartitionData] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[BeginQuorumEpochRequestPartitionData] = [] if partitions is None else partitions


class LeaderEndpoint(Part):
    """Part of BeginQuorumEpochRequest."""

    __slots__ = (
        "name",  # versions 1+
        "host",  # versions 1+
        "port",  # versions 1+
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


class BeginQuorumEpochRequest(Message):
    """BeginQuorumEpochRequest (API key 53), versions 0-1."""

    __slots__ = (
        "cluster_id",
        "voter_id",  # versions 1+
        "topics",
        "leader_endpoints",  # versions 1+
    )

    SCHEMA_NAME: ClassVar[str] = "BeginQuorumEpochRequest"
    API_KEY: ClassVar[int] = 53
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[BeginQuorumEpochRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[BeginQuorumEpochRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[BeginQuorumEpochRequestTopicData] | None = None,
        leader_endpoints: list[LeaderEndpoint] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics: list[BeginQuorumEpochRequestTopicData] = [] if topics is None else topics
        self.leader_endpoints: list[LeaderEndpoint] = [] if leader_endpoints is None else leader_endpoints


class BeginQuorumEpochResponsePartitionData(Part):
    """Part of BeginQuorumEpochResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class BeginQuorumEpochResponseTopicData(Part):
    """Part of BeginQuorumEpochResponse."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[BeginQuorumEpochResponsePartitionData] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[BeginQuorumEpochResponsePartitionData] = [] if partitions is None else partitions


class NodeEndpoint(Part):
    """Part of BeginQuorumEpochResponse."""

    __slots__ = (
        "node_id",  # versions 1+
        "host",  # versions 1+
        "port",  # versions 1+
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port


class BeginQuorumEpochResponse(Message):
    """BeginQuorumEpochResponse (API key 53), versions 0-1."""

    __slots__ = (
        "error_code",
        "topics",
        "node_endpoints",  # versions 1+, tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "BeginQuorumEpochResponse"
    API_KEY: ClassVar[int] = 53
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[BeginQuorumEpochResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[BeginQuorumEpochResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        topics: list[BeginQuorumEpochResponseTopicData] | None = None,
        node_endpoints: list[NodeEndpoint] | None = None,
    ) -> None:
        self.error_code = error_code
        self.topics: list[BeginQuorumEpochResponseTopicData] = [] if topics is None else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is None else node_endpoints


def _decode_begin_quorum_epoch_request_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochRequestPartitionData, int]:
    partition_index, leader_id, leader_epoch = _unpack_iii(buf, pos)
    return BeginQuorumEpochRequestPartitionData(partition_index, ZERO_UUID, leader_id, leader_epoch), pos + 12


def _encode_begin_quorum_epoch_request_partition_data_v0(
    msg: BeginQuorumEpochRequestPartitionData, out: WireBuffer
) -> None:
    out += _pack_iii(msg.partition_index, msg.leader_id, msg.leader_epoch)


def _decode_begin_quorum_epoch_request_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochRequestTopicData, int]:
    topic_name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 12, budget)
    partitions: list[BeginQuorumEpochRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_begin_quorum_epoch_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return BeginQuorumEpochRequestTopicData(topic_name, partitions), pos


def _encode_begin_quorum_epoch_request_topic_data_v0(msg: BeginQuorumEpochRequestTopicData, out: WireBuffer) -> None:
    write_string(msg.topic_name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_begin_quorum_epoch_request_partition_data_v0(partitions_item, out)


def _decode_begin_quorum_epoch_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochRequest, int]:
    cluster_id, pos = read_nullable_string(buf, pos)
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[BeginQuorumEpochRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_begin_quorum_epoch_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    return BeginQuorumEpochRequest(cluster_id, -1, topics), pos


def _encode_begin_quorum_epoch_request_v0(msg: BeginQuorumEpochRequest, out: WireBuffer) -> None:
    write_nullable_string(msg.cluster_id, out)
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_begin_quorum_epoch_request_topic_data_v0(topics_item, out)


def _decode_begin_quorum_epoch_request_partition_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochRequestPartitionData, int]:
    partition_index, voter_directory_id, leader_id, leader_epoch = _unpack_iuii(buf, pos)
    pos += 29
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BeginQuorumEpochRequestPartitionData(partition_index, voter_directory_id, leader_id, leader_epoch), pos


def _encode_begin_quorum_epoch_request_partition_data_v1(
    msg: BeginQuorumEpochRequestPartitionData, out: WireBuffer
) -> None:
    out += _pack_iuiiB(msg.partition_index, msg.voter_directory_id, msg.leader_id, msg.leader_epoch, 0)


def _decode_begin_quorum_epoch_request_topic_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochRequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 29, budget)
    partitions: list[BeginQuorumEpochRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_begin_quorum_epoch_request_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BeginQuorumEpochRequestTopicData(topic_name, partitions), pos


def _encode_begin_quorum_epoch_request_topic_data_v1(msg: BeginQuorumEpochRequestTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_begin_quorum_epoch_request_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_leader_endpoint_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderEndpoint, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    (port,) = _unpack_H(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderEndpoint(name, host, port), pos


def _encode_leader_endpoint_v1(msg: LeaderEndpoint, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_string(msg.host, out)
    out += _pack_HB(msg.port, 0)


def _decode_begin_quorum_epoch_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    (voter_id,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[BeginQuorumEpochRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_begin_quorum_epoch_request_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    leader_endpoints_count, pos = read_compact_count(buf, pos, 5, budget)
    leader_endpoints: list[LeaderEndpoint] = []
    for _ in range(leader_endpoints_count):
        leader_endpoints_item, pos = _decode_leader_endpoint_v1(buf, pos, budget)
        leader_endpoints.append(leader_endpoints_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BeginQuorumEpochRequest(cluster_id, voter_id, topics, leader_endpoints), pos


def _encode_begin_quorum_epoch_request_v1(msg: BeginQuorumEpochRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_i(msg.voter_id)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_begin_quorum_epoch_request_topic_data_v1(topics_item, out)
    write_uvarint(len(msg.leader_endpoints) + 1, out)
    for leader_endpoints_item in msg.leader_endpoints:
        _encode_leader_endpoint_v1(leader_endpoints_item, out)
    out.append(0)


def _decode_begin_quorum_epoch_response_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _unpack_ihii(buf, pos)
    return BeginQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch), pos + 14


def _encode_begin_quorum_epoch_response_partition_data_v0(
    msg: BeginQuorumEpochResponsePartitionData, out: WireBuffer
) -> None:
    out += _pack_ihii(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch)


def _decode_begin_quorum_epoch_response_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochResponseTopicData, int]:
    topic_name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 14, budget)
    partitions: list[BeginQuorumEpochResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_begin_quorum_epoch_response_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return BeginQuorumEpochResponseTopicData(topic_name, partitions), pos


def _encode_begin_quorum_epoch_response_topic_data_v0(msg: BeginQuorumEpochResponseTopicData, out: WireBuffer) -> None:
    write_string(msg.topic_name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_begin_quorum_epoch_response_partition_data_v0(partitions_item, out)


def _decode_begin_quorum_epoch_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochResponse, int]:
    error_code, topics_count = _unpack_hi(buf, pos)
    pos += 6
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[BeginQuorumEpochResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_begin_quorum_epoch_response_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    return BeginQuorumEpochResponse(error_code, topics), pos


def _encode_begin_quorum_epoch_response_v0(msg: BeginQuorumEpochResponse, out: WireBuffer) -> None:
    if msg.node_endpoints:
        raise not_in_version("BeginQuorumEpochResponse.node_endpoints")
    out += _pack_hi(msg.error_code, len(msg.topics))
    for topics_item in msg.topics:
        _encode_begin_quorum_epoch_response_topic_data_v0(topics_item, out)


def _decode_begin_quorum_epoch_response_partition_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _unpack_ihii(buf, pos)
    pos += 15
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BeginQuorumEpochResponsePartitionData(partition_index, error_code, leader_id, leader_epoch), pos


def _encode_begin_quorum_epoch_response_partition_data_v1(
    msg: BeginQuorumEpochResponsePartitionData, out: WireBuffer
) -> None:
    out += _pack_ihiiB(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch, 0)


def _decode_begin_quorum_epoch_response_topic_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 15, budget)
    partitions: list[BeginQuorumEpochResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_begin_quorum_epoch_response_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BeginQuorumEpochResponseTopicData(topic_name, partitions), pos


def _encode_begin_quorum_epoch_response_topic_data_v1(msg: BeginQuorumEpochResponseTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_begin_quorum_epoch_response_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_node_endpoint_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[NodeEndpoint, int]:
    (node_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_H(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return NodeEndpoint(node_id, host, port), pos


def _encode_node_endpoint_v1(msg: NodeEndpoint, out: WireBuffer) -> None:
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_HB(msg.port, 0)


def _decode_begin_quorum_epoch_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BeginQuorumEpochResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 2, 3, budget)
    topics: list[BeginQuorumEpochResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_begin_quorum_epoch_response_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    node_endpoints: list[NodeEndpoint] = []
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            node_endpoints_count, pos = read_compact_count(buf, pos, 8, budget)
            node_endpoints = []
            for _ in range(node_endpoints_count):
                node_endpoints_item, pos = _decode_node_endpoint_v1(buf, pos, budget)
                node_endpoints.append(node_endpoints_item)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return BeginQuorumEpochResponse(error_code, topics, node_endpoints), pos


def _encode_begin_quorum_epoch_response_v1(msg: BeginQuorumEpochResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_begin_quorum_epoch_response_topic_data_v1(topics_item, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.node_endpoints:
        node_endpoints_value = WireBuffer()
        write_uvarint(len(msg.node_endpoints) + 1, node_endpoints_value)
        for node_endpoints_item in msg.node_endpoints:
            _encode_node_endpoint_v1(node_endpoints_item, node_endpoints_value)
        tagged.append((0, node_endpoints_value))
    write_tagged_fields(tagged, out)


BeginQuorumEpochRequest.DECODERS = (
    _decode_begin_quorum_epoch_request_v0,
    _decode_begin_quorum_epoch_request_v1,
)

BeginQuorumEpochRequest.ENCODERS = (
    _encode_begin_quorum_epoch_request_v0,
    _encode_begin_quorum_epoch_request_v1,
)

BeginQuorumEpochResponse.DECODERS = (
    _decode_begin_quorum_epoch_response_v0,
    _decode_begin_quorum_epoch_response_v1,
)

BeginQuorumEpochResponse.ENCODERS = (
    _encode_begin_quorum_epoch_response_v0,
    _encode_begin_quorum_epoch_response_v1,
)
