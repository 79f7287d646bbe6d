"""DeleteShareGroupState (API key 86): request and response.

Generated from the DeleteShareGroupState schemas by scripts/generate.

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

_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_u = Struct(">16s").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_u = Struct(">16s").unpack_from


class PartitionData(Part):
    """Part of DeleteShareGroupStateRequest."""

    __slots__ = ("partition",)

    def __init__(
        self,
        partition: int = 0,
    ) -> None:
        self.partition = partition


class DeleteStateData(Part):
    """Part of DeleteShareGroupStateRequest."""

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


class DeleteShareGroupStateRequest(Message):
    """DeleteShareGroupStateRequest (API key 86), versions 0."""

    __slots__ = (
        "group_id",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "DeleteShareGroupStateRequest"
    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteShareGroupStateRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteShareGroupStateRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics: list[DeleteStateData] = [] if topics is None else topics


class PartitionResult(Part):
    """Part of DeleteShareGroupStateResponse."""

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


class DeleteStateResult(Part):
    """Part of DeleteShareGroupStateResponse."""

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


class DeleteShareGroupStateResponse(Message):
    """DeleteShareGroupStateResponse (API key 86), versions 0."""

    __slots__ = ("results",)

    SCHEMA_NAME: ClassVar[str] = "DeleteShareGroupStateResponse"
    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DeleteShareGroupStateResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DeleteShareGroupStateResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        results: list[DeleteStateResult] | None = None,
    ) -> None:
        self.results: list[DeleteStateResult] = [] if results is None else results


def _decode_partition_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    (partition,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionData(partition), pos


def _encode_partition_data_v0(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_iB(msg.partition, 0)


def _decode_delete_state_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteStateData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 5, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteStateData(topic_id, partitions), pos


def _encode_delete_state_data_v0(msg: DeleteStateData, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_delete_share_group_state_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 18, budget)
    topics: list[DeleteStateData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_delete_state_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteShareGroupStateRequest(group_id, topics), pos


def _encode_delete_share_group_state_request_v0(msg: DeleteShareGroupStateRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_delete_state_data_v0(topics_item, out)
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


def _decode_delete_state_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteStateResult, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 8, budget)
    partitions: list[PartitionResult] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_result_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteStateResult(topic_id, partitions), pos


def _encode_delete_state_result_v0(msg: DeleteStateResult, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_result_v0(partitions_item, out)
    out.append(0)


def _decode_delete_share_group_state_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteShareGroupStateResponse, int]:
    results_count, pos = read_compact_count(buf, pos, 18, budget)
    results: list[DeleteStateResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_delete_state_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteShareGroupStateResponse(results), pos


def _encode_delete_share_group_state_response_v0(msg: DeleteShareGroupStateResponse, out: WireBuffer) -> None:
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_delete_state_result_v0(results_item, out)
    out.append(0)


DeleteShareGroupStateRequest.DECODERS = (_decode_delete_share_group_state_request_v0,)

DeleteShareGroupStateRequest.ENCODERS = (_encode_delete_share_group_state_request_v0,)

DeleteShareGroupStateResponse.DECODERS = (_decode_delete_share_group_state_response_v0,)

DeleteShareGroupStateResponse.ENCODERS = (_encode_delete_share_group_state_response_v0,)
