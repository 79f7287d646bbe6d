"""SyncGroup (API key 14): request and response.

Generated from the SyncGroup schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    not_in_version,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    take_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihi: Final = Struct(">ihi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from


class SyncGroupRequestAssignment(Part):
    """Part of SyncGroupRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "assignment",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment


class SyncGroupRequest(Message):
    """SyncGroupRequest (API key 14), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",  # versions 3+
        "protocol_type",  # versions 5+
        "protocol_name",  # versions 5+
        "assignments",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("assignments", SyncGroupRequestAssignment, True),)

    SCHEMA_NAME: ClassVar[str] = "SyncGroupRequest"
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SyncGroupRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SyncGroupRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments: list[SyncGroupRequestAssignment] = [] if assignments is None else assignments


class SyncGroupResponse(Message):
    """SyncGroupResponse (API key 14), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "error_code",
        "protocol_type",  # versions 5+
        "protocol_name",  # versions 5+
        "assignment",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "SyncGroupResponse"
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SyncGroupResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SyncGroupResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment


def _decode_sync_group_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
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
    (assignments_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - assignments_count
    if assignments_count < 0 or elements_left < 0 or assignments_count * 6 > len(buf) - pos:
        check_count(assignments_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(assignments_count):
        (assignments_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + assignments_member_id_length
        if assignments_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", assignments_member_id_length, pos, buf)
        assignments_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (assignments_assignment_length,) = _unpack_i(buf, pos)
        assignments_assignment, pos = take_bytes(buf, pos + 4, assignments_assignment_length)
        assignments.append(SyncGroupRequestAssignment(assignments_member_id, assignments_assignment))
    return SyncGroupRequest(group_id, generation_id, member_id, None, None, None, assignments), pos


def _encode_sync_group_request_v0(msg: SyncGroupRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("SyncGroupRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    out += _pack_i(len(msg.assignments))
    for assignments_item in msg.assignments:
        member_id_bytes = assignments_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        out += _pack_i(len(assignments_item.assignment))
        out += assignments_item.assignment


def _decode_sync_group_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
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
    (assignments_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - assignments_count
    if assignments_count < 0 or elements_left < 0 or assignments_count * 6 > len(buf) - pos:
        check_count(assignments_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(assignments_count):
        (assignments_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + assignments_member_id_length
        if assignments_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", assignments_member_id_length, pos, buf)
        assignments_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (assignments_assignment_length,) = _unpack_i(buf, pos)
        assignments_assignment, pos = take_bytes(buf, pos + 4, assignments_assignment_length)
        assignments.append(SyncGroupRequestAssignment(assignments_member_id, assignments_assignment))
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments), pos


def _encode_sync_group_request_v3(msg: SyncGroupRequest, out: WireBuffer) -> None:
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    write_nullable_string(msg.group_instance_id, out)
    out += _pack_i(len(msg.assignments))
    for assignments_item in msg.assignments:
        member_id_bytes = assignments_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        out += _pack_i(len(assignments_item.assignment))
        out += assignments_item.assignment


def _decode_sync_group_request_assignment_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[SyncGroupRequestAssignment, int]:
    member_id, pos = read_compact_string(buf, pos)
    assignment, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SyncGroupRequestAssignment(member_id, assignment), pos


def _encode_sync_group_request_assignment_v4(msg: SyncGroupRequestAssignment, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    write_compact_bytes(msg.assignment, out)
    out.append(0)


def _decode_sync_group_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    (generation_id,) = _unpack_i(buf, pos)
    member_id, pos = read_compact_string(buf, pos + 4)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    assignments_count, pos = read_compact_count(buf, pos, 3, budget)
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(assignments_count):
        assignments_item, pos = _decode_sync_group_request_assignment_v4(buf, pos, budget)
        assignments.append(assignments_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments), pos


def _encode_sync_group_request_v4(msg: SyncGroupRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    out += _pack_i(msg.generation_id)
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    write_uvarint(len(msg.assignments) + 1, out)
    for assignments_item in msg.assignments:
        _encode_sync_group_request_assignment_v4(assignments_item, out)
    out.append(0)


def _decode_sync_group_request_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    (generation_id,) = _unpack_i(buf, pos)
    member_id, pos = read_compact_string(buf, pos + 4)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    protocol_type, pos = read_compact_nullable_string(buf, pos)
    protocol_name, pos = read_compact_nullable_string(buf, pos)
    assignments_count, pos = read_compact_count(buf, pos, 3, budget)
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(assignments_count):
        assignments_item, pos = _decode_sync_group_request_assignment_v4(buf, pos, budget)
        assignments.append(assignments_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SyncGroupRequest(
        group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments
    ), pos


def _encode_sync_group_request_v5(msg: SyncGroupRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    out += _pack_i(msg.generation_id)
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    write_compact_nullable_string(msg.protocol_type, out)
    write_compact_nullable_string(msg.protocol_name, out)
    write_uvarint(len(msg.assignments) + 1, out)
    for assignments_item in msg.assignments:
        _encode_sync_group_request_assignment_v4(assignments_item, out)
    out.append(0)


def _decode_sync_group_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupResponse, int]:
    error_code, assignment_length = _unpack_hi(buf, pos)
    assignment, pos = take_bytes(buf, pos + 6, assignment_length)
    return SyncGroupResponse(0, error_code, None, None, assignment), pos


def _encode_sync_group_response_v0(msg: SyncGroupResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.assignment))
    out += msg.assignment


def _decode_sync_group_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupResponse, int]:
    throttle_time_ms, error_code, assignment_length = _unpack_ihi(buf, pos)
    assignment, pos = take_bytes(buf, pos + 10, assignment_length)
    return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment), pos


def _encode_sync_group_response_v1(msg: SyncGroupResponse, out: WireBuffer) -> None:
    out += _pack_ihi(msg.throttle_time_ms, msg.error_code, len(msg.assignment))
    out += msg.assignment


def _decode_sync_group_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    assignment, pos = read_compact_bytes(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment), pos


def _encode_sync_group_response_v4(msg: SyncGroupResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_bytes(msg.assignment, out)
    out.append(0)


def _decode_sync_group_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[SyncGroupResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    protocol_type, pos = read_compact_nullable_string(buf, pos + 6)
    protocol_name, pos = read_compact_nullable_string(buf, pos)
    assignment, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment), pos


def _encode_sync_group_response_v5(msg: SyncGroupResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.protocol_type, out)
    write_compact_nullable_string(msg.protocol_name, out)
    write_compact_bytes(msg.assignment, out)
    out.append(0)


SyncGroupRequest.DECODERS = (
    _decode_sync_group_request_v0,
    _decode_sync_group_request_v0,
    _decode_sync_group_request_v0,
    _decode_sync_group_request_v3,
    _decode_sync_group_request_v4,
    _decode_sync_group_request_v5,
)

SyncGroupRequest.ENCODERS = (
    _encode_sync_group_request_v0,
    _encode_sync_group_request_v0,
    _encode_sync_group_request_v0,
    _encode_sync_group_request_v3,
    _encode_sync_group_request_v4,
    _encode_sync_group_request_v5,
)

SyncGroupResponse.DECODERS = (
    _decode_sync_group_response_v0,
    _decode_sync_group_response_v1,
    _decode_sync_group_response_v1,
    _decode_sync_group_response_v1,
    _decode_sync_group_response_v4,
    _decode_sync_group_response_v5,
)

SyncGroupResponse.ENCODERS = (
    _encode_sync_group_response_v0,
    _encode_sync_group_response_v1,
    _encode_sync_group_response_v1,
    _encode_sync_group_response_v1,
    _encode_sync_group_response_v4,
    _encode_sync_group_response_v5,
)
