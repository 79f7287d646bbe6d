"""ResponseHeader: what stands before every message's body.

Generated from the ResponseHeader schema by scripts/generate.

Source: protocol guide, "Request and response headers".
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, skip_tagged_fields

_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_unpack_i: Final = Struct(">i").unpack_from


class ResponseHeader(Message):
    """ResponseHeader, versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = ("correlation_id",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ResponseHeader"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ResponseHeader, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ResponseHeader, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id


def _decode_response_header_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ResponseHeader, int]:
    (correlation_id,) = _unpack_i(buf, pos)
    return ResponseHeader(correlation_id), pos + 4


def _encode_response_header_v0(msg: ResponseHeader, out: WireBuffer) -> None:
    out += _pack_i(msg.correlation_id)


def _decode_response_header_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ResponseHeader, int]:
    (correlation_id,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ResponseHeader(correlation_id), pos


def _encode_response_header_v1(msg: ResponseHeader, out: WireBuffer) -> None:
    out += _pack_iB(msg.correlation_id, 0)


ResponseHeader.DECODERS = (
    _decode_response_header_v0,
    _decode_response_header_v1,
)

ResponseHeader.ENCODERS = (
    _encode_response_header_v0,
    _encode_response_header_v1,
)
