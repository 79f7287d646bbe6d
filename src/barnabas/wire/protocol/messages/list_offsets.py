"""ListOffsets (API key 2): request and response.

Generated from the ListOffsets schemas by scripts/generate.

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
    not_in_version,
    read_int64s,
    write_int64s,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ibi: Final = Struct(">ibi").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqi: Final = Struct(">ihqqi").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ibi: Final = Struct(">ibi").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ihqq: Final = Struct(">ihqq").unpack_from
_unpack_ihqqi: Final = Struct(">ihqqi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iiq: Final = Struct(">iiq").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from


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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", ListOffsetsPartition, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", ListOffsetsTopic, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", ListOffsetsPartitionResponse, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", ListOffsetsTopicResponse, True),)

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


def _decode_list_offsets_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 16 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 16, budget)
    budget.elements_left = elements_left
    partitions: list[ListOffsetsPartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_timestamp, partitions_max_num_offsets = _unpack_iqi(buf, pos)
        pos += 16
        partitions.append(
            ListOffsetsPartition(partitions_partition_index, -1, partitions_timestamp, partitions_max_num_offsets)
        )
    return ListOffsetsTopic(name, partitions), pos


def _encode_list_offsets_topic_v0(msg: ListOffsetsTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iqi(partitions_item.partition_index, partitions_item.timestamp, partitions_item.max_num_offsets)


def _decode_list_offsets_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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


def _decode_list_offsets_topic_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
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
    partitions: list[ListOffsetsPartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_timestamp = _unpack_iq(buf, pos)
        pos += 12
        partitions.append(ListOffsetsPartition(partitions_partition_index, -1, partitions_timestamp))
    return ListOffsetsTopic(name, partitions), pos


def _encode_list_offsets_topic_v1(msg: ListOffsetsTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.max_num_offsets != 1:
            raise not_in_version("ListOffsetsPartition.max_num_offsets")
        out += _pack_iq(partitions_item.partition_index, partitions_item.timestamp)


def _decode_list_offsets_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[ListOffsetsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsRequest(replica_id, isolation_level, topics), pos


def _encode_list_offsets_request_v2(msg: ListOffsetsRequest, out: WireBuffer) -> None:
    out += _pack_ibi(msg.replica_id, msg.isolation_level, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_v1(topics_item, out)


def _decode_list_offsets_topic_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 16 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 16, budget)
    budget.elements_left = elements_left
    partitions: list[ListOffsetsPartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_current_leader_epoch, partitions_timestamp = _unpack_iiq(buf, pos)
        pos += 16
        partitions.append(
            ListOffsetsPartition(partitions_partition_index, partitions_current_leader_epoch, partitions_timestamp)
        )
    return ListOffsetsTopic(name, partitions), pos


def _encode_list_offsets_topic_v4(msg: ListOffsetsTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.max_num_offsets != 1:
            raise not_in_version("ListOffsetsPartition.max_num_offsets")
        out += _pack_iiq(
            partitions_item.partition_index, partitions_item.current_leader_epoch, partitions_item.timestamp
        )


def _decode_list_offsets_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, isolation_level, topics_count = _unpack_ibi(buf, pos)
    pos += 9
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
    elements_left = budget.elements_left - old_style_offsets_count
    if old_style_offsets_count < 0 or elements_left < 0 or old_style_offsets_count * 8 > len(buf) - pos:
        check_count(old_style_offsets_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 10 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_list_offsets_partition_response_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopicResponse(name, partitions), pos


def _encode_list_offsets_topic_response_v0(msg: ListOffsetsTopicResponse, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_list_offsets_partition_response_v0(partitions_item, out)


def _decode_list_offsets_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_response_v0(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsResponse(0, topics), pos


def _encode_list_offsets_response_v0(msg: ListOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_response_v0(topics_item, out)


def _decode_list_offsets_topic_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsTopicResponse, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 22 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 22, budget)
    budget.elements_left = elements_left
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_error_code, partitions_timestamp, partitions_offset = _unpack_ihqq(
            buf, pos
        )
        pos += 22
        partitions.append(
            ListOffsetsPartitionResponse(
                partitions_partition_index, partitions_error_code, [], partitions_timestamp, partitions_offset
            )
        )
    return ListOffsetsTopicResponse(name, partitions), pos


def _encode_list_offsets_topic_response_v1(msg: ListOffsetsTopicResponse, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.old_style_offsets:
            raise not_in_version("ListOffsetsPartitionResponse.old_style_offsets")
        if partitions_item.leader_epoch != -1:
            raise not_in_version("ListOffsetsPartitionResponse.leader_epoch")
        out += _pack_ihqq(
            partitions_item.partition_index,
            partitions_item.error_code,
            partitions_item.timestamp,
            partitions_item.offset,
        )


def _decode_list_offsets_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_list_offsets_topic_response_v1(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _encode_list_offsets_response_v2(msg: ListOffsetsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_list_offsets_topic_response_v1(topics_item, out)


def _decode_list_offsets_topic_response_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListOffsetsTopicResponse, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 26 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 26, budget)
    budget.elements_left = elements_left
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(partitions_count):
        (
            partitions_partition_index,
            partitions_error_code,
            partitions_timestamp,
            partitions_offset,
            partitions_leader_epoch,
        ) = _unpack_ihqqi(buf, pos)
        pos += 26
        partitions.append(
            ListOffsetsPartitionResponse(
                partitions_partition_index,
                partitions_error_code,
                [],
                partitions_timestamp,
                partitions_offset,
                partitions_leader_epoch,
            )
        )
    return ListOffsetsTopicResponse(name, partitions), pos


def _encode_list_offsets_topic_response_v4(msg: ListOffsetsTopicResponse, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.old_style_offsets:
            raise not_in_version("ListOffsetsPartitionResponse.old_style_offsets")
        out += _pack_ihqqi(
            partitions_item.partition_index,
            partitions_item.error_code,
            partitions_item.timestamp,
            partitions_item.offset,
            partitions_item.leader_epoch,
        )


def _decode_list_offsets_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListOffsetsResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
