"""ShareGroupHeartbeat (API key 76): request and response.

Generated from the ShareGroupHeartbeat schemas by scripts/generate.

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
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_uvarint,
)

_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_iib = Struct(">iib").pack
_pack_u = Struct(">16s").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_iib = Struct(">iib").unpack_from
_unpack_u = Struct(">16s").unpack_from


class ShareGroupHeartbeatRequest(Message):
    """ShareGroupHeartbeatRequest (API key 76), versions 1."""

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "rack_id",
        "subscribed_topic_names",
    )

    SCHEMA_NAME: ClassVar[str] = "ShareGroupHeartbeatRequest"
    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ShareGroupHeartbeatRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ShareGroupHeartbeatRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names


class TopicPartitions(Part):
    """Part of ShareGroupHeartbeatResponse."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is None else partitions


class Assignment(Part):
    """Part of ShareGroupHeartbeatResponse."""

    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] | None = None,
    ) -> None:
        self.topic_partitions: list[TopicPartitions] = [] if topic_partitions is None else topic_partitions


class ShareGroupHeartbeatResponse(Message):
    """ShareGroupHeartbeatResponse (API key 76), versions 1."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )

    SCHEMA_NAME: ClassVar[str] = "ShareGroupHeartbeatResponse"
    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ShareGroupHeartbeatResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ShareGroupHeartbeatResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment


def _decode_share_group_heartbeat_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ShareGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    (member_epoch,) = _unpack_i(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos + 4)
    subscribed_topic_names_count, pos = read_compact_nullable_count(buf, pos, 1, budget)
    subscribed_topic_names: list[str] | None = None
    if subscribed_topic_names_count >= 0:
        subscribed_topic_names = []
        for _ in range(subscribed_topic_names_count):
            subscribed_topic_names_item, pos = read_compact_string(buf, pos)
            subscribed_topic_names.append(subscribed_topic_names_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ShareGroupHeartbeatRequest(group_id, member_id, member_epoch, rack_id, subscribed_topic_names), pos


def _encode_share_group_heartbeat_request_v1(msg: ShareGroupHeartbeatRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.member_id, out)
    out += _pack_i(msg.member_epoch)
    write_compact_nullable_string(msg.rack_id, out)
    write_uvarint(0 if msg.subscribed_topic_names is None else len(msg.subscribed_topic_names) + 1, out)
    if msg.subscribed_topic_names:
        for subscribed_topic_names_item in msg.subscribed_topic_names:
            write_compact_string(subscribed_topic_names_item, out)
    out.append(0)


def _decode_topic_partitions_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicPartitions(topic_id, partitions), pos


def _encode_topic_partitions_v1(msg: TopicPartitions, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_assignment_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[Assignment, int]:
    topic_partitions_count, pos = read_compact_count(buf, pos, 18, budget)
    topic_partitions: list[TopicPartitions] = []
    for _ in range(topic_partitions_count):
        topic_partitions_item, pos = _decode_topic_partitions_v1(buf, pos, budget)
        topic_partitions.append(topic_partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Assignment(topic_partitions), pos


def _encode_assignment_v1(msg: Assignment, out: WireBuffer) -> None:
    write_uvarint(len(msg.topic_partitions) + 1, out)
    for topic_partitions_item in msg.topic_partitions:
        _encode_topic_partitions_v1(topic_partitions_item, out)
    out.append(0)


def _decode_share_group_heartbeat_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ShareGroupHeartbeatResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    member_id, pos = read_compact_nullable_string(buf, pos)
    member_epoch, heartbeat_interval_ms, assignment_marker = _unpack_iib(buf, pos)
    pos += 9
    assignment: Assignment | None = None
    if assignment_marker >= 0:
        assignment, pos = _decode_assignment_v1(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ShareGroupHeartbeatResponse(
        throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment
    ), pos


def _encode_share_group_heartbeat_response_v1(msg: ShareGroupHeartbeatResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_nullable_string(msg.member_id, out)
    out += _pack_iib(msg.member_epoch, msg.heartbeat_interval_ms, -1 if msg.assignment is None else 1)
    if msg.assignment is not None:
        _encode_assignment_v1(msg.assignment, out)
    out.append(0)


ShareGroupHeartbeatRequest.DECODERS = (
    None,
    _decode_share_group_heartbeat_request_v1,
)

ShareGroupHeartbeatRequest.ENCODERS = (
    None,
    _encode_share_group_heartbeat_request_v1,
)

ShareGroupHeartbeatResponse.DECODERS = (
    None,
    _decode_share_group_heartbeat_response_v1,
)

ShareGroupHeartbeatResponse.ENCODERS = (
    None,
    _encode_share_group_heartbeat_response_v1,
)
