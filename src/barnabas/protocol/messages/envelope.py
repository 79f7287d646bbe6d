"""Envelope (API key 58): request and response.

Generated from the Envelope schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    read_compact_bytes,
    read_compact_nullable_bytes,
    skip_tagged_fields,
    write_compact_bytes,
    write_compact_nullable_bytes,
)

_pack_hB = Struct(">hB").pack
_unpack_h = Struct(">h").unpack_from


class EnvelopeRequest(Message):
    """EnvelopeRequest (API key 58), versions 0."""

    __slots__ = (
        "request_data",
        "request_principal",
        "client_host_address",
    )

    SCHEMA_NAME: ClassVar[str] = "EnvelopeRequest"
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[EnvelopeRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[EnvelopeRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address


class EnvelopeResponse(Message):
    """EnvelopeResponse (API key 58), versions 0."""

    __slots__ = (
        "response_data",
        "error_code",
    )

    SCHEMA_NAME: ClassVar[str] = "EnvelopeResponse"
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[EnvelopeResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[EnvelopeResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        response_data: bytes | None = None,
        error_code: int = 0,
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code


def _decode_envelope_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EnvelopeRequest, int]:
    request_data, pos = read_compact_bytes(buf, pos)
    request_principal, pos = read_compact_nullable_bytes(buf, pos)
    client_host_address, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return EnvelopeRequest(request_data, request_principal, client_host_address), pos


def _encode_envelope_request_v0(msg: EnvelopeRequest, out: WireBuffer) -> None:
    write_compact_bytes(msg.request_data, out)
    write_compact_nullable_bytes(msg.request_principal, out)
    write_compact_bytes(msg.client_host_address, out)
    out.append(0)


def _decode_envelope_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EnvelopeResponse, int]:
    response_data, pos = read_compact_nullable_bytes(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return EnvelopeResponse(response_data, error_code), pos


def _encode_envelope_response_v0(msg: EnvelopeResponse, out: WireBuffer) -> None:
    write_compact_nullable_bytes(msg.response_data, out)
    out += _pack_hB(msg.error_code, 0)


EnvelopeRequest.DECODERS = (_decode_envelope_request_v0,)

EnvelopeRequest.ENCODERS = (_encode_envelope_request_v0,)

EnvelopeResponse.DECODERS = (_decode_envelope_response_v0,)

EnvelopeResponse.ENCODERS = (_encode_envelope_response_v0,)
