"""LeaderChangeMessage: a structure kept in records or files.

Generated from the LeaderChangeMessage schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    Part,
    WireBuffer,
    ZERO_UUID,
    not_in_version,
    read_compact_count,
    skip_tagged_fields,
    write_uvarint,
)

_pack_hi = Struct(">hi").pack
_pack_iB = Struct(">iB").pack
_pack_iuB = Struct(">i16sB").pack
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iu = Struct(">i16s").unpack_from


class Voter(Part):
    """Part of LeaderChangeMessage."""

    __slots__ = (
        "voter_id",
        "voter_directory_id",  # versions 1+
    )

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id


class LeaderChangeMessage(Message):
    """LeaderChangeMessage, versions 0-1."""

    __slots__ = (
        "version",
        "leader_id",
        "voters",
        "granting_voters",
    )

    SCHEMA_NAME: ClassVar[str] = "LeaderChangeMessage"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[LeaderChangeMessage, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[LeaderChangeMessage, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        version: int = 0,
        leader_id: int = 0,
        voters: list[Voter] | None = None,
        granting_voters: list[Voter] | None = None,
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters: list[Voter] = [] if voters is None else voters
        self.granting_voters: list[Voter] = [] if granting_voters is None else granting_voters


def _decode_voter_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Voter, int]:
    (voter_id,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Voter(voter_id), pos


def _encode_voter_v0(msg: Voter, out: WireBuffer) -> None:
    if msg.voter_directory_id != ZERO_UUID:
        raise not_in_version("Voter.voter_directory_id")
    out += _pack_iB(msg.voter_id, 0)


def _decode_leader_change_message_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderChangeMessage, int]:
    version, leader_id = _unpack_hi(buf, pos)
    voters_count, pos = read_compact_count(buf, pos + 6, 5, budget)
    voters: list[Voter] = []
    for _ in range(voters_count):
        voters_item, pos = _decode_voter_v0(buf, pos, budget)
        voters.append(voters_item)
    granting_voters_count, pos = read_compact_count(buf, pos, 5, budget)
    granting_voters: list[Voter] = []
    for _ in range(granting_voters_count):
        granting_voters_item, pos = _decode_voter_v0(buf, pos, budget)
        granting_voters.append(granting_voters_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderChangeMessage(version, leader_id, voters, granting_voters), pos


def _encode_leader_change_message_v0(msg: LeaderChangeMessage, out: WireBuffer) -> None:
    out += _pack_hi(msg.version, msg.leader_id)
    write_uvarint(len(msg.voters) + 1, out)
    for voters_item in msg.voters:
        _encode_voter_v0(voters_item, out)
    write_uvarint(len(msg.granting_voters) + 1, out)
    for granting_voters_item in msg.granting_voters:
        _encode_voter_v0(granting_voters_item, out)
    out.append(0)


def _decode_voter_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[Voter, int]:
    voter_id, voter_directory_id = _unpack_iu(buf, pos)
    pos += 21
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Voter(voter_id, voter_directory_id), pos


def _encode_voter_v1(msg: Voter, out: WireBuffer) -> None:
    out += _pack_iuB(msg.voter_id, msg.voter_directory_id, 0)


def _decode_leader_change_message_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderChangeMessage, int]:
    version, leader_id = _unpack_hi(buf, pos)
    voters_count, pos = read_compact_count(buf, pos + 6, 21, budget)
    voters: list[Voter] = []
    for _ in range(voters_count):
        voters_item, pos = _decode_voter_v1(buf, pos, budget)
        voters.append(voters_item)
    granting_voters_count, pos = read_compact_count(buf, pos, 21, budget)
    granting_voters: list[Voter] = []
    for _ in range(granting_voters_count):
        granting_voters_item, pos = _decode_voter_v1(buf, pos, budget)
        granting_voters.append(granting_voters_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderChangeMessage(version, leader_id, voters, granting_voters), pos


def _encode_leader_change_message_v1(msg: LeaderChangeMessage, out: WireBuffer) -> None:
    out += _pack_hi(msg.version, msg.leader_id)
    write_uvarint(len(msg.voters) + 1, out)
    for voters_item in msg.voters:
        _encode_voter_v1(voters_item, out)
    write_uvarint(len(msg.granting_voters) + 1, out)
    for granting_voters_item in msg.granting_voters:
        _encode_voter_v1(granting_voters_item, out)
    out.append(0)


LeaderChangeMessage.DECODERS = (
    _decode_leader_change_message_v0,
    _decode_leader_change_message_v1,
)

LeaderChangeMessage.ENCODERS = (
    _encode_leader_change_message_v0,
    _encode_leader_change_message_v1,
)
