"""AddOffsetsToTxn (API key 25): request and response.

Generated from the AddOffsetsToTxn schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import Budget, Message, REQUEST_ELEMENT_LIMIT, WireBuffer, wrong_length

_pack_h: Final = Struct(">h").pack
_pack_ih: Final = Struct(">ih").pack
_pack_qhh: Final = Struct(">qhh").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_qhh: Final = Struct(">qhh").unpack_from


class AddOffsetsToTxnRequest(Message):
    """AddOffsetsToTxnRequest (API key 25), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "group_id",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "AddOffsetsToTxnRequest"
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddOffsetsToTxnRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddOffsetsToTxnRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id


class AddOffsetsToTxnResponse(Message):
    """AddOffsetsToTxnResponse (API key 25), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "AddOffsetsToTxnResponse"
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddOffsetsToTxnResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddOffsetsToTxnResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code


def _decode_add_offsets_to_txn_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddOffsetsToTxnRequest, int]:
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + transactional_id_length
    if transactional_id_length < 0 or end > len(buf):
        raise wrong_length("string", transactional_id_length, pos, buf)
    transactional_id = str(buf[pos:end], "utf-8")
    pos = end
    producer_id, producer_epoch, group_id_length = _unpack_qhh(buf, pos)
    pos += 12
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id), pos


def _encode_add_offsets_to_txn_request_v0(msg: AddOffsetsToTxnRequest, out: WireBuffer) -> None:
    transactional_id_bytes = msg.transactional_id.encode()
    out += _pack_h(len(transactional_id_bytes))
    out += transactional_id_bytes
    group_id_bytes = msg.group_id.encode()
    out += _pack_qhh(msg.producer_id, msg.producer_epoch, len(group_id_bytes))
    out += group_id_bytes


def _decode_add_offsets_to_txn_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddOffsetsToTxnResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    return AddOffsetsToTxnResponse(throttle_time_ms, error_code), pos + 6


def _encode_add_offsets_to_txn_response_v0(msg: AddOffsetsToTxnResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)


AddOffsetsToTxnRequest.DECODERS = (
    _decode_add_offsets_to_txn_request_v0,
    _decode_add_offsets_to_txn_request_v0,
    _decode_add_offsets_to_txn_request_v0,
)

AddOffsetsToTxnRequest.ENCODERS = (
    _encode_add_offsets_to_txn_request_v0,
    _encode_add_offsets_to_txn_request_v0,
    _encode_add_offsets_to_txn_request_v0,
)

AddOffsetsToTxnResponse.DECODERS = (
    _decode_add_offsets_to_txn_response_v0,
    _decode_add_offsets_to_txn_response_v0,
    _decode_add_offsets_to_txn_response_v0,
)

AddOffsetsToTxnResponse.ENCODERS = (
    _encode_add_offsets_to_txn_response_v0,
    _encode_add_offsets_to_txn_response_v0,
    _encode_add_offsets_to_txn_response_v0,
)
