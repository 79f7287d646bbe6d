"""DescribeShareGroupOffsets (API key 90): request and response.

Generated from the DescribeShareGroupOffsets schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
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

_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iqih = Struct(">iqih").pack
_pack_iqiqh = Struct(">iqiqh").pack
_pack_u = Struct(">16s").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_unpack_iqiqh = Struct(">iqiqh").unpack_from
_unpack_u = Struct(">16s").unpack_from


class DescribeShareGroupOffsetsRequestTopic(Part):
    """Part of DescribeShareGroupOffsetsRequest."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[int] = [] if partitions is None else partitions


class DescribeShareGroupOffsetsRequestGroup(Part):
    """Part of DescribeShareGroupOffsetsRequest."""

    __slots__ = (
        "group_id",
        "topics",
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None | Missing = MISSING,
    ) -> None:
        self.group_id = group_id
        self.topics: list[DescribeShareGroupOffsetsRequestTopic] | None = [] if isinstance(topics, Missing) else topics


class DescribeShareGroupOffsetsRequest(Message):
    """DescribeShareGroupOffsetsRequest (API key 90), versions 0-1."""

    __slots__ = ("groups",)

    SCHEMA_NAME: ClassVar[str] = "DescribeShareGroupOffsetsRequest"
    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeShareGroupOffsetsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeShareGroupOffsetsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        groups: list[DescribeShareGroupOffsetsRequestGroup] | None = None,
    ) -> None:
        self.groups: list[DescribeShareGroupOffsetsRequestGroup] = [] if groups is None else groups


class DescribeShareGroupOffsetsResponsePartition(Part):
    """Part of DescribeShareGroupOffsetsResponse."""

    __slots__ = (
        "partition_index",
        "start_offset",
        "leader_epoch",
        "lag",  # versions 1+
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponseTopic(Part):
    """Part of DescribeShareGroupOffsetsResponse."""

    __slots__ = (
        "topic_name",
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions: list[DescribeShareGroupOffsetsResponsePartition] = [] if partitions is None else partitions


class DescribeShareGroupOffsetsResponseGroup(Part):
    """Part of DescribeShareGroupOffsetsResponse."""

    __slots__ = (
        "group_id",
        "topics",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] | None = None,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[DescribeShareGroupOffsetsResponseTopic] = [] if topics is None else topics
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponse(Message):
    """DescribeShareGroupOffsetsResponse (API key 90), versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "groups",
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeShareGroupOffsetsResponse"
    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeShareGroupOffsetsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeShareGroupOffsetsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponseGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribeShareGroupOffsetsResponseGroup] = [] if groups is None else groups


def _decode_describe_share_group_offsets_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsRequestTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsRequestTopic(topic_name, partitions), pos


def _encode_describe_share_group_offsets_request_topic_v0(
    msg: DescribeShareGroupOffsetsRequestTopic, out: WireBuffer
) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_describe_share_group_offsets_request_group_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsRequestGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = None
    if topics_count >= 0:
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_describe_share_group_offsets_request_topic_v0(buf, pos, budget)
            topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsRequestGroup(group_id, topics), pos


def _encode_describe_share_group_offsets_request_group_v0(
    msg: DescribeShareGroupOffsetsRequestGroup, out: WireBuffer
) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(0 if msg.topics is None else len(msg.topics) + 1, out)
    if msg.topics:
        for topics_item in msg.topics:
            _encode_describe_share_group_offsets_request_topic_v0(topics_item, out)
    out.append(0)


def _decode_describe_share_group_offsets_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsRequest, int]:
    groups_count, pos = read_compact_count(buf, pos, 3, budget)
    groups: list[DescribeShareGroupOffsetsRequestGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_describe_share_group_offsets_request_group_v0(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsRequest(groups), pos


def _encode_describe_share_group_offsets_request_v0(msg: DescribeShareGroupOffsetsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_describe_share_group_offsets_request_group_v0(groups_item, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_partition_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
    partition_index, start_offset, leader_epoch, error_code = _unpack_iqih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 18)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index, start_offset, leader_epoch, -1, error_code, error_message
    ), pos


def _encode_describe_share_group_offsets_response_partition_v0(
    msg: DescribeShareGroupOffsetsResponsePartition, out: WireBuffer
) -> None:
    out += _pack_iqih(msg.partition_index, msg.start_offset, msg.leader_epoch, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 20, budget)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_share_group_offsets_response_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), pos


def _encode_describe_share_group_offsets_response_topic_v0(
    msg: DescribeShareGroupOffsetsResponseTopic, out: WireBuffer
) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_share_group_offsets_response_partition_v0(partitions_item, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_group_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 19, budget)
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_share_group_offsets_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponseGroup(group_id, topics, error_code, error_message), pos


def _encode_describe_share_group_offsets_response_group_v0(
    msg: DescribeShareGroupOffsetsResponseGroup, out: WireBuffer
) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_share_group_offsets_response_topic_v0(topics_item, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 4, 6, budget)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_describe_share_group_offsets_response_group_v0(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups), pos


def _encode_describe_share_group_offsets_response_v0(msg: DescribeShareGroupOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_describe_share_group_offsets_response_group_v0(groups_item, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_partition_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
    partition_index, start_offset, leader_epoch, lag, error_code = _unpack_iqiqh(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 26)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index, start_offset, leader_epoch, lag, error_code, error_message
    ), pos


def _encode_describe_share_group_offsets_response_partition_v1(
    msg: DescribeShareGroupOffsetsResponsePartition, out: WireBuffer
) -> None:
    out += _pack_iqiqh(msg.partition_index, msg.start_offset, msg.leader_epoch, msg.lag, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_topic_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 28, budget)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_share_group_offsets_response_partition_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), pos


def _encode_describe_share_group_offsets_response_topic_v1(
    msg: DescribeShareGroupOffsetsResponseTopic, out: WireBuffer
) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_share_group_offsets_response_partition_v1(partitions_item, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_group_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 19, budget)
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_share_group_offsets_response_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponseGroup(group_id, topics, error_code, error_message), pos


def _encode_describe_share_group_offsets_response_group_v1(
    msg: DescribeShareGroupOffsetsResponseGroup, out: WireBuffer
) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_share_group_offsets_response_topic_v1(topics_item, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_describe_share_group_offsets_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 4, 6, budget)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_describe_share_group_offsets_response_group_v1(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups), pos


def _encode_describe_share_group_offsets_response_v1(msg: DescribeShareGroupOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_describe_share_group_offsets_response_group_v1(groups_item, out)
    out.append(0)


DescribeShareGroupOffsetsRequest.DECODERS = (
    _decode_describe_share_group_offsets_request_v0,
    _decode_describe_share_group_offsets_request_v0,
)

DescribeShareGroupOffsetsRequest.ENCODERS = (
    _encode_describe_share_group_offsets_request_v0,
    _encode_describe_share_group_offsets_request_v0,
)

DescribeShareGroupOffsetsResponse.DECODERS = (
    _decode_describe_share_group_offsets_response_v0,
    _decode_describe_share_group_offsets_response_v1,
)

DescribeShareGroupOffsetsResponse.ENCODERS = (
    _encode_describe_share_group_offsets_response_v0,
    _encode_describe_share_group_offsets_response_v1,
)
