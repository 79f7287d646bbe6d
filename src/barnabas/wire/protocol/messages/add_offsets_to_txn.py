"""AddOffsetsToTxn (API key 25): request and response.

Generated from the AddOffsetsToTxn schemas by scripts/generate.

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
    read_string,
    take_string,
    write_string,
)

_pack_ih = Struct(">ih").pack
_pack_qhh = Struct(">qhh").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_qhh = Struct(">qhh").unpack_from


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
    transactional_id, pos = read_string(buf, pos)
    producer_id, producer_epoch, group_id_length = _unpack_qhh(buf, pos)
    group_id, pos = take_string(buf, pos + 12, group_id_length)
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id), pos


def _encode_add_offsets_to_txn_request_v0(msg: AddOffsetsToTxnRequest, out: WireBuffer) -> None:
    write_string(msg.transactional_id, out)
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
