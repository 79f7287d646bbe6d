"""DeleteRecords (API key 21): request and response.

Generated from the DeleteRecords schemas by scripts/generate.

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
    read_compact_count,
    read_compact_string,
    skip_tagged_fields,
    write_compact_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqB: Final = Struct(">iqB").pack
_pack_iqh: Final = Struct(">iqh").pack
_pack_iqhB: Final = Struct(">iqhB").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from


class DeleteRecordsPartition(Part):
    """Part of DeleteRecordsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "offset",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset


class DeleteRecordsTopic(Part):
    """Part of DeleteRecordsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", DeleteRecordsPartition, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[DeleteRecordsPartition] = [] if partitions is None else partitions


class DeleteRecordsRequest(Message):
    """DeleteRecordsRequest (API key 21), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "timeout_ms",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", DeleteRecordsTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "DeleteRecordsRequest"
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteRecordsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteRecordsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] | None = None,
        timeout_ms: int = 0,
    ) -> None:
        self.topics: list[DeleteRecordsTopic] = [] if topics is None else topics
        self.timeout_ms = timeout_ms


class DeleteRecordsPartitionResult(Part):
    """Part of DeleteRecordsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "low_watermark",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


class DeleteRecordsTopicResult(Part):
    """Part of DeleteRecordsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", DeleteRecordsPartitionResult, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[DeleteRecordsPartitionResult] = [] if partitions is None else partitions


class DeleteRecordsResponse(Message):
    """DeleteRecordsResponse (API key 21), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", DeleteRecordsTopicResult, True),)

    SCHEMA_NAME: ClassVar[str] = "DeleteRecordsResponse"
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteRecordsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteRecordsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DeleteRecordsTopicResult] = [] if topics is None else topics


def _decode_delete_records_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteRecordsTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 12 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    partitions: list[DeleteRecordsPartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_offset = _unpack_iq(buf, pos)
        pos += 12
        partitions.append(DeleteRecordsPartition(partitions_partition_index, partitions_offset))
    return DeleteRecordsTopic(name, partitions), pos


def _encode_delete_records_topic_v0(msg: DeleteRecordsTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iq(partitions_item.partition_index, partitions_item.offset)


def _decode_delete_records_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteRecordsRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[DeleteRecordsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_delete_records_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    return DeleteRecordsRequest(topics, timeout_ms), pos + 4


def _encode_delete_records_request_v0(msg: DeleteRecordsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_delete_records_topic_v0(topics_item, out)
    out += _pack_i(msg.timeout_ms)


def _decode_delete_records_partition_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteRecordsPartition, int]:
    partition_index, offset = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteRecordsPartition(partition_index, offset), pos


def _encode_delete_records_partition_v2(msg: DeleteRecordsPartition, out: WireBuffer) -> None:
    out += _pack_iqB(msg.partition_index, msg.offset, 0)


def _decode_delete_records_topic_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteRecordsTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 13, budget)
    partitions: list[DeleteRecordsPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_delete_records_partition_v2(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteRecordsTopic(name, partitions), pos


def _encode_delete_records_topic_v2(msg: DeleteRecordsTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_delete_records_partition_v2(partitions_item, out)
    out.append(0)


def _decode_delete_records_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteRecordsRequest, int]:
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[DeleteRecordsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_delete_records_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteRecordsRequest(topics, timeout_ms), pos


def _encode_delete_records_request_v2(msg: DeleteRecordsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_delete_records_topic_v2(topics_item, out)
    out += _pack_iB(msg.timeout_ms, 0)


def _decode_delete_records_topic_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteRecordsTopicResult, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 14 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    partitions: list[DeleteRecordsPartitionResult] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_low_watermark, partitions_error_code = _unpack_iqh(buf, pos)
        pos += 14
        partitions.append(
            DeleteRecordsPartitionResult(partitions_partition_index, partitions_low_watermark, partitions_error_code)
        )
    return DeleteRecordsTopicResult(name, partitions), pos


def _encode_delete_records_topic_result_v0(msg: DeleteRecordsTopicResult, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iqh(partitions_item.partition_index, partitions_item.low_watermark, partitions_item.error_code)


def _decode_delete_records_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteRecordsResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[DeleteRecordsTopicResult] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_delete_records_topic_result_v0(buf, pos, budget)
        topics.append(topics_item)
    return DeleteRecordsResponse(throttle_time_ms, topics), pos


def _encode_delete_records_response_v0(msg: DeleteRecordsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_delete_records_topic_result_v0(topics_item, out)


def _decode_delete_records_partition_result_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteRecordsPartitionResult, int]:
    partition_index, low_watermark, error_code = _unpack_iqh(buf, pos)
    pos += 15
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteRecordsPartitionResult(partition_index, low_watermark, error_code), pos


def _encode_delete_records_partition_result_v2(msg: DeleteRecordsPartitionResult, out: WireBuffer) -> None:
    out += _pack_iqhB(msg.partition_index, msg.low_watermark, msg.error_code, 0)


def _decode_delete_records_topic_result_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteRecordsTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 15, budget)
    partitions: list[DeleteRecordsPartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_delete_records_partition_result_v2(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteRecordsTopicResult(name, partitions), pos


def _encode_delete_records_topic_result_v2(msg: DeleteRecordsTopicResult, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_delete_records_partition_result_v2(partitions_item, out)
    out.append(0)


def _decode_delete_records_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteRecordsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[DeleteRecordsTopicResult] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_delete_records_topic_result_v2(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteRecordsResponse(throttle_time_ms, topics), pos


def _encode_delete_records_response_v2(msg: DeleteRecordsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_delete_records_topic_result_v2(topics_item, out)
    out.append(0)


DeleteRecordsRequest.DECODERS = (
    _decode_delete_records_request_v0,
    _decode_delete_records_request_v0,
    _decode_delete_records_request_v2,
)

DeleteRecordsRequest.ENCODERS = (
    _encode_delete_records_request_v0,
    _encode_delete_records_request_v0,
    _encode_delete_records_request_v2,
)

DeleteRecordsResponse.DECODERS = (
    _decode_delete_records_response_v0,
    _decode_delete_records_response_v0,
    _decode_delete_records_response_v2,
)

DeleteRecordsResponse.ENCODERS = (
    _encode_delete_records_response_v0,
    _encode_delete_records_response_v0,
    _encode_delete_records_response_v2,
)
