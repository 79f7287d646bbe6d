"""Produce (API key 0): request and response.

Generated from the Produce schemas by scripts/generate.

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
    Records,
    WireBuffer,
    check_count,
    not_in_version,
    write_nullable_records,
    write_nullable_string,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hii: Final = Struct(">hii").pack
_pack_i: Final = Struct(">i").pack
_pack_ihq: Final = Struct(">ihq").pack
_pack_ihqq: Final = Struct(">ihqq").pack
_pack_ihqqq: Final = Struct(">ihqqq").pack
_pack_ihqqqi: Final = Struct(">ihqqqi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hii: Final = Struct(">hii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihq: Final = Struct(">ihq").unpack_from
_unpack_ihqq: Final = Struct(">ihqq").unpack_from
_unpack_ihqqq: Final = Struct(">ihqqq").unpack_from
_unpack_ihqqqi: Final = Struct(">ihqqqi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partition_data", PartitionProduceData, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topic_data", TopicProduceData, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("record_errors", BatchIndexAndErrorMessage, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("partition_responses", PartitionProduceResponse, True),
    )

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("responses", TopicProduceResponse, True),)

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


def _decode_topic_produce_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceData, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_data_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_data_count
    if partition_data_count < 0 or elements_left < 0 or partition_data_count * 8 > len(buf) - pos:
        check_count(partition_data_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    partition_data: list[PartitionProduceData] = []
    for _ in range(partition_data_count):
        partition_data_index, partition_data_records_length = _unpack_ii(buf, pos)
        pos += 8
        partition_data_records: Records | None = None
        if partition_data_records_length >= 0:
            end = pos + partition_data_records_length
            if end > len(buf):
                raise wrong_length("records", partition_data_records_length, pos, buf)
            partition_data_records = buf[pos:end]
            pos = end
        partition_data.append(PartitionProduceData(partition_data_index, partition_data_records))
    return TopicProduceData(name, partition_data), pos


def _encode_topic_produce_data_v0(msg: TopicProduceData, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_data))
    for partition_data_item in msg.partition_data:
        out += _pack_i(partition_data_item.index)
        write_nullable_records(partition_data_item.records, out)


def _decode_produce_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    acks, timeout_ms, topic_data_count = _unpack_hii(buf, pos)
    pos += 10
    elements_left = budget.elements_left - topic_data_count
    if topic_data_count < 0 or elements_left < 0 or topic_data_count * 6 > len(buf) - pos:
        check_count(topic_data_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    transactional_id: str | None = None
    if transactional_id_length >= 0:
        end = pos + transactional_id_length
        if end > len(buf):
            raise wrong_length("string", transactional_id_length, pos, buf)
        transactional_id = str(buf[pos:end], "utf-8")
        pos = end
    acks, timeout_ms, topic_data_count = _unpack_hii(buf, pos)
    pos += 10
    elements_left = budget.elements_left - topic_data_count
    if topic_data_count < 0 or elements_left < 0 or topic_data_count * 6 > len(buf) - pos:
        check_count(topic_data_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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


def _decode_topic_produce_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_responses_count
    if partition_responses_count < 0 or elements_left < 0 or partition_responses_count * 14 > len(buf) - pos:
        check_count(partition_responses_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_index, partition_responses_error_code, partition_responses_base_offset = _unpack_ihq(
            buf, pos
        )
        pos += 14
        partition_responses.append(
            PartitionProduceResponse(
                partition_responses_index, partition_responses_error_code, partition_responses_base_offset
            )
        )
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v0(msg: TopicProduceResponse, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        out += _pack_ihq(
            partition_responses_item.index, partition_responses_item.error_code, partition_responses_item.base_offset
        )


def _decode_produce_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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


def _decode_topic_produce_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_responses_count
    if partition_responses_count < 0 or elements_left < 0 or partition_responses_count * 22 > len(buf) - pos:
        check_count(partition_responses_count, len(buf) - pos, 22, budget)
    budget.elements_left = elements_left
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        (
            partition_responses_index,
            partition_responses_error_code,
            partition_responses_base_offset,
            partition_responses_log_append_time_ms,
        ) = _unpack_ihqq(buf, pos)
        pos += 22
        partition_responses.append(
            PartitionProduceResponse(
                partition_responses_index,
                partition_responses_error_code,
                partition_responses_base_offset,
                partition_responses_log_append_time_ms,
            )
        )
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v2(msg: TopicProduceResponse, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        out += _pack_ihqq(
            partition_responses_item.index,
            partition_responses_item.error_code,
            partition_responses_item.base_offset,
            partition_responses_item.log_append_time_ms,
        )


def _decode_produce_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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


def _decode_topic_produce_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_responses_count
    if partition_responses_count < 0 or elements_left < 0 or partition_responses_count * 30 > len(buf) - pos:
        check_count(partition_responses_count, len(buf) - pos, 30, budget)
    budget.elements_left = elements_left
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        (
            partition_responses_index,
            partition_responses_error_code,
            partition_responses_base_offset,
            partition_responses_log_append_time_ms,
            partition_responses_log_start_offset,
        ) = _unpack_ihqqq(buf, pos)
        pos += 30
        partition_responses.append(
            PartitionProduceResponse(
                partition_responses_index,
                partition_responses_error_code,
                partition_responses_base_offset,
                partition_responses_log_append_time_ms,
                partition_responses_log_start_offset,
            )
        )
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v5(msg: TopicProduceResponse, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        out += _pack_ihqqq(
            partition_responses_item.index,
            partition_responses_item.error_code,
            partition_responses_item.base_offset,
            partition_responses_item.log_append_time_ms,
            partition_responses_item.log_start_offset,
        )


def _decode_produce_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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


def _decode_partition_produce_response_v8(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors_count = _unpack_ihqqqi(buf, pos)
    pos += 34
    elements_left = budget.elements_left - record_errors_count
    if record_errors_count < 0 or elements_left < 0 or record_errors_count * 6 > len(buf) - pos:
        check_count(record_errors_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    record_errors: list[BatchIndexAndErrorMessage] = []
    for _ in range(record_errors_count):
        record_errors_batch_index, record_errors_batch_index_error_message_length = _unpack_ih(buf, pos)
        pos += 6
        record_errors_batch_index_error_message: str | None = None
        if record_errors_batch_index_error_message_length >= 0:
            end = pos + record_errors_batch_index_error_message_length
            if end > len(buf):
                raise wrong_length("string", record_errors_batch_index_error_message_length, pos, buf)
            record_errors_batch_index_error_message = str(buf[pos:end], "utf-8")
            pos = end
        record_errors.append(
            BatchIndexAndErrorMessage(record_errors_batch_index, record_errors_batch_index_error_message)
        )
    (error_message_length,) = _unpack_h(buf, pos)
    pos += 2
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    return PartitionProduceResponse(
        index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message
    ), pos


def _encode_partition_produce_response_v8(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    out += _pack_ihqqqi(
        msg.index, msg.error_code, msg.base_offset, msg.log_append_time_ms, msg.log_start_offset, len(msg.record_errors)
    )
    for record_errors_item in msg.record_errors:
        out += _pack_i(record_errors_item.batch_index)
        write_nullable_string(record_errors_item.batch_index_error_message, out)
    write_nullable_string(msg.error_message, out)


def _decode_topic_produce_response_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_responses_count
    if partition_responses_count < 0 or elements_left < 0 or partition_responses_count * 36 > len(buf) - pos:
        check_count(partition_responses_count, len(buf) - pos, 36, budget)
    budget.elements_left = elements_left
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v8(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name, partition_responses), pos


def _encode_topic_produce_response_v8(msg: TopicProduceResponse, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_responses))
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v8(partition_responses_item, out)


def _decode_produce_response_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    (responses_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 6 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
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
