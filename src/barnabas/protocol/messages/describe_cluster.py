"""DescribeCluster (API key 60): request and response.

Generated from the DescribeCluster schemas by scripts/generate.

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
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_b = Struct(">b").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_tB = Struct(">?B").pack
_pack_tbB = Struct(">?bB").pack
_pack_tbtB = Struct(">?b?B").pack
_unpack_b = Struct(">b").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_t = Struct(">?").unpack_from
_unpack_tb = Struct(">?b").unpack_from
_unpack_tbt = Struct(">?b?").unpack_from


class DescribeClusterRequest(Message):
    """DescribeClusterRequest (API key 60), versions 0-2."""

    __slots__ = (
        "include_cluster_authorized_operations",
        "endpoint_type",  # versions 1+
        "include_fenced_brokers",  # versions 2+
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeClusterRequest"
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeClusterRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeClusterRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers


class DescribeClusterBroker(Part):
    """Part of DescribeClusterResponse."""

    __slots__ = (
        "broker_id",
        "host",
        "port",
        "rack",
        "is_fenced",  # versions 2+
    )

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced


class DescribeClusterResponse(Message):
    """DescribeClusterResponse (API key 60), versions 0-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",  # versions 1+
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeClusterResponse"
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeClusterResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeClusterResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] | None = None,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers: list[DescribeClusterBroker] = [] if brokers is None else brokers
        self.cluster_authorized_operations = cluster_authorized_operations


def _decode_describe_cluster_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClusterRequest, int]:
    (include_cluster_authorized_operations,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterRequest(include_cluster_authorized_operations), pos


def _encode_describe_cluster_request_v0(msg: DescribeClusterRequest, out: WireBuffer) -> None:
    if msg.endpoint_type != 1:
        raise not_in_version("DescribeClusterRequest.endpoint_type")
    if msg.include_fenced_brokers:
        raise not_in_version("DescribeClusterRequest.include_fenced_brokers")
    out += _pack_tB(msg.include_cluster_authorized_operations, 0)


def _decode_describe_cluster_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClusterRequest, int]:
    include_cluster_authorized_operations, endpoint_type = _unpack_tb(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type), pos


def _encode_describe_cluster_request_v1(msg: DescribeClusterRequest, out: WireBuffer) -> None:
    if msg.include_fenced_brokers:
        raise not_in_version("DescribeClusterRequest.include_fenced_brokers")
    out += _pack_tbB(msg.include_cluster_authorized_operations, msg.endpoint_type, 0)


def _decode_describe_cluster_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClusterRequest, int]:
    include_cluster_authorized_operations, endpoint_type, include_fenced_brokers = _unpack_tbt(buf, pos)
    pos += 4
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers), pos


def _encode_describe_cluster_request_v2(msg: DescribeClusterRequest, out: WireBuffer) -> None:
    out += _pack_tbtB(msg.include_cluster_authorized_operations, msg.endpoint_type, msg.include_fenced_brokers, 0)


def _decode_describe_cluster_broker_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeClusterBroker, int]:
    (broker_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_i(buf, pos)
    rack, pos = read_compact_nullable_string(buf, pos + 4)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterBroker(broker_id, host, port, rack), pos


def _encode_describe_cluster_broker_v0(msg: DescribeClusterBroker, out: WireBuffer) -> None:
    if msg.is_fenced:
        raise not_in_version("DescribeClusterBroker.is_fenced")
    out += _pack_i(msg.broker_id)
    write_compact_string(msg.host, out)
    out += _pack_i(msg.port)
    write_compact_nullable_string(msg.rack, out)
    out.append(0)


def _decode_describe_cluster_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClusterResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    cluster_id, pos = read_compact_string(buf, pos)
    (controller_id,) = _unpack_i(buf, pos)
    brokers_count, pos = read_compact_count(buf, pos + 4, 11, budget)
    brokers: list[DescribeClusterBroker] = []
    for _ in range(brokers_count):
        brokers_item, pos = _decode_describe_cluster_broker_v0(buf, pos, budget)
        brokers.append(brokers_item)
    (cluster_authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterResponse(
        throttle_time_ms,
        error_code,
        error_message,
        1,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
    ), pos


def _encode_describe_cluster_response_v0(msg: DescribeClusterResponse, out: WireBuffer) -> None:
    if msg.endpoint_type != 1:
        raise not_in_version("DescribeClusterResponse.endpoint_type")
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_string(msg.cluster_id, out)
    out += _pack_i(msg.controller_id)
    write_uvarint(len(msg.brokers) + 1, out)
    for brokers_item in msg.brokers:
        _encode_describe_cluster_broker_v0(brokers_item, out)
    out += _pack_iB(msg.cluster_authorized_operations, 0)


def _decode_describe_cluster_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClusterResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    (endpoint_type,) = _unpack_b(buf, pos)
    cluster_id, pos = read_compact_string(buf, pos + 1)
    (controller_id,) = _unpack_i(buf, pos)
    brokers_count, pos = read_compact_count(buf, pos + 4, 11, budget)
    brokers: list[DescribeClusterBroker] = []
    for _ in range(brokers_count):
        brokers_item, pos = _decode_describe_cluster_broker_v0(buf, pos, budget)
        brokers.append(brokers_item)
    (cluster_authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterResponse(
        throttle_time_ms,
        error_code,
        error_message,
        endpoint_type,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
    ), pos


def _encode_describe_cluster_response_v1(msg: DescribeClusterResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_b(msg.endpoint_type)
    write_compact_string(msg.cluster_id, out)
    out += _pack_i(msg.controller_id)
    write_uvarint(len(msg.brokers) + 1, out)
    for brokers_item in msg.brokers:
        _encode_describe_cluster_broker_v0(brokers_item, out)
    out += _pack_iB(msg.cluster_authorized_operations, 0)


def _decode_describe_cluster_broker_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeClusterBroker, int]:
    (broker_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_i(buf, pos)
    rack, pos = read_compact_nullable_string(buf, pos + 4)
    (is_fenced,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterBroker(broker_id, host, port, rack, is_fenced), pos


def _encode_describe_cluster_broker_v2(msg: DescribeClusterBroker, out: WireBuffer) -> None:
    out += _pack_i(msg.broker_id)
    write_compact_string(msg.host, out)
    out += _pack_i(msg.port)
    write_compact_nullable_string(msg.rack, out)
    out += _pack_tB(msg.is_fenced, 0)


def _decode_describe_cluster_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClusterResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    (endpoint_type,) = _unpack_b(buf, pos)
    cluster_id, pos = read_compact_string(buf, pos + 1)
    (controller_id,) = _unpack_i(buf, pos)
    brokers_count, pos = read_compact_count(buf, pos + 4, 12, budget)
    brokers: list[DescribeClusterBroker] = []
    for _ in range(brokers_count):
        brokers_item, pos = _decode_describe_cluster_broker_v2(buf, pos, budget)
        brokers.append(brokers_item)
    (cluster_authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeClusterResponse(
        throttle_time_ms,
        error_code,
        error_message,
        endpoint_type,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
    ), pos


def _encode_describe_cluster_response_v2(msg: DescribeClusterResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_b(msg.endpoint_type)
    write_compact_string(msg.cluster_id, out)
    out += _pack_i(msg.controller_id)
    write_uvarint(len(msg.brokers) + 1, out)
    for brokers_item in msg.brokers:
        _encode_describe_cluster_broker_v2(brokers_item, out)
    out += _pack_iB(msg.cluster_authorized_operations, 0)


DescribeClusterRequest.DECODERS = (
    _decode_describe_cluster_request_v0,
    _decode_describe_cluster_request_v1,
    _decode_describe_cluster_request_v2,
)

DescribeClusterRequest.ENCODERS = (
    _encode_describe_cluster_request_v0,
    _encode_describe_cluster_request_v1,
    _encode_describe_cluster_request_v2,
)

DescribeClusterResponse.DECODERS = (
    _decode_describe_cluster_response_v0,
    _decode_describe_cluster_response_v1,
    _decode_describe_cluster_response_v2,
)

DescribeClusterResponse.ENCODERS = (
    _encode_describe_cluster_response_v0,
    _encode_describe_cluster_response_v1,
    _encode_describe_cluster_response_v2,
)
