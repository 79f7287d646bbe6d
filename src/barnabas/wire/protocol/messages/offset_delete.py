"""OffsetDelete (API key 47): request and response.

Generated from the OffsetDelete schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hii: Final = Struct(">hii").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hii: Final = Struct(">hii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", OffsetDeleteRequestPartition, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetDeleteRequestTopic, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", OffsetDeleteResponsePartition, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetDeleteResponseTopic, True),)

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


def _decode_offset_delete_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetDeleteRequestTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 4 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetDeleteRequestPartition] = []
    for _ in range(partitions_count):
        (partitions_partition_index,) = _unpack_i(buf, pos)
        pos += 4
        partitions.append(OffsetDeleteRequestPartition(partitions_partition_index))
    return OffsetDeleteRequestTopic(name, partitions), pos


def _encode_offset_delete_request_topic_v0(msg: OffsetDeleteRequestTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_i(partitions_item.partition_index)


def _decode_offset_delete_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetDeleteRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetDeleteRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_delete_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetDeleteRequest(group_id, topics), pos


def _encode_offset_delete_request_v0(msg: OffsetDeleteRequest, out: WireBuffer) -> None:
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_delete_request_topic_v0(topics_item, out)


def _decode_offset_delete_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetDeleteResponseTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 6 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetDeleteResponsePartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_error_code = _unpack_ih(buf, pos)
        pos += 6
        partitions.append(OffsetDeleteResponsePartition(partitions_partition_index, partitions_error_code))
    return OffsetDeleteResponseTopic(name, partitions), pos


def _encode_offset_delete_response_topic_v0(msg: OffsetDeleteResponseTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_ih(partitions_item.partition_index, partitions_item.error_code)


def _decode_offset_delete_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetDeleteResponse, int]:
    error_code, throttle_time_ms, topics_count = _unpack_hii(buf, pos)
    pos += 10
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
