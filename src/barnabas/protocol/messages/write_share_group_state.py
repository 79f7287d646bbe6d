"""WriteShareGroupState (API key 85): request and response.

Generated from the WriteShareGroupState schemas by scripts/generate.

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
_pack_iiiq = Struct(">iiiq").pack
_pack_iiiqi = Struct(">iiiqi").pack
_pack_qqbhB = Struct(">qqbhB").pack
_pack_u = Struct(">16s").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_iiiq = Struct(">iiiq").unpack_from
_unpack_iiiqi = Struct(">iiiqi").unpack_from
_unpack_qqbh = Struct(">qqbh").unpack_from
_unpack_u = Struct(">16s").unpack_from


class StateBatch(Part):
    """Part of WriteShareGroupStateRequest."""

    __slots__ = (
        "first_offset",
        "last_offset",
        "delivery_state",
        "delivery_count",
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class PartitionData(Part):
    """Part of WriteShareGroupStateRequest."""

    __slots__ = (
        "partition",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",  # versions 1+
        "state_batches",
    )

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] | None = None,
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches: list[StateBatch] = [] if state_batches is None else state_batches


class WriteStateData(Part):
    """Part of WriteShareGroupStateRequest."""

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


class WriteShareGroupStateRequest(Message):
    """WriteShareGroupStateRequest (API key 85), versions 0-1."""

    __slots__ = (
        "group_id",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "WriteShareGroupStateRequest"
    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[WriteShareGroupStateRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[WriteShareGroupStateRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[WriteStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[WriteStateData] = [] if topics is None else topics


class PartitionResult(Part):
    """Part of WriteShareGroupStateResponse."""

    __slots__ = (
        "partition",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message


class WriteStateResult(Part):
    """Part of WriteShareGroupStateResponse."""

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


class WriteShareGroupStateResponse(Message):
    """WriteShareGroupStateResponse (API key 85), versions 0-1."""

    __slots__ = ("results",)

    SCHEMA_NAME: ClassVar[str] = "WriteShareGroupStateResponse"
    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[WriteShareGroupStateResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[WriteShareGroupStateResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        results: list[WriteStateResult] | None = None,
    ) -> None:
        self.results: list[WriteStateResult] = [] if results is None else results


def _decode_state_batch_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[StateBatch, int]:
    first_offset, last_offset, delivery_state, delivery_count = _unpack_qqbh(buf, pos)
    pos += 20
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StateBatch(first_offset, last_offset, delivery_state, delivery_count), pos


def _encode_state_batch_v0(msg: StateBatch, out: WireBuffer) -> None:
    out += _pack_qqbhB(msg.first_offset, msg.last_offset, msg.delivery_state, msg.delivery_count, 0)


def _decode_partition_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, state_epoch, leader_epoch, start_offset = _unpack_iiiq(buf, pos)
    state_batches_count, pos = read_compact_count(buf, pos + 20, 20, budget)
    state_batches: list[StateBatch] = []
    for _ in range(state_batches_count):
        state_batches_item, pos = _decode_state_batch_v0(buf, pos, budget)
        state_batches.append(state_batches_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionData(partition, state_epoch, leader_epoch, start_offset, -1, state_batches), pos


def _encode_partition_data_v0(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_iiiq(msg.partition, msg.state_epoch, msg.leader_epoch, msg.start_offset)
    write_uvarint(len(msg.state_batches) + 1, out)
    for state_batches_item in msg.state_batches:
        _encode_state_batch_v0(state_batches_item, out)
    out.append(0)


def _decode_write_state_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[WriteStateData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 22, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return WriteStateData(topic_id, partitions), pos


def _encode_write_state_data_v0(msg: WriteStateData, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_write_share_group_state_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WriteShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 18, budget)
    topics: list[WriteStateData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_write_state_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return WriteShareGroupStateRequest(group_id, topics), pos


def _encode_write_share_group_state_request_v0(msg: WriteShareGroupStateRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_write_state_data_v0(topics_item, out)
    out.append(0)


def _decode_partition_data_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, state_epoch, leader_epoch, start_offset, delivery_complete_count = _unpack_iiiqi(buf, pos)
    state_batches_count, pos = read_compact_count(buf, pos + 24, 20, budget)
    state_batches: list[StateBatch] = []
    for _ in range(state_batches_count):
        state_batches_item, pos = _decode_state_batch_v0(buf, pos, budget)
        state_batches.append(state_batches_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionData(
        partition, state_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches
    ), pos


def _encode_partition_data_v1(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_iiiqi(msg.partition, msg.state_epoch, msg.leader_epoch, msg.start_offset, msg.delivery_complete_count)
    write_uvarint(len(msg.state_batches) + 1, out)
    for state_batches_item in msg.state_batches:
        _encode_state_batch_v0(state_batches_item, out)
    out.append(0)


def _decode_write_state_data_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[WriteStateData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 26, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return WriteStateData(topic_id, partitions), pos


def _encode_write_state_data_v1(msg: WriteStateData, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_write_share_group_state_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WriteShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 18, budget)
    topics: list[WriteStateData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_write_state_data_v1(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return WriteShareGroupStateRequest(group_id, topics), pos


def _encode_write_share_group_state_request_v1(msg: WriteShareGroupStateRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_write_state_data_v1(topics_item, out)
    out.append(0)


def _decode_partition_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionResult, int]:
    partition, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionResult(partition, error_code, error_message), pos


def _encode_partition_result_v0(msg: PartitionResult, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_write_state_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[WriteStateResult, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 8, budget)
    partitions: list[PartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_result_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return WriteStateResult(topic_id, partitions), pos


def _encode_write_state_result_v0(msg: WriteStateResult, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_result_v0(partitions_item, out)
    out.append(0)


def _decode_write_share_group_state_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WriteShareGroupStateResponse, int]:
    results_count, pos = read_compact_count(buf, pos, 18, budget)
    results: list[WriteStateResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_write_state_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return WriteShareGroupStateResponse(results), pos


def _encode_write_share_group_state_response_v0(msg: WriteShareGroupStateResponse, out: WireBuffer) -> None:
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_write_state_result_v0(results_item, out)
    out.append(0)


WriteShareGroupStateRequest.DECODERS = (
    _decode_write_share_group_state_request_v0,
    _decode_write_share_group_state_request_v1,
)

WriteShareGroupStateRequest.ENCODERS = (
    _encode_write_share_group_state_request_v0,
    _encode_write_share_group_state_request_v1,
)

WriteShareGroupStateResponse.DECODERS = (
    _decode_write_share_group_state_response_v0,
    _decode_write_share_group_state_response_v0,
)

WriteShareGroupStateResponse.ENCODERS = (
    _encode_write_share_group_state_response_v0,
    _encode_write_share_group_state_response_v0,
)
