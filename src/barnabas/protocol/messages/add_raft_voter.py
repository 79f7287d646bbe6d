"""AddRaftVoter (API key 80): request and response.

Generated from the AddRaftVoter schemas by scripts/generate.

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
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_ih = Struct(">ih").pack
_pack_iiu = Struct(">ii16s").pack
_pack_tB = Struct(">?B").pack
_unpack_H = Struct(">H").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_iiu = Struct(">ii16s").unpack_from
_unpack_t = Struct(">?").unpack_from


class Listener(Part):
    """Part of AddRaftVoterRequest."""

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


class AddRaftVoterRequest(Message):
    """AddRaftVoterRequest (API key 80), versions 0-1."""

    __slots__ = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",  # versions 1+
    )

    SCHEMA_NAME: ClassVar[str] = "AddRaftVoterRequest"
    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddRaftVoterRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddRaftVoterRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] | None = None,
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is None else listeners
        self.ack_when_committed = ack_when_committed


class AddRaftVoterResponse(Message):
    """AddRaftVoterResponse (API key 80), versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    SCHEMA_NAME: ClassVar[str] = "AddRaftVoterResponse"
    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddRaftVoterResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddRaftVoterResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message


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


def _decode_add_raft_voter_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AddRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    timeout_ms, voter_id, voter_directory_id = _unpack_iiu(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 24, 5, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddRaftVoterRequest(cluster_id, timeout_ms, voter_id, voter_directory_id, listeners), pos


def _encode_add_raft_voter_request_v0(msg: AddRaftVoterRequest, out: WireBuffer) -> None:
    if not msg.ack_when_committed:
        raise not_in_version("AddRaftVoterRequest.ack_when_committed")
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_iiu(msg.timeout_ms, msg.voter_id, msg.voter_directory_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    out.append(0)


def _decode_add_raft_voter_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[AddRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    timeout_ms, voter_id, voter_directory_id = _unpack_iiu(buf, pos)
    listeners_count, pos = read_compact_count(buf, pos + 24, 5, budget)
    listeners: list[Listener] = []
    for _ in range(listeners_count):
        listeners_item, pos = _decode_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    (ack_when_committed,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddRaftVoterRequest(cluster_id, timeout_ms, voter_id, voter_directory_id, listeners, ack_when_committed), pos


def _encode_add_raft_voter_request_v1(msg: AddRaftVoterRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_iiu(msg.timeout_ms, msg.voter_id, msg.voter_directory_id)
    write_uvarint(len(msg.listeners) + 1, out)
    for listeners_item in msg.listeners:
        _encode_listener_v0(listeners_item, out)
    out += _pack_tB(msg.ack_when_committed, 0)


def _decode_add_raft_voter_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AddRaftVoterResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddRaftVoterResponse(throttle_time_ms, error_code, error_message), pos


def _encode_add_raft_voter_response_v0(msg: AddRaftVoterResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


AddRaftVoterRequest.DECODERS = (
    _decode_add_raft_voter_request_v0,
    _decode_add_raft_voter_request_v1,
)

AddRaftVoterRequest.ENCODERS = (
    _encode_add_raft_voter_request_v0,
    _encode_add_raft_voter_request_v1,
)

AddRaftVoterResponse.DECODERS = (
    _decode_add_raft_voter_response_v0,
    _decode_add_raft_voter_response_v0,
)

AddRaftVoterResponse.ENCODERS = (
    _encode_add_raft_voter_response_v0,
    _encode_add_raft_voter_response_v0,
)
