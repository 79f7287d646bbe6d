"""ControllerRegistration (API key 70): request and response.

Generated from the ControllerRegistration schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    ZERO_UUID,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_HhB = Struct(">HhB").pack
_pack_hhB = Struct(">hhB").pack
_pack_ih = Struct(">ih").pack
_pack_iut = Struct(">i16s?").pack
_unpack_Hh = Struct(">Hh").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_iut = Struct(">i16s?").unpack_from


class Listener(Part):
    """Part of ControllerRegistrationRequest."""

    __slots__ = (
        "name",
        "host",
        "port",
        "security_protocol",
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


class Feature(Part):
    """Part of ControllerRegistrationRequest."""

    __slots__ = (
        "name",
        "min_supported_version",
        "max_supported_version",
    )

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class ControllerRegistrationRequest(Message):
    """ControllerRegistrationRequest (API key 70), versions 0."""

    __slots__ = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "listeners",
        "features",
    )

    SCHEMA_NAME: ClassVar[str] = "ControllerRegistrationRequest"
    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ControllerRegistrationRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ControllerRegistrationRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] | None = None,
        features: list[Feature] | None = None,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners: list[Listener] = [] if listeners is None else listeners
        self.features: list[Feature] = [] if features is None else features


class ControllerRegistrationResponse(Message):
    """ControllerRegistrationResponse (API key 70), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    SCHEMA_NAME: ClassVar[str] = "ControllerRegistrationResponse"
    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ControllerRegistrationResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ControllerRegistrationResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message


def _decode_listener_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Listener, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port, security_protocol = _unpack_Hh(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Listener(name, host, port, security_protocol), pos


def _encode_listener_v0(msg: Listener, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_string(msg.host, out)
    out += _pack_HhB(msg.port, msg.security_protocol, 0)


def _decode_feature_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Feature, int]:
    name, pos = read_compact_string(buf, pos)
    min_supported_version, max_supported_version = _unpack_hh(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Feature(name, min_supported_version, max_supported_version), pos


def _encode_feature_v0(msg: Feature, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_hhB(msg.min_supported_version, msg.max_supported_version, 0)


def _decode_controller_registration_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControllerRegistrationRequest, int]:
    controller_id, incarnation_id, zk_migration_ready = _unpack_iut(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 21, 7, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    features_count, pos = read_compact_count(buf, pos, 6, budget)
    features: list[Feature] = []
    for _ in range(features_count):
        features_item, pos = _decode_feature_v0(buf, pos, budget)
        features.append(features_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ControllerRegistrationRequest(controller_id, incarnation_id, zk_migration_ready, listeners, features), pos


def _encode_controller_registration_request_v0(msg: ControllerRegistrationRequest, out: WireBuffer) -> None:
    out += _pack_iut(msg.controller_id, msg.incarnation_id, msg.zk_migration_ready)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    write_uvarint(len(msg.features) + 1, out)
    for features_item in msg.features:
        _encode_feature_v0(features_item, out)
    out.append(0)


def _decode_controller_registration_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControllerRegistrationResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ControllerRegistrationResponse(throttle_time_ms, error_code, error_message), pos


def _encode_controller_registration_response_v0(msg: ControllerRegistrationResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


ControllerRegistrationRequest.DECODERS = (_decode_controller_registration_request_v0,)

ControllerRegistrationRequest.ENCODERS = (_encode_controller_registration_request_v0,)

ControllerRegistrationResponse.DECODERS = (_decode_controller_registration_response_v0,)

ControllerRegistrationResponse.ENCODERS = (_encode_controller_registration_response_v0,)
