"""ElectLeaders (API key 43): request and response.

Generated from the ElectLeaders schemas by scripts/generate.

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
    WireBuffer,
    check_count,
    not_in_version,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_string,
    write_uvarint,
    wrong_length,
)

_pack_b: Final = Struct(">b").pack
_pack_bi: Final = Struct(">bi").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bi: Final = Struct(">bi").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class TopicPartitions(Part):
    """Part of ElectLeadersRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is None else partitions


class ElectLeadersRequest(Message):
    """ElectLeadersRequest (API key 43), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "election_type",  # versions 1+
        "topic_partitions",
        "timeout_ms",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topic_partitions", TopicPartitions, True),)

    SCHEMA_NAME: ClassVar[str] = "ElectLeadersRequest"
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ElectLeadersRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ElectLeadersRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None | Missing = MISSING,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions: list[TopicPartitions] | None = (
            [] if isinstance(topic_partitions, Missing) else topic_partitions
        )
        self.timeout_ms = timeout_ms


class PartitionResult(Part):
    """Part of ElectLeadersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_id",
        "error_code",
        "error_message",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message


class ReplicaElectionResult(Part):
    """Part of ElectLeadersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic",
        "partition_result",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partition_result", PartitionResult, True),)

    def __init__(
        self,
        topic: str = "",
        partition_result: list[PartitionResult] | None = None,
    ) -> None:
        self.topic = topic
        self.partition_result: list[PartitionResult] = [] if partition_result is None else partition_result


class ElectLeadersResponse(Message):
    """ElectLeadersResponse (API key 43), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",  # versions 1+
        "replica_election_results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("replica_election_results", ReplicaElectionResult, True),
    )

    SCHEMA_NAME: ClassVar[str] = "ElectLeadersResponse"
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ElectLeadersResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ElectLeadersResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results: list[ReplicaElectionResult] = (
            [] if replica_election_results is None else replica_election_results
        )


def _decode_topic_partitions_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
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
    return TopicPartitions(topic, partitions), pos


def _encode_topic_partitions_v0(msg: TopicPartitions, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_elect_leaders_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ElectLeadersRequest, int]:
    (topic_partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    topic_partitions: list[TopicPartitions] | None = None
    if topic_partitions_count >= 0:
        elements_left = budget.elements_left - topic_partitions_count
        if topic_partitions_count < 0 or elements_left < 0 or topic_partitions_count * 6 > len(buf) - pos:
            check_count(topic_partitions_count, len(buf) - pos, 6, budget)
        budget.elements_left = elements_left
        topic_partitions = []
        for _ in range(topic_partitions_count):
            topic_partitions_item, pos = _decode_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    return ElectLeadersRequest(0, topic_partitions, timeout_ms), pos + 4


def _encode_elect_leaders_request_v0(msg: ElectLeadersRequest, out: WireBuffer) -> None:
    if msg.election_type != 0:
        raise not_in_version("ElectLeadersRequest.election_type")
    out += _pack_i(-1 if msg.topic_partitions is None else len(msg.topic_partitions))
    if msg.topic_partitions:
        for topic_partitions_item in msg.topic_partitions:
            _encode_topic_partitions_v0(topic_partitions_item, out)
    out += _pack_i(msg.timeout_ms)


def _decode_elect_leaders_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ElectLeadersRequest, int]:
    election_type, topic_partitions_count = _unpack_bi(buf, pos)
    pos += 5
    topic_partitions: list[TopicPartitions] | None = None
    if topic_partitions_count >= 0:
        elements_left = budget.elements_left - topic_partitions_count
        if topic_partitions_count < 0 or elements_left < 0 or topic_partitions_count * 6 > len(buf) - pos:
            check_count(topic_partitions_count, len(buf) - pos, 6, budget)
        budget.elements_left = elements_left
        topic_partitions = []
        for _ in range(topic_partitions_count):
            topic_partitions_item, pos = _decode_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms), pos + 4


def _encode_elect_leaders_request_v1(msg: ElectLeadersRequest, out: WireBuffer) -> None:
    out += _pack_bi(msg.election_type, -1 if msg.topic_partitions is None else len(msg.topic_partitions))
    if msg.topic_partitions:
        for topic_partitions_item in msg.topic_partitions:
            _encode_topic_partitions_v0(topic_partitions_item, out)
    out += _pack_i(msg.timeout_ms)


def _decode_topic_partitions_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
    topic, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicPartitions(topic, partitions), pos


def _encode_topic_partitions_v2(msg: TopicPartitions, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_elect_leaders_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ElectLeadersRequest, int]:
    (election_type,) = _unpack_b(buf, pos)
    topic_partitions_count, pos = read_compact_nullable_count(buf, pos + 1, 3, budget)
    topic_partitions: list[TopicPartitions] | None = None
    if topic_partitions_count >= 0:
        topic_partitions = []
        for _ in range(topic_partitions_count):
            topic_partitions_item, pos = _decode_topic_partitions_v2(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms), pos


def _encode_elect_leaders_request_v2(msg: ElectLeadersRequest, out: WireBuffer) -> None:
    out += _pack_b(msg.election_type)
    write_uvarint(0 if msg.topic_partitions is None else len(msg.topic_partitions) + 1, out)
    if msg.topic_partitions:
        for topic_partitions_item in msg.topic_partitions:
            _encode_topic_partitions_v2(topic_partitions_item, out)
    out += _pack_iB(msg.timeout_ms, 0)


def _decode_replica_election_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ReplicaElectionResult, int]:
    (topic_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_length
    if topic_length < 0 or end > len(buf):
        raise wrong_length("string", topic_length, pos, buf)
    topic = str(buf[pos:end], "utf-8")
    pos = end
    (partition_result_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_result_count
    if partition_result_count < 0 or elements_left < 0 or partition_result_count * 8 > len(buf) - pos:
        check_count(partition_result_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    partition_result: list[PartitionResult] = []
    for _ in range(partition_result_count):
        partition_result_partition_id, partition_result_error_code, partition_result_error_message_length = _unpack_ihh(
            buf, pos
        )
        pos += 8
        partition_result_error_message: str | None = None
        if partition_result_error_message_length >= 0:
            end = pos + partition_result_error_message_length
            if end > len(buf):
                raise wrong_length("string", partition_result_error_message_length, pos, buf)
            partition_result_error_message = str(buf[pos:end], "utf-8")
            pos = end
        partition_result.append(
            PartitionResult(partition_result_partition_id, partition_result_error_code, partition_result_error_message)
        )
    return ReplicaElectionResult(topic, partition_result), pos


def _encode_replica_election_result_v0(msg: ReplicaElectionResult, out: WireBuffer) -> None:
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(len(msg.partition_result))
    for partition_result_item in msg.partition_result:
        out += _pack_ih(partition_result_item.partition_id, partition_result_item.error_code)
        write_nullable_string(partition_result_item.error_message, out)


def _decode_elect_leaders_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ElectLeadersResponse, int]:
    throttle_time_ms, replica_election_results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - replica_election_results_count
    if replica_election_results_count < 0 or elements_left < 0 or replica_election_results_count * 6 > len(buf) - pos:
        check_count(replica_election_results_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    replica_election_results: list[ReplicaElectionResult] = []
    for _ in range(replica_election_results_count):
        replica_election_results_item, pos = _decode_replica_election_result_v0(buf, pos, budget)
        replica_election_results.append(replica_election_results_item)
    return ElectLeadersResponse(throttle_time_ms, 0, replica_election_results), pos


def _encode_elect_leaders_response_v0(msg: ElectLeadersResponse, out: WireBuffer) -> None:
    if msg.error_code != 0:
        raise not_in_version("ElectLeadersResponse.error_code")
    out += _pack_ii(msg.throttle_time_ms, len(msg.replica_election_results))
    for replica_election_results_item in msg.replica_election_results:
        _encode_replica_election_result_v0(replica_election_results_item, out)


def _decode_elect_leaders_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ElectLeadersResponse, int]:
    throttle_time_ms, error_code, replica_election_results_count = _unpack_ihi(buf, pos)
    pos += 10
    elements_left = budget.elements_left - replica_election_results_count
    if replica_election_results_count < 0 or elements_left < 0 or replica_election_results_count * 6 > len(buf) - pos:
        check_count(replica_election_results_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    replica_election_results: list[ReplicaElectionResult] = []
    for _ in range(replica_election_results_count):
        replica_election_results_item, pos = _decode_replica_election_result_v0(buf, pos, budget)
        replica_election_results.append(replica_election_results_item)
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results), pos


def _encode_elect_leaders_response_v1(msg: ElectLeadersResponse, out: WireBuffer) -> None:
    out += _pack_ihi(msg.throttle_time_ms, msg.error_code, len(msg.replica_election_results))
    for replica_election_results_item in msg.replica_election_results:
        _encode_replica_election_result_v0(replica_election_results_item, out)


def _decode_partition_result_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionResult, int]:
    partition_id, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionResult(partition_id, error_code, error_message), pos


def _encode_partition_result_v2(msg: PartitionResult, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition_id, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_replica_election_result_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ReplicaElectionResult, int]:
    topic, pos = read_compact_string(buf, pos)
    partition_result_count, pos = read_compact_count(buf, pos, 8, budget)
    partition_result: list[PartitionResult] = []
    for _ in range(partition_result_count):
        partition_result_item, pos = _decode_partition_result_v2(buf, pos, budget)
        partition_result.append(partition_result_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ReplicaElectionResult(topic, partition_result), pos


def _encode_replica_election_result_v2(msg: ReplicaElectionResult, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partition_result) + 1, out)
    for partition_result_item in msg.partition_result:
        _encode_partition_result_v2(partition_result_item, out)
    out.append(0)


def _decode_elect_leaders_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ElectLeadersResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    replica_election_results_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    replica_election_results: list[ReplicaElectionResult] = []
    for _ in range(replica_election_results_count):
        replica_election_results_item, pos = _decode_replica_election_result_v2(buf, pos, budget)
        replica_election_results.append(replica_election_results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results), pos


def _encode_elect_leaders_response_v2(msg: ElectLeadersResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.replica_election_results) + 1, out)
    for replica_election_results_item in msg.replica_election_results:
        _encode_replica_election_result_v2(replica_election_results_item, out)
    out.append(0)


ElectLeadersRequest.DECODERS = (
    _decode_elect_leaders_request_v0,
    _decode_elect_leaders_request_v1,
    _decode_elect_leaders_request_v2,
)

ElectLeadersRequest.ENCODERS = (
    _encode_elect_leaders_request_v0,
    _encode_elect_leaders_request_v1,
    _encode_elect_leaders_request_v2,
)

ElectLeadersResponse.DECODERS = (
    _decode_elect_leaders_response_v0,
    _decode_elect_leaders_response_v1,
    _decode_elect_leaders_response_v2,
)

ElectLeadersResponse.ENCODERS = (
    _encode_elect_leaders_response_v0,
    _encode_elect_leaders_response_v1,
    _encode_elect_leaders_response_v2,
)
