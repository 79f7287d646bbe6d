"""Facts (API key 10049): request and response.

Generated from the Facts schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_string,
    take_nullable_bytes,
    write_nullable_bytes,
    write_nullable_string,
    write_string,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_q: Final = Struct(">q").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from
_unpack_q: Final = Struct(">q").unpack_from


class FactsRequest(Message):
    """FactsRequest (API key 10049), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "subject",
        "names",
        "since_ms",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "FactsRequest"
    API_KEY: ClassVar[int] = 10049
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FactsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FactsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        subject: str = "",
        names: list[str] | None | Missing = MISSING,
        since_ms: int = -1,
    ) -> None:
        self.subject = subject
        self.names: list[str] | None = [] if isinstance(names, Missing) else names
        self.since_ms = since_ms


class FactsResponse(Message):
    """FactsResponse (API key 10049), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "answer",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "FactsResponse"
    API_KEY: ClassVar[int] = 10049
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FactsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FactsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        answer: bytes | None = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.answer = answer


def _decode_facts_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FactsRequest, int]:
    (subject_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + subject_length
    if subject_length < 0 or end > len(buf):
        raise wrong_length("string", subject_length, pos, buf)
    subject = str(buf[pos:end], "utf-8")
    pos = end
    (names_count,) = _unpack_i(buf, pos)
    pos += 4
    names: list[str] | None = None
    if names_count >= 0:
        elements_left = budget.elements_left - names_count
        if names_count < 0 or elements_left < 0 or names_count * 2 > len(buf) - pos:
            check_count(names_count, len(buf) - pos, 2, budget)
        budget.elements_left = elements_left
        names = []
        for _ in range(names_count):
            names_item, pos = read_string(buf, pos)
            names.append(names_item)
    (since_ms,) = _unpack_q(buf, pos)
    return FactsRequest(subject, names, since_ms), pos + 8


def _encode_facts_request_v0(msg: FactsRequest, out: WireBuffer) -> None:
    subject_bytes = msg.subject.encode()
    out += _pack_h(len(subject_bytes))
    out += subject_bytes
    out += _pack_i(-1 if msg.names is None else len(msg.names))
    if msg.names:
        for names_item in msg.names:
            write_string(names_item, out)
    out += _pack_q(msg.since_ms)


def _decode_facts_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FactsResponse, int]:
    throttle_time_ms, error_code, error_message_length = _unpack_ihh(buf, pos)
    pos += 8
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (answer_length,) = _unpack_i(buf, pos)
    answer, pos = take_nullable_bytes(buf, pos + 4, answer_length)
    return FactsResponse(throttle_time_ms, error_code, error_message, answer), pos


def _encode_facts_response_v0(msg: FactsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_nullable_string(msg.error_message, out)
    write_nullable_bytes(msg.answer, out)


FactsRequest.DECODERS = (_decode_facts_request_v0,)

FactsRequest.ENCODERS = (_encode_facts_request_v0,)

FactsResponse.DECODERS = (_decode_facts_response_v0,)

FactsResponse.ENCODERS = (_encode_facts_response_v0,)
