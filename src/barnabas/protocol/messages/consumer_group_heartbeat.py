"""ConsumerGroupHeartbeat (API key 68): request and response.

Generated from the ConsumerGroupHeartbeat schemas by scripts/generate.

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


class TopicPartitions(Part):
    """Part of ConsumerGroupHeartbeatRequest."""

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


class ConsumerGroupHeartbeatRequest(Message):
    """ConsumerGroupHeartbeatRequest (API key 68), versions 0-1."""

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",  # versions 1+
        "server_assignor",
        "topic_partitions",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupHeartbeatRequest"
    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupHeartbeatRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupHeartbeatRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[TopicPartitions] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions


class Assignment(Part):
    """Part of ConsumerGroupHeartbeatResponse."""

    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] | None = None,
    ) -> None:
        self.topic_partitions: list[TopicPartitions] = [] if topic_partitions is None else topic_partitions


class ConsumerGroupHeartbeatResponse(Message):
    """ConsumerGroupHeartbeatResponse (API key 68), versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupHeartbeatResponse"
    API_KEY: ClassVar[int] = 68
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupHeartbeatResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupHeartbeatResponse, WireBuffer], None] | None, ...]]

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


def _decode_topic_partitions_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicPartitions(topic_id, partitions), pos


def _encode_topic_partitions_v0(msg: TopicPartitions, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_consumer_group_heartbeat_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    (member_epoch,) = _unpack_i(buf, pos)
    instance_id, pos = read_compact_nullable_string(buf, pos + 4)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    (rebalance_timeout_ms,) = _unpack_i(buf, pos)
    subscribed_topic_names_count, pos = read_compact_nullable_count(buf, pos + 4, 1, budget)
    subscribed_topic_names: list[str] | None = None
    if subscribed_topic_names_count >= 0:
        subscribed_topic_names = []
        for _ in range(subscribed_topic_names_count):
            subscribed_topic_names_item, pos = read_compact_string(buf, pos)
            subscribed_topic_names.append(subscribed_topic_names_item)
    server_assignor, pos = read_compact_nullable_string(buf, pos)
    topic_partitions_count, pos = read_compact_nullable_count(buf, pos, 18, budget)
    topic_partitions: list[TopicPartitions] | None = None
    if topic_partitions_count >= 0:
        topic_partitions = []
        for _ in range(topic_partitions_count):
            topic_partitions_item, pos = _decode_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupHeartbeatRequest(
        group_id,
        member_id,
        member_epoch,
        instance_id,
        rack_id,
        rebalance_timeout_ms,
        subscribed_topic_names,
        None,
        server_assignor,
        topic_partitions,
    ), pos


def _encode_consumer_group_heartbeat_request_v0(msg: ConsumerGroupHeartbeatRequest, out: WireBuffer) -> None:
    if msg.subscribed_topic_regex is not None:
        raise not_in_version("ConsumerGroupHeartbeatRequest.subscribed_topic_regex")
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.member_id, out)
    out += _pack_i(msg.member_epoch)
    write_compact_nullable_string(msg.instance_id, out)
    write_compact_nullable_string(msg.rack_id, out)
    out += _pack_i(msg.rebalance_timeout_ms)
    write_uvarint(0 if msg.subscribed_topic_names is None else len(msg.subscribed_topic_names) + 1, out)
    if msg.subscribed_topic_names:
        for subscribed_topic_names_item in msg.subscribed_topic_names:
            write_compact_string(subscribed_topic_names_item, out)
    write_compact_nullable_string(msg.server_assignor, out)
    write_uvarint(0 if msg.topic_partitions is None else len(msg.topic_partitions) + 1, out)
    if msg.topic_partitions:
        for topic_partitions_item in msg.topic_partitions:
            _encode_topic_partitions_v0(topic_partitions_item, out)
    out.append(0)


def _decode_consumer_group_heartbeat_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    (member_epoch,) = _unpack_i(buf, pos)
    instance_id, pos = read_compact_nullable_string(buf, pos + 4)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    (rebalance_timeout_ms,) = _unpack_i(buf, pos)
    subscribed_topic_names_count, pos = read_compact_nullable_count(buf, pos + 4, 1, budget)
    subscribed_topic_names: list[str] | None = None
    if subscribed_topic_names_count >= 0:
        subscribed_topic_names = []
        for _ in range(subscribed_topic_names_count):
            subscribed_topic_names_item, pos = read_compact_string(buf, pos)
            subscribed_topic_names.append(subscribed_topic_names_item)
    subscribed_topic_regex, pos = read_compact_nullable_string(buf, pos)
    server_assignor, pos = read_compact_nullable_string(buf, pos)
    topic_partitions_count, pos = read_compact_nullable_count(buf, pos, 18, budget)
    topic_partitions: list[TopicPartitions] | None = None
    if topic_partitions_count >= 0:
        topic_partitions = []
        for _ in range(topic_partitions_count):
            topic_partitions_item, pos = _decode_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupHeartbeatRequest(
        group_id,
        member_id,
        member_epoch,
        instance_id,
        rack_id,
        rebalance_timeout_ms,
        subscribed_topic_names,
        subscribed_topic_regex,
        server_assignor,
        topic_partitions,
    ), pos


def _encode_consumer_group_heartbeat_request_v1(msg: ConsumerGroupHeartbeatRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.member_id, out)
    out += _pack_i(msg.member_epoch)
    write_compact_nullable_string(msg.instance_id, out)
    write_compact_nullable_string(msg.rack_id, out)
    out += _pack_i(msg.rebalance_timeout_ms)
    write_uvarint(0 if msg.subscribed_topic_names is None else len(msg.subscribed_topic_names) + 1, out)
    if msg.subscribed_topic_names:
        for subscribed_topic_names_item in msg.subscribed_topic_names:
            write_compact_string(subscribed_topic_names_item, out)
    write_compact_nullable_string(msg.subscribed_topic_regex, out)
    write_compact_nullable_string(msg.server_assignor, out)
    write_uvarint(0 if msg.topic_partitions is None else len(msg.topic_partitions) + 1, out)
    if msg.topic_partitions:
        for topic_partitions_item in msg.topic_partitions:
            _encode_topic_partitions_v0(topic_partitions_item, out)
    out.append(0)


def _decode_assignment_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Assignment, int]:
    topic_partitions_count, pos = read_compact_count(buf, pos, 18, budget)
    topic_partitions: list[TopicPartitions] = []
    for _ in range(topic_partitions_count):
        topic_partitions_item, pos = _decode_topic_partitions_v0(buf, pos, budget)
        topic_partitions.append(topic_partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Assignment(topic_partitions), pos


def _encode_assignment_v0(msg: Assignment, out: WireBuffer) -> None:
    write_uvarint(len(msg.topic_partitions) + 1, out)
    for topic_partitions_item in msg.topic_partitions:
        _encode_topic_partitions_v0(topic_partitions_item, out)
    out.append(0)


def _decode_consumer_group_heartbeat_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupHeartbeatResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    member_id, pos = read_compact_nullable_string(buf, pos)
    member_epoch, heartbeat_interval_ms, assignment_marker = _unpack_iib(buf, pos)
    pos += 9
    assignment: Assignment | None = None
    if assignment_marker >= 0:
        assignment, pos = _decode_assignment_v0(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment
    ), pos


def _encode_consumer_group_heartbeat_response_v0(msg: ConsumerGroupHeartbeatResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_nullable_string(msg.member_id, out)
    out += _pack_iib(msg.member_epoch, msg.heartbeat_interval_ms, -1 if msg.assignment is None else 1)
    if msg.assignment is not None:
        _encode_assignment_v0(msg.assignment, out)
    out.append(0)


ConsumerGroupHeartbeatRequest.DECODERS = (
    _decode_consumer_group_heartbeat_request_v0,
    _decode_consumer_group_heartbeat_request_v1,
)

ConsumerGroupHeartbeatRequest.ENCODERS = (
    _encode_consumer_group_heartbeat_request_v0,
    _encode_consumer_group_heartbeat_request_v1,
)

ConsumerGroupHeartbeatResponse.DECODERS = (
    _decode_consumer_group_heartbeat_response_v0,
    _decode_consumer_group_heartbeat_response_v0,
)

ConsumerGroupHeartbeatResponse.ENCODERS = (
    _encode_consumer_group_heartbeat_response_v0,
    _encode_consumer_group_heartbeat_response_v0,
)
