"""SaslAuthenticate (API key 36): request and response.

Generated from the SaslAuthenticate schemas by scripts/generate.

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
    read_compact_bytes,
    read_compact_nullable_string,
    skip_tagged_fields,
    take_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_nullable_string,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_q: Final = Struct(">q").pack
_pack_qB: Final = Struct(">qB").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_q: Final = Struct(">q").unpack_from


class SaslAuthenticateRequest(Message):
    """SaslAuthenticateRequest (API key 36), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = ("auth_bytes",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "SaslAuthenticateRequest"
    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SaslAuthenticateRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SaslAuthenticateRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        auth_bytes: bytes = b"",
    ) -> None:
        self.auth_bytes = auth_bytes


class SaslAuthenticateResponse(Message):
    """SaslAuthenticateResponse (API key 36), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "auth_bytes",
        "session_lifetime_ms",  # versions 1+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "SaslAuthenticateResponse"
    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SaslAuthenticateResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SaslAuthenticateResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms


def _decode_sasl_authenticate_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[SaslAuthenticateRequest, int]:
    (auth_bytes_length,) = _unpack_i(buf, pos)
    auth_bytes, pos = take_bytes(buf, pos + 4, auth_bytes_length)
    return SaslAuthenticateRequest(auth_bytes), pos


def _encode_sasl_authenticate_request_v0(msg: SaslAuthenticateRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.auth_bytes))
    out += msg.auth_bytes


def _decode_sasl_authenticate_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[SaslAuthenticateRequest, int]:
    auth_bytes, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SaslAuthenticateRequest(auth_bytes), pos


def _encode_sasl_authenticate_request_v2(msg: SaslAuthenticateRequest, out: WireBuffer) -> None:
    write_compact_bytes(msg.auth_bytes, out)
    out.append(0)


def _decode_sasl_authenticate_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[SaslAuthenticateResponse, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (auth_bytes_length,) = _unpack_i(buf, pos)
    auth_bytes, pos = take_bytes(buf, pos + 4, auth_bytes_length)
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes), pos


def _encode_sasl_authenticate_response_v0(msg: SaslAuthenticateResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(len(msg.auth_bytes))
    out += msg.auth_bytes


def _decode_sasl_authenticate_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[SaslAuthenticateResponse, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (auth_bytes_length,) = _unpack_i(buf, pos)
    auth_bytes, pos = take_bytes(buf, pos + 4, auth_bytes_length)
    (session_lifetime_ms,) = _unpack_q(buf, pos)
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms), pos + 8


def _encode_sasl_authenticate_response_v1(msg: SaslAuthenticateResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(len(msg.auth_bytes))
    out += msg.auth_bytes
    out += _pack_q(msg.session_lifetime_ms)


def _decode_sasl_authenticate_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[SaslAuthenticateResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    auth_bytes, pos = read_compact_bytes(buf, pos)
    (session_lifetime_ms,) = _unpack_q(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms), pos


def _encode_sasl_authenticate_response_v2(msg: SaslAuthenticateResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_bytes(msg.auth_bytes, out)
    out += _pack_qB(msg.session_lifetime_ms, 0)


SaslAuthenticateRequest.DECODERS = (
    _decode_sasl_authenticate_request_v0,
    _decode_sasl_authenticate_request_v0,
    _decode_sasl_authenticate_request_v2,
)

SaslAuthenticateRequest.ENCODERS = (
    _encode_sasl_authenticate_request_v0,
    _encode_sasl_authenticate_request_v0,
    _encode_sasl_authenticate_request_v2,
)

SaslAuthenticateResponse.DECODERS = (
    _decode_sasl_authenticate_response_v0,
    _decode_sasl_authenticate_response_v1,
    _decode_sasl_authenticate_response_v2,
)

SaslAuthenticateResponse.ENCODERS = (
    _encode_sasl_authenticate_response_v0,
    _encode_sasl_authenticate_response_v1,
    _encode_sasl_authenticate_response_v2,
)
