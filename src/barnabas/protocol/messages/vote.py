"""Vote (API key 52): request and response.

Generated from the Vote schemas by scripts/generate.

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
    check_tag_end,
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged_fields,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ihiitB = Struct(">ihii?B").pack
_pack_iiiiqB = Struct(">iiiiqB").pack
_pack_iiiuuiqB = Struct(">iii16s16siqB").pack
_pack_iiiuuiqtB = Struct(">iii16s16siq?B").pack
_unpack_H = Struct(">H").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihiit = Struct(">ihii?").unpack_from
_unpack_iiiiq = Struct(">iiiiq").unpack_from
_unpack_iiiuuiq = Struct(">iii16s16siq").unpack_from
_unpack_iiiuuiqt = Struct(">iii16s16siq?").unpack_from


class VoteRequestPartitionData(Part):
    """Part of VoteRequest."""

    __slots__ = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",  # versions 1+
        "voter_directory_id",  # versions 1+
        "last_offset_epoch",
        "last_offset",
        "pre_vote",  # versions 2+
    )

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        voter_directory_id: bytes = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote


class VoteRequestTopicData(Part):
    """Part of VoteRequest."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteRequestPartitionData] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[VoteRequestPartitionData] = [] if partitions is None else partitions


class VoteRequest(Message):
    """VoteRequest (API key 52), versions 0-2."""

    __slots__ = (
        "cluster_id",
        "voter_id",  # versions 1+
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "VoteRequest"
    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[VoteRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[VoteRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[VoteRequestTopicData] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics: list[VoteRequestTopicData] = [] if topics is None else topics


class VoteResponsePartitionData(Part):
    """Part of VoteResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "vote_granted",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted


class VoteResponseTopicData(Part):
    """Part of VoteResponse."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteResponsePartitionData] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[VoteResponsePartitionData] = [] if partitions is None else partitions


class NodeEndpoint(Part):
    """Part of VoteResponse."""

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


class VoteResponse(Message):
    """VoteResponse (API key 52), versions 0-2."""

    __slots__ = (
        "error_code",
        "topics",
        "node_endpoints",  # versions 1+, tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "VoteResponse"
    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[VoteResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[VoteResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        topics: list[VoteResponseTopicData] | None = None,
        node_endpoints: list[NodeEndpoint] | None = None,
    ) -> None:
        self.error_code = error_code
        self.topics: list[VoteResponseTopicData] = [] if topics is None else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is None else node_endpoints


def _decode_vote_request_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[VoteRequestPartitionData, int]:
    partition_index, replica_epoch, replica_id, last_offset_epoch, last_offset = _unpack_iiiiq(buf, pos)
    pos += 25
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequestPartitionData(
        partition_index, replica_epoch, replica_id, ZERO_UUID, ZERO_UUID, last_offset_epoch, last_offset
    ), pos


def _encode_vote_request_partition_data_v0(msg: VoteRequestPartitionData, out: WireBuffer) -> None:
    if msg.pre_vote:
        raise not_in_version("VoteRequestPartitionData.pre_vote")
    out += _pack_iiiiqB(
        msg.partition_index, msg.replica_epoch, msg.replica_id, msg.last_offset_epoch, msg.last_offset, 0
    )


def _decode_vote_request_topic_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteRequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 25, budget)
    partitions: list[VoteRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_vote_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequestTopicData(topic_name, partitions), pos


def _encode_vote_request_topic_data_v0(msg: VoteRequestTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_vote_request_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_vote_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[VoteRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_vote_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequest(cluster_id, -1, topics), pos


def _encode_vote_request_v0(msg: VoteRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.cluster_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_vote_request_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_vote_request_partition_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[VoteRequestPartitionData, int]:
    (
        partition_index,
        replica_epoch,
        replica_id,
        replica_directory_id,
        voter_directory_id,
        last_offset_epoch,
        last_offset,
    ) = _unpack_iiiuuiq(buf, pos)
    pos += 57
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequestPartitionData(
        partition_index,
        replica_epoch,
        replica_id,
        replica_directory_id,
        voter_directory_id,
        last_offset_epoch,
        last_offset,
    ), pos


def _encode_vote_request_partition_data_v1(msg: VoteRequestPartitionData, out: WireBuffer) -> None:
    if msg.pre_vote:
        raise not_in_version("VoteRequestPartitionData.pre_vote")
    out += _pack_iiiuuiqB(
        msg.partition_index,
        msg.replica_epoch,
        msg.replica_id,
        msg.replica_directory_id,
        msg.voter_directory_id,
        msg.last_offset_epoch,
        msg.last_offset,
        0,
    )


def _decode_vote_request_topic_data_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteRequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 57, budget)
    partitions: list[VoteRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_vote_request_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequestTopicData(topic_name, partitions), pos


def _encode_vote_request_topic_data_v1(msg: VoteRequestTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_vote_request_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_vote_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    (voter_id,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[VoteRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_vote_request_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequest(cluster_id, voter_id, topics), pos


def _encode_vote_request_v1(msg: VoteRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_i(msg.voter_id)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_vote_request_topic_data_v1(topics_item, out)
    out.append(0)


def _decode_vote_request_partition_data_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[VoteRequestPartitionData, int]:
    (
        partition_index,
        replica_epoch,
        replica_id,
        replica_directory_id,
        voter_directory_id,
        last_offset_epoch,
        last_offset,
        pre_vote,
    ) = _unpack_iiiuuiqt(buf, pos)
    pos += 58
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequestPartitionData(
        partition_index,
        replica_epoch,
        replica_id,
        replica_directory_id,
        voter_directory_id,
        last_offset_epoch,
        last_offset,
        pre_vote,
    ), pos


def _encode_vote_request_partition_data_v2(msg: VoteRequestPartitionData, out: WireBuffer) -> None:
    out += _pack_iiiuuiqtB(
        msg.partition_index,
        msg.replica_epoch,
        msg.replica_id,
        msg.replica_directory_id,
        msg.voter_directory_id,
        msg.last_offset_epoch,
        msg.last_offset,
        msg.pre_vote,
        0,
    )


def _decode_vote_request_topic_data_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteRequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 58, budget)
    partitions: list[VoteRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_vote_request_partition_data_v2(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequestTopicData(topic_name, partitions), pos


def _encode_vote_request_topic_data_v2(msg: VoteRequestTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_vote_request_partition_data_v2(partitions_item, out)
    out.append(0)


def _decode_vote_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    (voter_id,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[VoteRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_vote_request_topic_data_v2(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteRequest(cluster_id, voter_id, topics), pos


def _encode_vote_request_v2(msg: VoteRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_i(msg.voter_id)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_vote_request_topic_data_v2(topics_item, out)
    out.append(0)


def _decode_vote_response_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[VoteResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch, vote_granted = _unpack_ihiit(buf, pos)
    pos += 16
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteResponsePartitionData(partition_index, error_code, leader_id, leader_epoch, vote_granted), pos


def _encode_vote_response_partition_data_v0(msg: VoteResponsePartitionData, out: WireBuffer) -> None:
    out += _pack_ihiitB(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch, msg.vote_granted, 0)


def _decode_vote_response_topic_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 16, budget)
    partitions: list[VoteResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_vote_response_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteResponseTopicData(topic_name, partitions), pos


def _encode_vote_response_topic_data_v0(msg: VoteResponseTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_vote_response_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_vote_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 2, 3, budget)
    topics: list[VoteResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_vote_response_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return VoteResponse(error_code, topics), pos


def _encode_vote_response_v0(msg: VoteResponse, out: WireBuffer) -> None:
    if msg.node_endpoints:
        raise not_in_version("VoteResponse.node_endpoints")
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_vote_response_topic_data_v0(topics_item, out)
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


def _decode_vote_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[VoteResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 2, 3, budget)
    topics: list[VoteResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_vote_response_topic_data_v0(buf, pos, budget)
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
    return VoteResponse(error_code, topics, node_endpoints), pos


def _encode_vote_response_v1(msg: VoteResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_vote_response_topic_data_v0(topics_item, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.node_endpoints:
        node_endpoints_value = WireBuffer()
        write_uvarint(len(msg.node_endpoints) + 1, node_endpoints_value)
        for node_endpoints_item in msg.node_endpoints:
            _encode_node_endpoint_v1(node_endpoints_item, node_endpoints_value)
        tagged.append((0, node_endpoints_value))
    write_tagged_fields(tagged, out)


VoteRequest.DECODERS = (
    _decode_vote_request_v0,
    _decode_vote_request_v1,
    _decode_vote_request_v2,
)

VoteRequest.ENCODERS = (
    _encode_vote_request_v0,
    _encode_vote_request_v1,
    _encode_vote_request_v2,
)

VoteResponse.DECODERS = (
    _decode_vote_response_v0,
    _decode_vote_response_v1,
    _decode_vote_response_v1,
)

VoteResponse.ENCODERS = (
    _encode_vote_response_v0,
    _encode_vote_response_v1,
    _encode_vote_response_v1,
)
