"""InitProducerId (API key 22): request and response.

Generated from the InitProducerId schemas by scripts/generate.

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
    not_in_version,
    read_compact_nullable_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_nullable_string,
    wrong_length,
)

_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ihqh: Final = Struct(">ihqh").pack
_pack_ihqhB: Final = Struct(">ihqhB").pack
_pack_iqhB: Final = Struct(">iqhB").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihqh: Final = Struct(">ihqh").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from


class InitProducerIdRequest(Message):
    """InitProducerIdRequest (API key 22), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",  # versions 3+
        "producer_epoch",  # versions 3+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "InitProducerIdRequest"
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[InitProducerIdRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[InitProducerIdRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch


class InitProducerIdResponse(Message):
    """InitProducerIdResponse (API key 22), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "InitProducerIdResponse"
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[InitProducerIdResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[InitProducerIdResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch


def _decode_init_producer_id_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[InitProducerIdRequest, int]:
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    transactional_id: str | None = None
    if transactional_id_length >= 0:
        end = pos + transactional_id_length
        if end > len(buf):
            raise wrong_length("string", transactional_id_length, pos, buf)
        transactional_id = str(buf[pos:end], "utf-8")
        pos = end
    (transaction_timeout_ms,) = _unpack_i(buf, pos)
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms), pos + 4


def _encode_init_producer_id_request_v0(msg: InitProducerIdRequest, out: WireBuffer) -> None:
    if msg.producer_id != -1:
        raise not_in_version("InitProducerIdRequest.producer_id")
    if msg.producer_epoch != -1:
        raise not_in_version("InitProducerIdRequest.producer_epoch")
    write_nullable_string(msg.transactional_id, out)
    out += _pack_i(msg.transaction_timeout_ms)


def _decode_init_producer_id_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[InitProducerIdRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    (transaction_timeout_ms,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms), pos


def _encode_init_producer_id_request_v2(msg: InitProducerIdRequest, out: WireBuffer) -> None:
    if msg.producer_id != -1:
        raise not_in_version("InitProducerIdRequest.producer_id")
    if msg.producer_epoch != -1:
        raise not_in_version("InitProducerIdRequest.producer_epoch")
    write_compact_nullable_string(msg.transactional_id, out)
    out += _pack_iB(msg.transaction_timeout_ms, 0)


def _decode_init_producer_id_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[InitProducerIdRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    transaction_timeout_ms, producer_id, producer_epoch = _unpack_iqh(buf, pos)
    pos += 15
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch), pos


def _encode_init_producer_id_request_v3(msg: InitProducerIdRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.transactional_id, out)
    out += _pack_iqhB(msg.transaction_timeout_ms, msg.producer_id, msg.producer_epoch, 0)


def _decode_init_producer_id_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[InitProducerIdResponse, int]:
    throttle_time_ms, error_code, producer_id, producer_epoch = _unpack_ihqh(buf, pos)
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch), pos + 16


def _encode_init_producer_id_response_v0(msg: InitProducerIdResponse, out: WireBuffer) -> None:
    out += _pack_ihqh(msg.throttle_time_ms, msg.error_code, msg.producer_id, msg.producer_epoch)


def _decode_init_producer_id_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[InitProducerIdResponse, int]:
    throttle_time_ms, error_code, producer_id, producer_epoch = _unpack_ihqh(buf, pos)
    pos += 17
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch), pos


def _encode_init_producer_id_response_v2(msg: InitProducerIdResponse, out: WireBuffer) -> None:
    out += _pack_ihqhB(msg.throttle_time_ms, msg.error_code, msg.producer_id, msg.producer_epoch, 0)


InitProducerIdRequest.DECODERS = (
    _decode_init_producer_id_request_v0,
    _decode_init_producer_id_request_v0,
    _decode_init_producer_id_request_v2,
    _decode_init_producer_id_request_v3,
    _decode_init_producer_id_request_v3,
)

InitProducerIdRequest.ENCODERS = (
    _encode_init_producer_id_request_v0,
    _encode_init_producer_id_request_v0,
    _encode_init_producer_id_request_v2,
    _encode_init_producer_id_request_v3,
    _encode_init_producer_id_request_v3,
)

InitProducerIdResponse.DECODERS = (
    _decode_init_producer_id_response_v0,
    _decode_init_producer_id_response_v0,
    _decode_init_producer_id_response_v2,
    _decode_init_producer_id_response_v2,
    _decode_init_producer_id_response_v2,
)

InitProducerIdResponse.ENCODERS = (
    _encode_init_producer_id_response_v0,
    _encode_init_producer_id_response_v0,
    _encode_init_producer_id_response_v2,
    _encode_init_producer_id_response_v2,
    _encode_init_producer_id_response_v2,
)
