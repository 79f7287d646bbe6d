"""DescribeGroups (API key 15): request and response.

Generated from the DescribeGroups schemas by scripts/generate.

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
    read_string,
    skip_tagged_fields,
    take_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hh: Final = Struct(">hh").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_t: Final = Struct(">?").pack
_pack_tB: Final = Struct(">?B").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_t: Final = Struct(">?").unpack_from


class DescribeGroupsRequest(Message):
    """DescribeGroupsRequest (API key 15), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "groups",
        "include_authorized_operations",  # versions 3+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "DescribeGroupsRequest"
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeGroupsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeGroupsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        groups: list[str] | None = None,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups: list[str] = [] if groups is None else groups
        self.include_authorized_operations = include_authorized_operations


class DescribedGroupMember(Part):
    """Part of DescribeGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",  # versions 4+
        "client_id",
        "client_host",
        "member_metadata",
        "member_assignment",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


class DescribedGroup(Part):
    """Part of DescribeGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",  # versions 3+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("members", DescribedGroupMember, True),)

    def __init__(
        self,
        error_code: int = 0,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] | None = None,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members: list[DescribedGroupMember] = [] if members is None else members
        self.authorized_operations = authorized_operations


class DescribeGroupsResponse(Message):
    """DescribeGroupsResponse (API key 15), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "groups",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("groups", DescribedGroup, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeGroupsResponse"
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeGroupsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeGroupsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is None else groups


def _decode_describe_groups_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeGroupsRequest, int]:
    (groups_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 2 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    groups: list[str] = []
    for _ in range(groups_count):
        groups_item, pos = read_string(buf, pos)
        groups.append(groups_item)
    return DescribeGroupsRequest(groups), pos


def _encode_describe_groups_request_v0(msg: DescribeGroupsRequest, out: WireBuffer) -> None:
    if msg.include_authorized_operations:
        raise not_in_version("DescribeGroupsRequest.include_authorized_operations")
    out += _pack_i(len(msg.groups))
    for groups_item in msg.groups:
        write_string(groups_item, out)


def _decode_describe_groups_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeGroupsRequest, int]:
    (groups_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 2 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    groups: list[str] = []
    for _ in range(groups_count):
        groups_item, pos = read_string(buf, pos)
        groups.append(groups_item)
    (include_authorized_operations,) = _unpack_t(buf, pos)
    return DescribeGroupsRequest(groups, include_authorized_operations), pos + 1


def _encode_describe_groups_request_v3(msg: DescribeGroupsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.groups))
    for groups_item in msg.groups:
        write_string(groups_item, out)
    out += _pack_t(msg.include_authorized_operations)


def _decode_describe_groups_request_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeGroupsRequest, int]:
    groups_count, pos = read_compact_count(buf, pos, 1, budget)
    groups: list[str] = []
    for _ in range(groups_count):
        groups_item, pos = read_compact_string(buf, pos)
        groups.append(groups_item)
    (include_authorized_operations,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeGroupsRequest(groups, include_authorized_operations), pos


def _encode_describe_groups_request_v5(msg: DescribeGroupsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        write_compact_string(groups_item, out)
    out += _pack_tB(msg.include_authorized_operations, 0)


def _decode_described_group_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroup, int]:
    error_code, group_id_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (group_state_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_state_length
    if group_state_length < 0 or end > len(buf):
        raise wrong_length("string", group_state_length, pos, buf)
    group_state = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_data_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_data_length
    if protocol_data_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_data_length, pos, buf)
    protocol_data = str(buf[pos:end], "utf-8")
    pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 14 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    members: list[DescribedGroupMember] = []
    for _ in range(members_count):
        (members_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_member_id_length
        if members_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_member_id_length, pos, buf)
        members_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_client_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_client_id_length
        if members_client_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_client_id_length, pos, buf)
        members_client_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_client_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_client_host_length
        if members_client_host_length < 0 or end > len(buf):
            raise wrong_length("string", members_client_host_length, pos, buf)
        members_client_host = str(buf[pos:end], "utf-8")
        pos = end
        (members_member_metadata_length,) = _unpack_i(buf, pos)
        members_member_metadata, pos = take_bytes(buf, pos + 4, members_member_metadata_length)
        (members_member_assignment_length,) = _unpack_i(buf, pos)
        members_member_assignment, pos = take_bytes(buf, pos + 4, members_member_assignment_length)
        members.append(
            DescribedGroupMember(
                members_member_id,
                None,
                members_client_id,
                members_client_host,
                members_member_metadata,
                members_member_assignment,
            )
        )
    return DescribedGroup(error_code, group_id, group_state, protocol_type, protocol_data, members), pos


def _encode_described_group_v0(msg: DescribedGroup, out: WireBuffer) -> None:
    if msg.authorized_operations != -2147483648:
        raise not_in_version("DescribedGroup.authorized_operations")
    group_id_bytes = msg.group_id.encode()
    out += _pack_hh(msg.error_code, len(group_id_bytes))
    out += group_id_bytes
    group_state_bytes = msg.group_state.encode()
    out += _pack_h(len(group_state_bytes))
    out += group_state_bytes
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    protocol_data_bytes = msg.protocol_data.encode()
    out += _pack_h(len(protocol_data_bytes))
    out += protocol_data_bytes
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        client_id_bytes = members_item.client_id.encode()
        out += _pack_h(len(client_id_bytes))
        out += client_id_bytes
        client_host_bytes = members_item.client_host.encode()
        out += _pack_h(len(client_host_bytes))
        out += client_host_bytes
        out += _pack_i(len(members_item.member_metadata))
        out += members_item.member_metadata
        out += _pack_i(len(members_item.member_assignment))
        out += members_item.member_assignment


def _decode_describe_groups_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeGroupsResponse, int]:
    (groups_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 14 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v0(buf, pos, budget)
        groups.append(groups_item)
    return DescribeGroupsResponse(0, groups), pos


def _encode_describe_groups_response_v0(msg: DescribeGroupsResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.groups))
    for groups_item in msg.groups:
        _encode_described_group_v0(groups_item, out)


def _decode_describe_groups_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms, groups_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 14 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v0(buf, pos, budget)
        groups.append(groups_item)
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _encode_describe_groups_response_v1(msg: DescribeGroupsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.groups))
    for groups_item in msg.groups:
        _encode_described_group_v0(groups_item, out)


def _decode_described_group_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroup, int]:
    error_code, group_id_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (group_state_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_state_length
    if group_state_length < 0 or end > len(buf):
        raise wrong_length("string", group_state_length, pos, buf)
    group_state = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_data_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_data_length
    if protocol_data_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_data_length, pos, buf)
    protocol_data = str(buf[pos:end], "utf-8")
    pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 14 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    members: list[DescribedGroupMember] = []
    for _ in range(members_count):
        (members_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_member_id_length
        if members_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_member_id_length, pos, buf)
        members_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_client_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_client_id_length
        if members_client_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_client_id_length, pos, buf)
        members_client_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_client_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_client_host_length
        if members_client_host_length < 0 or end > len(buf):
            raise wrong_length("string", members_client_host_length, pos, buf)
        members_client_host = str(buf[pos:end], "utf-8")
        pos = end
        (members_member_metadata_length,) = _unpack_i(buf, pos)
        members_member_metadata, pos = take_bytes(buf, pos + 4, members_member_metadata_length)
        (members_member_assignment_length,) = _unpack_i(buf, pos)
        members_member_assignment, pos = take_bytes(buf, pos + 4, members_member_assignment_length)
        members.append(
            DescribedGroupMember(
                members_member_id,
                None,
                members_client_id,
                members_client_host,
                members_member_metadata,
                members_member_assignment,
            )
        )
    (authorized_operations,) = _unpack_i(buf, pos)
    return DescribedGroup(
        error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations
    ), pos + 4


def _encode_described_group_v3(msg: DescribedGroup, out: WireBuffer) -> None:
    group_id_bytes = msg.group_id.encode()
    out += _pack_hh(msg.error_code, len(group_id_bytes))
    out += group_id_bytes
    group_state_bytes = msg.group_state.encode()
    out += _pack_h(len(group_state_bytes))
    out += group_state_bytes
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    protocol_data_bytes = msg.protocol_data.encode()
    out += _pack_h(len(protocol_data_bytes))
    out += protocol_data_bytes
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        client_id_bytes = members_item.client_id.encode()
        out += _pack_h(len(client_id_bytes))
        out += client_id_bytes
        client_host_bytes = members_item.client_host.encode()
        out += _pack_h(len(client_host_bytes))
        out += client_host_bytes
        out += _pack_i(len(members_item.member_metadata))
        out += members_item.member_metadata
        out += _pack_i(len(members_item.member_assignment))
        out += members_item.member_assignment
    out += _pack_i(msg.authorized_operations)


def _decode_describe_groups_response_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms, groups_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 18 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 18, budget)
    budget.elements_left = elements_left
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v3(buf, pos, budget)
        groups.append(groups_item)
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _encode_describe_groups_response_v3(msg: DescribeGroupsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.groups))
    for groups_item in msg.groups:
        _encode_described_group_v3(groups_item, out)


def _decode_described_group_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroup, int]:
    error_code, group_id_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (group_state_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_state_length
    if group_state_length < 0 or end > len(buf):
        raise wrong_length("string", group_state_length, pos, buf)
    group_state = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_data_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_data_length
    if protocol_data_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_data_length, pos, buf)
    protocol_data = str(buf[pos:end], "utf-8")
    pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 16 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 16, budget)
    budget.elements_left = elements_left
    members: list[DescribedGroupMember] = []
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
        (members_client_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_client_id_length
        if members_client_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_client_id_length, pos, buf)
        members_client_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_client_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_client_host_length
        if members_client_host_length < 0 or end > len(buf):
            raise wrong_length("string", members_client_host_length, pos, buf)
        members_client_host = str(buf[pos:end], "utf-8")
        pos = end
        (members_member_metadata_length,) = _unpack_i(buf, pos)
        members_member_metadata, pos = take_bytes(buf, pos + 4, members_member_metadata_length)
        (members_member_assignment_length,) = _unpack_i(buf, pos)
        members_member_assignment, pos = take_bytes(buf, pos + 4, members_member_assignment_length)
        members.append(
            DescribedGroupMember(
                members_member_id,
                members_group_instance_id,
                members_client_id,
                members_client_host,
                members_member_metadata,
                members_member_assignment,
            )
        )
    (authorized_operations,) = _unpack_i(buf, pos)
    return DescribedGroup(
        error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations
    ), pos + 4


def _encode_described_group_v4(msg: DescribedGroup, out: WireBuffer) -> None:
    group_id_bytes = msg.group_id.encode()
    out += _pack_hh(msg.error_code, len(group_id_bytes))
    out += group_id_bytes
    group_state_bytes = msg.group_state.encode()
    out += _pack_h(len(group_state_bytes))
    out += group_state_bytes
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    protocol_data_bytes = msg.protocol_data.encode()
    out += _pack_h(len(protocol_data_bytes))
    out += protocol_data_bytes
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        write_nullable_string(members_item.group_instance_id, out)
        client_id_bytes = members_item.client_id.encode()
        out += _pack_h(len(client_id_bytes))
        out += client_id_bytes
        client_host_bytes = members_item.client_host.encode()
        out += _pack_h(len(client_host_bytes))
        out += client_host_bytes
        out += _pack_i(len(members_item.member_metadata))
        out += members_item.member_metadata
        out += _pack_i(len(members_item.member_assignment))
        out += members_item.member_assignment
    out += _pack_i(msg.authorized_operations)


def _decode_describe_groups_response_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms, groups_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 18 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 18, budget)
    budget.elements_left = elements_left
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v4(buf, pos, budget)
        groups.append(groups_item)
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _encode_describe_groups_response_v4(msg: DescribeGroupsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.groups))
    for groups_item in msg.groups:
        _encode_described_group_v4(groups_item, out)


def _decode_described_group_member_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroupMember, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    member_metadata, pos = read_compact_bytes(buf, pos)
    member_assignment, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribedGroupMember(
        member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment
    ), pos


def _encode_described_group_member_v5(msg: DescribedGroupMember, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    write_compact_string(msg.client_id, out)
    write_compact_string(msg.client_host, out)
    write_compact_bytes(msg.member_metadata, out)
    write_compact_bytes(msg.member_assignment, out)
    out.append(0)


def _decode_described_group_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroup, int]:
    (error_code,) = _unpack_h(buf, pos)
    group_id, pos = read_compact_string(buf, pos + 2)
    group_state, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    protocol_data, pos = read_compact_string(buf, pos)
    members_count, pos = read_compact_count(buf, pos, 7, budget)
    members: list[DescribedGroupMember] = []
    for _ in range(members_count):
        members_item, pos = _decode_described_group_member_v5(buf, pos, budget)
        members.append(members_item)
    (authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribedGroup(
        error_code, group_id, group_state, protocol_type, protocol_data, members, authorized_operations
    ), pos


def _encode_described_group_v5(msg: DescribedGroup, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.group_state, out)
    write_compact_string(msg.protocol_type, out)
    write_compact_string(msg.protocol_data, out)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_described_group_member_v5(members_item, out)
    out += _pack_iB(msg.authorized_operations, 0)


def _decode_describe_groups_response_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeGroupsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 4, 12, budget)
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v5(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _encode_describe_groups_response_v5(msg: DescribeGroupsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_described_group_v5(groups_item, out)
    out.append(0)


DescribeGroupsRequest.DECODERS = (
    _decode_describe_groups_request_v0,
    _decode_describe_groups_request_v0,
    _decode_describe_groups_request_v0,
    _decode_describe_groups_request_v3,
    _decode_describe_groups_request_v3,
    _decode_describe_groups_request_v5,
)

DescribeGroupsRequest.ENCODERS = (
    _encode_describe_groups_request_v0,
    _encode_describe_groups_request_v0,
    _encode_describe_groups_request_v0,
    _encode_describe_groups_request_v3,
    _encode_describe_groups_request_v3,
    _encode_describe_groups_request_v5,
)

DescribeGroupsResponse.DECODERS = (
    _decode_describe_groups_response_v0,
    _decode_describe_groups_response_v1,
    _decode_describe_groups_response_v1,
    _decode_describe_groups_response_v3,
    _decode_describe_groups_response_v4,
    _decode_describe_groups_response_v5,
)

DescribeGroupsResponse.ENCODERS = (
    _encode_describe_groups_response_v0,
    _encode_describe_groups_response_v1,
    _encode_describe_groups_response_v1,
    _encode_describe_groups_response_v3,
    _encode_describe_groups_response_v4,
    _encode_describe_groups_response_v5,
)
