"""OffsetDelete (API key 47): request and response.

Generated from the OffsetDelete schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_string,
    write_string,
)

_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from


class OffsetDeleteRequestPartition(Part):
    """Part of OffsetDeleteRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class OffsetDeleteRequestTopic(Part):
    """Part of OffsetDeleteRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetDeleteRequestPartition] = [] if partitions is None else partitions


class OffsetDeleteRequest(Message):
    """OffsetDeleteRequest (API key 47), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "OffsetDeleteRequest"
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetDeleteRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetDeleteRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetDeleteRequestTopic] = [] if topics is None else topics


class OffsetDeleteResponsePartition(Part):
    """Part of OffsetDeleteResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class OffsetDeleteResponseTopic(Part):
    """Part of OffsetDeleteResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetDeleteResponsePartition] = [] if partitions is None else partitions


class OffsetDeleteResponse(Message):
    """OffsetDeleteResponse (API key 47), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "throttle_time_ms",
        "topics",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "OffsetDeleteResponse"
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetDeleteResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetDeleteResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] | None = None,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetDeleteResponseTopic] = [] if topics is None else topics


def _decode_offset_delete_request_partition_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetDeleteRequestPartition, int]:
    (partition_index,) = _unpack_i(buf, pos)
    return OffsetDeleteRequestPartition(partition_index), pos + 4


def _encode_offset_delete_request_partition_v0(msg: OffsetDeleteRequestPartition, out: WireBuffer) -> None:
    out += _pack_i(msg.partition_index)


def _decode_offset_delete_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetDeleteRequestTopic, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 4, budget)
    partitions: list[OffsetDeleteRequestPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_offset_delete_request_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return OffsetDeleteRequestTopic(name, partitions), pos


def _encode_offset_delete_request_topic_v0(msg: OffsetDeleteRequestTopic, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_offset_delete_request_partition_v0(partitions_item, out)


def _decode_offset_delete_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetDeleteRequest, int]:
    group_id, pos = read_string(buf, pos)
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[OffsetDeleteRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_delete_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetDeleteRequest(group_id, topics), pos


def _encode_offset_delete_request_v0(msg: OffsetDeleteRequest, out: WireBuffer) -> None:
    write_string(msg.group_id, out)
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_delete_request_topic_v0(topics_item, out)


def _decode_offset_delete_response_partition_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetDeleteResponsePartition, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    return OffsetDeleteResponsePartition(partition_index, error_code), pos + 6


def _encode_offset_delete_response_partition_v0(msg: OffsetDeleteResponsePartition, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition_index, msg.error_code)


def _decode_offset_delete_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetDeleteResponseTopic, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 6, budget)
    partitions: list[OffsetDeleteResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_offset_delete_response_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return OffsetDeleteResponseTopic(name, partitions), pos


def _encode_offset_delete_response_topic_v0(msg: OffsetDeleteResponseTopic, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_offset_delete_response_partition_v0(partitions_item, out)


def _decode_offset_delete_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetDeleteResponse, int]:
    error_code, throttle_time_ms, topics_count = _unpack_hii(buf, pos)
    pos += 10
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[OffsetDeleteResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_delete_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetDeleteResponse(error_code, throttle_time_ms, topics), pos


def _encode_offset_delete_response_v0(msg: OffsetDeleteResponse, out: WireBuffer) -> None:
    out += _pack_hii(msg.error_code, msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_delete_response_topic_v0(topics_item, out)


OffsetDeleteRequest.DECODERS = (_decode_offset_delete_request_v0,)

OffsetDeleteRequest.ENCODERS = (_encode_offset_delete_request_v0,)

OffsetDeleteResponse.DECODERS = (_decode_offset_delete_response_v0,)

OffsetDeleteResponse.ENCODERS = (_encode_offset_delete_response_v0,)
