"""SaslHandshake (API key 17): request and response.

Generated from the SaslHandshake schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_string,
    write_string,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from


class SaslHandshakeRequest(Message):
    """SaslHandshakeRequest (API key 17), versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "SaslHandshakeRequest"
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SaslHandshakeRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SaslHandshakeRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism


class SaslHandshakeResponse(Message):
    """SaslHandshakeResponse (API key 17), versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "mechanisms",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "SaslHandshakeResponse"
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SaslHandshakeResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SaslHandshakeResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] | None = None,
    ) -> None:
        self.error_code = error_code
        self.mechanisms: list[str] = [] if mechanisms is None else mechanisms


def _decode_sasl_handshake_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SaslHandshakeRequest, int]:
    (mechanism_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + mechanism_length
    if mechanism_length < 0 or end > len(buf):
        raise wrong_length("string", mechanism_length, pos, buf)
    mechanism = str(buf[pos:end], "utf-8")
    pos = end
    return SaslHandshakeRequest(mechanism), pos


def _encode_sasl_handshake_request_v0(msg: SaslHandshakeRequest, out: WireBuffer) -> None:
    mechanism_bytes = msg.mechanism.encode()
    out += _pack_h(len(mechanism_bytes))
    out += mechanism_bytes


def _decode_sasl_handshake_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SaslHandshakeResponse, int]:
    error_code, mechanisms_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - mechanisms_count
    if mechanisms_count < 0 or elements_left < 0 or mechanisms_count * 2 > len(buf) - pos:
        check_count(mechanisms_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    mechanisms: list[str] = []
    for _ in range(mechanisms_count):
        mechanisms_item, pos = read_string(buf, pos)
        mechanisms.append(mechanisms_item)
    return SaslHandshakeResponse(error_code, mechanisms), pos


def _encode_sasl_handshake_response_v0(msg: SaslHandshakeResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.mechanisms))
    for mechanisms_item in msg.mechanisms:
        write_string(mechanisms_item, out)


SaslHandshakeRequest.DECODERS = (
    _decode_sasl_handshake_request_v0,
    _decode_sasl_handshake_request_v0,
)

SaslHandshakeRequest.ENCODERS = (
    _encode_sasl_handshake_request_v0,
    _encode_sasl_handshake_request_v0,
)

SaslHandshakeResponse.DECODERS = (
    _decode_sasl_handshake_response_v0,
    _decode_sasl_handshake_response_v0,
)

SaslHandshakeResponse.ENCODERS = (
    _encode_sasl_handshake_response_v0,
    _encode_sasl_handshake_response_v0,
)
