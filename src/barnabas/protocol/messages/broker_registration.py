"""BrokerRegistration (API key 62): request and response.

Generated from the BrokerRegistration schemas by scripts/generate.

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
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_uuids,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uuids,
    write_uvarint,
)

_pack_HhB = Struct(">HhB").pack
_pack_hhB = Struct(">hhB").pack
_pack_i = Struct(">i").pack
_pack_ihqB = Struct(">ihqB").pack
_pack_qB = Struct(">qB").pack
_pack_t = Struct(">?").pack
_pack_tB = Struct(">?B").pack
_pack_u = Struct(">16s").pack
_unpack_Hh = Struct(">Hh").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihq = Struct(">ihq").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_t = Struct(">?").unpack_from
_unpack_u = Struct(">16s").unpack_from


class Listener(Part):
    """Part of BrokerRegistrationRequest."""

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
    """Part of BrokerRegistrationRequest."""

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


class BrokerRegistrationRequest(Message):
    """BrokerRegistrationRequest (API key 62), versions 0-4."""

    __slots__ = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",  # versions 1+
        "log_dirs",  # versions 2+
        "previous_broker_epoch",  # versions 3+
    )

    SCHEMA_NAME: ClassVar[str] = "BrokerRegistrationRequest"
    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[BrokerRegistrationRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[BrokerRegistrationRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = ZERO_UUID,
        listeners: list[Listener] | None = None,
        features: list[Feature] | None = None,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[bytes] | None = None,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners: list[Listener] = [] if listeners is None else listeners
        self.features: list[Feature] = [] if features is None else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs: list[bytes] = [] if log_dirs is None else log_dirs
        self.previous_broker_epoch = previous_broker_epoch


class BrokerRegistrationResponse(Message):
    """BrokerRegistrationResponse (API key 62), versions 0-4."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "broker_epoch",
    )

    SCHEMA_NAME: ClassVar[str] = "BrokerRegistrationResponse"
    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[BrokerRegistrationResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[BrokerRegistrationResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch


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


def _decode_broker_registration_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerRegistrationRequest, int]:
    (broker_id,) = _unpack_i(buf, pos)
    cluster_id, pos = read_compact_string(buf, pos + 4)
    (incarnation_id,) = _unpack_u(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 16, 7, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    features_count, pos = read_compact_count(buf, pos, 6, budget)
    features: list[Feature] = []
    for _ in range(features_count):
        features_item, pos = _decode_feature_v0(buf, pos, budget)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerRegistrationRequest(broker_id, cluster_id, incarnation_id, listeners, features, rack), pos


def _encode_broker_registration_request_v0(msg: BrokerRegistrationRequest, out: WireBuffer) -> None:
    if msg.is_migrating_zk_broker:
        raise not_in_version("BrokerRegistrationRequest.is_migrating_zk_broker")
    out += _pack_i(msg.broker_id)
    write_compact_string(msg.cluster_id, out)
    out += _pack_u(msg.incarnation_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    write_uvarint(len(msg.features) + 1, out)
    for features_item in msg.features:
        _encode_feature_v0(features_item, out)
    write_compact_nullable_string(msg.rack, out)
    out.append(0)


def _decode_broker_registration_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerRegistrationRequest, int]:
    (broker_id,) = _unpack_i(buf, pos)
    cluster_id, pos = read_compact_string(buf, pos + 4)
    (incarnation_id,) = _unpack_u(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 16, 7, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    features_count, pos = read_compact_count(buf, pos, 6, budget)
    features: list[Feature] = []
    for _ in range(features_count):
        features_item, pos = _decode_feature_v0(buf, pos, budget)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    (is_migrating_zk_broker,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerRegistrationRequest(
        broker_id, cluster_id, incarnation_id, listeners, features, rack, is_migrating_zk_broker
    ), pos


def _encode_broker_registration_request_v1(msg: BrokerRegistrationRequest, out: WireBuffer) -> None:
    out += _pack_i(msg.broker_id)
    write_compact_string(msg.cluster_id, out)
    out += _pack_u(msg.incarnation_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    write_uvarint(len(msg.features) + 1, out)
    for features_item in msg.features:
        _encode_feature_v0(features_item, out)
    write_compact_nullable_string(msg.rack, out)
    out += _pack_tB(msg.is_migrating_zk_broker, 0)


def _decode_broker_registration_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerRegistrationRequest, int]:
    (broker_id,) = _unpack_i(buf, pos)
    cluster_id, pos = read_compact_string(buf, pos + 4)
    (incarnation_id,) = _unpack_u(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 16, 7, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    features_count, pos = read_compact_count(buf, pos, 6, budget)
    features: list[Feature] = []
    for _ in range(features_count):
        features_item, pos = _decode_feature_v0(buf, pos, budget)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    (is_migrating_zk_broker,) = _unpack_t(buf, pos)
    log_dirs_count, pos = read_compact_count(buf, pos + 1, 16, budget)
    log_dirs = read_uuids(buf, pos, log_dirs_count)
    pos += 16 * log_dirs_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerRegistrationRequest(
        broker_id, cluster_id, incarnation_id, listeners, features, rack, is_migrating_zk_broker, log_dirs
    ), pos


def _encode_broker_registration_request_v2(msg: BrokerRegistrationRequest, out: WireBuffer) -> None:
    out += _pack_i(msg.broker_id)
    write_compact_string(msg.cluster_id, out)
    out += _pack_u(msg.incarnation_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    write_uvarint(len(msg.features) + 1, out)
    for features_item in msg.features:
        _encode_feature_v0(features_item, out)
    write_compact_nullable_string(msg.rack, out)
    out += _pack_t(msg.is_migrating_zk_broker)
    write_uvarint(len(msg.log_dirs) + 1, out)
    write_uuids(msg.log_dirs, out)
    out.append(0)


def _decode_broker_registration_request_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerRegistrationRequest, int]:
    (broker_id,) = _unpack_i(buf, pos)
    cluster_id, pos = read_compact_string(buf, pos + 4)
    (incarnation_id,) = _unpack_u(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 16, 7, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    features_count, pos = read_compact_count(buf, pos, 6, budget)
    features: list[Feature] = []
    for _ in range(features_count):
        features_item, pos = _decode_feature_v0(buf, pos, budget)
        features.append(features_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    (is_migrating_zk_broker,) = _unpack_t(buf, pos)
    log_dirs_count, pos = read_compact_count(buf, pos + 1, 16, budget)
    log_dirs = read_uuids(buf, pos, log_dirs_count)
    pos += 16 * log_dirs_count
    (previous_broker_epoch,) = _unpack_q(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerRegistrationRequest(
        broker_id,
        cluster_id,
        incarnation_id,
        listeners,
        features,
        rack,
        is_migrating_zk_broker,
        log_dirs,
        previous_broker_epoch,
    ), pos


def _encode_broker_registration_request_v3(msg: BrokerRegistrationRequest, out: WireBuffer) -> None:
    out += _pack_i(msg.broker_id)
    write_compact_string(msg.cluster_id, out)
    out += _pack_u(msg.incarnation_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    write_uvarint(len(msg.features) + 1, out)
    for features_item in msg.features:
        _encode_feature_v0(features_item, out)
    write_compact_nullable_string(msg.rack, out)
    out += _pack_t(msg.is_migrating_zk_broker)
    write_uvarint(len(msg.log_dirs) + 1, out)
    write_uuids(msg.log_dirs, out)
    out += _pack_qB(msg.previous_broker_epoch, 0)


def _decode_broker_registration_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerRegistrationResponse, int]:
    throttle_time_ms, error_code, broker_epoch = _unpack_ihq(buf, pos)
    pos += 15
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerRegistrationResponse(throttle_time_ms, error_code, broker_epoch), pos


def _encode_broker_registration_response_v0(msg: BrokerRegistrationResponse, out: WireBuffer) -> None:
    out += _pack_ihqB(msg.throttle_time_ms, msg.error_code, msg.broker_epoch, 0)


BrokerRegistrationRequest.DECODERS = (
    _decode_broker_registration_request_v0,
    _decode_broker_registration_request_v1,
    _decode_broker_registration_request_v2,
    _decode_broker_registration_request_v3,
    _decode_broker_registration_request_v3,
)

BrokerRegistrationRequest.ENCODERS = (
    _encode_broker_registration_request_v0,
    _encode_broker_registration_request_v1,
    _encode_broker_registration_request_v2,
    _encode_broker_registration_request_v3,
    _encode_broker_registration_request_v3,
)

BrokerRegistrationResponse.DECODERS = (
    _decode_broker_registration_response_v0,
    _decode_broker_registration_response_v0,
    _decode_broker_registration_response_v0,
    _decode_broker_registration_response_v0,
    _decode_broker_registration_response_v0,
)

BrokerRegistrationResponse.ENCODERS = (
    _encode_broker_registration_response_v0,
    _encode_broker_registration_response_v0,
    _encode_broker_registration_response_v0,
    _encode_broker_registration_response_v0,
    _encode_broker_registration_response_v0,
)
