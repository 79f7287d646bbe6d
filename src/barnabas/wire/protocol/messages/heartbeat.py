"""Heartbeat (API key 12): request and response.

Generated from the Heartbeat schemas by scripts/generate.

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

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class HeartbeatRequest(Message):
    """HeartbeatRequest (API key 12), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",  # versions 3+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "HeartbeatRequest"
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[HeartbeatRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[HeartbeatRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id


class HeartbeatResponse(Message):
    """HeartbeatResponse (API key 12), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "error_code",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "HeartbeatResponse"
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[HeartbeatResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[HeartbeatResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code


def _decode_heartbeat_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[HeartbeatRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    generation_id, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    return HeartbeatRequest(group_id, generation_id, member_id), pos


def _encode_heartbeat_request_v0(msg: HeartbeatRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("HeartbeatRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes


def _decode_heartbeat_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[HeartbeatRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    generation_id, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (group_instance_id_length,) = _unpack_h(buf, pos)
    pos += 2
    group_instance_id: str | None = None
    if group_instance_id_length >= 0:
        end = pos + group_instance_id_length
        if end > len(buf):
            raise wrong_length("string", group_instance_id_length, pos, buf)
        group_instance_id = str(buf[pos:end], "utf-8")
        pos = end
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id), pos


def _encode_heartbeat_request_v3(msg: HeartbeatRequest, out: WireBuffer) -> None:
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    write_nullable_string(msg.group_instance_id, out)


def _decode_heartbeat_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[HeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    (generation_id,) = _unpack_i(buf, pos)
    member_id, pos = read_compact_string(buf, pos + 4)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id), pos


def _encode_heartbeat_request_v4(msg: HeartbeatRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    out += _pack_i(msg.generation_id)
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    out.append(0)


def _decode_heartbeat_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[HeartbeatResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    return HeartbeatResponse(0, error_code), pos + 2


def _encode_heartbeat_response_v0(msg: HeartbeatResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)


def _decode_heartbeat_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[HeartbeatResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    return HeartbeatResponse(throttle_time_ms, error_code), pos + 6


def _encode_heartbeat_response_v1(msg: HeartbeatResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)


def _decode_heartbeat_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[HeartbeatResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return HeartbeatResponse(throttle_time_ms, error_code), pos


def _encode_heartbeat_response_v4(msg: HeartbeatResponse, out: WireBuffer) -> None:
    out += _pack_ihB(msg.throttle_time_ms, msg.error_code, 0)


HeartbeatRequest.DECODERS = (
    _decode_heartbeat_request_v0,
    _decode_heartbeat_request_v0,
    _decode_heartbeat_request_v0,
    _decode_heartbeat_request_v3,
    _decode_heartbeat_request_v4,
)

HeartbeatRequest.ENCODERS = (
    _encode_heartbeat_request_v0,
    _encode_heartbeat_request_v0,
    _encode_heartbeat_request_v0,
    _encode_heartbeat_request_v3,
    _encode_heartbeat_request_v4,
)

HeartbeatResponse.DECODERS = (
    _decode_heartbeat_response_v0,
    _decode_heartbeat_response_v1,
    _decode_heartbeat_response_v1,
    _decode_heartbeat_response_v1,
    _decode_heartbeat_response_v4,
)

HeartbeatResponse.ENCODERS = (
    _encode_heartbeat_response_v0,
    _encode_heartbeat_response_v1,
    _encode_heartbeat_response_v1,
    _encode_heartbeat_response_v1,
    _encode_heartbeat_response_v4,
)
