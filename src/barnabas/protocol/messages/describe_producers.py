"""DescribeProducers (API key 61): request and response.

Generated from the DescribeProducers schemas by scripts/generate.

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
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_uvarint,
)

_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_qiiqiqB = Struct(">qiiqiqB").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_qiiqiq = Struct(">qiiqiq").unpack_from


class TopicRequest(Part):
    """Part of DescribeProducersRequest."""

    __slots__ = (
        "name",
        "partition_indexes",
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is None else partition_indexes


class DescribeProducersRequest(Message):
    """DescribeProducersRequest (API key 61), versions 0."""

    __slots__ = ("topics",)

    SCHEMA_NAME: ClassVar[str] = "DescribeProducersRequest"
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeProducersRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeProducersRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[TopicRequest] | None = None,
    ) -> None:
        self.topics: list[TopicRequest] = [] if topics is None else topics


class ProducerState(Part):
    """Part of DescribeProducersResponse."""

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset


class PartitionResponse(Part):
    """Part of DescribeProducersResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "active_producers",
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers: list[ProducerState] = [] if active_producers is None else active_producers


class TopicResponse(Part):
    """Part of DescribeProducersResponse."""

    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionResponse] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[PartitionResponse] = [] if partitions is None else partitions


class DescribeProducersResponse(Message):
    """DescribeProducersResponse (API key 61), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeProducersResponse"
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeProducersResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeProducersResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[TopicResponse] = [] if topics is None else topics


def _decode_topic_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicRequest, int]:
    name, pos = read_compact_string(buf, pos)
    partition_indexes_count, pos = read_compact_count(buf, pos, 4, budget)
    partition_indexes = read_int32s(buf, pos, partition_indexes_count)
    pos += 4 * partition_indexes_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicRequest(name, partition_indexes), pos


def _encode_topic_request_v0(msg: TopicRequest, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partition_indexes) + 1, out)
    write_int32s(msg.partition_indexes, out)
    out.append(0)


def _decode_describe_producers_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeProducersRequest, int]:
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[TopicRequest] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_topic_request_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeProducersRequest(topics), pos


def _encode_describe_producers_request_v0(msg: DescribeProducersRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_topic_request_v0(topics_item, out)
    out.append(0)


def _decode_producer_state_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ProducerState, int]:
    producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset = (
        _unpack_qiiqiq(buf, pos)
    )
    pos += 37
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ProducerState(
        producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset
    ), pos


def _encode_producer_state_v0(msg: ProducerState, out: WireBuffer) -> None:
    out += _pack_qiiqiqB(
        msg.producer_id,
        msg.producer_epoch,
        msg.last_sequence,
        msg.last_timestamp,
        msg.coordinator_epoch,
        msg.current_txn_start_offset,
        0,
    )


def _decode_partition_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionResponse, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    active_producers_count, pos = read_compact_count(buf, pos, 37, budget)
    active_producers: list[ProducerState] = []
    for _ in range(active_producers_count):
        active_producers_item, pos = _decode_producer_state_v0(buf, pos, budget)
        active_producers.append(active_producers_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionResponse(partition_index, error_code, error_message, active_producers), pos


def _encode_partition_response_v0(msg: PartitionResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition_index, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.active_producers) + 1, out)
    for active_producers_item in msg.active_producers:
        _encode_producer_state_v0(active_producers_item, out)
    out.append(0)


def _decode_topic_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicResponse, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 9, budget)
    partitions: list[PartitionResponse] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_response_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicResponse(name, partitions), pos


def _encode_topic_response_v0(msg: TopicResponse, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_response_v0(partitions_item, out)
    out.append(0)


def _decode_describe_producers_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeProducersResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[TopicResponse] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_topic_response_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeProducersResponse(throttle_time_ms, topics), pos


def _encode_describe_producers_response_v0(msg: DescribeProducersResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_topic_response_v0(topics_item, out)
    out.append(0)


DescribeProducersRequest.DECODERS = (_decode_describe_producers_request_v0,)

DescribeProducersRequest.ENCODERS = (_encode_describe_producers_request_v0,)

DescribeProducersResponse.DECODERS = (_decode_describe_producers_response_v0,)

DescribeProducersResponse.ENCODERS = (_encode_describe_producers_response_v0,)
