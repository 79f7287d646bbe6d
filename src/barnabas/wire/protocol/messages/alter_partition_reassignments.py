"""AlterPartitionReassignments (API key 45): request and response.

Generated from the AlterPartitionReassignments schemas by scripts/generate.

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


class ReassignablePartition(Part):
    """Part of AlterPartitionReassignmentsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "replicas",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


class ReassignableTopic(Part):
    """Part of AlterPartitionReassignmentsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", ReassignablePartition, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[ReassignablePartition] = [] if partitions is None else partitions


class AlterPartitionReassignmentsRequest(Message):
    """AlterPartitionReassignmentsRequest (API key 45), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "timeout_ms",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", ReassignableTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "AlterPartitionReassignmentsRequest"
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[AlterPartitionReassignmentsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[AlterPartitionReassignmentsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ReassignableTopic] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics: list[ReassignableTopic] = [] if topics is None else topics


class ReassignablePartitionResponse(Part):
    """Part of AlterPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "error_message",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class ReassignableTopicResponse(Part):
    """Part of AlterPartitionReassignmentsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", ReassignablePartitionResponse, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[ReassignablePartitionResponse] = [] if partitions is None else partitions


class AlterPartitionReassignmentsResponse(Message):
    """AlterPartitionReassignmentsResponse (API key 45), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "responses",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("responses", ReassignableTopicResponse, True),)

    SCHEMA_NAME: ClassVar[str] = "AlterPartitionReassignmentsResponse"
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[AlterPartitionReassignmentsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[AlterPartitionReassignmentsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[ReassignableTopicResponse] = [] if responses is None else responses


def _decode_reassignable_partition_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ReassignablePartition, int]:
    (partition_index,) = _unpack_i(buf, pos)
    replicas_count, pos = read_compact_nullable_count(buf, pos + 4, 4, budget)
    replicas: list[int] | None = None
    if replicas_count >= 0:
        replicas = read_int32s(buf, pos, replicas_count)
        pos += 4 * replicas_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReassignablePartition(partition_index, replicas), pos


def _encode_reassignable_partition_v0(msg: ReassignablePartition, out: WireBuffer) -> None:
    out += _pack_i(msg.partition_index)
    write_uvarint(0 if msg.replicas is None else len(msg.replicas) + 1, out)
    if msg.replicas:
        write_int32s(msg.replicas, out)
    out.append(0)


def _decode_reassignable_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ReassignableTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 6, budget)
    partitions: list[ReassignablePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_reassignable_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReassignableTopic(name, partitions), pos


def _encode_reassignable_topic_v0(msg: ReassignableTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_reassignable_partition_v0(partitions_item, out)
    out.append(0)


def _decode_alter_partition_reassignments_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionReassignmentsRequest, int]:
    (timeout_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[ReassignableTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_reassignable_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionReassignmentsRequest(timeout_ms, topics), pos


def _encode_alter_partition_reassignments_request_v0(msg: AlterPartitionReassignmentsRequest, out: WireBuffer) -> None:
    out += _pack_i(msg.timeout_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_reassignable_topic_v0(topics_item, out)
    out.append(0)


def _decode_reassignable_partition_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReassignablePartitionResponse, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReassignablePartitionResponse(partition_index, error_code, error_message), pos


def _encode_reassignable_partition_response_v0(msg: ReassignablePartitionResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition_index, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_reassignable_topic_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReassignableTopicResponse, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 8, budget)
    partitions: list[ReassignablePartitionResponse] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_reassignable_partition_response_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReassignableTopicResponse(name, partitions), pos


def _encode_reassignable_topic_response_v0(msg: ReassignableTopicResponse, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_reassignable_partition_response_v0(partitions_item, out)
    out.append(0)


def _decode_alter_partition_reassignments_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionReassignmentsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    responses_count, pos = read_compact_count(buf, pos, 3, budget)
    responses: list[ReassignableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_reassignable_topic_response_v0(buf, pos, budget)
        responses.append(responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, responses), pos


def _encode_alter_partition_reassignments_response_v0(
    msg: AlterPartitionReassignmentsResponse, out: WireBuffer
) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_reassignable_topic_response_v0(responses_item, out)
    out.append(0)


AlterPartitionReassignmentsRequest.DECODERS = (_decode_alter_partition_reassignments_request_v0,)

AlterPartitionReassignmentsRequest.ENCODERS = (_encode_alter_partition_reassignments_request_v0,)

AlterPartitionReassignmentsResponse.DECODERS = (_decode_alter_partition_reassignments_response_v0,)

AlterPartitionReassignmentsResponse.ENCODERS = (_encode_alter_partition_reassignments_response_v0,)
