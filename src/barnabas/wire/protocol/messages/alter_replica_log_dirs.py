"""AlterReplicaLogDirs (API key 34): request and response.

Generated from the AlterReplicaLogDirs schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_int32s,
    read_string,
    write_int32s,
    write_string,
)

_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from


class AlterReplicaLogDirTopic(Part):
    """Part of AlterReplicaLogDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is None else partitions


class AlterReplicaLogDir(Part):
    """Part of AlterReplicaLogDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "path",
        "topics",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] | None = None,
    ) -> None:
        self.path = path
        self.topics: list[AlterReplicaLogDirTopic] = [] if topics is None else topics


class AlterReplicaLogDirsRequest(Message):
    """AlterReplicaLogDirsRequest (API key 34), versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = ("dirs",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "AlterReplicaLogDirsRequest"
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterReplicaLogDirsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterReplicaLogDirsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        dirs: list[AlterReplicaLogDir] | None = None,
    ) -> None:
        self.dirs: list[AlterReplicaLogDir] = [] if dirs is None else dirs


class AlterReplicaLogDirPartitionResult(Part):
    """Part of AlterReplicaLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class AlterReplicaLogDirTopicResult(Part):
    """Part of AlterReplicaLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[AlterReplicaLogDirPartitionResult] = [] if partitions is None else partitions


class AlterReplicaLogDirsResponse(Message):
    """AlterReplicaLogDirsResponse (API key 34), versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "AlterReplicaLogDirsResponse"
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterReplicaLogDirsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterReplicaLogDirsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AlterReplicaLogDirTopicResult] = [] if results is None else results


def _decode_alter_replica_log_dir_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirTopic, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    return AlterReplicaLogDirTopic(name, partitions), pos


def _encode_alter_replica_log_dir_topic_v0(msg: AlterReplicaLogDirTopic, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_alter_replica_log_dir_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterReplicaLogDir, int]:
    path, pos = read_string(buf, pos)
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[AlterReplicaLogDirTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_replica_log_dir_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return AlterReplicaLogDir(path, topics), pos


def _encode_alter_replica_log_dir_v0(msg: AlterReplicaLogDir, out: WireBuffer) -> None:
    write_string(msg.path, out)
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_alter_replica_log_dir_topic_v0(topics_item, out)


def _decode_alter_replica_log_dirs_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirsRequest, int]:
    (dirs_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(dirs_count, len(buf) - pos, 6, budget)
    dirs: list[AlterReplicaLogDir] = []
    for _ in range(dirs_count):
        dirs_item, pos = _decode_alter_replica_log_dir_v0(buf, pos, budget)
        dirs.append(dirs_item)
    return AlterReplicaLogDirsRequest(dirs), pos


def _encode_alter_replica_log_dirs_request_v0(msg: AlterReplicaLogDirsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.dirs))
    for dirs_item in msg.dirs:
        _encode_alter_replica_log_dir_v0(dirs_item, out)


def _decode_alter_replica_log_dir_partition_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirPartitionResult, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    return AlterReplicaLogDirPartitionResult(partition_index, error_code), pos + 6


def _encode_alter_replica_log_dir_partition_result_v0(msg: AlterReplicaLogDirPartitionResult, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition_index, msg.error_code)


def _decode_alter_replica_log_dir_topic_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirTopicResult, int]:
    topic_name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 6, budget)
    partitions: list[AlterReplicaLogDirPartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_replica_log_dir_partition_result_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return AlterReplicaLogDirTopicResult(topic_name, partitions), pos


def _encode_alter_replica_log_dir_topic_result_v0(msg: AlterReplicaLogDirTopicResult, out: WireBuffer) -> None:
    write_string(msg.topic_name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_alter_replica_log_dir_partition_result_v0(partitions_item, out)


def _decode_alter_replica_log_dirs_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    check_count(results_count, len(buf) - pos, 6, budget)
    results: list[AlterReplicaLogDirTopicResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_alter_replica_log_dir_topic_result_v0(buf, pos, budget)
        results.append(results_item)
    return AlterReplicaLogDirsResponse(throttle_time_ms, results), pos


def _encode_alter_replica_log_dirs_response_v0(msg: AlterReplicaLogDirsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        _encode_alter_replica_log_dir_topic_result_v0(results_item, out)


AlterReplicaLogDirsRequest.DECODERS = (
    _decode_alter_replica_log_dirs_request_v0,
    _decode_alter_replica_log_dirs_request_v0,
)

AlterReplicaLogDirsRequest.ENCODERS = (
    _encode_alter_replica_log_dirs_request_v0,
    _encode_alter_replica_log_dirs_request_v0,
)

AlterReplicaLogDirsResponse.DECODERS = (
    _decode_alter_replica_log_dirs_response_v0,
    _decode_alter_replica_log_dirs_response_v0,
)

AlterReplicaLogDirsResponse.ENCODERS = (
    _encode_alter_replica_log_dirs_response_v0,
    _encode_alter_replica_log_dirs_response_v0,
)
