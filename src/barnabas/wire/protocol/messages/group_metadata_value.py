"""GroupMetadataValue: the value of a record of an internal topic, after its int16 version.

Generated from the GroupMetadataValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    WireBuffer,
    check_count,
    read_bytes,
    read_nullable_string,
    read_string,
    take_bytes,
    take_nullable_string,
    write_bytes,
    write_nullable_string,
    write_string,
)

_pack_i = Struct(">i").pack
_pack_ii = Struct(">ii").pack
_pack_iii = Struct(">iii").pack
_pack_qi = Struct(">qi").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_qi = Struct(">qi").unpack_from


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


def _decode_member_metadata_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[MemberMetadata, int]:
    member_id, pos = read_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    session_timeout, subscription_length = _unpack_ii(buf, pos)
    subscription, pos = take_bytes(buf, pos + 8, subscription_length)
    assignment, pos = read_bytes(buf, pos)
    return MemberMetadata(member_id, None, client_id, client_host, -1, session_timeout, subscription, assignment), pos


def _encode_member_metadata_v0(msg: MemberMetadata, out: WireBuffer) -> None:
    write_string(msg.member_id, out)
    write_string(msg.client_id, out)
    write_string(msg.client_host, out)
    out += _pack_ii(msg.session_timeout, len(msg.subscription))
    out += msg.subscription
    write_bytes(msg.assignment, out)


def _decode_group_metadata_value_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation, protocol_length = _unpack_ih(buf, pos)
    protocol, pos = take_nullable_string(buf, pos + 6, protocol_length)
    leader, pos = read_nullable_string(buf, pos)
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(members_count, len(buf) - pos, 18, budget)
    members: list[MemberMetadata] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_metadata_v0(buf, pos, budget)
        members.append(members_item)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _encode_group_metadata_value_v0(msg: GroupMetadataValue, out: WireBuffer) -> None:
    write_string(msg.protocol_type, out)
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        _encode_member_metadata_v0(members_item, out)


def _decode_member_metadata_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[MemberMetadata, int]:
    member_id, pos = read_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    rebalance_timeout, session_timeout, subscription_length = _unpack_iii(buf, pos)
    subscription, pos = take_bytes(buf, pos + 12, subscription_length)
    assignment, pos = read_bytes(buf, pos)
    return MemberMetadata(
        member_id, None, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment
    ), pos


def _encode_member_metadata_v1(msg: MemberMetadata, out: WireBuffer) -> None:
    write_string(msg.member_id, out)
    write_string(msg.client_id, out)
    write_string(msg.client_host, out)
    out += _pack_iii(msg.rebalance_timeout, msg.session_timeout, len(msg.subscription))
    out += msg.subscription
    write_bytes(msg.assignment, out)


def _decode_group_metadata_value_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation, protocol_length = _unpack_ih(buf, pos)
    protocol, pos = take_nullable_string(buf, pos + 6, protocol_length)
    leader, pos = read_nullable_string(buf, pos)
    (members_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(members_count, len(buf) - pos, 22, budget)
    members: list[MemberMetadata] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_metadata_v1(buf, pos, budget)
        members.append(members_item)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _encode_group_metadata_value_v1(msg: GroupMetadataValue, out: WireBuffer) -> None:
    write_string(msg.protocol_type, out)
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
    out += _pack_i(len(msg.members))
    for members_item in msg.members:
        _encode_member_metadata_v1(members_item, out)


def _decode_group_metadata_value_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation, protocol_length = _unpack_ih(buf, pos)
    protocol, pos = take_nullable_string(buf, pos + 6, protocol_length)
    leader, pos = read_nullable_string(buf, pos)
    current_state_timestamp, members_count = _unpack_qi(buf, pos)
    pos += 12
    check_count(members_count, len(buf) - pos, 22, budget)
    members: list[MemberMetadata] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_metadata_v1(buf, pos, budget)
        members.append(members_item)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _encode_group_metadata_value_v2(msg: GroupMetadataValue, out: WireBuffer) -> None:
    write_string(msg.protocol_type, out)
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
    out += _pack_qi(msg.current_state_timestamp, len(msg.members))
    for members_item in msg.members:
        _encode_member_metadata_v1(members_item, out)


def _decode_member_metadata_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[MemberMetadata, int]:
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    rebalance_timeout, session_timeout, subscription_length = _unpack_iii(buf, pos)
    subscription, pos = take_bytes(buf, pos + 12, subscription_length)
    assignment, pos = read_bytes(buf, pos)
    return MemberMetadata(
        member_id,
        group_instance_id,
        client_id,
        client_host,
        rebalance_timeout,
        session_timeout,
        subscription,
        assignment,
    ), pos


def _encode_member_metadata_v3(msg: MemberMetadata, out: WireBuffer) -> None:
    write_string(msg.member_id, out)
    write_nullable_string(msg.group_instance_id, out)
    write_string(msg.client_id, out)
    write_string(msg.client_host, out)
    out += _pack_iii(msg.rebalance_timeout, msg.session_timeout, len(msg.subscription))
    out += msg.subscription
    write_bytes(msg.assignment, out)


def _decode_group_metadata_value_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation, protocol_length = _unpack_ih(buf, pos)
    protocol, pos = take_nullable_string(buf, pos + 6, protocol_length)
    leader, pos = read_nullable_string(buf, pos)
    current_state_timestamp, members_count = _unpack_qi(buf, pos)
    pos += 12
    check_count(members_count, len(buf) - pos, 24, budget)
    members: list[MemberMetadata] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_metadata_v3(buf, pos, budget)
        members.append(members_item)
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _encode_group_metadata_value_v3(msg: GroupMetadataValue, out: WireBuffer) -> None:
    write_string(msg.protocol_type, out)
    out += _pack_i(msg.generation)
    write_nullable_string(msg.protocol, out)
    write_nullable_string(msg.leader, out)
    out += _pack_qi(msg.current_state_timestamp, len(msg.members))
    for members_item in msg.members:
        _encode_member_metadata_v3(members_item, out)


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
