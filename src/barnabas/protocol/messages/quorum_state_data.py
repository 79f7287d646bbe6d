"""QuorumStateData: a structure kept in records or files.

Generated from the QuorumStateData schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    WireBuffer,
    ZERO_UUID,
    not_in_version,
    read_compact_nullable_count,
    read_compact_string,
    skip_tagged_fields,
    write_compact_string,
    write_uvarint,
)

_pack_iB = Struct(">iB").pack
_pack_iiiq = Struct(">iiiq").pack
_pack_iiiuB = Struct(">iii16sB").pack
_unpack_i = Struct(">i").unpack_from
_unpack_iiiq = Struct(">iiiq").unpack_from
_unpack_iiiu = Struct(">iii16s").unpack_from


class Voter(Part):
    """Part of QuorumStateData."""

    __slots__ = (
        "voter_id",  # versions 0
    )

    def __init__(
        self,
        voter_id: int = 0,
    ) -> None:
        self.voter_id = voter_id


class QuorumStateData(Message):
    """QuorumStateData, versions 0-1."""

    __slots__ = (
        "cluster_id",  # versions 0
        "leader_id",
        "leader_epoch",
        "voted_id",
        "applied_offset",  # versions 0
        "current_voters",  # versions 0
        "voted_directory_id",  # versions 1+
    )

    SCHEMA_NAME: ClassVar[str] = "QuorumStateData"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[QuorumStateData, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[QuorumStateData, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        applied_offset: int = 0,
        current_voters: list[Voter] | None | Missing = MISSING,
        voted_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.applied_offset = applied_offset
        self.current_voters: list[Voter] | None = [] if isinstance(current_voters, Missing) else current_voters
        self.voted_directory_id = voted_directory_id


def _decode_voter_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Voter, int]:
    (voter_id,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Voter(voter_id), pos


def _encode_voter_v0(msg: Voter, out: WireBuffer) -> None:
    out += _pack_iB(msg.voter_id, 0)


def _decode_quorum_state_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[QuorumStateData, int]:
    cluster_id, pos = read_compact_string(buf, pos)
    leader_id, leader_epoch, voted_id, applied_offset = _unpack_iiiq(buf, pos)
    current_voters_count, pos = read_compact_nullable_count(buf, pos + 20, 5, budget)
    current_voters: list[Voter] | None = None
    if current_voters_count >= 0:
        current_voters = []
        for _ in range(current_voters_count):
            current_voters_item, pos = _decode_voter_v0(buf, pos, budget)
            current_voters.append(current_voters_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return QuorumStateData(cluster_id, leader_id, leader_epoch, voted_id, applied_offset, current_voters), pos


def _encode_quorum_state_data_v0(msg: QuorumStateData, out: WireBuffer) -> None:
    if msg.voted_directory_id != ZERO_UUID:
        raise not_in_version("QuorumStateData.voted_directory_id")
    write_compact_string(msg.cluster_id, out)
    out += _pack_iiiq(msg.leader_id, msg.leader_epoch, msg.voted_id, msg.applied_offset)
    write_uvarint(0 if msg.current_voters is None else len(msg.current_voters) + 1, out)
    if msg.current_voters:
        for current_voters_item in msg.current_voters:
            _encode_voter_v0(current_voters_item, out)
    out.append(0)


def _decode_quorum_state_data_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[QuorumStateData, int]:
    leader_id, leader_epoch, voted_id, voted_directory_id = _unpack_iiiu(buf, pos)
    pos += 29
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return QuorumStateData("", leader_id, leader_epoch, voted_id, 0, [], voted_directory_id), pos


def _encode_quorum_state_data_v1(msg: QuorumStateData, out: WireBuffer) -> None:
    if msg.cluster_id != "":
        raise not_in_version("QuorumStateData.cluster_id")
    if msg.applied_offset != 0:
        raise not_in_version("QuorumStateData.applied_offset")
    if msg.current_voters is None or msg.current_voters:
        raise not_in_version("QuorumStateData.current_voters")
    out += _pack_iiiuB(msg.leader_id, msg.leader_epoch, msg.voted_id, msg.voted_directory_id, 0)


QuorumStateData.DECODERS = (
    _decode_quorum_state_data_v0,
    _decode_quorum_state_data_v1,
)

QuorumStateData.ENCODERS = (
    _encode_quorum_state_data_v0,
    _encode_quorum_state_data_v1,
)
