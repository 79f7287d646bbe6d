"""CreatePartitions (API key 37): request and response.

Generated from the CreatePartitions schemas by scripts/generate.

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

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_it: Final = Struct(">i?").pack
_pack_itB: Final = Struct(">i?B").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_it: Final = Struct(">i?").unpack_from


class CreatePartitionsAssignment(Part):
    """Part of CreatePartitionsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("broker_ids",)
    __slots__ = FIELDS

    def __init__(
        self,
        broker_ids: list[int] | None = None,
    ) -> None:
        self.broker_ids: list[int] = [] if broker_ids is None else broker_ids


class CreatePartitionsTopic(Part):
    """Part of CreatePartitionsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "count",
        "assignments",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("assignments", CreatePartitionsAssignment, True),)

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None | Missing = MISSING,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments: list[CreatePartitionsAssignment] | None = (
            [] if isinstance(assignments, Missing) else assignments
        )


class CreatePartitionsRequest(Message):
    """CreatePartitionsRequest (API key 37), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "timeout_ms",
        "validate_only",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", CreatePartitionsTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "CreatePartitionsRequest"
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[CreatePartitionsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[CreatePartitionsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] | None = None,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics: list[CreatePartitionsTopic] = [] if topics is None else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


class CreatePartitionsTopicResult(Part):
    """Part of CreatePartitionsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "error_code",
        "error_message",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message


class CreatePartitionsResponse(Message):
    """CreatePartitionsResponse (API key 37), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", CreatePartitionsTopicResult, True),)

    SCHEMA_NAME: ClassVar[str] = "CreatePartitionsResponse"
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[CreatePartitionsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[CreatePartitionsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[CreatePartitionsTopicResult] = [] if results is None else results


def _decode_create_partitions_assignment_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatePartitionsAssignment, int]:
    (broker_ids_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - broker_ids_count
    if broker_ids_count < 0 or elements_left < 0 or broker_ids_count * 4 > len(buf) - pos:
        check_count(broker_ids_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    broker_ids = read_int32s(buf, pos, broker_ids_count)
    pos += 4 * broker_ids_count
    return CreatePartitionsAssignment(broker_ids), pos


def _encode_create_partitions_assignment_v0(msg: CreatePartitionsAssignment, out: WireBuffer) -> None:
    out += _pack_i(len(msg.broker_ids))
    write_int32s(msg.broker_ids, out)


def _decode_create_partitions_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatePartitionsTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    count, assignments_count = _unpack_ii(buf, pos)
    pos += 8
    assignments: list[CreatePartitionsAssignment] | None = None
    if assignments_count >= 0:
        elements_left = budget.elements_left - assignments_count
        if assignments_count < 0 or elements_left < 0 or assignments_count * 4 > len(buf) - pos:
            check_count(assignments_count, len(buf) - pos, 4, budget)
        budget.elements_left = elements_left
        assignments = []
        for _ in range(assignments_count):
            assignments_item, pos = _decode_create_partitions_assignment_v0(buf, pos, budget)
            assignments.append(assignments_item)
    return CreatePartitionsTopic(name, count, assignments), pos


def _encode_create_partitions_topic_v0(msg: CreatePartitionsTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_ii(msg.count, -1 if msg.assignments is None else len(msg.assignments))
    if msg.assignments:
        for assignments_item in msg.assignments:
            _encode_create_partitions_assignment_v0(assignments_item, out)


def _decode_create_partitions_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatePartitionsRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 10 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    topics: list[CreatePartitionsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_create_partitions_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _unpack_it(buf, pos)
    return CreatePartitionsRequest(topics, timeout_ms, validate_only), pos + 5


def _encode_create_partitions_request_v0(msg: CreatePartitionsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_create_partitions_topic_v0(topics_item, out)
    out += _pack_it(msg.timeout_ms, msg.validate_only)


def _decode_create_partitions_assignment_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatePartitionsAssignment, int]:
    broker_ids_count, pos = read_compact_count(buf, pos, 4, budget)
    broker_ids = read_int32s(buf, pos, broker_ids_count)
    pos += 4 * broker_ids_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatePartitionsAssignment(broker_ids), pos


def _encode_create_partitions_assignment_v2(msg: CreatePartitionsAssignment, out: WireBuffer) -> None:
    write_uvarint(len(msg.broker_ids) + 1, out)
    write_int32s(msg.broker_ids, out)
    out.append(0)


def _decode_create_partitions_topic_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatePartitionsTopic, int]:
    name, pos = read_compact_string(buf, pos)
    (count,) = _unpack_i(buf, pos)
    assignments_count, pos = read_compact_nullable_count(buf, pos + 4, 2, budget)
    assignments: list[CreatePartitionsAssignment] | None = None
    if assignments_count >= 0:
        assignments = []
        for _ in range(assignments_count):
            assignments_item, pos = _decode_create_partitions_assignment_v2(buf, pos, budget)
            assignments.append(assignments_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatePartitionsTopic(name, count, assignments), pos


def _encode_create_partitions_topic_v2(msg: CreatePartitionsTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_i(msg.count)
    write_uvarint(0 if msg.assignments is None else len(msg.assignments) + 1, out)
    if msg.assignments:
        for assignments_item in msg.assignments:
            _encode_create_partitions_assignment_v2(assignments_item, out)
    out.append(0)


def _decode_create_partitions_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatePartitionsRequest, int]:
    topics_count, pos = read_compact_count(buf, pos, 7, budget)
    topics: list[CreatePartitionsTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_create_partitions_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _unpack_it(buf, pos)
    pos += 6
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatePartitionsRequest(topics, timeout_ms, validate_only), pos


def _encode_create_partitions_request_v2(msg: CreatePartitionsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_create_partitions_topic_v2(topics_item, out)
    out += _pack_itB(msg.timeout_ms, msg.validate_only, 0)


def _decode_create_partitions_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatePartitionsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 6 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    results: list[CreatePartitionsTopicResult] = []
    for _ in range(results_count):
        (results_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + results_name_length
        if results_name_length < 0 or end > len(buf):
            raise wrong_length("string", results_name_length, pos, buf)
        results_name = str(buf[pos:end], "utf-8")
        pos = end
        results_error_code, results_error_message_length = _unpack_hh(buf, pos)
        pos += 4
        results_error_message: str | None = None
        if results_error_message_length >= 0:
            end = pos + results_error_message_length
            if end > len(buf):
                raise wrong_length("string", results_error_message_length, pos, buf)
            results_error_message = str(buf[pos:end], "utf-8")
            pos = end
        results.append(CreatePartitionsTopicResult(results_name, results_error_code, results_error_message))
    return CreatePartitionsResponse(throttle_time_ms, results), pos


def _encode_create_partitions_response_v0(msg: CreatePartitionsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        name_bytes = results_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_h(results_item.error_code)
        write_nullable_string(results_item.error_message, out)


def _decode_create_partitions_topic_result_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatePartitionsTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatePartitionsTopicResult(name, error_code, error_message), pos


def _encode_create_partitions_topic_result_v2(msg: CreatePartitionsTopicResult, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_create_partitions_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatePartitionsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    results_count, pos = read_compact_count(buf, pos + 4, 5, budget)
    results: list[CreatePartitionsTopicResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_create_partitions_topic_result_v2(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatePartitionsResponse(throttle_time_ms, results), pos


def _encode_create_partitions_response_v2(msg: CreatePartitionsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_create_partitions_topic_result_v2(results_item, out)
    out.append(0)


CreatePartitionsRequest.DECODERS = (
    _decode_create_partitions_request_v0,
    _decode_create_partitions_request_v0,
    _decode_create_partitions_request_v2,
    _decode_create_partitions_request_v2,
)

CreatePartitionsRequest.ENCODERS = (
    _encode_create_partitions_request_v0,
    _encode_create_partitions_request_v0,
    _encode_create_partitions_request_v2,
    _encode_create_partitions_request_v2,
)

CreatePartitionsResponse.DECODERS = (
    _decode_create_partitions_response_v0,
    _decode_create_partitions_response_v0,
    _decode_create_partitions_response_v2,
    _decode_create_partitions_response_v2,
)

CreatePartitionsResponse.ENCODERS = (
    _encode_create_partitions_response_v0,
    _encode_create_partitions_response_v0,
    _encode_create_partitions_response_v2,
    _encode_create_partitions_response_v2,
)
