"""FindCoordinator (API key 10): request and response.

Generated from the FindCoordinator schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    not_in_version,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    wrong_length,
)

_pack_b: Final = Struct(">b").pack
_pack_bB: Final = Struct(">bB").pack
_pack_h: Final = Struct(">h").pack
_pack_hih: Final = Struct(">hih").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hih: Final = Struct(">hih").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from


class FindCoordinatorRequest(Message):
    """FindCoordinatorRequest (API key 10), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "key_type",  # versions 1+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "FindCoordinatorRequest"
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FindCoordinatorRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FindCoordinatorRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
    ) -> None:
        self.key = key
        self.key_type = key_type


class FindCoordinatorResponse(Message):
    """FindCoordinatorResponse (API key 10), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "error_code",
        "error_message",  # versions 1+
        "node_id",
        "host",
        "port",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "FindCoordinatorResponse"
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
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
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port


def _decode_find_coordinator_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorRequest, int]:
    (key_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + key_length
    if key_length < 0 or end > len(buf):
        raise wrong_length("string", key_length, pos, buf)
    key = str(buf[pos:end], "utf-8")
    pos = end
    return FindCoordinatorRequest(key), pos


def _encode_find_coordinator_request_v0(msg: FindCoordinatorRequest, out: WireBuffer) -> None:
    if msg.key_type != 0:
        raise not_in_version("FindCoordinatorRequest.key_type")
    key_bytes = msg.key.encode()
    out += _pack_h(len(key_bytes))
    out += key_bytes


def _decode_find_coordinator_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorRequest, int]:
    (key_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + key_length
    if key_length < 0 or end > len(buf):
        raise wrong_length("string", key_length, pos, buf)
    key = str(buf[pos:end], "utf-8")
    pos = end
    (key_type,) = _unpack_b(buf, pos)
    return FindCoordinatorRequest(key, key_type), pos + 1


def _encode_find_coordinator_request_v1(msg: FindCoordinatorRequest, out: WireBuffer) -> None:
    key_bytes = msg.key.encode()
    out += _pack_h(len(key_bytes))
    out += key_bytes
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
    write_compact_string(msg.key, out)
    out += _pack_bB(msg.key_type, 0)


def _decode_find_coordinator_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorResponse, int]:
    error_code, node_id, host_length = _unpack_hih(buf, pos)
    pos += 8
    end = pos + host_length
    if host_length < 0 or end > len(buf):
        raise wrong_length("string", host_length, pos, buf)
    host = str(buf[pos:end], "utf-8")
    pos = end
    (port,) = _unpack_i(buf, pos)
    return FindCoordinatorResponse(0, error_code, "", node_id, host, port), pos + 4


def _encode_find_coordinator_response_v0(msg: FindCoordinatorResponse, out: WireBuffer) -> None:
    host_bytes = msg.host.encode()
    out += _pack_hih(msg.error_code, msg.node_id, len(host_bytes))
    out += host_bytes
    out += _pack_i(msg.port)


def _decode_find_coordinator_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FindCoordinatorResponse, int]:
    throttle_time_ms, error_code, error_message_length = _unpack_ihh(buf, pos)
    pos += 8
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    node_id, host_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + host_length
    if host_length < 0 or end > len(buf):
        raise wrong_length("string", host_length, pos, buf)
    host = str(buf[pos:end], "utf-8")
    pos = end
    (port,) = _unpack_i(buf, pos)
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port), pos + 4


def _encode_find_coordinator_response_v1(msg: FindCoordinatorResponse, out: WireBuffer) -> None:
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
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_iB(msg.port, 0)


FindCoordinatorRequest.DECODERS = (
    _decode_find_coordinator_request_v0,
    _decode_find_coordinator_request_v1,
    _decode_find_coordinator_request_v1,
    _decode_find_coordinator_request_v3,
)

FindCoordinatorRequest.ENCODERS = (
    _encode_find_coordinator_request_v0,
    _encode_find_coordinator_request_v1,
    _encode_find_coordinator_request_v1,
    _encode_find_coordinator_request_v3,
)

FindCoordinatorResponse.DECODERS = (
    _decode_find_coordinator_response_v0,
    _decode_find_coordinator_response_v1,
    _decode_find_coordinator_response_v1,
    _decode_find_coordinator_response_v3,
)

FindCoordinatorResponse.ENCODERS = (
    _encode_find_coordinator_response_v0,
    _encode_find_coordinator_response_v1,
    _encode_find_coordinator_response_v1,
    _encode_find_coordinator_response_v3,
)
