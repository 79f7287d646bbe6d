"""RemoveRaftVoter (API key 81): request and response.

Generated from the RemoveRaftVoter schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    ZERO_UUID,
    read_compact_nullable_string,
    skip_tagged_fields,
    write_compact_nullable_string,
)

_pack_ih = Struct(">ih").pack
_pack_iuB = Struct(">i16sB").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_iu = Struct(">i16s").unpack_from


class RemoveRaftVoterRequest(Message):
    """RemoveRaftVoterRequest (API key 81), versions 0."""

    __slots__ = (
        "cluster_id",
        "voter_id",
        "voter_directory_id",
    )

    SCHEMA_NAME: ClassVar[str] = "RemoveRaftVoterRequest"
    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[RemoveRaftVoterRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[RemoveRaftVoterRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id


class RemoveRaftVoterResponse(Message):
    """RemoveRaftVoterResponse (API key 81), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    SCHEMA_NAME: ClassVar[str] = "RemoveRaftVoterResponse"
    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[RemoveRaftVoterResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[RemoveRaftVoterResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message


def _decode_remove_raft_voter_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[RemoveRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    voter_id, voter_directory_id = _unpack_iu(buf, pos)
    pos += 21
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return RemoveRaftVoterRequest(cluster_id, voter_id, voter_directory_id), pos


def _encode_remove_raft_voter_request_v0(msg: RemoveRaftVoterRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_iuB(msg.voter_id, msg.voter_directory_id, 0)


def _decode_remove_raft_voter_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[RemoveRaftVoterResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return RemoveRaftVoterResponse(throttle_time_ms, error_code, error_message), pos


def _encode_remove_raft_voter_response_v0(msg: RemoveRaftVoterResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


RemoveRaftVoterRequest.DECODERS = (_decode_remove_raft_voter_request_v0,)

RemoveRaftVoterRequest.ENCODERS = (_encode_remove_raft_voter_request_v0,)

RemoveRaftVoterResponse.DECODERS = (_decode_remove_raft_voter_response_v0,)

RemoveRaftVoterResponse.ENCODERS = (_encode_remove_raft_voter_response_v0,)
