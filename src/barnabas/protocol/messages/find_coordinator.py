"""FindCoordinator (API key 10): request and response.

Generated from the FindCoordinator schemas by scripts/generate.

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
    read_string,
    skip_tagged_fields,
    take_nullable_string,
    take_string,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_uvarint,
)

_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_hih = Struct(">hih").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_unpack_b = Struct(">b").unpack_from
_unpack_hih = Struct(">hih").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from


class FindCoordinatorRequest(Message):
    """FindCoordinatorRequest (API key 10), versions 0-6."""

    __slots__ = (
        "key",  # versions 0-3
        "key_type",  # versions 1+
        "coordinator_keys",  # versions 4+
    )

    SCHEMA_NAME: ClassVar[str] = "FindCoordinatorRequest"
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FindCoordinatorRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FindCoordinatorRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] | None = None,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys: list[str] = [] if coordinator_keys is None else coordinator_keys


class Coordinator(Part):
    """Part of FindCoordinatorResponse."""

    __slots__ = (
        "key",  # versions 4+
        "node_id",  # versions 4+
        "host",  # versions 4+
        "port",  # versions 4+
        "error_code",  # versions 4+
        "error_message",  # versions 4+
    )

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


class FindCoordinatorResponse(Message):
    """FindCoordinatorResponse (API key 10), versions 0-6."""

    __slots__ = (
        "throttle_time_ms",  # versions 1+
        "error_code",  # versions 0-3
        "error_message",  # versions 1-3
        "node_id",  # versions 0-3
        "host",  # versions 0-3
        "port",  # versions 0-3
        "coordinators",  # versions 4+
    )

    SCHEMA_NAME: ClassVar[str] = "FindCoordinatorResponse"
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FindCoordinatorResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FindCoordinatorResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators: list[Coordinator] = [] if coordinators is None else coordinators


def _decode_find_coordinator_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorRequest, int]:
    key, pos = read_string(buf, pos)
    return FindCoordinatorRequest(key), pos


def _encode_find_coordinator_request_v0(msg: FindCoordinatorRequest, out: WireBuffer) -> None:
    if msg.key_type != 0:
        raise not_in_version("FindCoordinatorRequest.key_type")
    if msg.coordinator_keys:
        raise not_in_version("FindCoordinatorRequest.coordinator_keys")
    write_string(msg.key, out)


def _decode_find_coordinator_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorRequest, int]:
    key, pos = read_string(buf, pos)
    (key_type,) = _unpack_b(buf, pos)
    return FindCoordinatorRequest(key, key_type), pos + 1


def _encode_find_coordinator_request_v1(msg: FindCoordinatorRequest, out: WireBuffer) -> None:
    if msg.coordinator_keys:
        raise not_in_version("FindCoordinatorRequest.coordinator_keys")
    write_string(msg.key, out)
    out += _pack_b(msg.key_type)


def _decode_find_coordinator_request_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorRequest, int]:
    key, pos = read_compact_string(buf, pos)
    (key_type,) = _unpack_b(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FindCoordinatorRequest(key, key_type), pos


def _encode_find_coordinator_request_v3(msg: FindCoordinatorRequest, out: WireBuffer) -> None:
    if msg.coordinator_keys:
        raise not_in_version("FindCoordinatorRequest.coordinator_keys")
    write_compact_string(msg.key, out)
    out += _pack_bB(msg.key_type, 0)


def _decode_find_coordinator_request_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorRequest, int]:
    (key_type,) = _unpack_b(buf, pos)
    coordinator_keys_count, pos = read_compact_count(buf, pos + 1, 1, budget)
    coordinator_keys: list[str] = []
    for _ in range(coordinator_keys_count):
        coordinator_keys_item, pos = read_compact_string(buf, pos)
        coordinator_keys.append(coordinator_keys_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FindCoordinatorRequest("", key_type, coordinator_keys), pos


def _encode_find_coordinator_request_v4(msg: FindCoordinatorRequest, out: WireBuffer) -> None:
    if msg.key != "":
        raise not_in_version("FindCoordinatorRequest.key")
    out += _pack_b(msg.key_type)
    write_uvarint(len(msg.coordinator_keys) + 1, out)
    for coordinator_keys_item in msg.coordinator_keys:
        write_compact_string(coordinator_keys_item, out)
    out.append(0)


def _decode_find_coordinator_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorResponse, int]:
    error_code, node_id, host_length = _unpack_hih(buf, pos)
    host, pos = take_string(buf, pos + 8, host_length)
    (port,) = _unpack_i(buf, pos)
    return FindCoordinatorResponse(0, error_code, "", node_id, host, port), pos + 4


def _encode_find_coordinator_response_v0(msg: FindCoordinatorResponse, out: WireBuffer) -> None:
    if msg.coordinators:
        raise not_in_version("FindCoordinatorResponse.coordinators")
    host_bytes = msg.host.encode()
    out += _pack_hih(msg.error_code, msg.node_id, len(host_bytes))
    out += host_bytes
    out += _pack_i(msg.port)


def _decode_find_coordinator_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorResponse, int]:
    throttle_time_ms, error_code, error_message_length = _unpack_ihh(buf, pos)
    error_message, pos = take_nullable_string(buf, pos + 8, error_message_length)
    node_id, host_length = _unpack_ih(buf, pos)
    host, pos = take_string(buf, pos + 6, host_length)
    (port,) = _unpack_i(buf, pos)
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port), pos + 4


def _encode_find_coordinator_response_v1(msg: FindCoordinatorResponse, out: WireBuffer) -> None:
    if msg.coordinators:
        raise not_in_version("FindCoordinatorResponse.coordinators")
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_nullable_string(msg.error_message, out)
    host_bytes = msg.host.encode()
    out += _pack_ih(msg.node_id, len(host_bytes))
    out += host_bytes
    out += _pack_i(msg.port)


def _decode_find_coordinator_response_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    (node_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port), pos


def _encode_find_coordinator_response_v3(msg: FindCoordinatorResponse, out: WireBuffer) -> None:
    if msg.coordinators:
        raise not_in_version("FindCoordinatorResponse.coordinators")
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_iB(msg.port, 0)


def _decode_coordinator_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[Coordinator, int]:
    key, pos = read_compact_string(buf, pos)
    (node_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    port, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Coordinator(key, node_id, host, port, error_code, error_message), pos


def _encode_coordinator_v4(msg: Coordinator, out: WireBuffer) -> None:
    write_compact_string(msg.key, out)
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_ih(msg.port, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_find_coordinator_response_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    coordinators_count, pos = read_compact_count(buf, pos + 4, 14, budget)
    coordinators: list[Coordinator] = []
    for _ in range(coordinators_count):
        coordinators_item, pos = _decode_coordinator_v4(buf, pos, budget)
        coordinators.append(coordinators_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FindCoordinatorResponse(throttle_time_ms, 0, "", 0, "", 0, coordinators), pos


def _encode_find_coordinator_response_v4(msg: FindCoordinatorResponse, out: WireBuffer) -> None:
    if msg.error_code != 0:
        raise not_in_version("FindCoordinatorResponse.error_code")
    if msg.node_id != 0:
        raise not_in_version("FindCoordinatorResponse.node_id")
    if msg.host != "":
        raise not_in_version("FindCoordinatorResponse.host")
    if msg.port != 0:
        raise not_in_version("FindCoordinatorResponse.port")
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.coordinators) + 1, out)
    for coordinators_item in msg.coordinators:
        _encode_coordinator_v4(coordinators_item, out)
    out.append(0)


FindCoordinatorRequest.DECODERS = (
    _decode_find_coordinator_request_v0,
    _decode_find_coordinator_request_v1,
    _decode_find_coordinator_request_v1,
    _decode_find_coordinator_request_v3,
    _decode_find_coordinator_request_v4,
    _decode_find_coordinator_request_v4,
    _decode_find_coordinator_request_v4,
)

FindCoordinatorRequest.ENCODERS = (
    _encode_find_coordinator_request_v0,
    _encode_find_coordinator_request_v1,
    _encode_find_coordinator_request_v1,
    _encode_find_coordinator_request_v3,
    _encode_find_coordinator_request_v4,
    _encode_find_coordinator_request_v4,
    _encode_find_coordinator_request_v4,
)

FindCoordinatorResponse.DECODERS = (
    _decode_find_coordinator_response_v0,
    _decode_find_coordinator_response_v1,
    _decode_find_coordinator_response_v1,
    _decode_find_coordinator_response_v3,
    _decode_find_coordinator_response_v4,
    _decode_find_coordinator_response_v4,
    _decode_find_coordinator_response_v4,
)

FindCoordinatorResponse.ENCODERS = (
    _encode_find_coordinator_response_v0,
    _encode_find_coordinator_response_v1,
    _encode_find_coordinator_response_v1,
    _encode_find_coordinator_response_v3,
    _encode_find_coordinator_response_v4,
    _encode_find_coordinator_response_v4,
    _encode_find_coordinator_response_v4,
)
