"""RequestHeader: what stands before every message's body.

Generated from the RequestHeader schema by scripts/generate.

Source: protocol guide, "Request and response headers".
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    WireBuffer,
    skip_tagged_fields,
    write_nullable_string,
    wrong_length,
)

_pack_hhi: Final = Struct(">hhi").pack
_unpack_hhi: Final = Struct(">hhi").unpack_from
_unpack_hhih: Final = Struct(">hhih").unpack_from


class RequestHeader(Message):
    """RequestHeader, versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "request_api_key",
        "request_api_version",
        "correlation_id",
        "client_id",  # versions 1+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "RequestHeader"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[RequestHeader, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[RequestHeader, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id


def _decode_request_header_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[RequestHeader, int]:
    request_api_key, request_api_version, correlation_id = _unpack_hhi(buf, pos)
    return RequestHeader(request_api_key, request_api_version, correlation_id), pos + 8


def _encode_request_header_v0(msg: RequestHeader, out: WireBuffer) -> None:
    out += _pack_hhi(msg.request_api_key, msg.request_api_version, msg.correlation_id)


def _decode_request_header_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[RequestHeader, int]:
    request_api_key, request_api_version, correlation_id, client_id_length = _unpack_hhih(buf, pos)
    pos += 10
    client_id: str | None = None
    if client_id_length >= 0:
        end = pos + client_id_length
        if end > len(buf):
            raise wrong_length("string", client_id_length, pos, buf)
        client_id = str(buf[pos:end], "utf-8")
        pos = end
    return RequestHeader(request_api_key, request_api_version, correlation_id, client_id), pos


def _encode_request_header_v1(msg: RequestHeader, out: WireBuffer) -> None:
    out += _pack_hhi(msg.request_api_key, msg.request_api_version, msg.correlation_id)
    write_nullable_string(msg.client_id, out)


def _decode_request_header_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[RequestHeader, int]:
    request_api_key, request_api_version, correlation_id, client_id_length = _unpack_hhih(buf, pos)
    pos += 10
    client_id: str | None = None
    if client_id_length >= 0:
        end = pos + client_id_length
        if end > len(buf):
            raise wrong_length("string", client_id_length, pos, buf)
        client_id = str(buf[pos:end], "utf-8")
        pos = end
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return RequestHeader(request_api_key, request_api_version, correlation_id, client_id), pos


def _encode_request_header_v2(msg: RequestHeader, out: WireBuffer) -> None:
    out += _pack_hhi(msg.request_api_key, msg.request_api_version, msg.correlation_id)
    write_nullable_string(msg.client_id, out)
    out.append(0)


RequestHeader.DECODERS = (
    _decode_request_header_v0,
    _decode_request_header_v1,
    _decode_request_header_v2,
)

RequestHeader.ENCODERS = (
    _encode_request_header_v0,
    _encode_request_header_v1,
    _encode_request_header_v2,
)
