"""StreamsGroupHeartbeat (API key 88): request and response.

Generated from the StreamsGroupHeartbeat schemas by scripts/generate.

Source: protocol guide, the API's section.
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
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int16s,
    read_int32s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int16s,
    write_int32s,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_b = Struct(">b").pack
_pack_i = Struct(">i").pack
_pack_ib = Struct(">ib").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiii = Struct(">iiii").pack
_pack_iqB = Struct(">iqB").pack
_pack_tB = Struct(">?B").pack
_unpack_H = Struct(">H").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ib = Struct(">ib").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiii = Struct(">iiii").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_t = Struct(">?").unpack_from


class KeyValue(Part):
    """Part of StreamsGroupHeartbeatRequest."""

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
    """Part of StreamsGroupHeartbeatRequest."""

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


class CopartitionGroup(Part):
    """Part of StreamsGroupHeartbeatRequest."""

    __slots__ = (
        "source_topics",
        "source_topic_regex",
        "repartition_source_topics",
    )

    def __init__(
        self,
        source_topics: list[int] | None = None,
        source_topic_regex: list[int] | None = None,
        repartition_source_topics: list[int] | None = None,
    ) -> None:
        self.source_topics: list[int] = [] if source_topics is None else source_topics
        self.source_topic_regex: list[int] = [] if source_topic_regex is None else source_topic_regex
        self.repartition_source_topics: list[int] = (
            [] if repartition_source_topics is None else repartition_source_topics
        )


class Subtopology(Part):
    """Part of StreamsGroupHeartbeatRequest."""

    __slots__ = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
    )

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] | None = None,
        source_topic_regex: list[str] | None = None,
        state_changelog_topics: list[TopicInfo] | None = None,
        repartition_sink_topics: list[str] | None = None,
        repartition_source_topics: list[TopicInfo] | None = None,
        copartition_groups: list[CopartitionGroup] | None = None,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics: list[str] = [] if source_topics is None else source_topics
        self.source_topic_regex: list[str] = [] if source_topic_regex is None else source_topic_regex
        self.state_changelog_topics: list[TopicInfo] = [] if state_changelog_topics is None else state_changelog_topics
        self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is None else repartition_sink_topics
        self.repartition_source_topics: list[TopicInfo] = (
            [] if repartition_source_topics is None else repartition_source_topics
        )
        self.copartition_groups: list[CopartitionGroup] = [] if copartition_groups is None else copartition_groups


class Topology(Part):
    """Part of StreamsGroupHeartbeatRequest."""

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
        self.subtopologies: list[Subtopology] = [] if subtopologies is None else subtopologies


class TaskIds(Part):
    """Part of StreamsGroupHeartbeatRequest."""

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


class Endpoint(Part):
    """Part of StreamsGroupHeartbeatRequest."""

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
    """Part of StreamsGroupHeartbeatRequest."""

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


class StreamsGroupHeartbeatRequest(Message):
    """StreamsGroupHeartbeatRequest (API key 88), versions 0."""

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
    )

    SCHEMA_NAME: ClassVar[str] = "StreamsGroupHeartbeatRequest"
    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[StreamsGroupHeartbeatRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[StreamsGroupHeartbeatRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application


class Status(Part):
    """Part of StreamsGroupHeartbeatResponse."""

    __slots__ = (
        "status_code",
        "status_detail",
    )

    def __init__(
        self,
        status_code: int = 0,
        status_detail: str = "",
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail


class TopicPartition(Part):
    """Part of StreamsGroupHeartbeatResponse."""

    __slots__ = (
        "topic",
        "partitions",
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is None else partitions


class EndpointToPartitions(Part):
    """Part of StreamsGroupHeartbeatResponse."""

    __slots__ = (
        "user_endpoint",
        "active_partitions",
        "standby_partitions",
    )

    def __init__(
        self,
        user_endpoint: Endpoint | None = None,
        active_partitions: list[TopicPartition] | None = None,
        standby_partitions: list[TopicPartition] | None = None,
    ) -> None:
        self.user_endpoint: Endpoint = Endpoint() if user_endpoint is None else user_endpoint
        self.active_partitions: list[TopicPartition] = [] if active_partitions is None else active_partitions
        self.standby_partitions: list[TopicPartition] = [] if standby_partitions is None else standby_partitions


class StreamsGroupHeartbeatResponse(Message):
    """StreamsGroupHeartbeatResponse (API key 88), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag",
        "task_offset_interval_ms",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
    )

    SCHEMA_NAME: ClassVar[str] = "StreamsGroupHeartbeatResponse"
    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[StreamsGroupHeartbeatResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[StreamsGroupHeartbeatResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag: int = 0,
        task_offset_interval_ms: int = 0,
        status: list[Status] | None | Missing = MISSING,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status: list[Status] | None = [] if isinstance(status, Missing) else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint


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


def _decode_copartition_group_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CopartitionGroup, int]:
    source_topics_count, pos = read_compact_count(buf, pos, 2, budget)
    source_topics = read_int16s(buf, pos, source_topics_count)
    pos += 2 * source_topics_count
    source_topic_regex_count, pos = read_compact_count(buf, pos, 2, budget)
    source_topic_regex = read_int16s(buf, pos, source_topic_regex_count)
    pos += 2 * source_topic_regex_count
    repartition_source_topics_count, pos = read_compact_count(buf, pos, 2, budget)
    repartition_source_topics = read_int16s(buf, pos, repartition_source_topics_count)
    pos += 2 * repartition_source_topics_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CopartitionGroup(source_topics, source_topic_regex, repartition_source_topics), pos


def _encode_copartition_group_v0(msg: CopartitionGroup, out: WireBuffer) -> None:
    write_uvarint(len(msg.source_topics) + 1, out)
    write_int16s(msg.source_topics, out)
    write_uvarint(len(msg.source_topic_regex) + 1, out)
    write_int16s(msg.source_topic_regex, out)
    write_uvarint(len(msg.repartition_source_topics) + 1, out)
    write_int16s(msg.repartition_source_topics, out)
    out.append(0)


def _decode_subtopology_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Subtopology, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    source_topics_count, pos = read_compact_count(buf, pos, 1, budget)
    source_topics: list[str] = []
    for _ in range(source_topics_count):
        source_topics_item, pos = read_compact_string(buf, pos)
        source_topics.append(source_topics_item)
    source_topic_regex_count, pos = read_compact_count(buf, pos, 1, budget)
    source_topic_regex: list[str] = []
    for _ in range(source_topic_regex_count):
        source_topic_regex_item, pos = read_compact_string(buf, pos)
        source_topic_regex.append(source_topic_regex_item)
    state_changelog_topics_count, pos = read_compact_count(buf, pos, 9, budget)
    state_changelog_topics: list[TopicInfo] = []
    for _ in range(state_changelog_topics_count):
        state_changelog_topics_item, pos = _decode_topic_info_v0(buf, pos, budget)
        state_changelog_topics.append(state_changelog_topics_item)
    repartition_sink_topics_count, pos = read_compact_count(buf, pos, 1, budget)
    repartition_sink_topics: list[str] = []
    for _ in range(repartition_sink_topics_count):
        repartition_sink_topics_item, pos = read_compact_string(buf, pos)
        repartition_sink_topics.append(repartition_sink_topics_item)
    repartition_source_topics_count, pos = read_compact_count(buf, pos, 9, budget)
    repartition_source_topics: list[TopicInfo] = []
    for _ in range(repartition_source_topics_count):
        repartition_source_topics_item, pos = _decode_topic_info_v0(buf, pos, budget)
        repartition_source_topics.append(repartition_source_topics_item)
    copartition_groups_count, pos = read_compact_count(buf, pos, 4, budget)
    copartition_groups: list[CopartitionGroup] = []
    for _ in range(copartition_groups_count):
        copartition_groups_item, pos = _decode_copartition_group_v0(buf, pos, budget)
        copartition_groups.append(copartition_groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Subtopology(
        subtopology_id,
        source_topics,
        source_topic_regex,
        state_changelog_topics,
        repartition_sink_topics,
        repartition_source_topics,
        copartition_groups,
    ), pos


def _encode_subtopology_v0(msg: Subtopology, out: WireBuffer) -> None:
    write_compact_string(msg.subtopology_id, out)
    write_uvarint(len(msg.source_topics) + 1, out)
    for source_topics_item in msg.source_topics:
        write_compact_string(source_topics_item, out)
    write_uvarint(len(msg.source_topic_regex) + 1, out)
    for source_topic_regex_item in msg.source_topic_regex:
        write_compact_string(source_topic_regex_item, out)
    write_uvarint(len(msg.state_changelog_topics) + 1, out)
    for state_changelog_topics_item in msg.state_changelog_topics:
        _encode_topic_info_v0(state_changelog_topics_item, out)
    write_uvarint(len(msg.repartition_sink_topics) + 1, out)
    for repartition_sink_topics_item in msg.repartition_sink_topics:
        write_compact_string(repartition_sink_topics_item, out)
    write_uvarint(len(msg.repartition_source_topics) + 1, out)
    for repartition_source_topics_item in msg.repartition_source_topics:
        _encode_topic_info_v0(repartition_source_topics_item, out)
    write_uvarint(len(msg.copartition_groups) + 1, out)
    for copartition_groups_item in msg.copartition_groups:
        _encode_copartition_group_v0(copartition_groups_item, out)
    out.append(0)


def _decode_topology_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Topology, int]:
    (epoch,) = _unpack_i(buf, pos)
    subtopologies_count, pos = read_compact_count(buf, pos + 4, 8, budget)
    subtopologies: list[Subtopology] = []
    for _ in range(subtopologies_count):
        subtopologies_item, pos = _decode_subtopology_v0(buf, pos, budget)
        subtopologies.append(subtopologies_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Topology(epoch, subtopologies), pos


def _encode_topology_v0(msg: Topology, out: WireBuffer) -> None:
    out += _pack_i(msg.epoch)
    write_uvarint(len(msg.subtopologies) + 1, out)
    for subtopologies_item in msg.subtopologies:
        _encode_subtopology_v0(subtopologies_item, out)
    out.append(0)


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


def _decode_streams_group_heartbeat_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[StreamsGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    member_epoch, endpoint_information_epoch = _unpack_ii(buf, pos)
    instance_id, pos = read_compact_nullable_string(buf, pos + 8)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    rebalance_timeout_ms, topology_marker = _unpack_ib(buf, pos)
    pos += 5
    topology: Topology | None = None
    if topology_marker >= 0:
        topology, pos = _decode_topology_v0(buf, pos, budget)
    active_tasks_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    active_tasks: list[TaskIds] | None = None
    if active_tasks_count >= 0:
        active_tasks = []
        for _ in range(active_tasks_count):
            active_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
            active_tasks.append(active_tasks_item)
    standby_tasks_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    standby_tasks: list[TaskIds] | None = None
    if standby_tasks_count >= 0:
        standby_tasks = []
        for _ in range(standby_tasks_count):
            standby_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
            standby_tasks.append(standby_tasks_item)
    warmup_tasks_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    warmup_tasks: list[TaskIds] | None = None
    if warmup_tasks_count >= 0:
        warmup_tasks = []
        for _ in range(warmup_tasks_count):
            warmup_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
            warmup_tasks.append(warmup_tasks_item)
    process_id, pos = read_compact_nullable_string(buf, pos)
    (user_endpoint_marker,) = _unpack_b(buf, pos)
    pos += 1
    user_endpoint: Endpoint | None = None
    if user_endpoint_marker >= 0:
        user_endpoint, pos = _decode_endpoint_v0(buf, pos, budget)
    client_tags_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    client_tags: list[KeyValue] | None = None
    if client_tags_count >= 0:
        client_tags = []
        for _ in range(client_tags_count):
            client_tags_item, pos = _decode_key_value_v0(buf, pos, budget)
            client_tags.append(client_tags_item)
    task_offsets_count, pos = read_compact_nullable_count(buf, pos, 14, budget)
    task_offsets: list[TaskOffset] | None = None
    if task_offsets_count >= 0:
        task_offsets = []
        for _ in range(task_offsets_count):
            task_offsets_item, pos = _decode_task_offset_v0(buf, pos, budget)
            task_offsets.append(task_offsets_item)
    task_end_offsets_count, pos = read_compact_nullable_count(buf, pos, 14, budget)
    task_end_offsets: list[TaskOffset] | None = None
    if task_end_offsets_count >= 0:
        task_end_offsets = []
        for _ in range(task_end_offsets_count):
            task_end_offsets_item, pos = _decode_task_offset_v0(buf, pos, budget)
            task_end_offsets.append(task_end_offsets_item)
    (shutdown_application,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StreamsGroupHeartbeatRequest(
        group_id,
        member_id,
        member_epoch,
        endpoint_information_epoch,
        instance_id,
        rack_id,
        rebalance_timeout_ms,
        topology,
        active_tasks,
        standby_tasks,
        warmup_tasks,
        process_id,
        user_endpoint,
        client_tags,
        task_offsets,
        task_end_offsets,
        shutdown_application,
    ), pos


def _encode_streams_group_heartbeat_request_v0(msg: StreamsGroupHeartbeatRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.member_id, out)
    out += _pack_ii(msg.member_epoch, msg.endpoint_information_epoch)
    write_compact_nullable_string(msg.instance_id, out)
    write_compact_nullable_string(msg.rack_id, out)
    out += _pack_ib(msg.rebalance_timeout_ms, -1 if msg.topology is None else 1)
    if msg.topology is not None:
        _encode_topology_v0(msg.topology, out)
    write_uvarint(0 if msg.active_tasks is None else len(msg.active_tasks) + 1, out)
    if msg.active_tasks:
        for active_tasks_item in msg.active_tasks:
            _encode_task_ids_v0(active_tasks_item, out)
    write_uvarint(0 if msg.standby_tasks is None else len(msg.standby_tasks) + 1, out)
    if msg.standby_tasks:
        for standby_tasks_item in msg.standby_tasks:
            _encode_task_ids_v0(standby_tasks_item, out)
    write_uvarint(0 if msg.warmup_tasks is None else len(msg.warmup_tasks) + 1, out)
    if msg.warmup_tasks:
        for warmup_tasks_item in msg.warmup_tasks:
            _encode_task_ids_v0(warmup_tasks_item, out)
    write_compact_nullable_string(msg.process_id, out)
    out += _pack_b(-1 if msg.user_endpoint is None else 1)
    if msg.user_endpoint is not None:
        _encode_endpoint_v0(msg.user_endpoint, out)
    write_uvarint(0 if msg.client_tags is None else len(msg.client_tags) + 1, out)
    if msg.client_tags:
        for client_tags_item in msg.client_tags:
            _encode_key_value_v0(client_tags_item, out)
    write_uvarint(0 if msg.task_offsets is None else len(msg.task_offsets) + 1, out)
    if msg.task_offsets:
        for task_offsets_item in msg.task_offsets:
            _encode_task_offset_v0(task_offsets_item, out)
    write_uvarint(0 if msg.task_end_offsets is None else len(msg.task_end_offsets) + 1, out)
    if msg.task_end_offsets:
        for task_end_offsets_item in msg.task_end_offsets:
            _encode_task_offset_v0(task_end_offsets_item, out)
    out += _pack_tB(msg.shutdown_application, 0)


def _decode_status_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[Status, int]:
    (status_code,) = _unpack_b(buf, pos)
    status_detail, pos = read_compact_string(buf, pos + 1)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return Status(status_code, status_detail), pos


def _encode_status_v0(msg: Status, out: WireBuffer) -> None:
    out += _pack_b(msg.status_code)
    write_compact_string(msg.status_detail, out)
    out.append(0)


def _decode_topic_partition_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartition, int]:
    topic, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicPartition(topic, partitions), pos


def _encode_topic_partition_v0(msg: TopicPartition, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_endpoint_to_partitions_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EndpointToPartitions, int]:
    user_endpoint, pos = _decode_endpoint_v0(buf, pos, budget)
    active_partitions_count, pos = read_compact_count(buf, pos, 3, budget)
    active_partitions: list[TopicPartition] = []
    for _ in range(active_partitions_count):
        active_partitions_item, pos = _decode_topic_partition_v0(buf, pos, budget)
        active_partitions.append(active_partitions_item)
    standby_partitions_count, pos = read_compact_count(buf, pos, 3, budget)
    standby_partitions: list[TopicPartition] = []
    for _ in range(standby_partitions_count):
        standby_partitions_item, pos = _decode_topic_partition_v0(buf, pos, budget)
        standby_partitions.append(standby_partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return EndpointToPartitions(user_endpoint, active_partitions, standby_partitions), pos


def _encode_endpoint_to_partitions_v0(msg: EndpointToPartitions, out: WireBuffer) -> None:
    _encode_endpoint_v0(msg.user_endpoint, out)
    write_uvarint(len(msg.active_partitions) + 1, out)
    for active_partitions_item in msg.active_partitions:
        _encode_topic_partition_v0(active_partitions_item, out)
    write_uvarint(len(msg.standby_partitions) + 1, out)
    for standby_partitions_item in msg.standby_partitions:
        _encode_topic_partition_v0(standby_partitions_item, out)
    out.append(0)


def _decode_streams_group_heartbeat_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[StreamsGroupHeartbeatResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    member_id, pos = read_compact_string(buf, pos)
    member_epoch, heartbeat_interval_ms, acceptable_recovery_lag, task_offset_interval_ms = _unpack_iiii(buf, pos)
    status_count, pos = read_compact_nullable_count(buf, pos + 16, 3, budget)
    status: list[Status] | None = None
    if status_count >= 0:
        status = []
        for _ in range(status_count):
            status_item, pos = _decode_status_v0(buf, pos, budget)
            status.append(status_item)
    active_tasks_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    active_tasks: list[TaskIds] | None = None
    if active_tasks_count >= 0:
        active_tasks = []
        for _ in range(active_tasks_count):
            active_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
            active_tasks.append(active_tasks_item)
    standby_tasks_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    standby_tasks: list[TaskIds] | None = None
    if standby_tasks_count >= 0:
        standby_tasks = []
        for _ in range(standby_tasks_count):
            standby_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
            standby_tasks.append(standby_tasks_item)
    warmup_tasks_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    warmup_tasks: list[TaskIds] | None = None
    if warmup_tasks_count >= 0:
        warmup_tasks = []
        for _ in range(warmup_tasks_count):
            warmup_tasks_item, pos = _decode_task_ids_v0(buf, pos, budget)
            warmup_tasks.append(warmup_tasks_item)
    (endpoint_information_epoch,) = _unpack_i(buf, pos)
    partitions_by_user_endpoint_count, pos = read_compact_nullable_count(buf, pos + 4, 7, budget)
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
    if partitions_by_user_endpoint_count >= 0:
        partitions_by_user_endpoint = []
        for _ in range(partitions_by_user_endpoint_count):
            partitions_by_user_endpoint_item, pos = _decode_endpoint_to_partitions_v0(buf, pos, budget)
            partitions_by_user_endpoint.append(partitions_by_user_endpoint_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StreamsGroupHeartbeatResponse(
        throttle_time_ms,
        error_code,
        error_message,
        member_id,
        member_epoch,
        heartbeat_interval_ms,
        acceptable_recovery_lag,
        task_offset_interval_ms,
        status,
        active_tasks,
        standby_tasks,
        warmup_tasks,
        endpoint_information_epoch,
        partitions_by_user_endpoint,
    ), pos


def _encode_streams_group_heartbeat_response_v0(msg: StreamsGroupHeartbeatResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_compact_string(msg.member_id, out)
    out += _pack_iiii(
        msg.member_epoch, msg.heartbeat_interval_ms, msg.acceptable_recovery_lag, msg.task_offset_interval_ms
    )
    write_uvarint(0 if msg.status is None else len(msg.status) + 1, out)
    if msg.status:
        for status_item in msg.status:
            _encode_status_v0(status_item, out)
    write_uvarint(0 if msg.active_tasks is None else len(msg.active_tasks) + 1, out)
    if msg.active_tasks:
        for active_tasks_item in msg.active_tasks:
            _encode_task_ids_v0(active_tasks_item, out)
    write_uvarint(0 if msg.standby_tasks is None else len(msg.standby_tasks) + 1, out)
    if msg.standby_tasks:
        for standby_tasks_item in msg.standby_tasks:
            _encode_task_ids_v0(standby_tasks_item, out)
    write_uvarint(0 if msg.warmup_tasks is None else len(msg.warmup_tasks) + 1, out)
    if msg.warmup_tasks:
        for warmup_tasks_item in msg.warmup_tasks:
            _encode_task_ids_v0(warmup_tasks_item, out)
    out += _pack_i(msg.endpoint_information_epoch)
    write_uvarint(0 if msg.partitions_by_user_endpoint is None else len(msg.partitions_by_user_endpoint) + 1, out)
    if msg.partitions_by_user_endpoint:
        for partitions_by_user_endpoint_item in msg.partitions_by_user_endpoint:
            _encode_endpoint_to_partitions_v0(partitions_by_user_endpoint_item, out)
    out.append(0)


StreamsGroupHeartbeatRequest.DECODERS = (_decode_streams_group_heartbeat_request_v0,)

StreamsGroupHeartbeatRequest.ENCODERS = (_encode_streams_group_heartbeat_request_v0,)

StreamsGroupHeartbeatResponse.DECODERS = (_decode_streams_group_heartbeat_response_v0,)

StreamsGroupHeartbeatResponse.ENCODERS = (_encode_streams_group_heartbeat_response_v0,)
