"""DescribeLogDirs (API key 35): request and response.

Generated from the DescribeLogDirs schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_string,
    write_int32s,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hh: Final = Struct(">hh").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iqqt: Final = Struct(">iqq?").pack
_pack_iqqtB: Final = Struct(">iqq?B").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iqqt: Final = Struct(">iqq?").unpack_from


class DescribableLogDirTopic(Part):
    """Part of DescribeLogDirsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is None else partitions


class DescribeLogDirsRequest(Message):
    """DescribeLogDirsRequest (API key 35), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", DescribableLogDirTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeLogDirsRequest"
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeLogDirsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeLogDirsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None | Missing = MISSING,
    ) -> None:
        self.topics: list[DescribableLogDirTopic] | None = [] if isinstance(topics, Missing) else topics


class DescribeLogDirsPartition(Part):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "partition_size",
        "offset_lag",
        "is_future_key",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


class DescribeLogDirsTopic(Part):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", DescribeLogDirsPartition, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[DescribeLogDirsPartition] = [] if partitions is None else partitions


class DescribeLogDirsResult(Part):
    """Part of DescribeLogDirsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "log_dir",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", DescribeLogDirsTopic, True),)

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] | None = None,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics: list[DescribeLogDirsTopic] = [] if topics is None else topics


class DescribeLogDirsResponse(Message):
    """DescribeLogDirsResponse (API key 35), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", DescribeLogDirsResult, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeLogDirsResponse"
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeLogDirsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeLogDirsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeLogDirsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DescribeLogDirsResult] = [] if results is None else results


def _decode_describable_log_dir_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribableLogDirTopic, int]:
    (topic_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_length
    if topic_length < 0 or end > len(buf):
        raise wrong_length("string", topic_length, pos, buf)
    topic = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 4 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    return DescribableLogDirTopic(topic, partitions), pos


def _encode_describable_log_dir_topic_v0(msg: DescribableLogDirTopic, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_describe_log_dirs_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeLogDirsRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    topics: list[DescribableLogDirTopic] | None = None
    if topics_count >= 0:
        elements_left = budget.elements_left - topics_count
        if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
            check_count(topics_count, len(buf) - pos, 6, budget)
        budget.elements_left = elements_left
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_describable_log_dir_topic_v0(buf, pos, budget)
            topics.append(topics_item)
    return DescribeLogDirsRequest(topics), pos


def _encode_describe_log_dirs_request_v0(msg: DescribeLogDirsRequest, out: WireBuffer) -> None:
    out += _pack_i(-1 if msg.topics is None else len(msg.topics))
    if msg.topics:
        for topics_item in msg.topics:
            _encode_describable_log_dir_topic_v0(topics_item, out)


def _decode_describable_log_dir_topic_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribableLogDirTopic, int]:
    topic, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribableLogDirTopic(topic, partitions), pos


def _encode_describable_log_dir_topic_v2(msg: DescribableLogDirTopic, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_describe_log_dirs_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeLogDirsRequest, int]:
    topics_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    topics: list[DescribableLogDirTopic] | None = None
    if topics_count >= 0:
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_describable_log_dir_topic_v2(buf, pos, budget)
            topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeLogDirsRequest(topics), pos


def _encode_describe_log_dirs_request_v2(msg: DescribeLogDirsRequest, out: WireBuffer) -> None:
    write_uvarint(0 if msg.topics is None else len(msg.topics) + 1, out)
    if msg.topics:
        for topics_item in msg.topics:
            _encode_describable_log_dir_topic_v2(topics_item, out)
    out.append(0)


def _decode_describe_log_dirs_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeLogDirsTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 21 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 21, budget)
    budget.elements_left = elements_left
    partitions: list[DescribeLogDirsPartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_partition_size, partitions_offset_lag, partitions_is_future_key = (
            _unpack_iqqt(buf, pos)
        )
        pos += 21
        partitions.append(
            DescribeLogDirsPartition(
                partitions_partition_index, partitions_partition_size, partitions_offset_lag, partitions_is_future_key
            )
        )
    return DescribeLogDirsTopic(name, partitions), pos


def _encode_describe_log_dirs_topic_v0(msg: DescribeLogDirsTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iqqt(
            partitions_item.partition_index,
            partitions_item.partition_size,
            partitions_item.offset_lag,
            partitions_item.is_future_key,
        )


def _decode_describe_log_dirs_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeLogDirsResult, int]:
    error_code, log_dir_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + log_dir_length
    if log_dir_length < 0 or end > len(buf):
        raise wrong_length("string", log_dir_length, pos, buf)
    log_dir = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[DescribeLogDirsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_log_dirs_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return DescribeLogDirsResult(error_code, log_dir, topics), pos


def _encode_describe_log_dirs_result_v0(msg: DescribeLogDirsResult, out: WireBuffer) -> None:
    log_dir_bytes = msg.log_dir.encode()
    out += _pack_hh(msg.error_code, len(log_dir_bytes))
    out += log_dir_bytes
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_describe_log_dirs_topic_v0(topics_item, out)


def _decode_describe_log_dirs_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeLogDirsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 8 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    results: list[DescribeLogDirsResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_describe_log_dirs_result_v0(buf, pos, budget)
        results.append(results_item)
    return DescribeLogDirsResponse(throttle_time_ms, results), pos


def _encode_describe_log_dirs_response_v0(msg: DescribeLogDirsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        _encode_describe_log_dirs_result_v0(results_item, out)


def _decode_describe_log_dirs_partition_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeLogDirsPartition, int]:
    partition_index, partition_size, offset_lag, is_future_key = _unpack_iqqt(buf, pos)
    pos += 22
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key), pos


def _encode_describe_log_dirs_partition_v2(msg: DescribeLogDirsPartition, out: WireBuffer) -> None:
    out += _pack_iqqtB(msg.partition_index, msg.partition_size, msg.offset_lag, msg.is_future_key, 0)


def _decode_describe_log_dirs_topic_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeLogDirsTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 22, budget)
    partitions: list[DescribeLogDirsPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_describe_log_dirs_partition_v2(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeLogDirsTopic(name, partitions), pos


def _encode_describe_log_dirs_topic_v2(msg: DescribeLogDirsTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_describe_log_dirs_partition_v2(partitions_item, out)
    out.append(0)


def _decode_describe_log_dirs_result_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeLogDirsResult, int]:
    (error_code,) = _unpack_h(buf, pos)
    log_dir, pos = read_compact_string(buf, pos + 2)
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[DescribeLogDirsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_describe_log_dirs_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeLogDirsResult(error_code, log_dir, topics), pos


def _encode_describe_log_dirs_result_v2(msg: DescribeLogDirsResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_string(msg.log_dir, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_describe_log_dirs_topic_v2(topics_item, out)
    out.append(0)


def _decode_describe_log_dirs_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeLogDirsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    results_count, pos = read_compact_count(buf, pos + 4, 5, budget)
    results: list[DescribeLogDirsResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_describe_log_dirs_result_v2(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeLogDirsResponse(throttle_time_ms, results), pos


def _encode_describe_log_dirs_response_v2(msg: DescribeLogDirsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_describe_log_dirs_result_v2(results_item, out)
    out.append(0)


DescribeLogDirsRequest.DECODERS = (
    _decode_describe_log_dirs_request_v0,
    _decode_describe_log_dirs_request_v0,
    _decode_describe_log_dirs_request_v2,
)

DescribeLogDirsRequest.ENCODERS = (
    _encode_describe_log_dirs_request_v0,
    _encode_describe_log_dirs_request_v0,
    _encode_describe_log_dirs_request_v2,
)

DescribeLogDirsResponse.DECODERS = (
    _decode_describe_log_dirs_response_v0,
    _decode_describe_log_dirs_response_v0,
    _decode_describe_log_dirs_response_v2,
)

DescribeLogDirsResponse.ENCODERS = (
    _encode_describe_log_dirs_response_v0,
    _encode_describe_log_dirs_response_v0,
    _encode_describe_log_dirs_response_v2,
)
