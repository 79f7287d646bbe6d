"""ListPartitionReassignments (API key 46): request and response.

Generated from the ListPartitionReassignments schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
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

_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class ListPartitionReassignmentsTopics(Part):
    """Part of ListPartitionReassignmentsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_indexes",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is None else partition_indexes


class ListPartitionReassignmentsRequest(Message):
    """ListPartitionReassignmentsRequest (API key 46), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "timeout_ms",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", ListPartitionReassignmentsTopics, True),)

    SCHEMA_NAME: ClassVar[str] = "ListPartitionReassignmentsRequest"
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ListPartitionReassignmentsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ListPartitionReassignmentsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics


class OngoingPartitionReassignment(Part):
    """Part of ListPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "replicas",
        "adding_replicas",
        "removing_replicas",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas: list[int] = [] if replicas is None else replicas
        self.adding_replicas: list[int] = [] if adding_replicas is None else adding_replicas
        self.removing_replicas: list[int] = [] if removing_replicas is None else removing_replicas


class OngoingTopicReassignment(Part):
    """Part of ListPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", OngoingPartitionReassignment, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[OngoingPartitionReassignment] = [] if partitions is None else partitions


class ListPartitionReassignmentsResponse(Message):
    """ListPartitionReassignmentsResponse (API key 46), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OngoingTopicReassignment, True),)

    SCHEMA_NAME: ClassVar[str] = "ListPartitionReassignmentsResponse"
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ListPartitionReassignmentsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ListPartitionReassignmentsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[OngoingTopicReassignment] = [] if topics is None else topics


def _decode_list_partition_reassignments_topics_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListPartitionReassignmentsTopics, int]:
    name, pos = read_compact_string(buf, pos)
    partition_indexes_count, pos = read_compact_count(buf, pos, 4, budget)
    partition_indexes = read_int32s(buf, pos, partition_indexes_count)
    pos += 4 * partition_indexes_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListPartitionReassignmentsTopics(name, partition_indexes), pos


def _encode_list_partition_reassignments_topics_v0(msg: ListPartitionReassignmentsTopics, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partition_indexes) + 1, out)
    write_int32s(msg.partition_indexes, out)
    out.append(0)


def _decode_list_partition_reassignments_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListPartitionReassignmentsRequest, int]:
    (timeout_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_nullable_count(buf, pos + 4, 3, budget)
    topics: list[ListPartitionReassignmentsTopics] | None = None
    if topics_count >= 0:
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_list_partition_reassignments_topics_v0(buf, pos, budget)
            topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListPartitionReassignmentsRequest(timeout_ms, topics), pos


def _encode_list_partition_reassignments_request_v0(msg: ListPartitionReassignmentsRequest, out: WireBuffer) -> None:
    out += _pack_i(msg.timeout_ms)
    write_uvarint(0 if msg.topics is None else len(msg.topics) + 1, out)
    if msg.topics:
        for topics_item in msg.topics:
            _encode_list_partition_reassignments_topics_v0(topics_item, out)
    out.append(0)


def _decode_ongoing_partition_reassignment_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OngoingPartitionReassignment, int]:
    (partition_index,) = _unpack_i(buf, pos)
    replicas_count, pos = read_compact_count(buf, pos + 4, 4, budget)
    replicas = read_int32s(buf, pos, replicas_count)
    pos += 4 * replicas_count
    adding_replicas_count, pos = read_compact_count(buf, pos, 4, budget)
    adding_replicas = read_int32s(buf, pos, adding_replicas_count)
    pos += 4 * adding_replicas_count
    removing_replicas_count, pos = read_compact_count(buf, pos, 4, budget)
    removing_replicas = read_int32s(buf, pos, removing_replicas_count)
    pos += 4 * removing_replicas_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OngoingPartitionReassignment(partition_index, replicas, adding_replicas, removing_replicas), pos


def _encode_ongoing_partition_reassignment_v0(msg: OngoingPartitionReassignment, out: WireBuffer) -> None:
    out += _pack_i(msg.partition_index)
    write_uvarint(len(msg.replicas) + 1, out)
    write_int32s(msg.replicas, out)
    write_uvarint(len(msg.adding_replicas) + 1, out)
    write_int32s(msg.adding_replicas, out)
    write_uvarint(len(msg.removing_replicas) + 1, out)
    write_int32s(msg.removing_replicas, out)
    out.append(0)


def _decode_ongoing_topic_reassignment_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OngoingTopicReassignment, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 8, budget)
    partitions: list[OngoingPartitionReassignment] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_ongoing_partition_reassignment_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OngoingTopicReassignment(name, partitions), pos


def _encode_ongoing_topic_reassignment_v0(msg: OngoingTopicReassignment, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_ongoing_partition_reassignment_v0(partitions_item, out)
    out.append(0)


def _decode_list_partition_reassignments_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListPartitionReassignmentsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[OngoingTopicReassignment] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_ongoing_topic_reassignment_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, topics), pos


def _encode_list_partition_reassignments_response_v0(msg: ListPartitionReassignmentsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_ongoing_topic_reassignment_v0(topics_item, out)
    out.append(0)


ListPartitionReassignmentsRequest.DECODERS = (_decode_list_partition_reassignments_request_v0,)

ListPartitionReassignmentsRequest.ENCODERS = (_encode_list_partition_reassignments_request_v0,)

ListPartitionReassignmentsResponse.DECODERS = (_decode_list_partition_reassignments_response_v0,)

ListPartitionReassignmentsResponse.ENCODERS = (_encode_list_partition_reassignments_response_v0,)
