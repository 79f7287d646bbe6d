"""LeaveGroup (API key 13): request and response.

Generated from the LeaveGroup schemas by scripts/generate.

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
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihi: Final = Struct(">ihi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from


class MemberIdentity(Part):
    """Part of LeaveGroupRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",  # versions 3+
        "group_instance_id",  # versions 3+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id


class LeaveGroupRequest(Message):
    """LeaveGroupRequest (API key 13), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "member_id",  # versions 0-2
        "members",  # versions 3+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("members", MemberIdentity, True),)

    SCHEMA_NAME: ClassVar[str] = "LeaveGroupRequest"
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[LeaveGroupRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[LeaveGroupRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members: list[MemberIdentity] = [] if members is None else members


class MemberResponse(Part):
    """Part of LeaveGroupResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",  # versions 3+
        "group_instance_id",  # versions 3+
        "error_code",  # versions 3+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


class LeaveGroupResponse(Message):
    """LeaveGroupResponse (API key 13), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "error_code",
        "members",  # versions 3+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("members", MemberResponse, True),)

    SCHEMA_NAME: ClassVar[str] = "LeaveGroupResponse"
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[LeaveGroupResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[LeaveGroupResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members: list[MemberResponse] = [] if members is None else members


def _decode_leave_group_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaveGroupRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (member_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    return LeaveGroupRequest(group_id, member_id), pos


def _encode_leave_group_request_v0(msg: LeaveGroupRequest, out: WireBuffer) -> None:
    if msg.members:
        raise not_in_version("LeaveGroupRequest.members")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_h(len(member_id_bytes))
    out += member_id_bytes


def _decode_leave_group_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaveGroupRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 4 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    members: list[MemberIdentity] = []
    for _ in range(members_count):
        (members_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_member_id_length
        if members_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_member_id_length, pos, buf)
        members_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_group_instance_id_length,) = _unpack_h(buf, pos)
        pos += 2
        members_group_instance_id: str | None = None
        if members_group_instance_id_length >= 0:
            end = pos + members_group_instance_id_length
            if end > len(buf):
                raise wrong_length("string", members_group_instance_id_length, pos, buf)
            members_group_instance_id = str(buf[pos:end], "utf-8")
            pos = end
        members.append(MemberIdentity(members_member_id, members_group_instance_id))
    return LeaveGroupRequest(group_id, "", members), pos


def _encode_leave_group_request_v3(msg: LeaveGroupRequest, out: WireBuffer) -> None:
    if msg.member_id != "":
        raise not_in_version("LeaveGroupRequest.member_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        write_nullable_string(members_item.group_instance_id, out)


def _decode_member_identity_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[MemberIdentity, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MemberIdentity(member_id, group_instance_id), pos


def _encode_member_identity_v4(msg: MemberIdentity, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    out.append(0)


def _decode_leave_group_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaveGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    members_count, pos = read_compact_count(buf, pos, 3, budget)
    members: list[MemberIdentity] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_identity_v4(buf, pos, budget)
        members.append(members_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaveGroupRequest(group_id, "", members), pos


def _encode_leave_group_request_v4(msg: LeaveGroupRequest, out: WireBuffer) -> None:
    if msg.member_id != "":
        raise not_in_version("LeaveGroupRequest.member_id")
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_member_identity_v4(members_item, out)
    out.append(0)


def _decode_leave_group_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaveGroupResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    return LeaveGroupResponse(0, error_code), pos + 2


def _encode_leave_group_response_v0(msg: LeaveGroupResponse, out: WireBuffer) -> None:
    if msg.members:
        raise not_in_version("LeaveGroupResponse.members")
    out += _pack_h(msg.error_code)


def _decode_leave_group_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaveGroupResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    return LeaveGroupResponse(throttle_time_ms, error_code), pos + 6


def _encode_leave_group_response_v1(msg: LeaveGroupResponse, out: WireBuffer) -> None:
    if msg.members:
        raise not_in_version("LeaveGroupResponse.members")
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)


def _decode_leave_group_response_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaveGroupResponse, int]:
    throttle_time_ms, error_code, members_count = _unpack_ihi(buf, pos)
    pos += 10
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 6 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    members: list[MemberResponse] = []
    for _ in range(members_count):
        (members_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_member_id_length
        if members_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_member_id_length, pos, buf)
        members_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_group_instance_id_length,) = _unpack_h(buf, pos)
        pos += 2
        members_group_instance_id: str | None = None
        if members_group_instance_id_length >= 0:
            end = pos + members_group_instance_id_length
            if end > len(buf):
                raise wrong_length("string", members_group_instance_id_length, pos, buf)
            members_group_instance_id = str(buf[pos:end], "utf-8")
            pos = end
        (members_error_code,) = _unpack_h(buf, pos)
        pos += 2
        members.append(MemberResponse(members_member_id, members_group_instance_id, members_error_code))
    return LeaveGroupResponse(throttle_time_ms, error_code, members), pos


def _encode_leave_group_response_v3(msg: LeaveGroupResponse, out: WireBuffer) -> None:
    out += _pack_ihi(msg.throttle_time_ms, msg.error_code, len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        write_nullable_string(members_item.group_instance_id, out)
        out += _pack_h(members_item.error_code)


def _decode_member_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[MemberResponse, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MemberResponse(member_id, group_instance_id, error_code), pos


def _encode_member_response_v4(msg: MemberResponse, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    out += _pack_hB(msg.error_code, 0)


def _decode_leave_group_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaveGroupResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    members_count, pos = read_compact_count(buf, pos + 6, 5, budget)
    members: list[MemberResponse] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_response_v4(buf, pos, budget)
        members.append(members_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaveGroupResponse(throttle_time_ms, error_code, members), pos


def _encode_leave_group_response_v4(msg: LeaveGroupResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_member_response_v4(members_item, out)
    out.append(0)


LeaveGroupRequest.DECODERS = (
    _decode_leave_group_request_v0,
    _decode_leave_group_request_v0,
    _decode_leave_group_request_v0,
    _decode_leave_group_request_v3,
    _decode_leave_group_request_v4,
)

LeaveGroupRequest.ENCODERS = (
    _encode_leave_group_request_v0,
    _encode_leave_group_request_v0,
    _encode_leave_group_request_v0,
    _encode_leave_group_request_v3,
    _encode_leave_group_request_v4,
)

LeaveGroupResponse.DECODERS = (
    _decode_leave_group_response_v0,
    _decode_leave_group_response_v1,
    _decode_leave_group_response_v1,
    _decode_leave_group_response_v3,
    _decode_leave_group_response_v4,
)

LeaveGroupResponse.ENCODERS = (
    _encode_leave_group_response_v0,
    _encode_leave_group_response_v1,
    _encode_leave_group_response_v1,
    _encode_leave_group_response_v3,
    _encode_leave_group_response_v4,
)
