"""AllocateProducerIds (API key 67): request and response.

Generated from the AllocateProducerIds schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, REQUEST_ELEMENT_LIMIT, WireBuffer, skip_tagged_fields

_pack_ihqiB = Struct(">ihqiB").pack
_pack_iqB = Struct(">iqB").pack
_unpack_ihqi = Struct(">ihqi").unpack_from
_unpack_iq = Struct(">iq").unpack_from


class AllocateProducerIdsRequest(Message):
    """AllocateProducerIdsRequest (API key 67), versions 0."""

    __slots__ = (
        "broker_id",
        "broker_epoch",
    )

    SCHEMA_NAME: ClassVar[str] = "AllocateProducerIdsRequest"
    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AllocateProducerIdsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AllocateProducerIdsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch


class AllocateProducerIdsResponse(Message):
    """AllocateProducerIdsResponse (API key 67), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "producer_id_start",
        "producer_id_len",
    )

    SCHEMA_NAME: ClassVar[str] = "AllocateProducerIdsResponse"
    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AllocateProducerIdsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AllocateProducerIdsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len


def _decode_allocate_producer_ids_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AllocateProducerIdsRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AllocateProducerIdsRequest(broker_id, broker_epoch), pos


def _encode_allocate_producer_ids_request_v0(msg: AllocateProducerIdsRequest, out: WireBuffer) -> None:
    out += _pack_iqB(msg.broker_id, msg.broker_epoch, 0)


def _decode_allocate_producer_ids_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AllocateProducerIdsResponse, int]:
    throttle_time_ms, error_code, producer_id_start, producer_id_len = _unpack_ihqi(buf, pos)
    pos += 19
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AllocateProducerIdsResponse(throttle_time_ms, error_code, producer_id_start, producer_id_len), pos


def _encode_allocate_producer_ids_response_v0(msg: AllocateProducerIdsResponse, out: WireBuffer) -> None:
    out += _pack_ihqiB(msg.throttle_time_ms, msg.error_code, msg.producer_id_start, msg.producer_id_len, 0)


AllocateProducerIdsRequest.DECODERS = (_decode_allocate_producer_ids_request_v0,)

AllocateProducerIdsRequest.ENCODERS = (_encode_allocate_producer_ids_request_v0,)

AllocateProducerIdsResponse.DECODERS = (_decode_allocate_producer_ids_response_v0,)

AllocateProducerIdsResponse.ENCODERS = (_encode_allocate_producer_ids_response_v0,)
