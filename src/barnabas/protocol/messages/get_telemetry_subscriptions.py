"""GetTelemetrySubscriptions (API key 71): request and response.

Generated from the GetTelemetrySubscriptions schemas by scripts/generate.

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
    read_compact_count,
    read_compact_string,
    read_int8s,
    skip_tagged_fields,
    write_compact_string,
    write_int8s,
    write_uvarint,
)

_pack_ihui = Struct(">ih16si").pack
_pack_iit = Struct(">ii?").pack
_pack_uB = Struct(">16sB").pack
_unpack_ihui = Struct(">ih16si").unpack_from
_unpack_iit = Struct(">ii?").unpack_from
_unpack_u = Struct(">16s").unpack_from


class GetTelemetrySubscriptionsRequest(Message):
    """GetTelemetrySubscriptionsRequest (API key 71), versions 0."""

    __slots__ = ("client_instance_id",)

    SCHEMA_NAME: ClassVar[str] = "GetTelemetrySubscriptionsRequest"
    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[GetTelemetrySubscriptionsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[GetTelemetrySubscriptionsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        client_instance_id: bytes = ZERO_UUID,
    ) -> None:
        self.client_instance_id = client_instance_id


class GetTelemetrySubscriptionsResponse(Message):
    """GetTelemetrySubscriptionsResponse (API key 71), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "client_instance_id",
        "subscription_id",
        "accepted_compression_types",
        "push_interval_ms",
        "telemetry_max_bytes",
        "delta_temporality",
        "requested_metrics",
    )

    SCHEMA_NAME: ClassVar[str] = "GetTelemetrySubscriptionsResponse"
    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[GetTelemetrySubscriptionsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[GetTelemetrySubscriptionsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] | None = None,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types: list[int] = (
            [] if accepted_compression_types is None else accepted_compression_types
        )
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics: list[str] = [] if requested_metrics is None else requested_metrics


def _decode_get_telemetry_subscriptions_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[GetTelemetrySubscriptionsRequest, int]:
    (client_instance_id,) = _unpack_u(buf, pos)
    pos += 17
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return GetTelemetrySubscriptionsRequest(client_instance_id), pos


def _encode_get_telemetry_subscriptions_request_v0(msg: GetTelemetrySubscriptionsRequest, out: WireBuffer) -> None:
    out += _pack_uB(msg.client_instance_id, 0)


def _decode_get_telemetry_subscriptions_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[GetTelemetrySubscriptionsResponse, int]:
    throttle_time_ms, error_code, client_instance_id, subscription_id = _unpack_ihui(buf, pos)
    accepted_compression_types_count, pos = read_compact_count(buf, pos + 26, 1, budget)
    accepted_compression_types = read_int8s(buf, pos, accepted_compression_types_count)
    pos += accepted_compression_types_count
    push_interval_ms, telemetry_max_bytes, delta_temporality = _unpack_iit(buf, pos)
    requested_metrics_count, pos = read_compact_count(buf, pos + 9, 1, budget)
    requested_metrics: list[str] = []
    for _ in range(requested_metrics_count):
        requested_metrics_item, pos = read_compact_string(buf, pos)
        requested_metrics.append(requested_metrics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return GetTelemetrySubscriptionsResponse(
        throttle_time_ms,
        error_code,
        client_instance_id,
        subscription_id,
        accepted_compression_types,
        push_interval_ms,
        telemetry_max_bytes,
        delta_temporality,
        requested_metrics,
    ), pos


def _encode_get_telemetry_subscriptions_response_v0(msg: GetTelemetrySubscriptionsResponse, out: WireBuffer) -> None:
    out += _pack_ihui(msg.throttle_time_ms, msg.error_code, msg.client_instance_id, msg.subscription_id)
    write_uvarint(len(msg.accepted_compression_types) + 1, out)
    write_int8s(msg.accepted_compression_types, out)
    out += _pack_iit(msg.push_interval_ms, msg.telemetry_max_bytes, msg.delta_temporality)
    write_uvarint(len(msg.requested_metrics) + 1, out)
    for requested_metrics_item in msg.requested_metrics:
        write_compact_string(requested_metrics_item, out)
    out.append(0)


GetTelemetrySubscriptionsRequest.DECODERS = (_decode_get_telemetry_subscriptions_request_v0,)

GetTelemetrySubscriptionsRequest.ENCODERS = (_encode_get_telemetry_subscriptions_request_v0,)

GetTelemetrySubscriptionsResponse.DECODERS = (_decode_get_telemetry_subscriptions_response_v0,)

GetTelemetrySubscriptionsResponse.ENCODERS = (_encode_get_telemetry_subscriptions_response_v0,)
