"""Produce (API key 0): request and response.

Generated from the Produce schemas by scripts/generate.

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
    Records,
    WireBuffer,
    check_count,
    not_in_version,
    read_nullable_string,
    read_string,
    take_nullable_records,
    take_nullable_string,
    write_nullable_records,
    write_nullable_string,
    write_string,
)

_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_ihq = Struct(">ihq").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ihqqqi = Struct(">ihqqqi").pack
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihq = Struct(">ihq").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqq = Struct(">ihqqq").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from


class PartitionProduceData(Part):
    """Part of ProduceRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "index",
        "records",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        index: int = 0,
        records: Records | None = None,
    ) -> None:
        self.index = index
        self.records = records


class TopicProduceData(Part):
    """Part of ProduceRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_data",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_data: list[PartitionProduceData] | None = None,
    ) -> None:
        self.name = name
        self.partition_data: list[PartitionProduceData] = [] if partition_data is None else partition_data


class ProduceRequest(Message):
    """ProduceRequest (API key 0), versions 0-8."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",  # versions 3+
        "acks",
        "timeout_ms",
        "topic_data",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ProduceRequest"
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 8
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ProduceRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ProduceRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data: list[TopicProduceData] = [] if topic_data is None else topic_data


class BatchIndexAndErrorMessage(Part):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "batch_index",  # versions 8+
        "batch_index_error_message",  # versions 8+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


class PartitionProduceResponse(Part):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",  # versions 2+
        "log_start_offset",  # versions 5+
        "record_errors",  # versions 8+
        "error_message",  # versions 8+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] | None = None,
        error_message: str | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors: list[BatchIndexAndErrorMessage] = [] if record_errors is None else record_errors
        self.error_message = error_message


class TopicProduceResponse(Part):
    """Part of ProduceResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_responses",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_responses: list[PartitionProduceResponse] | None = None,
    ) -> None:
        self.name = name
        self.partition_responses: list[PartitionProduceResponse] = (
            [] if partition_responses is None else partition_responses
        )


class ProduceResponse(Message):
    """ProduceResponse (API key 0), versions 0-8."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "responses",
        "throttle_time_ms",  # versions 1+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ProduceResponse"
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 8
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ProduceResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ProduceResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        responses: list[TopicProduceResponse] | None = None,
        throttle_time_ms: int = 0,
    ) -> None:
        self.responses: list[TopicProduceResponse] = [] if responses is None else responses
        self.throttle_time_ms = throttle_time_ms


def _decode_partition_produce_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionProduceData, int]:
    index, records_length = _unpack_ii(buf, pos)
    records, pos = take_nullable_records(buf, pos + 8, records_length)
    return PartitionProduceData(index, records), pos


def _encode_partition_produce_data_v0(msg: PartitionProduceData, out: WireBuffer) -> None:
    out += _pack_i(msg.index)
    write_nullable_records(msg.records, out)


def _decode_topic_produce_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceData, int]:
    name, pos = read_string(buf, pos)
    (partition_data_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partition_data_count, len(buf) - pos, 8, budget)
    partition_data: list[PartitionProduceData] = []
    for _ in range(partition_data_count):
        partition_data_item, pos = _decode_partition_produce_data_v0(buf, pos, budget)
        partition_data.append(partition_data_item)
    return TopicProduceData(name, partition_data), pos


def _encode_topic_produce_data_v0(msg: TopicProduceData, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partition_data))
    for partition_data_item in msg.partition_data:
        _encode_partition_produce_data_v0(partition_data_item, out)


def _decode_produce_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    acks, timeout_ms, topic_data_count = _unpack_hii(buf, pos)
    pos += 10
    check_count(topic_data_count, len(buf) - pos, 6, budget)
    topic_data: list[TopicProduceData] = []
    for _ in range(topic_data_count):
        topic_data_item, pos = _decode_topic_produce_data_v0(buf, pos, budget)
        topic_data.append(topic_data_item)
    return ProduceRequest(None, acks, timeout_ms, topic_data), pos


def _encode_produce_request_v0(msg: ProduceRequest, out: WireBuffer) -> None:
    if msg.transactional_id is not None:
        raise not_in_version("ProduceRequest.transactional_id")
    out += _pack_hii(msg.acks, msg.timeout_ms, len(msg.topic_data))
    for topic_data_item in msg.topic_data:
        _encode_topic_produce_data_v0(topic_data_item, out)


def _decode_produce_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    transactional_id, pos = read_nullable_string(buf, pos)
    acks, timeout_ms, topic_data_count = _unpack_hii(buf, pos)
    pos += 10
    check_count(topic_data_count, len(buf) - pos, 6, budget)
    topic_data: list[TopicProduceData] = []
    for _ in range(topic_data_count):
        topic_data_item, pos = _decode_topic_produce_data_v0(buf, pos, budget)
        topic_data.append(topic_data_item)
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), pos


def _encode_produce_request_v3(msg: ProduceRequest, out: WireBuffer) -> None:
    write_nullable_string(msg.transactional_id, out)
    out += _pack_hii(msg.acks, msg.timeout_ms, len(msg.topic_data))
    for topic_data_item in msg.topic_data:
        _encode_topic_produce_data_v0(topic_data_item, out)


def _decode_partition_produce_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset = _unpack_ihq(buf, pos)
    return PartitionProduceResponse(index, error_code, base_offset), pos + 14


def _encode_partition_produce_response_v0(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    out += _pack_ihq(msg.index, msg.error_code, msg.base_offset)


def _decode_topic_produce_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    name, pos = read_string(buf, pos)
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partition_responses_count, len(buf) - pos, 14, budget)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v0(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v0(msg: TopicProduceResponse, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v0(partition_responses_item, out)


def _decode_produce_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(responses_count, len(buf) - pos, 6, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v0(buf, pos, budget)
        responses.append(responses_item)
    return ProduceResponse(responses), pos


def _encode_produce_response_v0(msg: ProduceResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        _encode_topic_produce_response_v0(responses_item, out)


def _decode_produce_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(responses_count, len(buf) - pos, 6, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v0(buf, pos, budget)
        responses.append(responses_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    return ProduceResponse(responses, throttle_time_ms), pos + 4


def _encode_produce_response_v1(msg: ProduceResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        _encode_topic_produce_response_v0(responses_item, out)
    out += _pack_i(msg.throttle_time_ms)


def _decode_partition_produce_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms = _unpack_ihqq(buf, pos)
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms), pos + 22


def _encode_partition_produce_response_v2(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    out += _pack_ihqq(msg.index, msg.error_code, msg.base_offset, msg.log_append_time_ms)


def _decode_topic_produce_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    name, pos = read_string(buf, pos)
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partition_responses_count, len(buf) - pos, 22, budget)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v2(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v2(msg: TopicProduceResponse, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v2(partition_responses_item, out)


def _decode_produce_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(responses_count, len(buf) - pos, 6, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v2(buf, pos, budget)
        responses.append(responses_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    return ProduceResponse(responses, throttle_time_ms), pos + 4


def _encode_produce_response_v2(msg: ProduceResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        _encode_topic_produce_response_v2(responses_item, out)
    out += _pack_i(msg.throttle_time_ms)


def _decode_partition_produce_response_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset = _unpack_ihqqq(buf, pos)
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset), pos + 30


def _encode_partition_produce_response_v5(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    out += _pack_ihqqq(msg.index, msg.error_code, msg.base_offset, msg.log_append_time_ms, msg.log_start_offset)


def _decode_topic_produce_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    name, pos = read_string(buf, pos)
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partition_responses_count, len(buf) - pos, 30, budget)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v5(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v5(msg: TopicProduceResponse, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v5(partition_responses_item, out)


def _decode_produce_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(responses_count, len(buf) - pos, 6, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v5(buf, pos, budget)
        responses.append(responses_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    return ProduceResponse(responses, throttle_time_ms), pos + 4


def _encode_produce_response_v5(msg: ProduceResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        _encode_topic_produce_response_v5(responses_item, out)
    out += _pack_i(msg.throttle_time_ms)


def _decode_batch_index_and_error_message_v8(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BatchIndexAndErrorMessage, int]:
    batch_index, batch_index_error_message_length = _unpack_ih(buf, pos)
    batch_index_error_message, pos = take_nullable_string(buf, pos + 6, batch_index_error_message_length)
    return BatchIndexAndErrorMessage(batch_index, batch_index_error_message), pos


def _encode_batch_index_and_error_message_v8(msg: BatchIndexAndErrorMessage, out: WireBuffer) -> None:
    out += _pack_i(msg.batch_index)
    write_nullable_string(msg.batch_index_error_message, out)


def _decode_partition_produce_response_v8(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors_count = _unpack_ihqqqi(buf, pos)
    pos += 34
    check_count(record_errors_count, len(buf) - pos, 6, budget)
    record_errors: list[BatchIndexAndErrorMessage] = []
    for _ in range(record_errors_count):
        record_errors_item, pos = _decode_batch_index_and_error_message_v8(buf, pos, budget)
        record_errors.append(record_errors_item)
    error_message, pos = read_nullable_string(buf, pos)
    return PartitionProduceResponse(
        index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message
    ), pos


def _encode_partition_produce_response_v8(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    out += _pack_ihqqqi(
        msg.index, msg.error_code, msg.base_offset, msg.log_append_time_ms, msg.log_start_offset, len(msg.record_errors)
    )
    for record_errors_item in msg.record_errors:
        _encode_batch_index_and_error_message_v8(record_errors_item, out)
    write_nullable_string(msg.error_message, out)


def _decode_topic_produce_response_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    name, pos = read_string(buf, pos)
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partition_responses_count, len(buf) - pos, 36, budget)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v8(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v8(msg: TopicProduceResponse, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v8(partition_responses_item, out)


def _decode_produce_response_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(responses_count, len(buf) - pos, 6, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v8(buf, pos, budget)
        responses.append(responses_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    return ProduceResponse(responses, throttle_time_ms), pos + 4


def _encode_produce_response_v8(msg: ProduceResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        _encode_topic_produce_response_v8(responses_item, out)
    out += _pack_i(msg.throttle_time_ms)


ProduceRequest.DECODERS = (
    _decode_produce_request_v0,
    _decode_produce_request_v0,
    _decode_produce_request_v0,
    _decode_produce_request_v3,
    _decode_produce_request_v3,
    _decode_produce_request_v3,
    _decode_produce_request_v3,
    _decode_produce_request_v3,
    _decode_produce_request_v3,
)

ProduceRequest.ENCODERS = (
    _encode_produce_request_v0,
    _encode_produce_request_v0,
    _encode_produce_request_v0,
    _encode_produce_request_v3,
    _encode_produce_request_v3,
    _encode_produce_request_v3,
    _encode_produce_request_v3,
    _encode_produce_request_v3,
    _encode_produce_request_v3,
)

ProduceResponse.DECODERS = (
    _decode_produce_response_v0,
    _decode_produce_response_v1,
    _decode_produce_response_v2,
    _decode_produce_response_v2,
    _decode_produce_response_v2,
    _decode_produce_response_v5,
    _decode_produce_response_v5,
    _decode_produce_response_v5,
    _decode_produce_response_v8,
)

ProduceResponse.ENCODERS = (
    _encode_produce_response_v0,
    _encode_produce_response_v1,
    _encode_produce_response_v2,
    _encode_produce_response_v2,
    _encode_produce_response_v2,
    _encode_produce_response_v5,
    _encode_produce_response_v5,
    _encode_produce_response_v5,
    _encode_produce_response_v8,
)
