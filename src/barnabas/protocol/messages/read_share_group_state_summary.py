"""ReadShareGroupStateSummary (API key 87): request and response.

Generated from the ReadShareGroupStateSummary schemas by scripts/generate.

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
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_ih = Struct(">ih").pack
_pack_iiB = Struct(">iiB").pack
_pack_iiqB = Struct(">iiqB").pack
_pack_iiqiB = Struct(">iiqiB").pack
_pack_u = Struct(">16s").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiq = Struct(">iiq").unpack_from
_unpack_iiqi = Struct(">iiqi").unpack_from
_unpack_u = Struct(">16s").unpack_from


class PartitionData(Part):
    """Part of ReadShareGroupStateSummaryRequest."""

    __slots__ = (
        "partition",
        "leader_epoch",
    )

    def __init__(
        self,
        partition: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch


class ReadStateSummaryData(Part):
    """Part of ReadShareGroupStateSummaryRequest."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[PartitionData] = [] if partitions is None else partitions


class ReadShareGroupStateSummaryRequest(Message):
    """ReadShareGroupStateSummaryRequest (API key 87), versions 0-1."""

    __slots__ = (
        "group_id",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "ReadShareGroupStateSummaryRequest"
    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ReadShareGroupStateSummaryRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ReadShareGroupStateSummaryRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadStateSummaryData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[ReadStateSummaryData] = [] if topics is None else topics


class PartitionResult(Part):
    """Part of ReadShareGroupStateSummaryResponse."""

    __slots__ = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",  # versions 1+
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count


class ReadStateSummaryResult(Part):
    """Part of ReadShareGroupStateSummaryResponse."""

    __slots__ = (
        "topic_id",
        "partitions",
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionResult] | None = None,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[PartitionResult] = [] if partitions is None else partitions


class ReadShareGroupStateSummaryResponse(Message):
    """ReadShareGroupStateSummaryResponse (API key 87), versions 0-1."""

    __slots__ = ("results",)

    SCHEMA_NAME: ClassVar[str] = "ReadShareGroupStateSummaryResponse"
    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ReadShareGroupStateSummaryResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ReadShareGroupStateSummaryResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        results: list[ReadStateSummaryResult] | None = None,
    ) -> None:
        self.results: list[ReadStateSummaryResult] = [] if results is None else results


def _decode_partition_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, leader_epoch = _unpack_ii(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionData(partition, leader_epoch), pos


def _encode_partition_data_v0(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_iiB(msg.partition, msg.leader_epoch, 0)


def _decode_read_state_summary_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ReadStateSummaryData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 9, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadStateSummaryData(topic_id, partitions), pos


def _encode_read_state_summary_data_v0(msg: ReadStateSummaryData, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_read_share_group_state_summary_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReadShareGroupStateSummaryRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 18, budget)
    topics: list[ReadStateSummaryData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_read_state_summary_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadShareGroupStateSummaryRequest(group_id, topics), pos


def _encode_read_share_group_state_summary_request_v0(msg: ReadShareGroupStateSummaryRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_read_state_summary_data_v0(topics_item, out)
    out.append(0)


def _decode_partition_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionResult, int]:
    partition, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    state_epoch, leader_epoch, start_offset = _unpack_iiq(buf, pos)
    pos += 17
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionResult(partition, error_code, error_message, state_epoch, leader_epoch, start_offset), pos


def _encode_partition_result_v0(msg: PartitionResult, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_iiqB(msg.state_epoch, msg.leader_epoch, msg.start_offset, 0)


def _decode_read_state_summary_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReadStateSummaryResult, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 24, budget)
    partitions: list[PartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_result_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadStateSummaryResult(topic_id, partitions), pos


def _encode_read_state_summary_result_v0(msg: ReadStateSummaryResult, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_result_v0(partitions_item, out)
    out.append(0)


def _decode_read_share_group_state_summary_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReadShareGroupStateSummaryResponse, int]:
    results_count, pos = read_compact_count(buf, pos, 18, budget)
    results: list[ReadStateSummaryResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_read_state_summary_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadShareGroupStateSummaryResponse(results), pos


def _encode_read_share_group_state_summary_response_v0(
    msg: ReadShareGroupStateSummaryResponse, out: WireBuffer
) -> None:
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_read_state_summary_result_v0(results_item, out)
    out.append(0)


def _decode_partition_result_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionResult, int]:
    partition, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    state_epoch, leader_epoch, start_offset, delivery_complete_count = _unpack_iiqi(buf, pos)
    pos += 21
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionResult(
        partition, error_code, error_message, state_epoch, leader_epoch, start_offset, delivery_complete_count
    ), pos


def _encode_partition_result_v1(msg: PartitionResult, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_iiqiB(msg.state_epoch, msg.leader_epoch, msg.start_offset, msg.delivery_complete_count, 0)


def _decode_read_state_summary_result_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReadStateSummaryResult, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 28, budget)
    partitions: list[PartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_result_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadStateSummaryResult(topic_id, partitions), pos


def _encode_read_state_summary_result_v1(msg: ReadStateSummaryResult, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_result_v1(partitions_item, out)
    out.append(0)


def _decode_read_share_group_state_summary_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReadShareGroupStateSummaryResponse, int]:
    results_count, pos = read_compact_count(buf, pos, 18, budget)
    results: list[ReadStateSummaryResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_read_state_summary_result_v1(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadShareGroupStateSummaryResponse(results), pos


def _encode_read_share_group_state_summary_response_v1(
    msg: ReadShareGroupStateSummaryResponse, out: WireBuffer
) -> None:
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_read_state_summary_result_v1(results_item, out)
    out.append(0)


ReadShareGroupStateSummaryRequest.DECODERS = (
    _decode_read_share_group_state_summary_request_v0,
    _decode_read_share_group_state_summary_request_v0,
)

ReadShareGroupStateSummaryRequest.ENCODERS = (
    _encode_read_share_group_state_summary_request_v0,
    _encode_read_share_group_state_summary_request_v0,
)

ReadShareGroupStateSummaryResponse.DECODERS = (
    _decode_read_share_group_state_summary_response_v0,
    _decode_read_share_group_state_summary_response_v1,
)

ReadShareGroupStateSummaryResponse.ENCODERS = (
    _encode_read_share_group_state_summary_response_v0,
    _encode_read_share_group_state_summary_response_v1,
)
