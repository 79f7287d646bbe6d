"""ShareAcknowledge (API key 79): request and response.

Generated from the ShareAcknowledge schemas by scripts/generate.

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
    read_int8s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int8s,
    write_uvarint,
)

_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_iiB = Struct(">iiB").pack
_pack_it = Struct(">i?").pack
_pack_qq = Struct(">qq").pack
_pack_u = Struct(">16s").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_it = Struct(">i?").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_unpack_u = Struct(">16s").unpack_from


class AcknowledgementBatch(Part):
    """Part of ShareAcknowledgeRequest."""

    __slots__ = (
        "first_offset",
        "last_offset",
        "acknowledge_types",
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: list[int] | None = None,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types: list[int] = [] if acknowledge_types is None else acknowledge_types


class AcknowledgePartition(Part):
    """Part of ShareAcknowledgeRequest."""

    __slots__ = (
        "partition_index",
        "acknowledgement_batches",
    )

    def __init__(
        self,
        partition_index: int = 0,
        acknowledgement_batches: list[AcknowledgementBatch] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches: list[AcknowledgementBatch] = (
            [] if acknowledgement_batches is None else acknowledgement_batches
        )


class AcknowledgeTopic(Part):
    """Part of ShareAcknowledgeRequest."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AcknowledgePartition] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[AcknowledgePartition] = [] if partitions is None else partitions


class ShareAcknowledgeRequest(Message):
    """ShareAcknowledgeRequest (API key 79), versions 1-2."""

    __slots__ = (
        "group_id",
        "member_id",
        "share_session_epoch",
        "is_renew_ack",  # versions 2+
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "ShareAcknowledgeRequest"
    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ShareAcknowledgeRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ShareAcknowledgeRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[AcknowledgeTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics: list[AcknowledgeTopic] = [] if topics is None else topics


class LeaderIdAndEpoch(Part):
    """Part of ShareAcknowledgeResponse."""

    __slots__ = (
        "leader_id",
        "leader_epoch",
    )

    def __init__(
        self,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionData(Part):
    """Part of ShareAcknowledgeResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "current_leader",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is None else current_leader


class ShareAcknowledgeTopicResponse(Part):
    """Part of ShareAcknowledgeResponse."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[PartitionData] = [] if partitions is None else partitions


class NodeEndpoint(Part):
    """Part of ShareAcknowledgeResponse."""

    __slots__ = (
        "node_id",
        "host",
        "port",
        "rack",
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class ShareAcknowledgeResponse(Message):
    """ShareAcknowledgeResponse (API key 79), versions 1-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",  # versions 2+
        "responses",
        "node_endpoints",
    )

    SCHEMA_NAME: ClassVar[str] = "ShareAcknowledgeResponse"
    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ShareAcknowledgeResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ShareAcknowledgeResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareAcknowledgeTopicResponse] | None = None,
        node_endpoints: list[NodeEndpoint] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses: list[ShareAcknowledgeTopicResponse] = [] if responses is None else responses
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is None else node_endpoints


def _decode_acknowledgement_batch_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[AcknowledgementBatch, int]:
    first_offset, last_offset = _unpack_qq(buf, pos)
    acknowledge_types_count, pos = read_compact_count(buf, pos + 16, 1, budget)
    acknowledge_types = read_int8s(buf, pos, acknowledge_types_count)
    pos += acknowledge_types_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AcknowledgementBatch(first_offset, last_offset, acknowledge_types), pos


def _encode_acknowledgement_batch_v1(msg: AcknowledgementBatch, out: WireBuffer) -> None:
    out += _pack_qq(msg.first_offset, msg.last_offset)
    write_uvarint(len(msg.acknowledge_types) + 1, out)
    write_int8s(msg.acknowledge_types, out)
    out.append(0)


def _decode_acknowledge_partition_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[AcknowledgePartition, int]:
    (partition_index,) = _unpack_i(buf, pos)
    acknowledgement_batches_count, pos = read_compact_count(buf, pos + 4, 18, budget)
    acknowledgement_batches: list[AcknowledgementBatch] = []
    for _ in range(acknowledgement_batches_count):
        acknowledgement_batches_item, pos = _decode_acknowledgement_batch_v1(buf, pos, budget)
        acknowledgement_batches.append(acknowledgement_batches_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AcknowledgePartition(partition_index, acknowledgement_batches), pos


def _encode_acknowledge_partition_v1(msg: AcknowledgePartition, out: WireBuffer) -> None:
    out += _pack_i(msg.partition_index)
    write_uvarint(len(msg.acknowledgement_batches) + 1, out)
    for acknowledgement_batches_item in msg.acknowledgement_batches:
        _encode_acknowledgement_batch_v1(acknowledgement_batches_item, out)
    out.append(0)


def _decode_acknowledge_topic_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[AcknowledgeTopic, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 6, budget)
    partitions: list[AcknowledgePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_acknowledge_partition_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AcknowledgeTopic(topic_id, partitions), pos


def _encode_acknowledge_topic_v1(msg: AcknowledgeTopic, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_acknowledge_partition_v1(partitions_item, out)
    out.append(0)


def _decode_share_acknowledge_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ShareAcknowledgeRequest, int]:
    group_id, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    (share_session_epoch,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 18, budget)
    topics: list[AcknowledgeTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_acknowledge_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ShareAcknowledgeRequest(group_id, member_id, share_session_epoch, False, topics), pos


def _encode_share_acknowledge_request_v1(msg: ShareAcknowledgeRequest, out: WireBuffer) -> None:
    if msg.is_renew_ack:
        raise not_in_version("ShareAcknowledgeRequest.is_renew_ack")
    write_compact_nullable_string(msg.group_id, out)
    write_compact_nullable_string(msg.member_id, out)
    out += _pack_i(msg.share_session_epoch)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_acknowledge_topic_v1(topics_item, out)
    out.append(0)


def _decode_share_acknowledge_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ShareAcknowledgeRequest, int]:
    group_id, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    share_session_epoch, is_renew_ack = _unpack_it(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 5, 18, budget)
    topics: list[AcknowledgeTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_acknowledge_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ShareAcknowledgeRequest(group_id, member_id, share_session_epoch, is_renew_ack, topics), pos


def _encode_share_acknowledge_request_v2(msg: ShareAcknowledgeRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.group_id, out)
    write_compact_nullable_string(msg.member_id, out)
    out += _pack_it(msg.share_session_epoch, msg.is_renew_ack)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_acknowledge_topic_v1(topics_item, out)
    out.append(0)


def _decode_leader_id_and_epoch_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _unpack_ii(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _encode_leader_id_and_epoch_v1(msg: LeaderIdAndEpoch, out: WireBuffer) -> None:
    out += _pack_iiB(msg.leader_id, msg.leader_epoch, 0)


def _decode_partition_data_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    current_leader, pos = _decode_leader_id_and_epoch_v1(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionData(partition_index, error_code, error_message, current_leader), pos


def _encode_partition_data_v1(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition_index, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    _encode_leader_id_and_epoch_v1(msg.current_leader, out)
    out.append(0)


def _decode_share_acknowledge_topic_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ShareAcknowledgeTopicResponse, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 17, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ShareAcknowledgeTopicResponse(topic_id, partitions), pos


def _encode_share_acknowledge_topic_response_v1(msg: ShareAcknowledgeTopicResponse, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_node_endpoint_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[NodeEndpoint, int]:
    (node_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_i(buf, pos)
    rack, pos = read_compact_nullable_string(buf, pos + 4)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return NodeEndpoint(node_id, host, port, rack), pos


def _encode_node_endpoint_v1(msg: NodeEndpoint, out: WireBuffer) -> None:
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_i(msg.port)
    write_compact_nullable_string(msg.rack, out)
    out.append(0)


def _decode_share_acknowledge_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ShareAcknowledgeResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    responses_count, pos = read_compact_count(buf, pos, 18, budget)
    responses: list[ShareAcknowledgeTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_share_acknowledge_topic_response_v1(buf, pos, budget)
        responses.append(responses_item)
    node_endpoints_count, pos = read_compact_count(buf, pos, 11, budget)
    node_endpoints: list[NodeEndpoint] = []
    for _ in range(node_endpoints_count):
        node_endpoints_item, pos = _decode_node_endpoint_v1(buf, pos, budget)
        node_endpoints.append(node_endpoints_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ShareAcknowledgeResponse(throttle_time_ms, error_code, error_message, 0, responses, node_endpoints), pos


def _encode_share_acknowledge_response_v1(msg: ShareAcknowledgeResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_share_acknowledge_topic_response_v1(responses_item, out)
    write_uvarint(len(msg.node_endpoints) + 1, out)
    for node_endpoints_item in msg.node_endpoints:
        _encode_node_endpoint_v1(node_endpoints_item, out)
    out.append(0)


def _decode_share_acknowledge_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ShareAcknowledgeResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    (acquisition_lock_timeout_ms,) = _unpack_i(buf, pos)
    responses_count, pos = read_compact_count(buf, pos + 4, 18, budget)
    responses: list[ShareAcknowledgeTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_share_acknowledge_topic_response_v1(buf, pos, budget)
        responses.append(responses_item)
    node_endpoints_count, pos = read_compact_count(buf, pos, 11, budget)
    node_endpoints: list[NodeEndpoint] = []
    for _ in range(node_endpoints_count):
        node_endpoints_item, pos = _decode_node_endpoint_v1(buf, pos, budget)
        node_endpoints.append(node_endpoints_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ShareAcknowledgeResponse(
        throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints
    ), pos


def _encode_share_acknowledge_response_v2(msg: ShareAcknowledgeResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_i(msg.acquisition_lock_timeout_ms)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_share_acknowledge_topic_response_v1(responses_item, out)
    write_uvarint(len(msg.node_endpoints) + 1, out)
    for node_endpoints_item in msg.node_endpoints:
        _encode_node_endpoint_v1(node_endpoints_item, out)
    out.append(0)


ShareAcknowledgeRequest.DECODERS = (
    None,
    _decode_share_acknowledge_request_v1,
    _decode_share_acknowledge_request_v2,
)

ShareAcknowledgeRequest.ENCODERS = (
    None,
    _encode_share_acknowledge_request_v1,
    _encode_share_acknowledge_request_v2,
)

ShareAcknowledgeResponse.DECODERS = (
    None,
    _decode_share_acknowledge_response_v1,
    _decode_share_acknowledge_response_v2,
)

ShareAcknowledgeResponse.ENCODERS = (
    None,
    _encode_share_acknowledge_response_v1,
    _encode_share_acknowledge_response_v2,
)
