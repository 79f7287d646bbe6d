"""StreamsGroupDescribe (API key 89): request and response.

Generated from the StreamsGroupDescribe schemas by scripts/generate.

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

_pack_HB = Struct(">HB").pack
_pack_b = Struct(">b").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_iib = Struct(">iib").pack
_pack_iqB = Struct(">iqB").pack
_pack_tB = Struct(">?B").pack
_unpack_H = Struct(">H").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_iib = Struct(">iib").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_t = Struct(">?").unpack_from


class StreamsGroupDescribeRequest(Message):
    """StreamsGroupDescribeRequest (API key 89), versions 0."""

    __slots__ = (
        "group_ids",
        "include_authorized_operations",
    )

    SCHEMA_NAME: ClassVar[str] = "StreamsGroupDescribeRequest"
    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[StreamsGroupDescribeRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[StreamsGroupDescribeRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_ids: list[str] | None = None,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is None else group_ids
        self.include_authorized_operations = include_authorized_operations


class KeyValue(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "key",
        "value",
    )

    def __init__(
        self,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value


class TopicInfo(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "name",
        "partitions",
        "replication_factor",
        "topic_configs",
    )

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[KeyValue] | None = None,
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs: list[KeyValue] = [] if topic_configs is None else topic_configs


class Subtopology(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "subtopology_id",
        "source_topics",
        "repartition_sink_topics",
        "state_changelog_topics",
        "repartition_source_topics",
    )

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] | None = None,
        repartition_sink_topics: list[str] | None = None,
        state_changelog_topics: list[TopicInfo] | None = None,
        repartition_source_topics: list[TopicInfo] | None = None,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics: list[str] = [] if source_topics is None else source_topics
        self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is None else repartition_sink_topics
        self.state_changelog_topics: list[TopicInfo] = [] if state_changelog_topics is None else state_changelog_topics
        self.repartition_source_topics: list[TopicInfo] = (
            [] if repartition_source_topics is None else repartition_source_topics
        )


class Topology(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "epoch",
        "subtopologies",
    )

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] | None = None,
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies


class Endpoint(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "host",
        "port",
    )

    def __init__(
        self,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port


class TaskOffset(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "subtopology_id",
        "partition",
        "offset",
    )

    def __init__(
        self,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset


class TaskIds(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "subtopology_id",
        "partitions",
    )

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions: list[int] = [] if partitions is None else partitions


class Assignment(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
    )

    def __init__(
        self,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
    ) -> None:
        self.active_tasks: list[TaskIds] = [] if active_tasks is None else active_tasks
        self.standby_tasks: list[TaskIds] = [] if standby_tasks is None else standby_tasks
        self.warmup_tasks: list[TaskIds] = [] if warmup_tasks is None else warmup_tasks


class Member(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "assignment",
        "target_assignment",
        "is_classic",
    )

    def __init__(
        self,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        is_classic: bool = False,
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags: list[KeyValue] = [] if client_tags is None else client_tags
        self.task_offsets: list[TaskOffset] = [] if task_offsets is None else task_offsets
        self.task_end_offsets: list[TaskOffset] = [] if task_end_offsets is None else task_end_offsets
        self.assignment: Assignment = Assignment() if assignment is None else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is None else target_assignment
        self.is_classic = is_classic


class DescribedGroup(Part):
    """Part of StreamsGroupDescribeResponse."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "topology",
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
        topology: Topology | None = None,
        members: list[Member] | None = None,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members: list[Member] = [] if members is None else members
        self.authorized_operations = authorized_operations


class StreamsGroupDescribeResponse(Message):
    """StreamsGroupDescribeResponse (API key 89), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "groups",
    )

    SCHEMA_NAME: ClassVar[str] = "StreamsGroupDescribeResponse"
    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[StreamsGroupDescribeResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[StreamsGroupDescribeResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is None else groups


def _decode_streams_group_describe_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[StreamsGroupDescribeRequest, int]:
    group_ids_count, pos = read_compact_count(buf, pos, 1, budget)
    group_ids: list[str] = []
    for _ in range(group_ids_count):
        group_ids_item, pos = read_compact_string(buf, pos)
        group_ids.append(group_ids_item)
    (include_authorized_operations,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StreamsGroupDescribeRequest(group_ids, include_authorized_operations), pos


def _encode_streams_group_describe_request_v0(msg: StreamsGroupDescribeRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.group_ids) + 1, out)
    for group_ids_item in msg.group_ids:
        write_compact_string(group_ids_item, out)
    out += _pack_tB(msg.include_authorized_operations, 0)


def _decode_key_value_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[KeyValue, int]:
    key, pos = read_compact_string(buf, pos)
    value, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return KeyValue(key, value), pos


def _encode_key_value_v0(msg: KeyValue, out: WireBuffer) -> None:
    write_compact_string(msg.key, out)
    write_compact_string(msg.value, out)
    out.append(0)


def _decode_topic_info_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicInfo, int]:
    name, pos = read_compact_string(buf, pos)
    partitions, replication_factor = _unpack_ih(buf, pos)
    topic_configs_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    topic_configs: list[KeyValue] = []
    for _ in range(topic_configs_count):
        topic_configs_item, pos = _decode_key_value_v0(buf, pos, budget)
        topic_configs.append(topic_configs_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicInfo(name, partitions, replication_factor, topic_configs), pos


def _encode_topic_info_v0(msg: TopicInfo, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_ih(msg.partitions, msg.replication_factor)
    write_uvarint(len(msg.topic_configs) + 1, out)
    for topic_configs_item in msg.topic_configs:
        _encode_key_value_v0(topic_configs_item, out)
    out.append(0)


def _decode_subtopology_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Subtopology, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    source_topics_count, pos = read_compact_count(buf, pos, 1, budget)
    source_topics: list[str] = []
    for _ in range(source_topics_count):
        source_topics_item, pos = read_compact_string(buf, pos)
        source_topics.append(source_topics_item)
    repartition_sink_topics_count, pos = read_compact_count(buf, pos, 1, budget)
    repartition_sink_topics: list[str] = []
    for _ in range(repartition_sink_topics_count):
        repartition_sink_topics_item, pos = read_compact_string(buf, pos)
        repartition_sink_topics.append(repartition_sink_topics_item)
    state_changelog_topics_count, pos = read_compact_count(buf, pos, 9, budget)
    state_changelog_topics: list[TopicInfo] = []
    for _ in range(state_changelog_topics_count):
        state_changelog_topics_item, pos = _decode_topic_info_v0(buf, pos, budget)
        state_changelog_topics.append(state_changelog_topics_item)
    repartition_source_topics_count, pos = read_compact_count(buf, pos, 9, budget)
    repartition_source_topics: list[TopicInfo] = []
    for _ in range(repartition_source_topics_count):
        repartition_source_topics_item, pos = _decode_topic_info_v0(buf, pos, budget)
        repartition_source_topics.append(repartition_source_topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Subtopology(
        subtopology_id, source_topics, repartition_sink_topics, state_changelog_topics, repartition_source_topics
    ), pos


def _encode_subtopology_v0(msg: Subtopology, out: WireBuffer) -> None:
    write_compact_string(msg.subtopology_id, out)
    write_uvarint(len(msg.source_topics) + 1, out)
    for source_topics_item in msg.source_topics:
        write_compact_string(source_topics_item, out)
    write_uvarint(len(msg.repartition_sink_topics) + 1, out)
    for repartition_sink_topics_item in msg.repartition_sink_topics:
        write_compact_string(repartition_sink_topics_item, out)
    write_uvarint(len(msg.state_changelog_topics) + 1, out)
    for state_changelog_topics_item in msg.state_changelog_topics:
        _encode_topic_info_v0(state_changelog_topics_item, out)
    write_uvarint(len(msg.repartition_source_topics) + 1, out)
    for repartition_source_topics_item in msg.repartition_source_topics:
        _encode_topic_info_v0(repartition_source_topics_item, out)
    out.append(0)


def _decode_topology_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Topology, int]:
    (epoch,) = _unpack_i(buf, pos)
    subtopologies_count, pos = read_compact_nullable_count(buf, pos + 4, 6, budget)
    subtopologies: list[Subtopology] | None = None
    if subtopologies_count >= 0:
        subtopologies = []
        for _ in range(subtopologies_count):
            subtopologies_item, pos = _decode_subtopology_v0(buf, pos, budget)
            subtopologies.append(subtopologies_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Topology(epoch, subtopologies), pos


def _encode_topology_v0(msg: Topology, out: WireBuffer) -> None:
    out += _pack_i(msg.epoch)
    write_uvarint(0 if msg.subtopologies is None else len(msg.subtopologies) + 1, out)
    if msg.subtopologies:
        for subtopologies_item in msg.subtopologies:
            _encode_subtopology_v0(subtopologies_item, out)
    out.append(0)


def _decode_endpoint_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Endpoint, int]:
    host, pos = read_compact_string(buf, pos)
    (port,) = _unpack_H(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Endpoint(host, port), pos


def _encode_endpoint_v0(msg: Endpoint, out: WireBuffer) -> None:
    write_compact_string(msg.host, out)
    out += _pack_HB(msg.port, 0)


def _decode_task_offset_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TaskOffset, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    partition, offset = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TaskOffset(subtopology_id, partition, offset), pos


def _encode_task_offset_v0(msg: TaskOffset, out: WireBuffer) -> None:
    write_compact_string(msg.subtopology_id, out)
    out += _pack_iqB(msg.partition, msg.offset, 0)


def _decode_task_ids_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TaskIds, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TaskIds(subtopology_id, partitions), pos


def _encode_task_ids_v0(msg: TaskIds, out: WireBuffer) -> None:
    write_compact_string(msg.subtopology_id, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_assignment_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Assignment, int]:
    active_tasks_count, pos = read_compact_count(buf, pos, 3, budget)
    active_tasks: list[TaskIds] = []
    for _ in range(active_tasks_count):
        active_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
        active_tasks.append(active_tasks_item)
    standby_tasks_count, pos = read_compact_count(buf, pos, 3, budget)
    standby_tasks: list[TaskIds] = []
    for _ in range(standby_tasks_count):
        standby_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
        standby_tasks.append(standby_tasks_item)
    warmup_tasks_count, pos = read_compact_count(buf, pos, 3, budget)
    warmup_tasks: list[TaskIds] = []
    for _ in range(warmup_tasks_count):
        warmup_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
        warmup_tasks.append(warmup_tasks_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Assignment(active_tasks, standby_tasks, warmup_tasks), pos


def _encode_assignment_v0(msg: Assignment, out: WireBuffer) -> None:
    write_uvarint(len(msg.active_tasks) + 1, out)
    for active_tasks_item in msg.active_tasks:
        _encode_task_ids_v0(active_tasks_item, out)
    write_uvarint(len(msg.standby_tasks) + 1, out)
    for standby_tasks_item in msg.standby_tasks:
        _encode_task_ids_v0(standby_tasks_item, out)
    write_uvarint(len(msg.warmup_tasks) + 1, out)
    for warmup_tasks_item in msg.warmup_tasks:
        _encode_task_ids_v0(warmup_tasks_item, out)
    out.append(0)


def _decode_member_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Member, int]:
    member_id, pos = read_compact_string(buf, pos)
    (member_epoch,) = _unpack_i(buf, pos)
    instance_id, pos = read_compact_nullable_string(buf, pos + 4)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    (topology_epoch,) = _unpack_i(buf, pos)
    process_id, pos = read_compact_string(buf, pos + 4)
    (user_endpoint_marker,) = _unpack_b(buf, pos)
    pos += 1
    user_endpoint: Endpoint | None = None
    if user_endpoint_marker >= 0:
        user_endpoint, pos = _decode_endpoint_v0(buf, pos, budget)
    client_tags_count, pos = read_compact_count(buf, pos, 3, budget)
    client_tags: list[KeyValue] = []
    for _ in range(client_tags_count):
        client_tags_item, pos = _decode_key_value_v0(buf, pos, budget)
        client_tags.append(client_tags_item)
    task_offsets_count, pos = read_compact_count(buf, pos, 14, budget)
    task_offsets: list[TaskOffset] = []
    for _ in range(task_offsets_count):
        task_offsets_item, pos = _decode_task_offset_v0(buf, pos, budget)
        task_offsets.append(task_offsets_item)
    task_end_offsets_count, pos = read_compact_count(buf, pos, 14, budget)
    task_end_offsets: list[TaskOffset] = []
    for _ in range(task_end_offsets_count):
        task_end_offsets_item, pos = _decode_task_offset_v0(buf, pos, budget)
        task_end_offsets.append(task_end_offsets_item)
    assignment, pos = _decode_assignment_v0(buf, pos, budget)
    target_assignment, pos = _decode_assignment_v0(buf, pos, budget)
    (is_classic,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Member(
        member_id,
        member_epoch,
        instance_id,
        rack_id,
        client_id,
        client_host,
        topology_epoch,
        process_id,
        user_endpoint,
        client_tags,
        task_offsets,
        task_end_offsets,
        assignment,
        target_assignment,
        is_classic,
    ), pos


def _encode_member_v0(msg: Member, out: WireBuffer) -> None:
    write_compact_string(msg.member_id, out)
    out += _pack_i(msg.member_epoch)
    write_compact_nullable_string(msg.instance_id, out)
    write_compact_nullable_string(msg.rack_id, out)
    write_compact_string(msg.client_id, out)
    write_compact_string(msg.client_host, out)
    out += _pack_i(msg.topology_epoch)
    write_compact_string(msg.process_id, out)
    out += _pack_b(-1 if msg.user_endpoint is None else 1)
    if msg.user_endpoint is not None:
        _encode_endpoint_v0(msg.user_endpoint, out)
    write_uvarint(len(msg.client_tags) + 1, out)
    for client_tags_item in msg.client_tags:
        _encode_key_value_v0(client_tags_item, out)
    write_uvarint(len(msg.task_offsets) + 1, out)
    for task_offsets_item in msg.task_offsets:
        _encode_task_offset_v0(task_offsets_item, out)
    write_uvarint(len(msg.task_end_offsets) + 1, out)
    for task_end_offsets_item in msg.task_end_offsets:
        _encode_task_offset_v0(task_end_offsets_item, out)
    _encode_assignment_v0(msg.assignment, out)
    _encode_assignment_v0(msg.target_assignment, out)
    out += _pack_tB(msg.is_classic, 0)


def _decode_described_group_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribedGroup, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    group_id, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    group_epoch, assignment_epoch, topology_marker = _unpack_iib(buf, pos)
    pos += 9
    topology: Topology | None = None
    if topology_marker >= 0:
        topology, pos = _decode_topology_v0(buf, pos, budget)
    members_count, pos = read_compact_count(buf, pos, 28, budget)
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
        topology,
        members,
        authorized_operations,
    ), pos


def _encode_described_group_v0(msg: DescribedGroup, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.group_state, out)
    out += _pack_iib(msg.group_epoch, msg.assignment_epoch, -1 if msg.topology is None else 1)
    if msg.topology is not None:
        _encode_topology_v0(msg.topology, out)
    write_uvarint(len(msg.members) + 1, out)
    for members_item in msg.members:
        _encode_member_v0(members_item, out)
    out += _pack_iB(msg.authorized_operations, 0)


def _decode_streams_group_describe_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[StreamsGroupDescribeResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 4, 20, budget)
    groups: list[DescribedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_described_group_v0(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StreamsGroupDescribeResponse(throttle_time_ms, groups), pos


def _encode_streams_group_describe_response_v0(msg: StreamsGroupDescribeResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_described_group_v0(groups_item, out)
    out.append(0)


StreamsGroupDescribeRequest.DECODERS = (_decode_streams_group_describe_request_v0,)

StreamsGroupDescribeRequest.ENCODERS = (_encode_streams_group_describe_request_v0,)

StreamsGroupDescribeResponse.DECODERS = (_decode_streams_group_describe_response_v0,)

StreamsGroupDescribeResponse.ENCODERS = (_encode_streams_group_describe_response_v0,)
