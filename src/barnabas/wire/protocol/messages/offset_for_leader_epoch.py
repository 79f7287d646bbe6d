"""OffsetForLeaderEpoch (API key 23): request and response.

Generated from the OffsetForLeaderEpoch schemas by scripts/generate.

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
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hiiq: Final = Struct(">hiiq").pack
_pack_hiq: Final = Struct(">hiq").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hiiq: Final = Struct(">hiiq").unpack_from
_unpack_hiq: Final = Struct(">hiq").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from


class OffsetForLeaderPartition(Part):
    """Part of OffsetForLeaderEpochRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "current_leader_epoch",  # versions 2+
        "leader_epoch",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


class OffsetForLeaderTopic(Part):
    """Part of OffsetForLeaderEpochRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", OffsetForLeaderPartition, True),)

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[OffsetForLeaderPartition] = [] if partitions is None else partitions


class OffsetForLeaderEpochRequest(Message):
    """OffsetForLeaderEpochRequest (API key 23), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "replica_id",  # versions 3+
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetForLeaderTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "OffsetForLeaderEpochRequest"
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetForLeaderEpochRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetForLeaderEpochRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] | None = None,
    ) -> None:
        self.replica_id = replica_id
        self.topics: list[OffsetForLeaderTopic] = [] if topics is None else topics


class EpochEndOffset(Part):
    """Part of OffsetForLeaderEpochResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition",
        "leader_epoch",  # versions 1+
        "end_offset",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


class OffsetForLeaderTopicResult(Part):
    """Part of OffsetForLeaderEpochResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", EpochEndOffset, True),)

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[EpochEndOffset] = [] if partitions is None else partitions


class OffsetForLeaderEpochResponse(Message):
    """OffsetForLeaderEpochResponse (API key 23), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 2+
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetForLeaderTopicResult, True),)

    SCHEMA_NAME: ClassVar[str] = "OffsetForLeaderEpochResponse"
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetForLeaderEpochResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetForLeaderEpochResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetForLeaderTopicResult] = [] if topics is None else topics


def _decode_offset_for_leader_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetForLeaderTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 8 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetForLeaderPartition] = []
    for _ in range(partitions_count):
        partitions_partition, partitions_leader_epoch = _unpack_ii(buf, pos)
        pos += 8
        partitions.append(OffsetForLeaderPartition(partitions_partition, -1, partitions_leader_epoch))
    return OffsetForLeaderTopic(topic, partitions), pos


def _encode_offset_for_leader_topic_v0(msg: OffsetForLeaderTopic, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_ii(partitions_item.partition, partitions_item.leader_epoch)


def _decode_offset_for_leader_epoch_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderEpochRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetForLeaderTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_for_leader_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochRequest(-2, topics), pos


def _encode_offset_for_leader_epoch_request_v0(msg: OffsetForLeaderEpochRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_for_leader_topic_v0(topics_item, out)


def _decode_offset_for_leader_topic_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetForLeaderTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 12 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetForLeaderPartition] = []
    for _ in range(partitions_count):
        partitions_partition, partitions_current_leader_epoch, partitions_leader_epoch = _unpack_iii(buf, pos)
        pos += 12
        partitions.append(
            OffsetForLeaderPartition(partitions_partition, partitions_current_leader_epoch, partitions_leader_epoch)
        )
    return OffsetForLeaderTopic(topic, partitions), pos


def _encode_offset_for_leader_topic_v2(msg: OffsetForLeaderTopic, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iii(partitions_item.partition, partitions_item.current_leader_epoch, partitions_item.leader_epoch)


def _decode_offset_for_leader_epoch_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderEpochRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetForLeaderTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_for_leader_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochRequest(-2, topics), pos


def _encode_offset_for_leader_epoch_request_v2(msg: OffsetForLeaderEpochRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_for_leader_topic_v2(topics_item, out)


def _decode_offset_for_leader_epoch_request_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderEpochRequest, int]:
    replica_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetForLeaderTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_for_leader_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochRequest(replica_id, topics), pos


def _encode_offset_for_leader_epoch_request_v3(msg: OffsetForLeaderEpochRequest, out: WireBuffer) -> None:
    out += _pack_ii(msg.replica_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_for_leader_topic_v2(topics_item, out)


def _decode_offset_for_leader_topic_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderTopicResult, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 14 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    partitions: list[EpochEndOffset] = []
    for _ in range(partitions_count):
        partitions_error_code, partitions_partition, partitions_end_offset = _unpack_hiq(buf, pos)
        pos += 14
        partitions.append(EpochEndOffset(partitions_error_code, partitions_partition, -1, partitions_end_offset))
    return OffsetForLeaderTopicResult(topic, partitions), pos


def _encode_offset_for_leader_topic_result_v0(msg: OffsetForLeaderTopicResult, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_hiq(partitions_item.error_code, partitions_item.partition, partitions_item.end_offset)


def _decode_offset_for_leader_epoch_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderEpochResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetForLeaderTopicResult] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_for_leader_topic_result_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochResponse(0, topics), pos


def _encode_offset_for_leader_epoch_response_v0(msg: OffsetForLeaderEpochResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_for_leader_topic_result_v0(topics_item, out)


def _decode_offset_for_leader_topic_result_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderTopicResult, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 18 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 18, budget)
    budget.elements_left = elements_left
    partitions: list[EpochEndOffset] = []
    for _ in range(partitions_count):
        partitions_error_code, partitions_partition, partitions_leader_epoch, partitions_end_offset = _unpack_hiiq(
            buf, pos
        )
        pos += 18
        partitions.append(
            EpochEndOffset(partitions_error_code, partitions_partition, partitions_leader_epoch, partitions_end_offset)
        )
    return OffsetForLeaderTopicResult(topic, partitions), pos


def _encode_offset_for_leader_topic_result_v1(msg: OffsetForLeaderTopicResult, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_hiiq(
            partitions_item.error_code,
            partitions_item.partition,
            partitions_item.leader_epoch,
            partitions_item.end_offset,
        )


def _decode_offset_for_leader_epoch_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderEpochResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetForLeaderTopicResult] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_for_leader_topic_result_v1(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochResponse(0, topics), pos


def _encode_offset_for_leader_epoch_response_v1(msg: OffsetForLeaderEpochResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_for_leader_topic_result_v1(topics_item, out)


def _decode_offset_for_leader_epoch_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetForLeaderEpochResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetForLeaderTopicResult] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_for_leader_topic_result_v1(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics), pos


def _encode_offset_for_leader_epoch_response_v2(msg: OffsetForLeaderEpochResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_for_leader_topic_result_v1(topics_item, out)


OffsetForLeaderEpochRequest.DECODERS = (
    _decode_offset_for_leader_epoch_request_v0,
    _decode_offset_for_leader_epoch_request_v0,
    _decode_offset_for_leader_epoch_request_v2,
    _decode_offset_for_leader_epoch_request_v3,
)

OffsetForLeaderEpochRequest.ENCODERS = (
    _encode_offset_for_leader_epoch_request_v0,
    _encode_offset_for_leader_epoch_request_v0,
    _encode_offset_for_leader_epoch_request_v2,
    _encode_offset_for_leader_epoch_request_v3,
)

OffsetForLeaderEpochResponse.DECODERS = (
    _decode_offset_for_leader_epoch_response_v0,
    _decode_offset_for_leader_epoch_response_v1,
    _decode_offset_for_leader_epoch_response_v2,
    _decode_offset_for_leader_epoch_response_v2,
)

OffsetForLeaderEpochResponse.ENCODERS = (
    _encode_offset_for_leader_epoch_response_v0,
    _encode_offset_for_leader_epoch_response_v1,
    _encode_offset_for_leader_epoch_response_v2,
    _encode_offset_for_leader_epoch_response_v2,
)
