"""EndTxn (API key 26): request and response.

Generated from the EndTxn schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import Budget, Message, REQUEST_ELEMENT_LIMIT, WireBuffer, wrong_length

_pack_h: Final = Struct(">h").pack
_pack_ih: Final = Struct(">ih").pack
_pack_qht: Final = Struct(">qh?").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_qht: Final = Struct(">qh?").unpack_from


class EndTxnRequest(Message):
    """EndTxnRequest (API key 26), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "committed",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "EndTxnRequest"
    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[EndTxnRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[EndTxnRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed


class EndTxnResponse(Message):
    """EndTxnResponse (API key 26), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "EndTxnResponse"
    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[EndTxnResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[EndTxnResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code


def _decode_end_txn_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EndTxnRequest, int]:
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + transactional_id_length
    if transactional_id_length < 0 or end > len(buf):
        raise wrong_length("string", transactional_id_length, pos, buf)
    transactional_id = str(buf[pos:end], "utf-8")
    pos = end
    producer_id, producer_epoch, committed = _unpack_qht(buf, pos)
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed), pos + 11


def _encode_end_txn_request_v0(msg: EndTxnRequest, out: WireBuffer) -> None:
    transactional_id_bytes = msg.transactional_id.encode()
    out += _pack_h(len(transactional_id_bytes))
    out += transactional_id_bytes
    out += _pack_qht(msg.producer_id, msg.producer_epoch, msg.committed)


def _decode_end_txn_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EndTxnResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    return EndTxnResponse(throttle_time_ms, error_code), pos + 6


def _encode_end_txn_response_v0(msg: EndTxnResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)


EndTxnRequest.DECODERS = (
    _decode_end_txn_request_v0,
    _decode_end_txn_request_v0,
    _decode_end_txn_request_v0,
)

EndTxnRequest.ENCODERS = (
    _encode_end_txn_request_v0,
    _encode_end_txn_request_v0,
    _encode_end_txn_request_v0,
)

EndTxnResponse.DECODERS = (
    _decode_end_txn_response_v0,
    _decode_end_txn_response_v0,
    _decode_end_txn_response_v0,
)

EndTxnResponse.ENCODERS = (
    _encode_end_txn_response_v0,
    _encode_end_txn_response_v0,
    _encode_end_txn_response_v0,
)
