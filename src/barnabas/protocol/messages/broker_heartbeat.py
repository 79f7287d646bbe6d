"""BrokerHeartbeat (API key 63): request and response.

Generated from the BrokerHeartbeat schemas by scripts/generate.

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
    check_tag_end,
    not_in_version,
    read_compact_count,
    read_compact_nullable_count,
    read_tag,
    read_tagged_count,
    read_uuids,
    skip_tagged_fields,
    write_tagged_fields,
    write_uuids,
    write_uvarint,
)

_pack_ihtttB = Struct(">ih???B").pack
_pack_iqqtt = Struct(">iqq??").pack
_pack_iqqttB = Struct(">iqq??B").pack
_unpack_ihttt = Struct(">ih???").unpack_from
_unpack_iqqtt = Struct(">iqq??").unpack_from


class BrokerHeartbeatRequest(Message):
    """BrokerHeartbeatRequest (API key 63), versions 0-2."""

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",  # versions 1+, tag 0
        "cordoned_log_dirs",  # versions 2+, tag 1
    )

    SCHEMA_NAME: ClassVar[str] = "BrokerHeartbeatRequest"
    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[BrokerHeartbeatRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[BrokerHeartbeatRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[bytes] | None = None,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs: list[bytes] = [] if offline_log_dirs is None else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs


class BrokerHeartbeatResponse(Message):
    """BrokerHeartbeatResponse (API key 63), versions 0-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "is_caught_up",
        "is_fenced",
        "should_shut_down",
    )

    SCHEMA_NAME: ClassVar[str] = "BrokerHeartbeatResponse"
    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[BrokerHeartbeatResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[BrokerHeartbeatResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down


def _decode_broker_heartbeat_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerHeartbeatRequest, int]:
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down = _unpack_iqqtt(buf, pos)
    pos += 23
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerHeartbeatRequest(broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down), pos


def _encode_broker_heartbeat_request_v0(msg: BrokerHeartbeatRequest, out: WireBuffer) -> None:
    if msg.offline_log_dirs:
        raise not_in_version("BrokerHeartbeatRequest.offline_log_dirs")
    if msg.cordoned_log_dirs is not None:
        raise not_in_version("BrokerHeartbeatRequest.cordoned_log_dirs")
    out += _pack_iqqttB(
        msg.broker_id, msg.broker_epoch, msg.current_metadata_offset, msg.want_fence, msg.want_shut_down, 0
    )


def _decode_broker_heartbeat_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerHeartbeatRequest, int]:
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down = _unpack_iqqtt(buf, pos)
    offline_log_dirs: list[bytes] = []
    tagged_count, pos = read_tagged_count(buf, pos + 22, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            offline_log_dirs_count, pos = read_compact_count(buf, pos, 16, budget)
            offline_log_dirs = read_uuids(buf, pos, offline_log_dirs_count)
            pos += 16 * offline_log_dirs_count
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return BrokerHeartbeatRequest(
        broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, offline_log_dirs
    ), pos


def _encode_broker_heartbeat_request_v1(msg: BrokerHeartbeatRequest, out: WireBuffer) -> None:
    if msg.cordoned_log_dirs is not None:
        raise not_in_version("BrokerHeartbeatRequest.cordoned_log_dirs")
    out += _pack_iqqtt(msg.broker_id, msg.broker_epoch, msg.current_metadata_offset, msg.want_fence, msg.want_shut_down)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.offline_log_dirs:
        offline_log_dirs_value = WireBuffer()
        write_uvarint(len(msg.offline_log_dirs) + 1, offline_log_dirs_value)
        write_uuids(msg.offline_log_dirs, offline_log_dirs_value)
        tagged.append((0, offline_log_dirs_value))
    write_tagged_fields(tagged, out)


def _decode_broker_heartbeat_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerHeartbeatRequest, int]:
    broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down = _unpack_iqqtt(buf, pos)
    offline_log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None
    tagged_count, pos = read_tagged_count(buf, pos + 22, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            offline_log_dirs_count, pos = read_compact_count(buf, pos, 16, budget)
            offline_log_dirs = read_uuids(buf, pos, offline_log_dirs_count)
            pos += 16 * offline_log_dirs_count
        elif tag == 1:
            cordoned_log_dirs_count, pos = read_compact_nullable_count(buf, pos, 16, budget)
            cordoned_log_dirs = None
            if cordoned_log_dirs_count >= 0:
                cordoned_log_dirs = read_uuids(buf, pos, cordoned_log_dirs_count)
                pos += 16 * cordoned_log_dirs_count
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return BrokerHeartbeatRequest(
        broker_id,
        broker_epoch,
        current_metadata_offset,
        want_fence,
        want_shut_down,
        offline_log_dirs,
        cordoned_log_dirs,
    ), pos


def _encode_broker_heartbeat_request_v2(msg: BrokerHeartbeatRequest, out: WireBuffer) -> None:
    out += _pack_iqqtt(msg.broker_id, msg.broker_epoch, msg.current_metadata_offset, msg.want_fence, msg.want_shut_down)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.offline_log_dirs:
        offline_log_dirs_value = WireBuffer()
        write_uvarint(len(msg.offline_log_dirs) + 1, offline_log_dirs_value)
        write_uuids(msg.offline_log_dirs, offline_log_dirs_value)
        tagged.append((0, offline_log_dirs_value))
    if msg.cordoned_log_dirs is not None:
        cordoned_log_dirs_value = WireBuffer()
        write_uvarint(0 if msg.cordoned_log_dirs is None else len(msg.cordoned_log_dirs) + 1, cordoned_log_dirs_value)
        if msg.cordoned_log_dirs:
            write_uuids(msg.cordoned_log_dirs, cordoned_log_dirs_value)
        tagged.append((1, cordoned_log_dirs_value))
    write_tagged_fields(tagged, out)


def _decode_broker_heartbeat_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BrokerHeartbeatResponse, int]:
    throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down = _unpack_ihttt(buf, pos)
    pos += 10
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerHeartbeatResponse(throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down), pos


def _encode_broker_heartbeat_response_v0(msg: BrokerHeartbeatResponse, out: WireBuffer) -> None:
    out += _pack_ihtttB(msg.throttle_time_ms, msg.error_code, msg.is_caught_up, msg.is_fenced, msg.should_shut_down, 0)


BrokerHeartbeatRequest.DECODERS = (
    _decode_broker_heartbeat_request_v0,
    _decode_broker_heartbeat_request_v1,
    _decode_broker_heartbeat_request_v2,
)

BrokerHeartbeatRequest.ENCODERS = (
    _encode_broker_heartbeat_request_v0,
    _encode_broker_heartbeat_request_v1,
    _encode_broker_heartbeat_request_v2,
)

BrokerHeartbeatResponse.DECODERS = (
    _decode_broker_heartbeat_response_v0,
    _decode_broker_heartbeat_response_v0,
    _decode_broker_heartbeat_response_v0,
)

BrokerHeartbeatResponse.ENCODERS = (
    _encode_broker_heartbeat_response_v0,
    _encode_broker_heartbeat_response_v0,
    _encode_broker_heartbeat_response_v0,
)
