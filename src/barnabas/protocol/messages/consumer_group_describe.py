"""ConsumerGroupDescribe (API key 69): request and response.

Generated from the ConsumerGroupDescribe schemas by scripts/generate.

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
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_uvarint,
)

_pack_bB = Struct(">bB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_tB = Struct(">?B").pack
_pack_u = Struct(">16s").pack
_unpack_b = Struct(">b").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_t = Struct(">?").unpack_from
_unpack_u = Struct(">16s").unpack_from


class ConsumerGroupDescribeRequest(Message):
    """ConsumerGroupDescribeRequest (API key 69), versions 0-1."""

    __slots__ = (
        "group_ids",
        "include_authorized_operations",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupDescribeRequest"
    API_KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupDescribeRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupDescribeRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_ids: list[str] | None = None,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is None else group_ids
        self.include_authorized_operations = include_authorized_operations


class TopicPartitions(Part):
    """Part of ConsumerGroupDescribeResponse."""

    __slots__ = (
        "topic_id",
        "topic_name",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions: list[int] = [] if partitions is None else partitions


class Assignment(Part):
    """Part of ConsumerGroupDescribeResponse."""

    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] | None = None,
    ) -> None:
        self.topic_partitions: list[TopicPartitions] = [] if topic_partitions is None else topic_partitions


class Member(Part):
    """Part of ConsumerGroupDescribeResponse."""

    __slots__ = (
        "member_id",
        "instance_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "assignment",
        "target_assignment",
        "member_type",  # versions 1+
    )

    def __init__(
        self,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        member_type: int = -1,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is None else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.assignment: Assignment = Assignment() if assignment is None else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is None else target_assignment
        self.member_type = member_type


class DescribedGroup(Part):
    """Part of ConsumerGroupDescribeResponse."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] | None = None,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members: list[Member] = [] if members is None else members
        self.authorized_operations = authorized_operations


class ConsumerGroupDescribeResponse(Message):
    """ConsumerGroupDescribeResponse (API key 69), versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "groups",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupDescribeResponse"
    API_KEY: ClassVar[int] = 69
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupDescribeResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupDescribeResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is None else groups


def _decode_consumer_group_describe_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupDescribeRequest, int]:
    group_ids_count, pos = read_compact_count(buf, pos, 1, budget)
    group_ids: list[str] = []
    for _ in range(group_ids_count):
        group_ids_item, pos = read_compact_string(buf, pos)
        group_ids.append(group_ids_item)
    (include_authorized_operations,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupDescribeRequest(group_ids, include_authorized_operations), pos


def _encode_consumer_group_describe_request_v0(msg: ConsumerGroupDescribeRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.group_ids) + 1, out)
    for group_ids_item in msg.group_ids:
        write_compact_string(group_ids_item, out)
    out += _pack_tB(msg.include_authorized_operations, 0)


def _decode_topic_partitions_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
    (topic_id,) = _unpack_u(buf, pos)
    topic_name, pos = read_compact_string(buf, pos + 16)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicPartitions(topic_id, topic_name, partitions), pos


def _encode_topic_partitions_v0(msg: TopicPartitions, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_assignment_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Assignment, int]:
    topic_partitions_count, pos = read_compact_count(buf, pos, 19, budget)
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


def _decode_member_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Member, int]:
    member_id, pos = read_compact_string(buf, pos)
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    (member_epoch,) = _unpack_i(buf, pos)
    client_id, pos = read_compact_string(buf, pos + 4)
    client_host, pos = read_compact_string(buf, pos)
    subscribed_topic_names_count, pos = read_compact_count(buf, pos, 1, budget)
    subscribed_topic_names: list[str] = []
    for _ in range(subscribed_topic_names_count):
        subscribed_topic_names_item, pos = read_compact_string(buf, pos)
        subscribed_topic_names.append(subscribed_topic_names_item)
    subscribed_topic_regex, pos = read_compact_nullable_string(buf, pos)
    assignment, pos = _decode_assignment_v0(buf, pos, budget)
    target_assignment, pos = _decode_assignment_v0(buf, pos, budget)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Member(
        member_id,
        instance_id,
        rack_id,
        member_epoch,
        client_id,
        client_host,
        subscribed_topic_names,
        subscribed_topic_regex,
        assignment,
        target_assignment,
    ), pos


def _encode_member_v0(msg: Member, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.instance_id, out)
    write_compact_nullable_string(msg.rack_id, out)
    out += _pack_i(msg.member_epoch)
    write_compact_string(msg.client_id, out)
    write_compact_string(msg.client_host, out)
    write_uvarint(len(msg.subscribed_topic_names) + 1, out)
    for subscribed_topic_names_item in msg.subscribed_topic_names:
        write_compact_string(subscribed_topic_names_item, out)
    write_compact_nullable_string(msg.subscribed_topic_regex, out)
    _encode_assignment_v0(msg.assignment, out)
    _encode_assignment_v0(msg.target_assignment, out)
    out.append(0)


def _decode_described_group_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroup, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    group_id, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    group_epoch, assignment_epoch = _unpack_ii(buf, pos)
    assignor_name, pos = read_compact_string(buf, pos + 8)
    members_count, pos = read_compact_count(buf, pos, 16, budget)
    members: list[Member] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_v0(buf, pos, budget)
        members.append(members_item)
    (authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribedGroup(
        error_code,
        error_message,
        group_id,
        group_state,
        group_epoch,
        assignment_epoch,
        assignor_name,
        members,
        authorized_operations,
    ), pos


def _encode_described_group_v0(msg: DescribedGroup, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.group_state, out)
    out += _pack_ii(msg.group_epoch, msg.assignment_epoch)
    write_compact_string(msg.assignor_name, out)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_member_v0(members_item, out)
    out += _pack_iB(msg.authorized_operations, 0)


def _decode_consumer_group_describe_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupDescribeResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 4, 20, budget)
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v0(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupDescribeResponse(throttle_time_ms, groups), pos


def _encode_consumer_group_describe_response_v0(msg: ConsumerGroupDescribeResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_described_group_v0(groups_item, out)
    out.append(0)


def _decode_member_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[Member, int]:
    member_id, pos = read_compact_string(buf, pos)
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    (member_epoch,) = _unpack_i(buf, pos)
    client_id, pos = read_compact_string(buf, pos + 4)
    client_host, pos = read_compact_string(buf, pos)
    subscribed_topic_names_count, pos = read_compact_count(buf, pos, 1, budget)
    subscribed_topic_names: list[str] = []
    for _ in range(subscribed_topic_names_count):
        subscribed_topic_names_item, pos = read_compact_string(buf, pos)
        subscribed_topic_names.append(subscribed_topic_names_item)
    subscribed_topic_regex, pos = read_compact_nullable_string(buf, pos)
    assignment, pos = _decode_assignment_v0(buf, pos, budget)
    target_assignment, pos = _decode_assignment_v0(buf, pos, budget)
    (member_type,) = _unpack_b(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Member(
        member_id,
        instance_id,
        rack_id,
        member_epoch,
        client_id,
        client_host,
        subscribed_topic_names,
        subscribed_topic_regex,
        assignment,
        target_assignment,
        member_type,
    ), pos


def _encode_member_v1(msg: Member, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.instance_id, out)
    write_compact_nullable_string(msg.rack_id, out)
    out += _pack_i(msg.member_epoch)
    write_compact_string(msg.client_id, out)
    write_compact_string(msg.client_host, out)
    write_uvarint(len(msg.subscribed_topic_names) + 1, out)
    for subscribed_topic_names_item in msg.subscribed_topic_names:
        write_compact_string(subscribed_topic_names_item, out)
    write_compact_nullable_string(msg.subscribed_topic_regex, out)
    _encode_assignment_v0(msg.assignment, out)
    _encode_assignment_v0(msg.target_assignment, out)
    out += _pack_bB(msg.member_type, 0)


def _decode_described_group_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroup, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    group_id, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    group_epoch, assignment_epoch = _unpack_ii(buf, pos)
    assignor_name, pos = read_compact_string(buf, pos + 8)
    members_count, pos = read_compact_count(buf, pos, 17, budget)
    members: list[Member] = []
    for _ in range(members_count):
        members_item, pos = _decode_member_v1(buf, pos, budget)
        members.append(members_item)
    (authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribedGroup(
        error_code,
        error_message,
        group_id,
        group_state,
        group_epoch,
        assignment_epoch,
        assignor_name,
        members,
        authorized_operations,
    ), pos


def _encode_described_group_v1(msg: DescribedGroup, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.group_state, out)
    out += _pack_ii(msg.group_epoch, msg.assignment_epoch)
    write_compact_string(msg.assignor_name, out)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_member_v1(members_item, out)
    out += _pack_iB(msg.authorized_operations, 0)


def _decode_consumer_group_describe_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupDescribeResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 4, 20, budget)
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v1(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupDescribeResponse(throttle_time_ms, groups), pos


def _encode_consumer_group_describe_response_v1(msg: ConsumerGroupDescribeResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_described_group_v1(groups_item, out)
    out.append(0)


ConsumerGroupDescribeRequest.DECODERS = (
    _decode_consumer_group_describe_request_v0,
    _decode_consumer_group_describe_request_v0,
)

ConsumerGroupDescribeRequest.ENCODERS = (
    _encode_consumer_group_describe_request_v0,
    _encode_consumer_group_describe_request_v0,
)

ConsumerGroupDescribeResponse.DECODERS = (
    _decode_consumer_group_describe_response_v0,
    _decode_consumer_group_describe_response_v1,
)

ConsumerGroupDescribeResponse.ENCODERS = (
    _encode_consumer_group_describe_response_v0,
    _encode_consumer_group_describe_response_v1,
)
