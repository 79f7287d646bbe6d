"""InitializeShareGroupState (API key 83): request and response.

Generated from the InitializeShareGroupState schemas by scripts/generate.

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
_pack_iiqB = Struct(">iiqB").pack
_pack_u = Struct(">16s").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_iiq = Struct(">iiq").unpack_from
_unpack_u = Struct(">16s").unpack_from


class PartitionData(Part):
    """Part of InitializeShareGroupStateRequest."""

    __slots__ = (
        "partition",
        "state_epoch",
        "start_offset",
    )

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.start_offset = start_offset


class InitializeStateData(Part):
    """Part of InitializeShareGroupStateRequest."""

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


class InitializeShareGroupStateRequest(Message):
    """InitializeShareGroupStateRequest (API key 83), versions 0."""

    __slots__ = (
        "group_id",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "InitializeShareGroupStateRequest"
    API_KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[InitializeShareGroupStateRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[InitializeShareGroupStateRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[InitializeStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[InitializeStateData] = [] if topics is None else topics


class PartitionResult(Part):
    """Part of InitializeShareGroupStateResponse."""

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


class InitializeStateResult(Part):
    """Part of InitializeShareGroupStateResponse."""

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


class InitializeShareGroupStateResponse(Message):
    """InitializeShareGroupStateResponse (API key 83), versions 0."""

    __slots__ = ("results",)

    SCHEMA_NAME: ClassVar[str] = "InitializeShareGroupStateResponse"
    API_KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[InitializeShareGroupStateResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[InitializeShareGroupStateResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        results: list[InitializeStateResult] | None = None,
    ) -> None:
        self.results: list[InitializeStateResult] = [] if results is None else results


def _decode_partition_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, state_epoch, start_offset = _unpack_iiq(buf, pos)
    pos += 17
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionData(partition, state_epoch, start_offset), pos


def _encode_partition_data_v0(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_iiqB(msg.partition, msg.state_epoch, msg.start_offset, 0)


def _decode_initialize_state_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[InitializeStateData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 17, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return InitializeStateData(topic_id, partitions), pos


def _encode_initialize_state_data_v0(msg: InitializeStateData, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_initialize_share_group_state_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[InitializeShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 18, budget)
    topics: list[InitializeStateData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_initialize_state_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return InitializeShareGroupStateRequest(group_id, topics), pos


def _encode_initialize_share_group_state_request_v0(msg: InitializeShareGroupStateRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_initialize_state_data_v0(topics_item, out)
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


def _decode_initialize_state_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[InitializeStateResult, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 8, budget)
    partitions: list[PartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_result_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return InitializeStateResult(topic_id, partitions), pos


def _encode_initialize_state_result_v0(msg: InitializeStateResult, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_result_v0(partitions_item, out)
    out.append(0)


def _decode_initialize_share_group_state_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[InitializeShareGroupStateResponse, int]:
    results_count, pos = read_compact_count(buf, pos, 18, budget)
    results: list[InitializeStateResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_initialize_state_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return InitializeShareGroupStateResponse(results), pos


def _encode_initialize_share_group_state_response_v0(msg: InitializeShareGroupStateResponse, out: WireBuffer) -> None:
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_initialize_state_result_v0(results_item, out)
    out.append(0)


InitializeShareGroupStateRequest.DECODERS = (_decode_initialize_share_group_state_request_v0,)

InitializeShareGroupStateRequest.ENCODERS = (_encode_initialize_share_group_state_request_v0,)

InitializeShareGroupStateResponse.DECODERS = (_decode_initialize_share_group_state_response_v0,)

InitializeShareGroupStateResponse.ENCODERS = (_encode_initialize_share_group_state_response_v0,)
