"""DeleteTopics (API key 20): request and response.

Generated from the DeleteTopics schemas by scripts/generate.

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
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class DeleteTopicsRequest(Message):
    """DeleteTopicsRequest (API key 20), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_names",
        "timeout_ms",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "DeleteTopicsRequest"
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteTopicsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteTopicsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topic_names: list[str] | None = None,
        timeout_ms: int = 0,
    ) -> None:
        self.topic_names: list[str] = [] if topic_names is None else topic_names
        self.timeout_ms = timeout_ms


class DeletableTopicResult(Part):
    """Part of DeleteTopicsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "error_code",
        "error_message",  # versions 5+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message


class DeleteTopicsResponse(Message):
    """DeleteTopicsResponse (API key 20), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "responses",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("responses", DeletableTopicResult, True),)

    SCHEMA_NAME: ClassVar[str] = "DeleteTopicsResponse"
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteTopicsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteTopicsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[DeletableTopicResult] = [] if responses is None else responses


def _decode_delete_topics_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteTopicsRequest, int]:
    (topic_names_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topic_names_count
    if topic_names_count < 0 or elements_left < 0 or topic_names_count * 2 > len(buf) - pos:
        check_count(topic_names_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    topic_names: list[str] = []
    for _ in range(topic_names_count):
        topic_names_item, pos = read_string(buf, pos)
        topic_names.append(topic_names_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    return DeleteTopicsRequest(topic_names, timeout_ms), pos + 4


def _encode_delete_topics_request_v0(msg: DeleteTopicsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topic_names))
    for topic_names_item in msg.topic_names:
        write_string(topic_names_item, out)
    out += _pack_i(msg.timeout_ms)


def _decode_delete_topics_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteTopicsRequest, int]:
    topic_names_count, pos = read_compact_count(buf, pos, 1, budget)
    topic_names: list[str] = []
    for _ in range(topic_names_count):
        topic_names_item, pos = read_compact_string(buf, pos)
        topic_names.append(topic_names_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteTopicsRequest(topic_names, timeout_ms), pos


def _encode_delete_topics_request_v4(msg: DeleteTopicsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.topic_names) + 1, out)
    for topic_names_item in msg.topic_names:
        write_compact_string(topic_names_item, out)
    out += _pack_iB(msg.timeout_ms, 0)


def _decode_delete_topics_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteTopicsResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 4 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    responses: list[DeletableTopicResult] = []
    for _ in range(responses_count):
        (responses_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + responses_name_length
        if responses_name_length < 0 or end > len(buf):
            raise wrong_length("string", responses_name_length, pos, buf)
        responses_name = str(buf[pos:end], "utf-8")
        pos = end
        (responses_error_code,) = _unpack_h(buf, pos)
        pos += 2
        responses.append(DeletableTopicResult(responses_name, responses_error_code))
    return DeleteTopicsResponse(0, responses), pos


def _encode_delete_topics_response_v0(msg: DeleteTopicsResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        name_bytes = responses_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_h(responses_item.error_code)


def _decode_delete_topics_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteTopicsResponse, int]:
    throttle_time_ms, responses_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 4 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    responses: list[DeletableTopicResult] = []
    for _ in range(responses_count):
        (responses_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + responses_name_length
        if responses_name_length < 0 or end > len(buf):
            raise wrong_length("string", responses_name_length, pos, buf)
        responses_name = str(buf[pos:end], "utf-8")
        pos = end
        (responses_error_code,) = _unpack_h(buf, pos)
        pos += 2
        responses.append(DeletableTopicResult(responses_name, responses_error_code))
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _encode_delete_topics_response_v1(msg: DeleteTopicsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.responses))
    for responses_item in msg.responses:
        name_bytes = responses_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_h(responses_item.error_code)


def _decode_deletable_topic_result_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[DeletableTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeletableTopicResult(name, error_code), pos


def _encode_deletable_topic_result_v4(msg: DeletableTopicResult, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_hB(msg.error_code, 0)


def _decode_delete_topics_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteTopicsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    responses_count, pos = read_compact_count(buf, pos + 4, 4, budget)
    responses: list[DeletableTopicResult] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_deletable_topic_result_v4(buf, pos, budget)
        responses.append(responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _encode_delete_topics_response_v4(msg: DeleteTopicsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_deletable_topic_result_v4(responses_item, out)
    out.append(0)


def _decode_deletable_topic_result_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[DeletableTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeletableTopicResult(name, error_code, error_message), pos


def _encode_deletable_topic_result_v5(msg: DeletableTopicResult, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_delete_topics_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteTopicsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    responses_count, pos = read_compact_count(buf, pos + 4, 5, budget)
    responses: list[DeletableTopicResult] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_deletable_topic_result_v5(buf, pos, budget)
        responses.append(responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteTopicsResponse(throttle_time_ms, responses), pos


def _encode_delete_topics_response_v5(msg: DeleteTopicsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_deletable_topic_result_v5(responses_item, out)
    out.append(0)


DeleteTopicsRequest.DECODERS = (
    _decode_delete_topics_request_v0,
    _decode_delete_topics_request_v0,
    _decode_delete_topics_request_v0,
    _decode_delete_topics_request_v0,
    _decode_delete_topics_request_v4,
    _decode_delete_topics_request_v4,
)

DeleteTopicsRequest.ENCODERS = (
    _encode_delete_topics_request_v0,
    _encode_delete_topics_request_v0,
    _encode_delete_topics_request_v0,
    _encode_delete_topics_request_v0,
    _encode_delete_topics_request_v4,
    _encode_delete_topics_request_v4,
)

DeleteTopicsResponse.DECODERS = (
    _decode_delete_topics_response_v0,
    _decode_delete_topics_response_v1,
    _decode_delete_topics_response_v1,
    _decode_delete_topics_response_v1,
    _decode_delete_topics_response_v4,
    _decode_delete_topics_response_v5,
)

DeleteTopicsResponse.ENCODERS = (
    _encode_delete_topics_response_v0,
    _encode_delete_topics_response_v1,
    _encode_delete_topics_response_v1,
    _encode_delete_topics_response_v1,
    _encode_delete_topics_response_v4,
    _encode_delete_topics_response_v5,
)
