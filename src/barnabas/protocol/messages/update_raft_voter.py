"""UpdateRaftVoter (API key 82): request and response.

Generated from the UpdateRaftVoter schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    ZERO_UUID,
    check_tag_end,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged_fields,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_hhB = Struct(">hhB").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiu = Struct(">ii16s").pack
_unpack_H = Struct(">H").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiu = Struct(">ii16s").unpack_from


class Listener(Part):
    """Part of UpdateRaftVoterRequest."""

    __slots__ = (
        "name",
        "host",
        "port",
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class KRaftVersionFeature(Part):
    """Part of UpdateRaftVoterRequest."""

    __slots__ = (
        "min_supported_version",
        "max_supported_version",
    )

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class UpdateRaftVoterRequest(Message):
    """UpdateRaftVoterRequest (API key 82), versions 0."""

    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
    )

    SCHEMA_NAME: ClassVar[str] = "UpdateRaftVoterRequest"
    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UpdateRaftVoterRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UpdateRaftVoterRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] | None = None,
        kraft_version_feature: KRaftVersionFeature | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is None else listeners
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        )


class CurrentLeader(Part):
    """Part of UpdateRaftVoterResponse."""

    __slots__ = (
        "leader_id",
        "leader_epoch",
        "host",
        "port",
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port


class UpdateRaftVoterResponse(Message):
    """UpdateRaftVoterResponse (API key 82), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "current_leader",  # tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "UpdateRaftVoterResponse"
    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UpdateRaftVoterResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UpdateRaftVoterResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader: CurrentLeader = CurrentLeader() if current_leader is None else current_leader


def _decode_listener_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Listener, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    (port,) = _unpack_H(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Listener(name, host, port), pos


def _encode_listener_v0(msg: Listener, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_string(msg.host, out)
    out += _pack_HB(msg.port, 0)


def _decode_kraft_version_feature_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[KRaftVersionFeature, int]:
    min_supported_version, max_supported_version = _unpack_hh(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return KRaftVersionFeature(min_supported_version, max_supported_version), pos


def _encode_kraft_version_feature_v0(msg: KRaftVersionFeature, out: WireBuffer) -> None:
    out += _pack_hhB(msg.min_supported_version, msg.max_supported_version, 0)


def _decode_update_raft_voter_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    current_leader_epoch, voter_id, voter_directory_id = _unpack_iiu(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 24, 5, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    kraft_version_feature, pos = _decode_kraft_version_feature_v0(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateRaftVoterRequest(
        cluster_id, current_leader_epoch, voter_id, voter_directory_id, listeners, kraft_version_feature
    ), pos


def _encode_update_raft_voter_request_v0(msg: UpdateRaftVoterRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_iiu(msg.current_leader_epoch, msg.voter_id, msg.voter_directory_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    _encode_kraft_version_feature_v0(msg.kraft_version_feature, out)
    out.append(0)


def _decode_current_leader_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CurrentLeader, int]:
    leader_id, leader_epoch = _unpack_ii(buf, pos)
    host, pos = read_compact_string(buf, pos + 8)
    (port,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CurrentLeader(leader_id, leader_epoch, host, port), pos


def _encode_current_leader_v0(msg: CurrentLeader, out: WireBuffer) -> None:
    out += _pack_ii(msg.leader_id, msg.leader_epoch)
    write_compact_string(msg.host, out)
    out += _pack_iB(msg.port, 0)


def _decode_update_raft_voter_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateRaftVoterResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    current_leader: CurrentLeader = CurrentLeader()
    tagged_count, pos = read_tagged_count(buf, pos + 6, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            current_leader, pos = _decode_current_leader_v0(buf, pos, budget)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return UpdateRaftVoterResponse(throttle_time_ms, error_code, current_leader), pos


def _encode_update_raft_voter_response_v0(msg: UpdateRaftVoterResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    tagged: list[tuple[int, WireBuffer]] = []
    if (
        msg.current_leader.leader_id != -1
        or msg.current_leader.leader_epoch != -1
        or msg.current_leader.host != ""
        or msg.current_leader.port != 0
    ):
        current_leader_value = WireBuffer()
        _encode_current_leader_v0(msg.current_leader, current_leader_value)
        tagged.append((0, current_leader_value))
    write_tagged_fields(tagged, out)


UpdateRaftVoterRequest.DECODERS = (_decode_update_raft_voter_request_v0,)

UpdateRaftVoterRequest.ENCODERS = (_encode_update_raft_voter_request_v0,)

UpdateRaftVoterResponse.DECODERS = (_decode_update_raft_voter_response_v0,)

UpdateRaftVoterResponse.ENCODERS = (_encode_update_raft_voter_response_v0,)
