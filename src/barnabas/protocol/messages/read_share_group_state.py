"""ReadShareGroupState (API key 84): request and response.

Generated from the ReadShareGroupState schemas by scripts/generate.

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
_pack_iq = Struct(">iq").pack
_pack_qqbhB = Struct(">qqbhB").pack
_pack_u = Struct(">16s").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_qqbh = Struct(">qqbh").unpack_from
_unpack_u = Struct(">16s").unpack_from


class PartitionData(Part):
    """Part of ReadShareGroupStateRequest."""

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


class ReadStateData(Part):
    """Part of ReadShareGroupStateRequest."""

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


class ReadShareGroupStateRequest(Message):
    """ReadShareGroupStateRequest (API key 84), versions 0."""

    __slots__ = (
        "group_id",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "ReadShareGroupStateRequest"
    API_KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ReadShareGroupStateRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ReadShareGroupStateRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[ReadStateData] = [] if topics is None else topics


class StateBatch(Part):
    """Part of ReadShareGroupStateResponse."""

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


class PartitionResult(Part):
    """Part of ReadShareGroupStateResponse."""

    __slots__ = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "start_offset",
        "state_batches",
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] | None = None,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.state_batches: list[StateBatch] = [] if state_batches is None else state_batches


class ReadStateResult(Part):
    """Part of ReadShareGroupStateResponse."""

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


class ReadShareGroupStateResponse(Message):
    """ReadShareGroupStateResponse (API key 84), versions 0."""

    __slots__ = ("results",)

    SCHEMA_NAME: ClassVar[str] = "ReadShareGroupStateResponse"
    API_KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ReadShareGroupStateResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ReadShareGroupStateResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        results: list[ReadStateResult] | None = None,
    ) -> None:
        self.results: list[ReadStateResult] = [] if results is None else results


def _decode_partition_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, leader_epoch = _unpack_ii(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionData(partition, leader_epoch), pos


def _encode_partition_data_v0(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_iiB(msg.partition, msg.leader_epoch, 0)


def _decode_read_state_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ReadStateData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 9, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadStateData(topic_id, partitions), pos


def _encode_read_state_data_v0(msg: ReadStateData, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_read_share_group_state_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReadShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 18, budget)
    topics: list[ReadStateData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_read_state_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadShareGroupStateRequest(group_id, topics), pos


def _encode_read_share_group_state_request_v0(msg: ReadShareGroupStateRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_read_state_data_v0(topics_item, out)
    out.append(0)


def _decode_state_batch_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[StateBatch, int]:
    first_offset, last_offset, delivery_state, delivery_count = _unpack_qqbh(buf, pos)
    pos += 20
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StateBatch(first_offset, last_offset, delivery_state, delivery_count), pos


def _encode_state_batch_v0(msg: StateBatch, out: WireBuffer) -> None:
    out += _pack_qqbhB(msg.first_offset, msg.last_offset, msg.delivery_state, msg.delivery_count, 0)


def _decode_partition_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionResult, int]:
    partition, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    state_epoch, start_offset = _unpack_iq(buf, pos)
    state_batches_count, pos = read_compact_count(buf, pos + 12, 20, budget)
    state_batches: list[StateBatch] = []
    for _ in range(state_batches_count):
        state_batches_item, pos = _decode_state_batch_v0(buf, pos, budget)
        state_batches.append(state_batches_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionResult(partition, error_code, error_message, state_epoch, start_offset, state_batches), pos


def _encode_partition_result_v0(msg: PartitionResult, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_iq(msg.state_epoch, msg.start_offset)
    write_uvarint(len(msg.state_batches) + 1, out)
    for state_batches_item in msg.state_batches:
        _encode_state_batch_v0(state_batches_item, out)
    out.append(0)


def _decode_read_state_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ReadStateResult, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 21, budget)
    partitions: list[PartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_result_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadStateResult(topic_id, partitions), pos


def _encode_read_state_result_v0(msg: ReadStateResult, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_result_v0(partitions_item, out)
    out.append(0)


def _decode_read_share_group_state_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ReadShareGroupStateResponse, int]:
    results_count, pos = read_compact_count(buf, pos, 18, budget)
    results: list[ReadStateResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_read_state_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReadShareGroupStateResponse(results), pos


def _encode_read_share_group_state_response_v0(msg: ReadShareGroupStateResponse, out: WireBuffer) -> None:
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_read_state_result_v0(results_item, out)
    out.append(0)


ReadShareGroupStateRequest.DECODERS = (_decode_read_share_group_state_request_v0,)

ReadShareGroupStateRequest.ENCODERS = (_encode_read_share_group_state_request_v0,)

ReadShareGroupStateResponse.DECODERS = (_decode_read_share_group_state_response_v0,)

ReadShareGroupStateResponse.ENCODERS = (_encode_read_share_group_state_response_v0,)
