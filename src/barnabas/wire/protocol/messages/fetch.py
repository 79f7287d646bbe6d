"""Fetch (API key 1): request and response.

Generated from the Fetch schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    REQUEST_ELEMENT_LIMIT,
    Records,
    WireBuffer,
    check_count,
    check_tag_end,
    not_in_version,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_records,
    write_tagged_fields,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ihii: Final = Struct(">ihii").pack
_pack_ihq: Final = Struct(">ihq").pack
_pack_ihqqi: Final = Struct(">ihqqi").pack
_pack_ihqqq: Final = Struct(">ihqqq").pack
_pack_ihqqqi: Final = Struct(">ihqqqi").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iiB: Final = Struct(">iiB").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_iiiibi: Final = Struct(">iiiibi").pack
_pack_iiiibii: Final = Struct(">iiiibii").pack
_pack_iiiibiii: Final = Struct(">iiiibiii").pack
_pack_iiiii: Final = Struct(">iiiii").pack
_pack_iiqiqiB: Final = Struct(">iiqiqiB").pack
_pack_iiqqi: Final = Struct(">iiqqi").pack
_pack_iqB: Final = Struct(">iqB").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_iqqi: Final = Struct(">iqqi").pack
_pack_qq: Final = Struct(">qq").pack
_pack_qqB: Final = Struct(">qqB").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ihii: Final = Struct(">ihii").unpack_from
_unpack_ihqi: Final = Struct(">ihqi").unpack_from
_unpack_ihqqi: Final = Struct(">ihqqi").unpack_from
_unpack_ihqqq: Final = Struct(">ihqqq").unpack_from
_unpack_ihqqqi: Final = Struct(">ihqqqi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iiii: Final = Struct(">iiii").unpack_from
_unpack_iiiibi: Final = Struct(">iiiibi").unpack_from
_unpack_iiiibii: Final = Struct(">iiiibii").unpack_from
_unpack_iiiibiii: Final = Struct(">iiiibiii").unpack_from
_unpack_iiiii: Final = Struct(">iiiii").unpack_from
_unpack_iiqiqi: Final = Struct(">iiqiqi").unpack_from
_unpack_iiqqi: Final = Struct(">iiqqi").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_iqqi: Final = Struct(">iqqi").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from


class FetchPartition(Part):
    """Part of FetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition",
        "current_leader_epoch",  # versions 9+
        "fetch_offset",
        "last_fetched_epoch",  # versions 12+
        "log_start_offset",  # versions 5+
        "partition_max_bytes",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes


class FetchTopic(Part):
    """Part of FetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", FetchPartition, True),)

    def __init__(
        self,
        topic: str = "",
        partitions: list[FetchPartition] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[FetchPartition] = [] if partitions is None else partitions


class ForgottenTopic(Part):
    """Part of FetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",  # versions 7+
        "partitions",  # versions 7+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is None else partitions


class FetchRequest(Message):
    """FetchRequest (API key 1), versions 0-12."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",  # versions 12+, tag 0
        "replica_id",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",  # versions 3+
        "isolation_level",  # versions 4+
        "session_id",  # versions 7+
        "session_epoch",  # versions 7+
        "topics",
        "forgotten_topics_data",  # versions 7+
        "rack_id",  # versions 11+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("topics", FetchTopic, True),
        ("forgotten_topics_data", ForgottenTopic, True),
    )

    SCHEMA_NAME: ClassVar[str] = "FetchRequest"
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 12
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FetchRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FetchRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] | None = None,
        forgotten_topics_data: list[ForgottenTopic] | None = None,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics: list[FetchTopic] = [] if topics is None else topics
        self.forgotten_topics_data: list[ForgottenTopic] = (
            [] if forgotten_topics_data is None else forgotten_topics_data
        )
        self.rack_id = rack_id


class EpochEndOffset(Part):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "epoch",  # versions 12+
        "end_offset",  # versions 12+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


class LeaderIdAndEpoch(Part):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "leader_id",  # versions 12+
        "leader_epoch",  # versions 12+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class AbortedTransaction(Part):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",  # versions 4+
        "first_offset",  # versions 4+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


class PartitionData(Part):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",  # versions 4+
        "log_start_offset",  # versions 5+
        "diverging_epoch",  # versions 12+, tag 0
        "current_leader",  # versions 12+, tag 1
        "aborted_transactions",  # versions 4+
        "preferred_read_replica",  # versions 11+
        "records",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("diverging_epoch", EpochEndOffset, False),
        ("current_leader", LeaderIdAndEpoch, False),
        ("aborted_transactions", AbortedTransaction, True),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        aborted_transactions: list[AbortedTransaction] | None | Missing = MISSING,
        preferred_read_replica: int = -1,
        records: Records | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch: EpochEndOffset = EpochEndOffset() if diverging_epoch is None else diverging_epoch
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.aborted_transactions: list[AbortedTransaction] | None = (
            [] if isinstance(aborted_transactions, Missing) else aborted_transactions
        )
        self.preferred_read_replica = preferred_read_replica
        self.records = records


class FetchableTopicResponse(Part):
    """Part of FetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", PartitionData, True),)

    def __init__(
        self,
        topic: str = "",
        partitions: list[PartitionData] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[PartitionData] = [] if partitions is None else partitions


class FetchResponse(Message):
    """FetchResponse (API key 1), versions 0-12."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "error_code",  # versions 7+
        "session_id",  # versions 7+
        "responses",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("responses", FetchableTopicResponse, True),)

    SCHEMA_NAME: ClassVar[str] = "FetchResponse"
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 12
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FetchResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FetchResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses: list[FetchableTopicResponse] = [] if responses is None else responses


def _decode_fetch_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 16 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 16, budget)
    budget.elements_left = elements_left
    partitions: list[FetchPartition] = []
    for _ in range(partitions_count):
        partitions_partition, partitions_fetch_offset, partitions_partition_max_bytes = _unpack_iqi(buf, pos)
        pos += 16
        partitions.append(
            FetchPartition(partitions_partition, -1, partitions_fetch_offset, -1, -1, partitions_partition_max_bytes)
        )
    return FetchTopic(topic, partitions), pos


def _encode_fetch_topic_v0(msg: FetchTopic, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.last_fetched_epoch != -1:
            raise not_in_version("FetchPartition.last_fetched_epoch")
        out += _pack_iqi(partitions_item.partition, partitions_item.fetch_offset, partitions_item.partition_max_bytes)


def _decode_fetch_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, topics_count = _unpack_iiii(buf, pos)
    pos += 16
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return FetchRequest(None, replica_id, max_wait_ms, min_bytes, 2147483647, 0, 0, -1, topics), pos


def _encode_fetch_request_v0(msg: FetchRequest, out: WireBuffer) -> None:
    if msg.forgotten_topics_data:
        raise not_in_version("FetchRequest.forgotten_topics_data")
    out += _pack_iiii(msg.replica_id, msg.max_wait_ms, msg.min_bytes, len(msg.topics))
    for topics_item in msg.topics:
        _encode_fetch_topic_v0(topics_item, out)


def _decode_fetch_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, topics_count = _unpack_iiiii(buf, pos)
    pos += 20
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return FetchRequest(None, replica_id, max_wait_ms, min_bytes, max_bytes, 0, 0, -1, topics), pos


def _encode_fetch_request_v3(msg: FetchRequest, out: WireBuffer) -> None:
    if msg.forgotten_topics_data:
        raise not_in_version("FetchRequest.forgotten_topics_data")
    out += _pack_iiiii(msg.replica_id, msg.max_wait_ms, msg.min_bytes, msg.max_bytes, len(msg.topics))
    for topics_item in msg.topics:
        _encode_fetch_topic_v0(topics_item, out)


def _decode_fetch_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, topics_count = _unpack_iiiibi(buf, pos)
    pos += 21
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return FetchRequest(None, replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics), pos


def _encode_fetch_request_v4(msg: FetchRequest, out: WireBuffer) -> None:
    if msg.forgotten_topics_data:
        raise not_in_version("FetchRequest.forgotten_topics_data")
    out += _pack_iiiibi(
        msg.replica_id, msg.max_wait_ms, msg.min_bytes, msg.max_bytes, msg.isolation_level, len(msg.topics)
    )
    for topics_item in msg.topics:
        _encode_fetch_topic_v0(topics_item, out)


def _decode_fetch_topic_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 24 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 24, budget)
    budget.elements_left = elements_left
    partitions: list[FetchPartition] = []
    for _ in range(partitions_count):
        partitions_partition, partitions_fetch_offset, partitions_log_start_offset, partitions_partition_max_bytes = (
            _unpack_iqqi(buf, pos)
        )
        pos += 24
        partitions.append(
            FetchPartition(
                partitions_partition,
                -1,
                partitions_fetch_offset,
                -1,
                partitions_log_start_offset,
                partitions_partition_max_bytes,
            )
        )
    return FetchTopic(topic, partitions), pos


def _encode_fetch_topic_v5(msg: FetchTopic, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.last_fetched_epoch != -1:
            raise not_in_version("FetchPartition.last_fetched_epoch")
        out += _pack_iqqi(
            partitions_item.partition,
            partitions_item.fetch_offset,
            partitions_item.log_start_offset,
            partitions_item.partition_max_bytes,
        )


def _decode_fetch_request_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, topics_count = _unpack_iiiibi(buf, pos)
    pos += 21
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    return FetchRequest(None, replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics), pos


def _encode_fetch_request_v5(msg: FetchRequest, out: WireBuffer) -> None:
    if msg.forgotten_topics_data:
        raise not_in_version("FetchRequest.forgotten_topics_data")
    out += _pack_iiiibi(
        msg.replica_id, msg.max_wait_ms, msg.min_bytes, msg.max_bytes, msg.isolation_level, len(msg.topics)
    )
    for topics_item in msg.topics:
        _encode_fetch_topic_v5(topics_item, out)


def _decode_forgotten_topic_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[ForgottenTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 4 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    return ForgottenTopic(topic, partitions), pos


def _encode_forgotten_topic_v7(msg: ForgottenTopic, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_fetch_request_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        _unpack_iiiibiii(buf, pos)
    )
    pos += 29
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    (forgotten_topics_data_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - forgotten_topics_data_count
    if forgotten_topics_data_count < 0 or elements_left < 0 or forgotten_topics_data_count * 6 > len(buf) - pos:
        check_count(forgotten_topics_data_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(forgotten_topics_data_count):
        forgotten_topics_data_item, pos = _decode_forgotten_topic_v7(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    return FetchRequest(
        None,
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
    ), pos


def _encode_fetch_request_v7(msg: FetchRequest, out: WireBuffer) -> None:
    out += _pack_iiiibiii(
        msg.replica_id,
        msg.max_wait_ms,
        msg.min_bytes,
        msg.max_bytes,
        msg.isolation_level,
        msg.session_id,
        msg.session_epoch,
        len(msg.topics),
    )
    for topics_item in msg.topics:
        _encode_fetch_topic_v5(topics_item, out)
    out += _pack_i(len(msg.forgotten_topics_data))
    for forgotten_topics_data_item in msg.forgotten_topics_data:
        _encode_forgotten_topic_v7(forgotten_topics_data_item, out)


def _decode_fetch_topic_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 28 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 28, budget)
    budget.elements_left = elements_left
    partitions: list[FetchPartition] = []
    for _ in range(partitions_count):
        (
            partitions_partition,
            partitions_current_leader_epoch,
            partitions_fetch_offset,
            partitions_log_start_offset,
            partitions_partition_max_bytes,
        ) = _unpack_iiqqi(buf, pos)
        pos += 28
        partitions.append(
            FetchPartition(
                partitions_partition,
                partitions_current_leader_epoch,
                partitions_fetch_offset,
                -1,
                partitions_log_start_offset,
                partitions_partition_max_bytes,
            )
        )
    return FetchTopic(topic, partitions), pos


def _encode_fetch_topic_v9(msg: FetchTopic, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.last_fetched_epoch != -1:
            raise not_in_version("FetchPartition.last_fetched_epoch")
        out += _pack_iiqqi(
            partitions_item.partition,
            partitions_item.current_leader_epoch,
            partitions_item.fetch_offset,
            partitions_item.log_start_offset,
            partitions_item.partition_max_bytes,
        )


def _decode_fetch_request_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        _unpack_iiiibiii(buf, pos)
    )
    pos += 29
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v9(buf, pos, budget)
        topics.append(topics_item)
    (forgotten_topics_data_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - forgotten_topics_data_count
    if forgotten_topics_data_count < 0 or elements_left < 0 or forgotten_topics_data_count * 6 > len(buf) - pos:
        check_count(forgotten_topics_data_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(forgotten_topics_data_count):
        forgotten_topics_data_item, pos = _decode_forgotten_topic_v7(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    return FetchRequest(
        None,
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
    ), pos


def _encode_fetch_request_v9(msg: FetchRequest, out: WireBuffer) -> None:
    out += _pack_iiiibiii(
        msg.replica_id,
        msg.max_wait_ms,
        msg.min_bytes,
        msg.max_bytes,
        msg.isolation_level,
        msg.session_id,
        msg.session_epoch,
        len(msg.topics),
    )
    for topics_item in msg.topics:
        _encode_fetch_topic_v9(topics_item, out)
    out += _pack_i(len(msg.forgotten_topics_data))
    for forgotten_topics_data_item in msg.forgotten_topics_data:
        _encode_forgotten_topic_v7(forgotten_topics_data_item, out)


def _decode_fetch_request_v11(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        _unpack_iiiibiii(buf, pos)
    )
    pos += 29
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v9(buf, pos, budget)
        topics.append(topics_item)
    (forgotten_topics_data_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - forgotten_topics_data_count
    if forgotten_topics_data_count < 0 or elements_left < 0 or forgotten_topics_data_count * 6 > len(buf) - pos:
        check_count(forgotten_topics_data_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(forgotten_topics_data_count):
        forgotten_topics_data_item, pos = _decode_forgotten_topic_v7(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    (rack_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + rack_id_length
    if rack_id_length < 0 or end > len(buf):
        raise wrong_length("string", rack_id_length, pos, buf)
    rack_id = str(buf[pos:end], "utf-8")
    pos = end
    return FetchRequest(
        None,
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    ), pos


def _encode_fetch_request_v11(msg: FetchRequest, out: WireBuffer) -> None:
    out += _pack_iiiibiii(
        msg.replica_id,
        msg.max_wait_ms,
        msg.min_bytes,
        msg.max_bytes,
        msg.isolation_level,
        msg.session_id,
        msg.session_epoch,
        len(msg.topics),
    )
    for topics_item in msg.topics:
        _encode_fetch_topic_v9(topics_item, out)
    out += _pack_i(len(msg.forgotten_topics_data))
    for forgotten_topics_data_item in msg.forgotten_topics_data:
        _encode_forgotten_topic_v7(forgotten_topics_data_item, out)
    rack_id_bytes = msg.rack_id.encode()
    out += _pack_h(len(rack_id_bytes))
    out += rack_id_bytes


def _decode_fetch_partition_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
    partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes = (
        _unpack_iiqiqi(buf, pos)
    )
    pos += 33
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchPartition(
        partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes
    ), pos


def _encode_fetch_partition_v12(msg: FetchPartition, out: WireBuffer) -> None:
    out += _pack_iiqiqiB(
        msg.partition,
        msg.current_leader_epoch,
        msg.fetch_offset,
        msg.last_fetched_epoch,
        msg.log_start_offset,
        msg.partition_max_bytes,
        0,
    )


def _decode_fetch_topic_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 33, budget)
    partitions: list[FetchPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_fetch_partition_v12(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchTopic(topic, partitions), pos


def _encode_fetch_topic_v12(msg: FetchTopic, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_fetch_partition_v12(partitions_item, out)
    out.append(0)


def _decode_forgotten_topic_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[ForgottenTopic, int]:
    topic, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ForgottenTopic(topic, partitions), pos


def _encode_forgotten_topic_v12(msg: ForgottenTopic, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_fetch_request_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _unpack_iiiibii(
        buf, pos
    )
    topics_count, pos = read_compact_count(buf, pos + 25, 3, budget)
    topics: list[FetchTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_topic_v12(buf, pos, budget)
        topics.append(topics_item)
    forgotten_topics_data_count, pos = read_compact_count(buf, pos, 3, budget)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(forgotten_topics_data_count):
        forgotten_topics_data_item, pos = _decode_forgotten_topic_v12(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    rack_id, pos = read_compact_string(buf, pos)
    cluster_id: str | None = None
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            cluster_id, pos = read_compact_nullable_string(buf, pos)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return FetchRequest(
        cluster_id,
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        rack_id,
    ), pos


def _encode_fetch_request_v12(msg: FetchRequest, out: WireBuffer) -> None:
    out += _pack_iiiibii(
        msg.replica_id,
        msg.max_wait_ms,
        msg.min_bytes,
        msg.max_bytes,
        msg.isolation_level,
        msg.session_id,
        msg.session_epoch,
    )
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_fetch_topic_v12(topics_item, out)
    write_uvarint(len(msg.forgotten_topics_data) + 1, out)
    for forgotten_topics_data_item in msg.forgotten_topics_data:
        _encode_forgotten_topic_v12(forgotten_topics_data_item, out)
    write_compact_string(msg.rack_id, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.cluster_id is not None:
        cluster_id_value = WireBuffer()
        write_compact_nullable_string(msg.cluster_id, cluster_id_value)
        tagged.append((0, cluster_id_value))
    write_tagged_fields(tagged, out)


def _decode_fetchable_topic_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchableTopicResponse, int]:
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
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_error_code, partitions_high_watermark, partitions_records_length = (
            _unpack_ihqi(buf, pos)
        )
        pos += 18
        partitions_records: Records | None = None
        if partitions_records_length >= 0:
            end = pos + partitions_records_length
            if end > len(buf):
                raise wrong_length("records", partitions_records_length, pos, buf)
            partitions_records = buf[pos:end]
            pos = end
        partitions.append(
            PartitionData(
                partitions_partition_index,
                partitions_error_code,
                partitions_high_watermark,
                -1,
                -1,
                EpochEndOffset(),
                LeaderIdAndEpoch(),
                [],
                -1,
                partitions_records,
            )
        )
    return FetchableTopicResponse(topic, partitions), pos


def _encode_fetchable_topic_response_v0(msg: FetchableTopicResponse, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.diverging_epoch.epoch != -1 or partitions_item.diverging_epoch.end_offset != -1:
            raise not_in_version("PartitionData.diverging_epoch")
        if partitions_item.current_leader.leader_id != -1 or partitions_item.current_leader.leader_epoch != -1:
            raise not_in_version("PartitionData.current_leader")
        if partitions_item.preferred_read_replica != -1:
            raise not_in_version("PartitionData.preferred_read_replica")
        out += _pack_ihq(partitions_item.partition_index, partitions_item.error_code, partitions_item.high_watermark)
        write_nullable_records(partitions_item.records, out)


def _decode_fetch_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    responses: list[FetchableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_fetchable_topic_response_v0(buf, pos, budget)
        responses.append(responses_item)
    return FetchResponse(0, 0, 0, responses), pos


def _encode_fetch_response_v0(msg: FetchResponse, out: WireBuffer) -> None:
    if msg.session_id != 0:
        raise not_in_version("FetchResponse.session_id")
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        _encode_fetchable_topic_response_v0(responses_item, out)


def _decode_fetch_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchResponse, int]:
    throttle_time_ms, responses_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    responses: list[FetchableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_fetchable_topic_response_v0(buf, pos, budget)
        responses.append(responses_item)
    return FetchResponse(throttle_time_ms, 0, 0, responses), pos


def _encode_fetch_response_v1(msg: FetchResponse, out: WireBuffer) -> None:
    if msg.session_id != 0:
        raise not_in_version("FetchResponse.session_id")
    out += _pack_ii(msg.throttle_time_ms, len(msg.responses))
    for responses_item in msg.responses:
        _encode_fetchable_topic_response_v0(responses_item, out)


def _decode_partition_data_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset, aborted_transactions_count = _unpack_ihqqi(
        buf, pos
    )
    pos += 26
    aborted_transactions: list[AbortedTransaction] | None = None
    if aborted_transactions_count >= 0:
        elements_left = budget.elements_left - aborted_transactions_count
        if aborted_transactions_count < 0 or elements_left < 0 or aborted_transactions_count * 16 > len(buf) - pos:
            check_count(aborted_transactions_count, len(buf) - pos, 16, budget)
        budget.elements_left = elements_left
        aborted_transactions = []
        for _ in range(aborted_transactions_count):
            aborted_transactions_producer_id, aborted_transactions_first_offset = _unpack_qq(buf, pos)
            pos += 16
            aborted_transactions.append(
                AbortedTransaction(aborted_transactions_producer_id, aborted_transactions_first_offset)
            )
    (records_length,) = _unpack_i(buf, pos)
    pos += 4
    records: Records | None = None
    if records_length >= 0:
        end = pos + records_length
        if end > len(buf):
            raise wrong_length("records", records_length, pos, buf)
        records = buf[pos:end]
        pos = end
    return PartitionData(
        partition_index,
        error_code,
        high_watermark,
        last_stable_offset,
        -1,
        EpochEndOffset(),
        LeaderIdAndEpoch(),
        aborted_transactions,
        -1,
        records,
    ), pos


def _encode_partition_data_v4(msg: PartitionData, out: WireBuffer) -> None:
    if msg.diverging_epoch.epoch != -1 or msg.diverging_epoch.end_offset != -1:
        raise not_in_version("PartitionData.diverging_epoch")
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionData.current_leader")
    if msg.preferred_read_replica != -1:
        raise not_in_version("PartitionData.preferred_read_replica")
    out += _pack_ihqqi(
        msg.partition_index,
        msg.error_code,
        msg.high_watermark,
        msg.last_stable_offset,
        -1 if msg.aborted_transactions is None else len(msg.aborted_transactions),
    )
    if msg.aborted_transactions:
        for aborted_transactions_item in msg.aborted_transactions:
            out += _pack_qq(aborted_transactions_item.producer_id, aborted_transactions_item.first_offset)
    write_nullable_records(msg.records, out)


def _decode_fetchable_topic_response_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchableTopicResponse, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 30 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 30, budget)
    budget.elements_left = elements_left
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v4(buf, pos, budget)
        partitions.append(partitions_item)
    return FetchableTopicResponse(topic, partitions), pos


def _encode_fetchable_topic_response_v4(msg: FetchableTopicResponse, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_partition_data_v4(partitions_item, out)


def _decode_fetch_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchResponse, int]:
    throttle_time_ms, responses_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    responses: list[FetchableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_fetchable_topic_response_v4(buf, pos, budget)
        responses.append(responses_item)
    return FetchResponse(throttle_time_ms, 0, 0, responses), pos


def _encode_fetch_response_v4(msg: FetchResponse, out: WireBuffer) -> None:
    if msg.session_id != 0:
        raise not_in_version("FetchResponse.session_id")
    out += _pack_ii(msg.throttle_time_ms, len(msg.responses))
    for responses_item in msg.responses:
        _encode_fetchable_topic_response_v4(responses_item, out)


def _decode_partition_data_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, aborted_transactions_count = (
        _unpack_ihqqqi(buf, pos)
    )
    pos += 34
    aborted_transactions: list[AbortedTransaction] | None = None
    if aborted_transactions_count >= 0:
        elements_left = budget.elements_left - aborted_transactions_count
        if aborted_transactions_count < 0 or elements_left < 0 or aborted_transactions_count * 16 > len(buf) - pos:
            check_count(aborted_transactions_count, len(buf) - pos, 16, budget)
        budget.elements_left = elements_left
        aborted_transactions = []
        for _ in range(aborted_transactions_count):
            aborted_transactions_producer_id, aborted_transactions_first_offset = _unpack_qq(buf, pos)
            pos += 16
            aborted_transactions.append(
                AbortedTransaction(aborted_transactions_producer_id, aborted_transactions_first_offset)
            )
    (records_length,) = _unpack_i(buf, pos)
    pos += 4
    records: Records | None = None
    if records_length >= 0:
        end = pos + records_length
        if end > len(buf):
            raise wrong_length("records", records_length, pos, buf)
        records = buf[pos:end]
        pos = end
    return PartitionData(
        partition_index,
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        EpochEndOffset(),
        LeaderIdAndEpoch(),
        aborted_transactions,
        -1,
        records,
    ), pos


def _encode_partition_data_v5(msg: PartitionData, out: WireBuffer) -> None:
    if msg.diverging_epoch.epoch != -1 or msg.diverging_epoch.end_offset != -1:
        raise not_in_version("PartitionData.diverging_epoch")
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionData.current_leader")
    if msg.preferred_read_replica != -1:
        raise not_in_version("PartitionData.preferred_read_replica")
    out += _pack_ihqqqi(
        msg.partition_index,
        msg.error_code,
        msg.high_watermark,
        msg.last_stable_offset,
        msg.log_start_offset,
        -1 if msg.aborted_transactions is None else len(msg.aborted_transactions),
    )
    if msg.aborted_transactions:
        for aborted_transactions_item in msg.aborted_transactions:
            out += _pack_qq(aborted_transactions_item.producer_id, aborted_transactions_item.first_offset)
    write_nullable_records(msg.records, out)


def _decode_fetchable_topic_response_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchableTopicResponse, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 38 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 38, budget)
    budget.elements_left = elements_left
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v5(buf, pos, budget)
        partitions.append(partitions_item)
    return FetchableTopicResponse(topic, partitions), pos


def _encode_fetchable_topic_response_v5(msg: FetchableTopicResponse, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_partition_data_v5(partitions_item, out)


def _decode_fetch_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchResponse, int]:
    throttle_time_ms, responses_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    responses: list[FetchableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_fetchable_topic_response_v5(buf, pos, budget)
        responses.append(responses_item)
    return FetchResponse(throttle_time_ms, 0, 0, responses), pos


def _encode_fetch_response_v5(msg: FetchResponse, out: WireBuffer) -> None:
    if msg.session_id != 0:
        raise not_in_version("FetchResponse.session_id")
    out += _pack_ii(msg.throttle_time_ms, len(msg.responses))
    for responses_item in msg.responses:
        _encode_fetchable_topic_response_v5(responses_item, out)


def _decode_fetch_response_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id, responses_count = _unpack_ihii(buf, pos)
    pos += 14
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    responses: list[FetchableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_fetchable_topic_response_v5(buf, pos, budget)
        responses.append(responses_item)
    return FetchResponse(throttle_time_ms, error_code, session_id, responses), pos


def _encode_fetch_response_v7(msg: FetchResponse, out: WireBuffer) -> None:
    out += _pack_ihii(msg.throttle_time_ms, msg.error_code, msg.session_id, len(msg.responses))
    for responses_item in msg.responses:
        _encode_fetchable_topic_response_v5(responses_item, out)


def _decode_partition_data_v11(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, aborted_transactions_count = (
        _unpack_ihqqqi(buf, pos)
    )
    pos += 34
    aborted_transactions: list[AbortedTransaction] | None = None
    if aborted_transactions_count >= 0:
        elements_left = budget.elements_left - aborted_transactions_count
        if aborted_transactions_count < 0 or elements_left < 0 or aborted_transactions_count * 16 > len(buf) - pos:
            check_count(aborted_transactions_count, len(buf) - pos, 16, budget)
        budget.elements_left = elements_left
        aborted_transactions = []
        for _ in range(aborted_transactions_count):
            aborted_transactions_producer_id, aborted_transactions_first_offset = _unpack_qq(buf, pos)
            pos += 16
            aborted_transactions.append(
                AbortedTransaction(aborted_transactions_producer_id, aborted_transactions_first_offset)
            )
    preferred_read_replica, records_length = _unpack_ii(buf, pos)
    pos += 8
    records: Records | None = None
    if records_length >= 0:
        end = pos + records_length
        if end > len(buf):
            raise wrong_length("records", records_length, pos, buf)
        records = buf[pos:end]
        pos = end
    return PartitionData(
        partition_index,
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        EpochEndOffset(),
        LeaderIdAndEpoch(),
        aborted_transactions,
        preferred_read_replica,
        records,
    ), pos


def _encode_partition_data_v11(msg: PartitionData, out: WireBuffer) -> None:
    if msg.diverging_epoch.epoch != -1 or msg.diverging_epoch.end_offset != -1:
        raise not_in_version("PartitionData.diverging_epoch")
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionData.current_leader")
    out += _pack_ihqqqi(
        msg.partition_index,
        msg.error_code,
        msg.high_watermark,
        msg.last_stable_offset,
        msg.log_start_offset,
        -1 if msg.aborted_transactions is None else len(msg.aborted_transactions),
    )
    if msg.aborted_transactions:
        for aborted_transactions_item in msg.aborted_transactions:
            out += _pack_qq(aborted_transactions_item.producer_id, aborted_transactions_item.first_offset)
    out += _pack_i(msg.preferred_read_replica)
    write_nullable_records(msg.records, out)


def _decode_fetchable_topic_response_v11(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchableTopicResponse, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 42 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 42, budget)
    budget.elements_left = elements_left
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v11(buf, pos, budget)
        partitions.append(partitions_item)
    return FetchableTopicResponse(topic, partitions), pos


def _encode_fetchable_topic_response_v11(msg: FetchableTopicResponse, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_partition_data_v11(partitions_item, out)


def _decode_fetch_response_v11(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id, responses_count = _unpack_ihii(buf, pos)
    pos += 14
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    responses: list[FetchableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_fetchable_topic_response_v11(buf, pos, budget)
        responses.append(responses_item)
    return FetchResponse(throttle_time_ms, error_code, session_id, responses), pos


def _encode_fetch_response_v11(msg: FetchResponse, out: WireBuffer) -> None:
    out += _pack_ihii(msg.throttle_time_ms, msg.error_code, msg.session_id, len(msg.responses))
    for responses_item in msg.responses:
        _encode_fetchable_topic_response_v11(responses_item, out)


def _decode_aborted_transaction_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[AbortedTransaction, int]:
    producer_id, first_offset = _unpack_qq(buf, pos)
    pos += 17
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AbortedTransaction(producer_id, first_offset), pos


def _encode_aborted_transaction_v12(msg: AbortedTransaction, out: WireBuffer) -> None:
    out += _pack_qqB(msg.producer_id, msg.first_offset, 0)


def _decode_epoch_end_offset_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[EpochEndOffset, int]:
    epoch, end_offset = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return EpochEndOffset(epoch, end_offset), pos


def _encode_epoch_end_offset_v12(msg: EpochEndOffset, out: WireBuffer) -> None:
    out += _pack_iqB(msg.epoch, msg.end_offset, 0)


def _decode_leader_id_and_epoch_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _unpack_ii(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _encode_leader_id_and_epoch_v12(msg: LeaderIdAndEpoch, out: WireBuffer) -> None:
    out += _pack_iiB(msg.leader_id, msg.leader_epoch, 0)


def _decode_partition_data_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset, log_start_offset = _unpack_ihqqq(buf, pos)
    aborted_transactions_count, pos = read_compact_nullable_count(buf, pos + 30, 17, budget)
    aborted_transactions: list[AbortedTransaction] | None = None
    if aborted_transactions_count >= 0:
        aborted_transactions = []
        for _ in range(aborted_transactions_count):
            aborted_transactions_item, pos = _decode_aborted_transaction_v12(buf, pos, budget)
            aborted_transactions.append(aborted_transactions_item)
    (preferred_read_replica,) = _unpack_i(buf, pos)
    records, pos = read_compact_nullable_records(buf, pos + 4)
    diverging_epoch: EpochEndOffset = EpochEndOffset()
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            diverging_epoch, pos = _decode_epoch_end_offset_v12(buf, pos, budget)
        elif tag == 1:
            current_leader, pos = _decode_leader_id_and_epoch_v12(buf, pos, budget)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return PartitionData(
        partition_index,
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        diverging_epoch,
        current_leader,
        aborted_transactions,
        preferred_read_replica,
        records,
    ), pos


def _encode_partition_data_v12(msg: PartitionData, out: WireBuffer) -> None:
    out += _pack_ihqqq(
        msg.partition_index, msg.error_code, msg.high_watermark, msg.last_stable_offset, msg.log_start_offset
    )
    write_uvarint(0 if msg.aborted_transactions is None else len(msg.aborted_transactions) + 1, out)
    if msg.aborted_transactions:
        for aborted_transactions_item in msg.aborted_transactions:
            _encode_aborted_transaction_v12(aborted_transactions_item, out)
    out += _pack_i(msg.preferred_read_replica)
    write_compact_nullable_records(msg.records, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.diverging_epoch.epoch != -1 or msg.diverging_epoch.end_offset != -1:
        diverging_epoch_value = WireBuffer()
        _encode_epoch_end_offset_v12(msg.diverging_epoch, diverging_epoch_value)
        tagged.append((0, diverging_epoch_value))
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        current_leader_value = WireBuffer()
        _encode_leader_id_and_epoch_v12(msg.current_leader, current_leader_value)
        tagged.append((1, current_leader_value))
    write_tagged_fields(tagged, out)


def _decode_fetchable_topic_response_v12(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchableTopicResponse, int]:
    topic, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 37, budget)
    partitions: list[PartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_partition_data_v12(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchableTopicResponse(topic, partitions), pos


def _encode_fetchable_topic_response_v12(msg: FetchableTopicResponse, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_partition_data_v12(partitions_item, out)
    out.append(0)


def _decode_fetch_response_v12(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id = _unpack_ihi(buf, pos)
    responses_count, pos = read_compact_count(buf, pos + 10, 3, budget)
    responses: list[FetchableTopicResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_fetchable_topic_response_v12(buf, pos, budget)
        responses.append(responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchResponse(throttle_time_ms, error_code, session_id, responses), pos


def _encode_fetch_response_v12(msg: FetchResponse, out: WireBuffer) -> None:
    out += _pack_ihi(msg.throttle_time_ms, msg.error_code, msg.session_id)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_fetchable_topic_response_v12(responses_item, out)
    out.append(0)


FetchRequest.DECODERS = (
    _decode_fetch_request_v0,
    _decode_fetch_request_v0,
    _decode_fetch_request_v0,
    _decode_fetch_request_v3,
    _decode_fetch_request_v4,
    _decode_fetch_request_v5,
    _decode_fetch_request_v5,
    _decode_fetch_request_v7,
    _decode_fetch_request_v7,
    _decode_fetch_request_v9,
    _decode_fetch_request_v9,
    _decode_fetch_request_v11,
    _decode_fetch_request_v12,
)

FetchRequest.ENCODERS = (
    _encode_fetch_request_v0,
    _encode_fetch_request_v0,
    _encode_fetch_request_v0,
    _encode_fetch_request_v3,
    _encode_fetch_request_v4,
    _encode_fetch_request_v5,
    _encode_fetch_request_v5,
    _encode_fetch_request_v7,
    _encode_fetch_request_v7,
    _encode_fetch_request_v9,
    _encode_fetch_request_v9,
    _encode_fetch_request_v11,
    _encode_fetch_request_v12,
)

FetchResponse.DECODERS = (
    _decode_fetch_response_v0,
    _decode_fetch_response_v1,
    _decode_fetch_response_v1,
    _decode_fetch_response_v1,
    _decode_fetch_response_v4,
    _decode_fetch_response_v5,
    _decode_fetch_response_v5,
    _decode_fetch_response_v7,
    _decode_fetch_response_v7,
    _decode_fetch_response_v7,
    _decode_fetch_response_v7,
    _decode_fetch_response_v11,
    _decode_fetch_response_v12,
)

FetchResponse.ENCODERS = (
    _encode_fetch_response_v0,
    _encode_fetch_response_v1,
    _encode_fetch_response_v1,
    _encode_fetch_response_v1,
    _encode_fetch_response_v4,
    _encode_fetch_response_v5,
    _encode_fetch_response_v5,
    _encode_fetch_response_v7,
    _encode_fetch_response_v7,
    _encode_fetch_response_v7,
    _encode_fetch_response_v7,
    _encode_fetch_response_v11,
    _encode_fetch_response_v12,
)
