"""ExplainQuotas (API key 10048): request and response.

Generated from the ExplainQuotas schemas by scripts/generate.

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
    take_nullable_bytes,
    write_nullable_bytes,
    write_nullable_string,
    wrong_length,
)

_pack_b: Final = Struct(">b").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from


class ExplainQuotasRequest(Message):
    """ExplainQuotasRequest (API key 10048), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "view",
        "user",
        "client_id",
        "last_seconds",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ExplainQuotasRequest"
    API_KEY: ClassVar[int] = 10048
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ExplainQuotasRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ExplainQuotasRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        view: int = 0,
        user: str | None = "",
        client_id: str | None = "",
        last_seconds: int = 10,
    ) -> None:
        self.view = view
        self.user = user
        self.client_id = client_id
        self.last_seconds = last_seconds


class ExplainQuotasResponse(Message):
    """ExplainQuotasResponse (API key 10048), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "answer",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ExplainQuotasResponse"
    API_KEY: ClassVar[int] = 10048
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ExplainQuotasResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ExplainQuotasResponse, WireBuffer], None] | None, ...]]

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


def _decode_explain_quotas_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ExplainQuotasRequest, int]:
    view, user_length = _unpack_bh(buf, pos)
    pos += 3
    user: str | None = None
    if user_length >= 0:
        end = pos + user_length
        if end > len(buf):
            raise wrong_length("string", user_length, pos, buf)
        user = str(buf[pos:end], "utf-8")
        pos = end
    (client_id_length,) = _unpack_h(buf, pos)
    pos += 2
    client_id: str | None = None
    if client_id_length >= 0:
        end = pos + client_id_length
        if end > len(buf):
            raise wrong_length("string", client_id_length, pos, buf)
        client_id = str(buf[pos:end], "utf-8")
        pos = end
    (last_seconds,) = _unpack_i(buf, pos)
    return ExplainQuotasRequest(view, user, client_id, last_seconds), pos + 4


def _encode_explain_quotas_request_v0(msg: ExplainQuotasRequest, out: WireBuffer) -> None:
    out += _pack_b(msg.view)
    write_nullable_string(msg.user, out)
    write_nullable_string(msg.client_id, out)
    out += _pack_i(msg.last_seconds)


def _decode_explain_quotas_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ExplainQuotasResponse, int]:
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
    return ExplainQuotasResponse(throttle_time_ms, error_code, error_message, answer), pos


def _encode_explain_quotas_response_v0(msg: ExplainQuotasResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_nullable_string(msg.error_message, out)
    write_nullable_bytes(msg.answer, out)


ExplainQuotasRequest.DECODERS = (_decode_explain_quotas_request_v0,)

ExplainQuotasRequest.ENCODERS = (_encode_explain_quotas_request_v0,)

ExplainQuotasResponse.DECODERS = (_decode_explain_quotas_response_v0,)

ExplainQuotasResponse.ENCODERS = (_encode_explain_quotas_response_v0,)
