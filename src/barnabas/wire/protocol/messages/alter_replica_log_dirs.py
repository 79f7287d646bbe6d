"""AlterReplicaLogDirs (API key 34): request and response.

Generated from the AlterReplicaLogDirs schemas by scripts/generate.

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
    check_count,
    read_int32s,
    write_int32s,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", AlterReplicaLogDirTopic, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("dirs", AlterReplicaLogDir, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("partitions", AlterReplicaLogDirPartitionResult, True),
    )

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", AlterReplicaLogDirTopicResult, True),)

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
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 4 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    return AlterReplicaLogDirTopic(name, partitions), pos


def _encode_alter_replica_log_dir_topic_v0(msg: AlterReplicaLogDirTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_alter_replica_log_dir_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterReplicaLogDir, int]:
    (path_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + path_length
    if path_length < 0 or end > len(buf):
        raise wrong_length("string", path_length, pos, buf)
    path = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[AlterReplicaLogDirTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_replica_log_dir_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return AlterReplicaLogDir(path, topics), pos


def _encode_alter_replica_log_dir_v0(msg: AlterReplicaLogDir, out: WireBuffer) -> None:
    path_bytes = msg.path.encode()
    out += _pack_h(len(path_bytes))
    out += path_bytes
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_alter_replica_log_dir_topic_v0(topics_item, out)


def _decode_alter_replica_log_dirs_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirsRequest, int]:
    (dirs_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - dirs_count
    if dirs_count < 0 or elements_left < 0 or dirs_count * 6 > len(buf) - pos:
        check_count(dirs_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    dirs: list[AlterReplicaLogDir] = []
    for _ in range(dirs_count):
        dirs_item, pos = _decode_alter_replica_log_dir_v0(buf, pos, budget)
        dirs.append(dirs_item)
    return AlterReplicaLogDirsRequest(dirs), pos


def _encode_alter_replica_log_dirs_request_v0(msg: AlterReplicaLogDirsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.dirs))
    for dirs_item in msg.dirs:
        _encode_alter_replica_log_dir_v0(dirs_item, out)


def _decode_alter_replica_log_dir_topic_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirTopicResult, int]:
    (topic_name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_name_length
    if topic_name_length < 0 or end > len(buf):
        raise wrong_length("string", topic_name_length, pos, buf)
    topic_name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 6 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    partitions: list[AlterReplicaLogDirPartitionResult] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_error_code = _unpack_ih(buf, pos)
        pos += 6
        partitions.append(AlterReplicaLogDirPartitionResult(partitions_partition_index, partitions_error_code))
    return AlterReplicaLogDirTopicResult(topic_name, partitions), pos


def _encode_alter_replica_log_dir_topic_result_v0(msg: AlterReplicaLogDirTopicResult, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_ih(partitions_item.partition_index, partitions_item.error_code)


def _decode_alter_replica_log_dirs_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterReplicaLogDirsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 6 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
