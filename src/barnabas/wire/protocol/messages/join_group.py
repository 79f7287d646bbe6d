"""JoinGroup (API key 11): request and response.

Generated from the JoinGroup schemas by scripts/generate.

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
    not_nullable,
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
_pack_hih: Final = Struct(">hih").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ihih: Final = Struct(">ihih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iih: Final = Struct(">iih").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hih: Final = Struct(">hih").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ihih: Final = Struct(">ihih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iih: Final = Struct(">iih").unpack_from


class JoinGroupRequestProtocol(Part):
    """Part of JoinGroupRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "metadata",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


class JoinGroupRequest(Message):
    """JoinGroupRequest (API key 11), versions 0-7."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",  # versions 1+
        "member_id",
        "group_instance_id",  # versions 5+
        "protocol_type",
        "protocols",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("protocols", JoinGroupRequestProtocol, True),)

    SCHEMA_NAME: ClassVar[str] = "JoinGroupRequest"
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 7
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[JoinGroupRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[JoinGroupRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols: list[JoinGroupRequestProtocol] = [] if protocols is None else protocols


class JoinGroupResponseMember(Part):
    """Part of JoinGroupResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",  # versions 5+
        "metadata",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


class JoinGroupResponse(Message):
    """JoinGroupResponse (API key 11), versions 0-7."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 2+
        "error_code",
        "generation_id",
        "protocol_type",  # versions 7+
        "protocol_name",
        "leader",
        "member_id",
        "members",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("members", JoinGroupResponseMember, True),)

    SCHEMA_NAME: ClassVar[str] = "JoinGroupResponse"
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 7
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[JoinGroupResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[JoinGroupResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        member_id: str = "",
        members: list[JoinGroupResponseMember] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.member_id = member_id
        self.members: list[JoinGroupResponseMember] = [] if members is None else members


def _decode_join_group_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    session_timeout_ms, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    (protocols_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - protocols_count
    if protocols_count < 0 or elements_left < 0 or protocols_count * 6 > len(buf) - pos:
        check_count(protocols_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(protocols_count):
        (protocols_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + protocols_name_length
        if protocols_name_length < 0 or end > len(buf):
            raise wrong_length("string", protocols_name_length, pos, buf)
        protocols_name = str(buf[pos:end], "utf-8")
        pos = end
        (protocols_metadata_length,) = _unpack_i(buf, pos)
        protocols_metadata, pos = take_bytes(buf, pos + 4, protocols_metadata_length)
        protocols.append(JoinGroupRequestProtocol(protocols_name, protocols_metadata))
    return JoinGroupRequest(group_id, session_timeout_ms, -1, member_id, None, protocol_type, protocols), pos


def _encode_join_group_request_v0(msg: JoinGroupRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("JoinGroupRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.session_timeout_ms, len(member_id_bytes))
    out += member_id_bytes
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    out += _pack_i(len(msg.protocols))
    for protocols_item in msg.protocols:
        name_bytes = protocols_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_i(len(protocols_item.metadata))
        out += protocols_item.metadata


def _decode_join_group_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    session_timeout_ms, rebalance_timeout_ms, member_id_length = _unpack_iih(buf, pos)
    pos += 10
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    (protocols_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - protocols_count
    if protocols_count < 0 or elements_left < 0 or protocols_count * 6 > len(buf) - pos:
        check_count(protocols_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(protocols_count):
        (protocols_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + protocols_name_length
        if protocols_name_length < 0 or end > len(buf):
            raise wrong_length("string", protocols_name_length, pos, buf)
        protocols_name = str(buf[pos:end], "utf-8")
        pos = end
        (protocols_metadata_length,) = _unpack_i(buf, pos)
        protocols_metadata, pos = take_bytes(buf, pos + 4, protocols_metadata_length)
        protocols.append(JoinGroupRequestProtocol(protocols_name, protocols_metadata))
    return JoinGroupRequest(
        group_id, session_timeout_ms, rebalance_timeout_ms, member_id, None, protocol_type, protocols
    ), pos


def _encode_join_group_request_v1(msg: JoinGroupRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("JoinGroupRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_iih(msg.session_timeout_ms, msg.rebalance_timeout_ms, len(member_id_bytes))
    out += member_id_bytes
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    out += _pack_i(len(msg.protocols))
    for protocols_item in msg.protocols:
        name_bytes = protocols_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_i(len(protocols_item.metadata))
        out += protocols_item.metadata


def _decode_join_group_request_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    session_timeout_ms, rebalance_timeout_ms, member_id_length = _unpack_iih(buf, pos)
    pos += 10
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
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    (protocols_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - protocols_count
    if protocols_count < 0 or elements_left < 0 or protocols_count * 6 > len(buf) - pos:
        check_count(protocols_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(protocols_count):
        (protocols_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + protocols_name_length
        if protocols_name_length < 0 or end > len(buf):
            raise wrong_length("string", protocols_name_length, pos, buf)
        protocols_name = str(buf[pos:end], "utf-8")
        pos = end
        (protocols_metadata_length,) = _unpack_i(buf, pos)
        protocols_metadata, pos = take_bytes(buf, pos + 4, protocols_metadata_length)
        protocols.append(JoinGroupRequestProtocol(protocols_name, protocols_metadata))
    return JoinGroupRequest(
        group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols
    ), pos


def _encode_join_group_request_v5(msg: JoinGroupRequest, out: WireBuffer) -> None:
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_iih(msg.session_timeout_ms, msg.rebalance_timeout_ms, len(member_id_bytes))
    out += member_id_bytes
    write_nullable_string(msg.group_instance_id, out)
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    out += _pack_i(len(msg.protocols))
    for protocols_item in msg.protocols:
        name_bytes = protocols_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_i(len(protocols_item.metadata))
        out += protocols_item.metadata


def _decode_join_group_request_protocol_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[JoinGroupRequestProtocol, int]:
    name, pos = read_compact_string(buf, pos)
    metadata, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return JoinGroupRequestProtocol(name, metadata), pos


def _encode_join_group_request_protocol_v6(msg: JoinGroupRequestProtocol, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_bytes(msg.metadata, out)
    out.append(0)


def _decode_join_group_request_v6(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    session_timeout_ms, rebalance_timeout_ms = _unpack_ii(buf, pos)
    member_id, pos = read_compact_string(buf, pos + 8)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    protocols_count, pos = read_compact_count(buf, pos, 3, budget)
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(protocols_count):
        protocols_item, pos = _decode_join_group_request_protocol_v6(buf, pos, budget)
        protocols.append(protocols_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return JoinGroupRequest(
        group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols
    ), pos


def _encode_join_group_request_v6(msg: JoinGroupRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    out += _pack_ii(msg.session_timeout_ms, msg.rebalance_timeout_ms)
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    write_compact_string(msg.protocol_type, out)
    write_uvarint(len(msg.protocols) + 1, out)
    for protocols_item in msg.protocols:
        _encode_join_group_request_protocol_v6(protocols_item, out)
    out.append(0)


def _decode_join_group_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupResponse, int]:
    error_code, generation_id, protocol_name_length = _unpack_hih(buf, pos)
    pos += 8
    end = pos + protocol_name_length
    if protocol_name_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_name_length, pos, buf)
    protocol_name = str(buf[pos:end], "utf-8")
    pos = end
    (leader_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + leader_length
    if leader_length < 0 or end > len(buf):
        raise wrong_length("string", leader_length, pos, buf)
    leader = str(buf[pos:end], "utf-8")
    pos = end
    (member_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 6 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    members: list[JoinGroupResponseMember] = []
    for _ in range(members_count):
        (members_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_member_id_length
        if members_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_member_id_length, pos, buf)
        members_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_metadata_length,) = _unpack_i(buf, pos)
        members_metadata, pos = take_bytes(buf, pos + 4, members_metadata_length)
        members.append(JoinGroupResponseMember(members_member_id, None, members_metadata))
    return JoinGroupResponse(0, error_code, generation_id, None, protocol_name, leader, member_id, members), pos


def _encode_join_group_response_v0(msg: JoinGroupResponse, out: WireBuffer) -> None:
    protocol_name = msg.protocol_name
    if protocol_name is None:
        raise not_nullable("JoinGroupResponse.protocol_name")
    protocol_name_bytes = protocol_name.encode()
    out += _pack_hih(msg.error_code, msg.generation_id, len(protocol_name_bytes))
    out += protocol_name_bytes
    leader_bytes = msg.leader.encode()
    out += _pack_h(len(leader_bytes))
    out += leader_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_h(len(member_id_bytes))
    out += member_id_bytes
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        out += _pack_i(len(members_item.metadata))
        out += members_item.metadata


def _decode_join_group_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id, protocol_name_length = _unpack_ihih(buf, pos)
    pos += 12
    end = pos + protocol_name_length
    if protocol_name_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_name_length, pos, buf)
    protocol_name = str(buf[pos:end], "utf-8")
    pos = end
    (leader_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + leader_length
    if leader_length < 0 or end > len(buf):
        raise wrong_length("string", leader_length, pos, buf)
    leader = str(buf[pos:end], "utf-8")
    pos = end
    (member_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 6 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    members: list[JoinGroupResponseMember] = []
    for _ in range(members_count):
        (members_member_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + members_member_id_length
        if members_member_id_length < 0 or end > len(buf):
            raise wrong_length("string", members_member_id_length, pos, buf)
        members_member_id = str(buf[pos:end], "utf-8")
        pos = end
        (members_metadata_length,) = _unpack_i(buf, pos)
        members_metadata, pos = take_bytes(buf, pos + 4, members_metadata_length)
        members.append(JoinGroupResponseMember(members_member_id, None, members_metadata))
    return JoinGroupResponse(
        throttle_time_ms, error_code, generation_id, None, protocol_name, leader, member_id, members
    ), pos


def _encode_join_group_response_v2(msg: JoinGroupResponse, out: WireBuffer) -> None:
    protocol_name = msg.protocol_name
    if protocol_name is None:
        raise not_nullable("JoinGroupResponse.protocol_name")
    protocol_name_bytes = protocol_name.encode()
    out += _pack_ihih(msg.throttle_time_ms, msg.error_code, msg.generation_id, len(protocol_name_bytes))
    out += protocol_name_bytes
    leader_bytes = msg.leader.encode()
    out += _pack_h(len(leader_bytes))
    out += leader_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_h(len(member_id_bytes))
    out += member_id_bytes
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        out += _pack_i(len(members_item.metadata))
        out += members_item.metadata


def _decode_join_group_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id, protocol_name_length = _unpack_ihih(buf, pos)
    pos += 12
    end = pos + protocol_name_length
    if protocol_name_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_name_length, pos, buf)
    protocol_name = str(buf[pos:end], "utf-8")
    pos = end
    (leader_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + leader_length
    if leader_length < 0 or end > len(buf):
        raise wrong_length("string", leader_length, pos, buf)
    leader = str(buf[pos:end], "utf-8")
    pos = end
    (member_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 8 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    members: list[JoinGroupResponseMember] = []
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
        (members_metadata_length,) = _unpack_i(buf, pos)
        members_metadata, pos = take_bytes(buf, pos + 4, members_metadata_length)
        members.append(JoinGroupResponseMember(members_member_id, members_group_instance_id, members_metadata))
    return JoinGroupResponse(
        throttle_time_ms, error_code, generation_id, None, protocol_name, leader, member_id, members
    ), pos


def _encode_join_group_response_v5(msg: JoinGroupResponse, out: WireBuffer) -> None:
    protocol_name = msg.protocol_name
    if protocol_name is None:
        raise not_nullable("JoinGroupResponse.protocol_name")
    protocol_name_bytes = protocol_name.encode()
    out += _pack_ihih(msg.throttle_time_ms, msg.error_code, msg.generation_id, len(protocol_name_bytes))
    out += protocol_name_bytes
    leader_bytes = msg.leader.encode()
    out += _pack_h(len(leader_bytes))
    out += leader_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_h(len(member_id_bytes))
    out += member_id_bytes
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        member_id_bytes = members_item.member_id.encode()
        out += _pack_h(len(member_id_bytes))
        out += member_id_bytes
        write_nullable_string(members_item.group_instance_id, out)
        out += _pack_i(len(members_item.metadata))
        out += members_item.metadata


def _decode_join_group_response_member_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[JoinGroupResponseMember, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    metadata, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return JoinGroupResponseMember(member_id, group_instance_id, metadata), pos


def _encode_join_group_response_member_v6(msg: JoinGroupResponseMember, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    write_compact_bytes(msg.metadata, out)
    out.append(0)


def _decode_join_group_response_v6(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id = _unpack_ihi(buf, pos)
    protocol_name, pos = read_compact_string(buf, pos + 10)
    leader, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    members_count, pos = read_compact_count(buf, pos, 4, budget)
    members: list[JoinGroupResponseMember] = []
    for _ in range(members_count):
        members_item, pos = _decode_join_group_response_member_v6(buf, pos, budget)
        members.append(members_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return JoinGroupResponse(
        throttle_time_ms, error_code, generation_id, None, protocol_name, leader, member_id, members
    ), pos


def _encode_join_group_response_v6(msg: JoinGroupResponse, out: WireBuffer) -> None:
    protocol_name = msg.protocol_name
    if protocol_name is None:
        raise not_nullable("JoinGroupResponse.protocol_name")
    out += _pack_ihi(msg.throttle_time_ms, msg.error_code, msg.generation_id)
    write_compact_string(protocol_name, out)
    write_compact_string(msg.leader, out)
    write_compact_string(msg.member_id, out)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_join_group_response_member_v6(members_item, out)
    out.append(0)


def _decode_join_group_response_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id = _unpack_ihi(buf, pos)
    protocol_type, pos = read_compact_nullable_string(buf, pos + 10)
    protocol_name, pos = read_compact_nullable_string(buf, pos)
    leader, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    members_count, pos = read_compact_count(buf, pos, 4, budget)
    members: list[JoinGroupResponseMember] = []
    for _ in range(members_count):
        members_item, pos = _decode_join_group_response_member_v6(buf, pos, budget)
        members.append(members_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return JoinGroupResponse(
        throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, member_id, members
    ), pos


def _encode_join_group_response_v7(msg: JoinGroupResponse, out: WireBuffer) -> None:
    out += _pack_ihi(msg.throttle_time_ms, msg.error_code, msg.generation_id)
    write_compact_nullable_string(msg.protocol_type, out)
    write_compact_nullable_string(msg.protocol_name, out)
    write_compact_string(msg.leader, out)
    write_compact_string(msg.member_id, out)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_join_group_response_member_v6(members_item, out)
    out.append(0)


JoinGroupRequest.DECODERS = (
    _decode_join_group_request_v0,
    _decode_join_group_request_v1,
    _decode_join_group_request_v1,
    _decode_join_group_request_v1,
    _decode_join_group_request_v1,
    _decode_join_group_request_v5,
    _decode_join_group_request_v6,
    _decode_join_group_request_v6,
)

JoinGroupRequest.ENCODERS = (
    _encode_join_group_request_v0,
    _encode_join_group_request_v1,
    _encode_join_group_request_v1,
    _encode_join_group_request_v1,
    _encode_join_group_request_v1,
    _encode_join_group_request_v5,
    _encode_join_group_request_v6,
    _encode_join_group_request_v6,
)

JoinGroupResponse.DECODERS = (
    _decode_join_group_response_v0,
    _decode_join_group_response_v0,
    _decode_join_group_response_v2,
    _decode_join_group_response_v2,
    _decode_join_group_response_v2,
    _decode_join_group_response_v5,
    _decode_join_group_response_v6,
    _decode_join_group_response_v7,
)

JoinGroupResponse.ENCODERS = (
    _encode_join_group_response_v0,
    _encode_join_group_response_v0,
    _encode_join_group_response_v2,
    _encode_join_group_response_v2,
    _encode_join_group_response_v2,
    _encode_join_group_response_v5,
    _encode_join_group_response_v6,
    _encode_join_group_response_v7,
)
