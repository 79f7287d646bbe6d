"""AssignReplicasToDirs (API key 73): request and response.

Generated from the AssignReplicasToDirs schemas by scripts/generate.

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
    skip_tagged_fields,
    write_uvarint,
)

_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_iq = Struct(">iq").pack
_pack_u = Struct(">16s").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_u = Struct(">16s").unpack_from


class AssignReplicasToDirsRequestPartitionData(Part):
    """Part of AssignReplicasToDirsRequest."""

    __slots__ = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class AssignReplicasToDirsRequestTopicData(Part):
    """Part of AssignReplicasToDirsRequest."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AssignReplicasToDirsRequestPartitionData] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[AssignReplicasToDirsRequestPartitionData] = [] if partitions is None else partitions


class AssignReplicasToDirsRequestDirectoryData(Part):
    """Part of AssignReplicasToDirsRequest."""

    __slots__ = (
        "id",
        "topics",
    )

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        topics: list[AssignReplicasToDirsRequestTopicData] | None = None,
    ) -> None:
        self.id = id
        self.topics: list[AssignReplicasToDirsRequestTopicData] = [] if topics is None else topics


class AssignReplicasToDirsRequest(Message):
    """AssignReplicasToDirsRequest (API key 73), versions 0."""

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "directories",
    )

    SCHEMA_NAME: ClassVar[str] = "AssignReplicasToDirsRequest"
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AssignReplicasToDirsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AssignReplicasToDirsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[AssignReplicasToDirsRequestDirectoryData] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories: list[AssignReplicasToDirsRequestDirectoryData] = [] if directories is None else directories


class AssignReplicasToDirsResponsePartitionData(Part):
    """Part of AssignReplicasToDirsResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class AssignReplicasToDirsResponseTopicData(Part):
    """Part of AssignReplicasToDirsResponse."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AssignReplicasToDirsResponsePartitionData] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[AssignReplicasToDirsResponsePartitionData] = [] if partitions is None else partitions


class AssignReplicasToDirsResponseDirectoryData(Part):
    """Part of AssignReplicasToDirsResponse."""

    __slots__ = (
        "id",
        "topics",
    )

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        topics: list[AssignReplicasToDirsResponseTopicData] | None = None,
    ) -> None:
        self.id = id
        self.topics: list[AssignReplicasToDirsResponseTopicData] = [] if topics is None else topics


class AssignReplicasToDirsResponse(Message):
    """AssignReplicasToDirsResponse (API key 73), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "directories",
    )

    SCHEMA_NAME: ClassVar[str] = "AssignReplicasToDirsResponse"
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AssignReplicasToDirsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AssignReplicasToDirsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[AssignReplicasToDirsResponseDirectoryData] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories: list[AssignReplicasToDirsResponseDirectoryData] = [] if directories is None else directories


def _decode_assign_replicas_to_dirs_request_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsRequestPartitionData, int]:
    (partition_index,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsRequestPartitionData(partition_index), pos


def _encode_assign_replicas_to_dirs_request_partition_data_v0(
    msg: AssignReplicasToDirsRequestPartitionData, out: WireBuffer
) -> None:
    out += _pack_iB(msg.partition_index, 0)


def _decode_assign_replicas_to_dirs_request_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsRequestTopicData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 5, budget)
    partitions: list[AssignReplicasToDirsRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_assign_replicas_to_dirs_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsRequestTopicData(topic_id, partitions), pos


def _encode_assign_replicas_to_dirs_request_topic_data_v0(
    msg: AssignReplicasToDirsRequestTopicData, out: WireBuffer
) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_assign_replicas_to_dirs_request_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_assign_replicas_to_dirs_request_directory_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsRequestDirectoryData, int]:
    (id,) = _unpack_u(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 16, 18, budget)
    topics: list[AssignReplicasToDirsRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_assign_replicas_to_dirs_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsRequestDirectoryData(id, topics), pos


def _encode_assign_replicas_to_dirs_request_directory_data_v0(
    msg: AssignReplicasToDirsRequestDirectoryData, out: WireBuffer
) -> None:
    out += _pack_u(msg.id)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_assign_replicas_to_dirs_request_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_assign_replicas_to_dirs_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    directories_count, pos = read_compact_count(buf, pos + 12, 18, budget)
    directories: list[AssignReplicasToDirsRequestDirectoryData] = []
    for _ in range(directories_count):
        directories_item, pos = _decode_assign_replicas_to_dirs_request_directory_data_v0(buf, pos, budget)
        directories.append(directories_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsRequest(broker_id, broker_epoch, directories), pos


def _encode_assign_replicas_to_dirs_request_v0(msg: AssignReplicasToDirsRequest, out: WireBuffer) -> None:
    out += _pack_iq(msg.broker_id, msg.broker_epoch)
    write_uvarint(len(msg.directories) + 1, out)
    for directories_item in msg.directories:
        _encode_assign_replicas_to_dirs_request_directory_data_v0(directories_item, out)
    out.append(0)


def _decode_assign_replicas_to_dirs_response_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsResponsePartitionData, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsResponsePartitionData(partition_index, error_code), pos


def _encode_assign_replicas_to_dirs_response_partition_data_v0(
    msg: AssignReplicasToDirsResponsePartitionData, out: WireBuffer
) -> None:
    out += _pack_ihB(msg.partition_index, msg.error_code, 0)


def _decode_assign_replicas_to_dirs_response_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsResponseTopicData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 7, budget)
    partitions: list[AssignReplicasToDirsResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_assign_replicas_to_dirs_response_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsResponseTopicData(topic_id, partitions), pos


def _encode_assign_replicas_to_dirs_response_topic_data_v0(
    msg: AssignReplicasToDirsResponseTopicData, out: WireBuffer
) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_assign_replicas_to_dirs_response_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_assign_replicas_to_dirs_response_directory_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsResponseDirectoryData, int]:
    (id,) = _unpack_u(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 16, 18, budget)
    topics: list[AssignReplicasToDirsResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_assign_replicas_to_dirs_response_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsResponseDirectoryData(id, topics), pos


def _encode_assign_replicas_to_dirs_response_directory_data_v0(
    msg: AssignReplicasToDirsResponseDirectoryData, out: WireBuffer
) -> None:
    out += _pack_u(msg.id)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_assign_replicas_to_dirs_response_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_assign_replicas_to_dirs_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AssignReplicasToDirsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    directories_count, pos = read_compact_count(buf, pos + 6, 18, budget)
    directories: list[AssignReplicasToDirsResponseDirectoryData] = []
    for _ in range(directories_count):
        directories_item, pos = _decode_assign_replicas_to_dirs_response_directory_data_v0(buf, pos, budget)
        directories.append(directories_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AssignReplicasToDirsResponse(throttle_time_ms, error_code, directories), pos


def _encode_assign_replicas_to_dirs_response_v0(msg: AssignReplicasToDirsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.directories) + 1, out)
    for directories_item in msg.directories:
        _encode_assign_replicas_to_dirs_response_directory_data_v0(directories_item, out)
    out.append(0)


AssignReplicasToDirsRequest.DECODERS = (_decode_assign_replicas_to_dirs_request_v0,)

AssignReplicasToDirsRequest.ENCODERS = (_encode_assign_replicas_to_dirs_request_v0,)

AssignReplicasToDirsResponse.DECODERS = (_decode_assign_replicas_to_dirs_response_v0,)

AssignReplicasToDirsResponse.ENCODERS = (_encode_assign_replicas_to_dirs_response_v0,)
