"""AlterShareGroupOffsets (API key 91): request and response.

Generated from the AlterShareGroupOffsets schemas by scripts/generate.

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
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_ih = Struct(">ih").pack
_pack_iqB = Struct(">iqB").pack
_pack_u = Struct(">16s").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_u = Struct(">16s").unpack_from


class AlterShareGroupOffsetsRequestPartition(Part):
    """Part of AlterShareGroupOffsetsRequest."""

    __slots__ = (
        "partition_index",
        "start_offset",
    )

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset


class AlterShareGroupOffsetsRequestTopic(Part):
    """Part of AlterShareGroupOffsetsRequest."""

    __slots__ = (
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterShareGroupOffsetsRequestPartition] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[AlterShareGroupOffsetsRequestPartition] = [] if partitions is None else partitions


class AlterShareGroupOffsetsRequest(Message):
    """AlterShareGroupOffsetsRequest (API key 91), versions 0."""

    __slots__ = (
        "group_id",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "AlterShareGroupOffsetsRequest"
    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[AlterShareGroupOffsetsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[AlterShareGroupOffsetsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[AlterShareGroupOffsetsRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[AlterShareGroupOffsetsRequestTopic] = [] if topics is None else topics


class AlterShareGroupOffsetsResponsePartition(Part):
    """Part of AlterShareGroupOffsetsResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class AlterShareGroupOffsetsResponseTopic(Part):
    """Part of AlterShareGroupOffsetsResponse."""

    __slots__ = (
        "topic_name",
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterShareGroupOffsetsResponsePartition] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions: list[AlterShareGroupOffsetsResponsePartition] = [] if partitions is None else partitions


class AlterShareGroupOffsetsResponse(Message):
    """AlterShareGroupOffsetsResponse (API key 91), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "responses",
    )

    SCHEMA_NAME: ClassVar[str] = "AlterShareGroupOffsetsResponse"
    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[AlterShareGroupOffsetsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[AlterShareGroupOffsetsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[AlterShareGroupOffsetsResponseTopic] = [] if responses is None else responses


def _decode_alter_share_group_offsets_request_partition_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterShareGroupOffsetsRequestPartition, int]:
    partition_index, start_offset = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterShareGroupOffsetsRequestPartition(partition_index, start_offset), pos


def _encode_alter_share_group_offsets_request_partition_v0(
    msg: AlterShareGroupOffsetsRequestPartition, out: WireBuffer
) -> None:
    out += _pack_iqB(msg.partition_index, msg.start_offset, 0)


def _decode_alter_share_group_offsets_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterShareGroupOffsetsRequestTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 13, budget)
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_share_group_offsets_request_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterShareGroupOffsetsRequestTopic(topic_name, partitions), pos


def _encode_alter_share_group_offsets_request_topic_v0(
    msg: AlterShareGroupOffsetsRequestTopic, out: WireBuffer
) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_share_group_offsets_request_partition_v0(partitions_item, out)
    out.append(0)


def _decode_alter_share_group_offsets_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterShareGroupOffsetsRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[AlterShareGroupOffsetsRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_share_group_offsets_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterShareGroupOffsetsRequest(group_id, topics), pos


def _encode_alter_share_group_offsets_request_v0(msg: AlterShareGroupOffsetsRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_share_group_offsets_request_topic_v0(topics_item, out)
    out.append(0)


def _decode_alter_share_group_offsets_response_partition_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterShareGroupOffsetsResponsePartition, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterShareGroupOffsetsResponsePartition(partition_index, error_code, error_message), pos


def _encode_alter_share_group_offsets_response_partition_v0(
    msg: AlterShareGroupOffsetsResponsePartition, out: WireBuffer
) -> None:
    out += _pack_ih(msg.partition_index, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_alter_share_group_offsets_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 8, budget)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_share_group_offsets_response_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), pos


def _encode_alter_share_group_offsets_response_topic_v0(
    msg: AlterShareGroupOffsetsResponseTopic, out: WireBuffer
) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_share_group_offsets_response_partition_v0(partitions_item, out)
    out.append(0)


def _decode_alter_share_group_offsets_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterShareGroupOffsetsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    responses_count, pos = read_compact_count(buf, pos, 19, budget)
    responses: list[AlterShareGroupOffsetsResponseTopic] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_alter_share_group_offsets_response_topic_v0(buf, pos, budget)
        responses.append(responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterShareGroupOffsetsResponse(throttle_time_ms, error_code, error_message, responses), pos


def _encode_alter_share_group_offsets_response_v0(msg: AlterShareGroupOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_alter_share_group_offsets_response_topic_v0(responses_item, out)
    out.append(0)


AlterShareGroupOffsetsRequest.DECODERS = (_decode_alter_share_group_offsets_request_v0,)

AlterShareGroupOffsetsRequest.ENCODERS = (_encode_alter_share_group_offsets_request_v0,)

AlterShareGroupOffsetsResponse.DECODERS = (_decode_alter_share_group_offsets_response_v0,)

AlterShareGroupOffsetsResponse.ENCODERS = (_encode_alter_share_group_offsets_response_v0,)
