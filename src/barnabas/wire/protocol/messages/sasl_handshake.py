"""SaslHandshake (API key 17): request and response.

Generated from the SaslHandshake schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_string,
    write_string,
)

_pack_hi = Struct(">hi").pack
_unpack_hi = Struct(">hi").unpack_from


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
    mechanism, pos = read_string(buf, pos)
    return SaslHandshakeRequest(mechanism), pos


def _encode_sasl_handshake_request_v0(msg: SaslHandshakeRequest, out: WireBuffer) -> None:
    write_string(msg.mechanism, out)


def _decode_sasl_handshake_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SaslHandshakeResponse, int]:
    error_code, mechanisms_count = _unpack_hi(buf, pos)
    pos += 6
    check_count(mechanisms_count, len(buf) - pos, 2, budget)
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
