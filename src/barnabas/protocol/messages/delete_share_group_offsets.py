"""DeleteShareGroupOffsets (API key 92): request and response.

Generated from the DeleteShareGroupOffsets schemas by scripts/generate.

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
_pack_uh = Struct(">16sh").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_uh = Struct(">16sh").unpack_from


class DeleteShareGroupOffsetsRequestTopic(Part):
    """Part of DeleteShareGroupOffsetsRequest."""

    __slots__ = ("topic_name",)

    def __init__(
        self,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name


class DeleteShareGroupOffsetsRequest(Message):
    """DeleteShareGroupOffsetsRequest (API key 92), versions 0."""

    __slots__ = (
        "group_id",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "DeleteShareGroupOffsetsRequest"
    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DeleteShareGroupOffsetsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DeleteShareGroupOffsetsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[DeleteShareGroupOffsetsRequestTopic] = [] if topics is None else topics


class DeleteShareGroupOffsetsResponseTopic(Part):
    """Part of DeleteShareGroupOffsetsResponse."""

    __slots__ = (
        "topic_name",
        "topic_id",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


class DeleteShareGroupOffsetsResponse(Message):
    """DeleteShareGroupOffsetsResponse (API key 92), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "responses",
    )

    SCHEMA_NAME: ClassVar[str] = "DeleteShareGroupOffsetsResponse"
    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DeleteShareGroupOffsetsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DeleteShareGroupOffsetsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[DeleteShareGroupOffsetsResponseTopic] = [] if responses is None else responses


def _decode_delete_share_group_offsets_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteShareGroupOffsetsRequestTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteShareGroupOffsetsRequestTopic(topic_name), pos


def _encode_delete_share_group_offsets_request_topic_v0(
    msg: DeleteShareGroupOffsetsRequestTopic, out: WireBuffer
) -> None:
    write_compact_string(msg.topic_name, out)
    out.append(0)


def _decode_delete_share_group_offsets_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteShareGroupOffsetsRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 2, budget)
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_delete_share_group_offsets_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteShareGroupOffsetsRequest(group_id, topics), pos


def _encode_delete_share_group_offsets_request_v0(msg: DeleteShareGroupOffsetsRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_delete_share_group_offsets_request_topic_v0(topics_item, out)
    out.append(0)


def _decode_delete_share_group_offsets_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    topic_id, error_code = _unpack_uh(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 18)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteShareGroupOffsetsResponseTopic(topic_name, topic_id, error_code, error_message), pos


def _encode_delete_share_group_offsets_response_topic_v0(
    msg: DeleteShareGroupOffsetsResponseTopic, out: WireBuffer
) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_uh(msg.topic_id, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_delete_share_group_offsets_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteShareGroupOffsetsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    responses_count, pos = read_compact_count(buf, pos, 21, budget)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_delete_share_group_offsets_response_topic_v0(buf, pos, budget)
        responses.append(responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteShareGroupOffsetsResponse(throttle_time_ms, error_code, error_message, responses), pos


def _encode_delete_share_group_offsets_response_v0(msg: DeleteShareGroupOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_delete_share_group_offsets_response_topic_v0(responses_item, out)
    out.append(0)


DeleteShareGroupOffsetsRequest.DECODERS = (_decode_delete_share_group_offsets_request_v0,)

DeleteShareGroupOffsetsRequest.ENCODERS = (_encode_delete_share_group_offsets_request_v0,)

DeleteShareGroupOffsetsResponse.DECODERS = (_decode_delete_share_group_offsets_response_v0,)

DeleteShareGroupOffsetsResponse.ENCODERS = (_encode_delete_share_group_offsets_response_v0,)
