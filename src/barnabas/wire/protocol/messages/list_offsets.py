"""ListOffsets (API key 2): request and response.

Generated from the ListOffsets schemas by scripts/generate.

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
    not_in_version,
    read_int64s,
    read_string,
    write_int64s,
    write_string,
)

_pack_i = Struct(">i").pack
_pack_ibi = Struct(">ibi").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqi = Struct(">ihqqi").pack
_pack_ii = Struct(">ii").pack
_pack_iiq = Struct(">iiq").pack
_pack_iq = Struct(">iq").pack
_pack_iqi = Struct(">iqi").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ibi = Struct(">ibi").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqi = Struct(">ihqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiq = Struct(">iiq").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_iqi = Struct(">iqi").unpack_from


class ListOffsetsPartition(Part):
    """Part of ListOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "current_leader_epoch",  # versions 4+
        "timestamp",
        "max_num_offsets",  # versions 0
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
        max_num_offsets: int = 1,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp
        self.max_num_offsets = max_num_offsets


class ListOffsetsTopic(Part):
    """Part of ListOffsetsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[ListOffsetsPartition] = [] if partitions is None else partitions


class ListOffsetsRequest(Message):
    """ListOffsetsRequest (API key 2), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "replica_id",
        "isolation_level",  # versions 2+
        "topics",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ListOffsetsRequest"
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListOffsetsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListOffsetsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] | None = None,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics: list[ListOffsetsTopic] = [] if topics is None else topics


class ListOffsetsPartitionResponse(Part):
    """Part of ListOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "old_style_offsets",  # versions 0
        "timestamp",  # versions 1+
        "offset",  # versions 1+
        "leader_epoch",  # versions 4+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        old_style_offsets: list[int] | None = None,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.old_style_offsets: list[int] = [] if old_style_offsets is None else old_style_offsets
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


class ListOffsetsTopicResponse(Part):
    """Part of ListOffsetsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[ListOffsetsPartitionResponse] = [] if partitions is None else partitions


class ListOffsetsResponse(Message):
    """ListOffsetsResponse (API key 2), versions 0-5."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 2+
        "topics",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ListOffsetsResponse"
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListOffsetsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListOffsetsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[ListOffsetsTopicResponse] = [] if topics is None else topics


def _decode_list_offsets_partition_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsPartition, int]:
    partition_index, timestamp, max_num_offsets = _unpack_iqi(buf, pos)
    return ListOffsetsPartition(partition_index, -1, timestamp, max_num_offsets), pos + 16


def _encode_list_offsets_partition_v0(msg: ListOffsetsPartition, out: WireBuffer) -> None:
    out += _pack_iqi(msg.partition_index, msg.timestamp, msg.max_num_offsets)


def _decode_list_offsets_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 16, budget)
    partitions: list[ListOffsetsPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_list_offsets_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopic(name, partitions), pos


def _encode_list_offsets_topic_v0(msg: ListOffsetsTopic, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_list_offsets_partition_v0(partitions_item, out)


def _decode_list_offsets_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsRequest(replica_id, 0, topics), pos


def _encode_list_offsets_request_v0(msg: ListOffsetsRequest, out: WireBuffer) -> None:
    if msg.isolation_level != 0:
        raise not_in_version("ListOffsetsRequest.isolation_level")
    out += _pack_ii(msg.replica_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_v0(topics_item, out)


def _decode_list_offsets_partition_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsPartition, int]:
    partition_index, timestamp = _unpack_iq(buf, pos)
    return ListOffsetsPartition(partition_index, -1, timestamp), pos + 12


def _encode_list_offsets_partition_v1(msg: ListOffsetsPartition, out: WireBuffer) -> None:
    if msg.max_num_offsets != 1:
        raise not_in_version("ListOffsetsPartition.max_num_offsets")
    out += _pack_iq(msg.partition_index, msg.timestamp)


def _decode_list_offsets_topic_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 12, budget)
    partitions: list[ListOffsetsPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_list_offsets_partition_v1(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopic(name, partitions), pos


def _encode_list_offsets_topic_v1(msg: ListOffsetsTopic, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_list_offsets_partition_v1(partitions_item, out)


def _decode_list_offsets_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsRequest(replica_id, 0, topics), pos


def _encode_list_offsets_request_v1(msg: ListOffsetsRequest, out: WireBuffer) -> None:
    if msg.isolation_level != 0:
        raise not_in_version("ListOffsetsRequest.isolation_level")
    out += _pack_ii(msg.replica_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_v1(topics_item, out)


def _decode_list_offsets_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, isolation_level, topics_count = _unpack_ibi(buf, pos)
    pos += 9
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsRequest(replica_id, isolation_level, topics), pos


def _encode_list_offsets_request_v2(msg: ListOffsetsRequest, out: WireBuffer) -> None:
    out += _pack_ibi(msg.replica_id, msg.isolation_level, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_v1(topics_item, out)


def _decode_list_offsets_partition_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsPartition, int]:
    partition_index, current_leader_epoch, timestamp = _unpack_iiq(buf, pos)
    return ListOffsetsPartition(partition_index, current_leader_epoch, timestamp), pos + 16


def _encode_list_offsets_partition_v4(msg: ListOffsetsPartition, out: WireBuffer) -> None:
    if msg.max_num_offsets != 1:
        raise not_in_version("ListOffsetsPartition.max_num_offsets")
    out += _pack_iiq(msg.partition_index, msg.current_leader_epoch, msg.timestamp)


def _decode_list_offsets_topic_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 16, budget)
    partitions: list[ListOffsetsPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_list_offsets_partition_v4(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopic(name, partitions), pos


def _encode_list_offsets_topic_v4(msg: ListOffsetsTopic, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_list_offsets_partition_v4(partitions_item, out)


def _decode_list_offsets_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, isolation_level, topics_count = _unpack_ibi(buf, pos)
    pos += 9
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_v4(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsRequest(replica_id, isolation_level, topics), pos


def _encode_list_offsets_request_v4(msg: ListOffsetsRequest, out: WireBuffer) -> None:
    out += _pack_ibi(msg.replica_id, msg.isolation_level, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_v4(topics_item, out)


def _decode_list_offsets_partition_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsPartitionResponse, int]:
    partition_index, error_code, old_style_offsets_count = _unpack_ihi(buf, pos)
    pos += 10
    check_count(old_style_offsets_count, len(buf) - pos, 8, budget)
    old_style_offsets = read_int64s(buf, pos, old_style_offsets_count)
    pos += 8 * old_style_offsets_count
    return ListOffsetsPartitionResponse(partition_index, error_code, old_style_offsets), pos


def _encode_list_offsets_partition_response_v0(msg: ListOffsetsPartitionResponse, out: WireBuffer) -> None:
    if msg.timestamp != -1:
        raise not_in_version("ListOffsetsPartitionResponse.timestamp")
    if msg.offset != -1:
        raise not_in_version("ListOffsetsPartitionResponse.offset")
    if msg.leader_epoch != -1:
        raise not_in_version("ListOffsetsPartitionResponse.leader_epoch")
    out += _pack_ihi(msg.partition_index, msg.error_code, len(msg.old_style_offsets))
    write_int64s(msg.old_style_offsets, out)


def _decode_list_offsets_topic_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsTopicResponse, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 10, budget)
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_list_offsets_partition_response_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopicResponse(name, partitions), pos


def _encode_list_offsets_topic_response_v0(msg: ListOffsetsTopicResponse, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_list_offsets_partition_response_v0(partitions_item, out)


def _decode_list_offsets_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_response_v0(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsResponse(0, topics), pos


def _encode_list_offsets_response_v0(msg: ListOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_response_v0(topics_item, out)


def _decode_list_offsets_partition_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsPartitionResponse, int]:
    partition_index, error_code, timestamp, offset = _unpack_ihqq(buf, pos)
    return ListOffsetsPartitionResponse(partition_index, error_code, [], timestamp, offset), pos + 22


def _encode_list_offsets_partition_response_v1(msg: ListOffsetsPartitionResponse, out: WireBuffer) -> None:
    if msg.old_style_offsets:
        raise not_in_version("ListOffsetsPartitionResponse.old_style_offsets")
    if msg.leader_epoch != -1:
        raise not_in_version("ListOffsetsPartitionResponse.leader_epoch")
    out += _pack_ihqq(msg.partition_index, msg.error_code, msg.timestamp, msg.offset)


def _decode_list_offsets_topic_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsTopicResponse, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 22, budget)
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_list_offsets_partition_response_v1(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopicResponse(name, partitions), pos


def _encode_list_offsets_topic_response_v1(msg: ListOffsetsTopicResponse, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_list_offsets_partition_response_v1(partitions_item, out)


def _decode_list_offsets_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_response_v1(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsResponse(0, topics), pos


def _encode_list_offsets_response_v1(msg: ListOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_response_v1(topics_item, out)


def _decode_list_offsets_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_response_v1(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _encode_list_offsets_response_v2(msg: ListOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_response_v1(topics_item, out)


def _decode_list_offsets_partition_response_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsPartitionResponse, int]:
    partition_index, error_code, timestamp, offset, leader_epoch = _unpack_ihqqi(buf, pos)
    return ListOffsetsPartitionResponse(partition_index, error_code, [], timestamp, offset, leader_epoch), pos + 26


def _encode_list_offsets_partition_response_v4(msg: ListOffsetsPartitionResponse, out: WireBuffer) -> None:
    if msg.old_style_offsets:
        raise not_in_version("ListOffsetsPartitionResponse.old_style_offsets")
    out += _pack_ihqqi(msg.partition_index, msg.error_code, msg.timestamp, msg.offset, msg.leader_epoch)


def _decode_list_offsets_topic_response_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsTopicResponse, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 26, budget)
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_list_offsets_partition_response_v4(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopicResponse(name, partitions), pos


def _encode_list_offsets_topic_response_v4(msg: ListOffsetsTopicResponse, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_list_offsets_partition_response_v4(partitions_item, out)


def _decode_list_offsets_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    check_count(topics_count, len(buf) - pos, 6, budget)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_response_v4(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _encode_list_offsets_response_v4(msg: ListOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_response_v4(topics_item, out)


ListOffsetsRequest.DECODERS = (
    _decode_list_offsets_request_v0,
    _decode_list_offsets_request_v1,
    _decode_list_offsets_request_v2,
    _decode_list_offsets_request_v2,
    _decode_list_offsets_request_v4,
    _decode_list_offsets_request_v4,
)

ListOffsetsRequest.ENCODERS = (
    _encode_list_offsets_request_v0,
    _encode_list_offsets_request_v1,
    _encode_list_offsets_request_v2,
    _encode_list_offsets_request_v2,
    _encode_list_offsets_request_v4,
    _encode_list_offsets_request_v4,
)

ListOffsetsResponse.DECODERS = (
    _decode_list_offsets_response_v0,
    _decode_list_offsets_response_v1,
    _decode_list_offsets_response_v2,
    _decode_list_offsets_response_v2,
    _decode_list_offsets_response_v4,
    _decode_list_offsets_response_v4,
)

ListOffsetsResponse.ENCODERS = (
    _encode_list_offsets_response_v0,
    _encode_list_offsets_response_v1,
    _encode_list_offsets_response_v2,
    _encode_list_offsets_response_v2,
    _encode_list_offsets_response_v4,
    _encode_list_offsets_response_v4,
)
