"""PushTelemetry (API key 72): request and response.

Generated from the PushTelemetry schemas by scripts/generate.

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
    ZERO_UUID,
    read_compact_bytes,
    skip_tagged_fields,
    write_compact_bytes,
)

_pack_ihB = Struct(">ihB").pack
_pack_uitb = Struct(">16si?b").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_uitb = Struct(">16si?b").unpack_from


class PushTelemetryRequest(Message):
    """PushTelemetryRequest (API key 72), versions 0."""

    __slots__ = (
        "client_instance_id",
        "subscription_id",
        "terminating",
        "compression_type",
        "metrics",
    )

    SCHEMA_NAME: ClassVar[str] = "PushTelemetryRequest"
    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[PushTelemetryRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[PushTelemetryRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics


class PushTelemetryResponse(Message):
    """PushTelemetryResponse (API key 72), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
    )

    SCHEMA_NAME: ClassVar[str] = "PushTelemetryResponse"
    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[PushTelemetryResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[PushTelemetryResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code


def _decode_push_telemetry_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PushTelemetryRequest, int]:
    client_instance_id, subscription_id, terminating, compression_type = _unpack_uitb(buf, pos)
    metrics, pos = read_compact_bytes(buf, pos + 22)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PushTelemetryRequest(client_instance_id, subscription_id, terminating, compression_type, metrics), pos


def _encode_push_telemetry_request_v0(msg: PushTelemetryRequest, out: WireBuffer) -> None:
    out += _pack_uitb(msg.client_instance_id, msg.subscription_id, msg.terminating, msg.compression_type)
    write_compact_bytes(msg.metrics, out)
    out.append(0)


def _decode_push_telemetry_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PushTelemetryResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PushTelemetryResponse(throttle_time_ms, error_code), pos


def _encode_push_telemetry_response_v0(msg: PushTelemetryResponse, out: WireBuffer) -> None:
    out += _pack_ihB(msg.throttle_time_ms, msg.error_code, 0)


PushTelemetryRequest.DECODERS = (_decode_push_telemetry_request_v0,)

PushTelemetryRequest.ENCODERS = (_encode_push_telemetry_request_v0,)

PushTelemetryResponse.DECODERS = (_decode_push_telemetry_response_v0,)

PushTelemetryResponse.ENCODERS = (_encode_push_telemetry_response_v0,)
