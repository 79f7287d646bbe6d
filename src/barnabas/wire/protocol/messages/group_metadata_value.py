"""GroupMetadataValue: the value of a record of an internal topic, after its int16 version.

Generated from the GroupMetadataValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    WireBuffer,
    check_count,
    take_bytes,
    write_nullable_string,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_pack_qi: Final = Struct(">qi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_qi: Final = Struct(">qi").unpack_from


class MemberMetadata(Part):
    """Part of GroupMetadataValue."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "member_id",
        "group_instance_id",  # versions 3+
        "client_id",
        "client_host",
        "rebalance_timeout",  # versions 1+
        "session_timeout",
        "subscription",
        "assignment",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment


class GroupMetadataValue(Message):
    """GroupMetadataValue, versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "protocol_type",
        "generation",
        "protocol",
        "leader",
        "current_state_timestamp",  # versions 2+
        "members",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("members", MemberMetadata, True),)

    SCHEMA_NAME: ClassVar[str] = "GroupMetadataValue"
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[GroupMetadataValue, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[GroupMetadataValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] | None = None,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members: list[MemberMetadata] = [] if members is None else members


def _decode_group_metadata_value_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    generation, protocol_length = _unpack_ih(buf, pos)
    pos += 6
    protocol: str | None = None
    if protocol_length >= 0:
        end = pos + protocol_length
        if end > len(buf):
            raise wrong_length("string", protocol_length, pos, buf)
        protocol = str(buf[pos:end], "utf-8")
        pos = end
    (leader_length,) = _unpack_h(buf, pos)
    pos += 2
    leader: str | None = None
    if leader_length >= 0:
        end = pos + leader_length
        if end > len(buf):
            raise wrong_length("string", leader_length, pos, buf)
        leader = str(buf[pos:end], "utf-8")
        pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 18 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 18, budget)
    budget.elements_left = elements_left
    members: list[MemberMetadata] = []
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
        members_session_timeout, members_subscription_length = _unpack_ii(buf, pos)
        members_subscription, pos = take_bytes(buf, pos + 8, members_subscription_length)
        (members_assignment_length,) = _unpack_i(buf, pos)
        members_assignment, pos = take_bytes(buf, pos + 4, members_assignment_length)
        members.append(
            MemberMetadata(
                members_member_id,
                None,
                members_client_id,
                members_client_host,
                -1,
                members_session_timeout,
                members_subscription,
                members_assignment,
            )
        )
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _encode_group_metadata_value_v0(msg: GroupMetadataValue, out: WireBuffer) -> None:
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
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
        out += _pack_ii(members_item.session_timeout, len(members_item.subscription))
        out += members_item.subscription
        out += _pack_i(len(members_item.assignment))
        out += members_item.assignment


def _decode_group_metadata_value_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    generation, protocol_length = _unpack_ih(buf, pos)
    pos += 6
    protocol: str | None = None
    if protocol_length >= 0:
        end = pos + protocol_length
        if end > len(buf):
            raise wrong_length("string", protocol_length, pos, buf)
        protocol = str(buf[pos:end], "utf-8")
        pos = end
    (leader_length,) = _unpack_h(buf, pos)
    pos += 2
    leader: str | None = None
    if leader_length >= 0:
        end = pos + leader_length
        if end > len(buf):
            raise wrong_length("string", leader_length, pos, buf)
        leader = str(buf[pos:end], "utf-8")
        pos = end
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 22 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 22, budget)
    budget.elements_left = elements_left
    members: list[MemberMetadata] = []
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
        members_rebalance_timeout, members_session_timeout, members_subscription_length = _unpack_iii(buf, pos)
        members_subscription, pos = take_bytes(buf, pos + 12, members_subscription_length)
        (members_assignment_length,) = _unpack_i(buf, pos)
        members_assignment, pos = take_bytes(buf, pos + 4, members_assignment_length)
        members.append(
            MemberMetadata(
                members_member_id,
                None,
                members_client_id,
                members_client_host,
                members_rebalance_timeout,
                members_session_timeout,
                members_subscription,
                members_assignment,
            )
        )
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _encode_group_metadata_value_v1(msg: GroupMetadataValue, out: WireBuffer) -> None:
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
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
        out += _pack_iii(members_item.rebalance_timeout, members_item.session_timeout, len(members_item.subscription))
        out += members_item.subscription
        out += _pack_i(len(members_item.assignment))
        out += members_item.assignment


def _decode_group_metadata_value_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    generation, protocol_length = _unpack_ih(buf, pos)
    pos += 6
    protocol: str | None = None
    if protocol_length >= 0:
        end = pos + protocol_length
        if end > len(buf):
            raise wrong_length("string", protocol_length, pos, buf)
        protocol = str(buf[pos:end], "utf-8")
        pos = end
    (leader_length,) = _unpack_h(buf, pos)
    pos += 2
    leader: str | None = None
    if leader_length >= 0:
        end = pos + leader_length
        if end > len(buf):
            raise wrong_length("string", leader_length, pos, buf)
        leader = str(buf[pos:end], "utf-8")
        pos = end
    current_state_timestamp, members_count = _unpack_qi(buf, pos)
    pos += 12
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 22 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 22, budget)
    budget.elements_left = elements_left
    members: list[MemberMetadata] = []
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
        members_rebalance_timeout, members_session_timeout, members_subscription_length = _unpack_iii(buf, pos)
        members_subscription, pos = take_bytes(buf, pos + 12, members_subscription_length)
        (members_assignment_length,) = _unpack_i(buf, pos)
        members_assignment, pos = take_bytes(buf, pos + 4, members_assignment_length)
        members.append(
            MemberMetadata(
                members_member_id,
                None,
                members_client_id,
                members_client_host,
                members_rebalance_timeout,
                members_session_timeout,
                members_subscription,
                members_assignment,
            )
        )
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _encode_group_metadata_value_v2(msg: GroupMetadataValue, out: WireBuffer) -> None:
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
    out += _pack_qi(msg.current_state_timestamp, len(msg.members))
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
        out += _pack_iii(members_item.rebalance_timeout, members_item.session_timeout, len(members_item.subscription))
        out += members_item.subscription
        out += _pack_i(len(members_item.assignment))
        out += members_item.assignment


def _decode_group_metadata_value_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    (protocol_type_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + protocol_type_length
    if protocol_type_length < 0 or end > len(buf):
        raise wrong_length("string", protocol_type_length, pos, buf)
    protocol_type = str(buf[pos:end], "utf-8")
    pos = end
    generation, protocol_length = _unpack_ih(buf, pos)
    pos += 6
    protocol: str | None = None
    if protocol_length >= 0:
        end = pos + protocol_length
        if end > len(buf):
            raise wrong_length("string", protocol_length, pos, buf)
        protocol = str(buf[pos:end], "utf-8")
        pos = end
    (leader_length,) = _unpack_h(buf, pos)
    pos += 2
    leader: str | None = None
    if leader_length >= 0:
        end = pos + leader_length
        if end > len(buf):
            raise wrong_length("string", leader_length, pos, buf)
        leader = str(buf[pos:end], "utf-8")
        pos = end
    current_state_timestamp, members_count = _unpack_qi(buf, pos)
    pos += 12
    elements_left = budget.elements_left - members_count
    if members_count < 0 or elements_left < 0 or members_count * 24 > len(buf) - pos:
        check_count(members_count, len(buf) - pos, 24, budget)
    budget.elements_left = elements_left
    members: list[MemberMetadata] = []
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
        members_rebalance_timeout, members_session_timeout, members_subscription_length = _unpack_iii(buf, pos)
        members_subscription, pos = take_bytes(buf, pos + 12, members_subscription_length)
        (members_assignment_length,) = _unpack_i(buf, pos)
        members_assignment, pos = take_bytes(buf, pos + 4, members_assignment_length)
        members.append(
            MemberMetadata(
                members_member_id,
                members_group_instance_id,
                members_client_id,
                members_client_host,
                members_rebalance_timeout,
                members_session_timeout,
                members_subscription,
                members_assignment,
            )
        )
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _encode_group_metadata_value_v3(msg: GroupMetadataValue, out: WireBuffer) -> None:
    protocol_type_bytes = msg.protocol_type.encode()
    out += _pack_h(len(protocol_type_bytes))
    out += protocol_type_bytes
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
    out += _pack_qi(msg.current_state_timestamp, len(msg.members))
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
        out += _pack_iii(members_item.rebalance_timeout, members_item.session_timeout, len(members_item.subscription))
        out += members_item.subscription
        out += _pack_i(len(members_item.assignment))
        out += members_item.assignment


GroupMetadataValue.DECODERS = (
    _decode_group_metadata_value_v0,
    _decode_group_metadata_value_v1,
    _decode_group_metadata_value_v2,
    _decode_group_metadata_value_v3,
)

GroupMetadataValue.ENCODERS = (
    _encode_group_metadata_value_v0,
    _encode_group_metadata_value_v1,
    _encode_group_metadata_value_v2,
    _encode_group_metadata_value_v3,
)
