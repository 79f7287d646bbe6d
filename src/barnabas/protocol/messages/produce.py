"""Produce (API key 0): request and response.

Generated from the Produce schemas by scripts/generate.

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
    Records,
    WireBuffer,
    ZERO_UUID,
    check_count,
    check_tag_end,
    not_in_version,
    read_compact_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    take_nullable_records,
    take_nullable_string,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_records,
    write_nullable_string,
    write_string,
    write_tagged_fields,
    write_uvarint,
)

_pack_hi = Struct(">hi").pack
_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ihq = Struct(">ihq").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ihqqqi = Struct(">ihqqqi").pack
_pack_iiB = Struct(">iiB").pack
_pack_u = Struct(">16s").pack
_unpack_hi = Struct(">hi").unpack_from
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihq = Struct(">ihq").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqq = Struct(">ihqqq").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_u = Struct(">16s").unpack_from


class PartitionProduceData(Part):
    """Part of ProduceRequest."""

    __slots__ = (
        "index",
        "records",
    )

    def __init__(
        self,
        index: int = 0,
        records: Records | None = None,
    ) -> None:
        self.index = index
        self.records = records


class TopicProduceData(Part):
    """Part of ProduceRequest."""

    __slots__ = (
        "name",  # versions 0-12
        "topic_id",  # versions 13+
        "partition_data",
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: list[PartitionProduceData] | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data: list[PartitionProduceData] = [] if partition_data is None else partition_data


class ProduceRequest(Message):
    """ProduceRequest (API key 0), versions 0-13."""

    __slots__ = (
        "transactional_id",  # versions 3+
        "acks",
        "timeout_ms",
        "topic_data",
    )

    SCHEMA_NAME: ClassVar[str] = "ProduceRequest"
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
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

    __slots__ = (
        "batch_index",  # versions 8+
        "batch_index_error_message",  # versions 8+
    )

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


class LeaderIdAndEpoch(Part):
    """Part of ProduceResponse."""

    __slots__ = (
        "leader_id",  # versions 10+
        "leader_epoch",  # versions 10+
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionProduceResponse(Part):
    """Part of ProduceResponse."""

    __slots__ = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",  # versions 2+
        "log_start_offset",  # versions 5+
        "record_errors",  # versions 8+
        "error_message",  # versions 8+
        "current_leader",  # versions 10+, tag 0
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] | None = None,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors: list[BatchIndexAndErrorMessage] = [] if record_errors is None else record_errors
        self.error_message = error_message
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is None else current_leader


class TopicProduceResponse(Part):
    """Part of ProduceResponse."""

    __slots__ = (
        "name",  # versions 0-12
        "topic_id",  # versions 13+
        "partition_responses",
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses: list[PartitionProduceResponse] = (
            [] if partition_responses is None else partition_responses
        )


class NodeEndpoint(Part):
    """Part of ProduceResponse."""

    __slots__ = (
        "node_id",  # versions 10+
        "host",  # versions 10+
        "port",  # versions 10+
        "rack",  # versions 10+
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class ProduceResponse(Message):
    """ProduceResponse (API key 0), versions 0-13."""

    __slots__ = (
        "responses",
        "throttle_time_ms",  # versions 1+
        "node_endpoints",  # versions 10+, tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "ProduceResponse"
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ProduceResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ProduceResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        responses: list[TopicProduceResponse] | None = None,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] | None = None,
    ) -> None:
        self.responses: list[TopicProduceResponse] = [] if responses is None else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is None else node_endpoints


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
    return TopicProduceData(name, ZERO_UUID, partition_data), pos


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


def _decode_partition_produce_data_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[PartitionProduceData, int]:
    (index,) = _unpack_i(buf, pos)
    records, pos = read_compact_nullable_records(buf, pos + 4)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionProduceData(index, records), pos


def _encode_partition_produce_data_v9(msg: PartitionProduceData, out: WireBuffer) -> None:
    out += _pack_i(msg.index)
    write_compact_nullable_records(msg.records, out)
    out.append(0)


def _decode_topic_produce_data_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceData, int]:
    name, pos = read_compact_string(buf, pos)
    partition_data_count, pos = read_compact_count(buf, pos, 6, budget)
    partition_data: list[PartitionProduceData] = []
    for _ in range(partition_data_count):
        partition_data_item, pos = _decode_partition_produce_data_v9(buf, pos, budget)
        partition_data.append(partition_data_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicProduceData(name, ZERO_UUID, partition_data), pos


def _encode_topic_produce_data_v9(msg: TopicProduceData, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partition_data) + 1, out)
    for partition_data_item in msg.partition_data:
        _encode_partition_produce_data_v9(partition_data_item, out)
    out.append(0)


def _decode_produce_request_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    acks, timeout_ms = _unpack_hi(buf, pos)
    topic_data_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    topic_data: list[TopicProduceData] = []
    for _ in range(topic_data_count):
        topic_data_item, pos = _decode_topic_produce_data_v9(buf, pos, budget)
        topic_data.append(topic_data_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), pos


def _encode_produce_request_v9(msg: ProduceRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.transactional_id, out)
    out += _pack_hi(msg.acks, msg.timeout_ms)
    write_uvarint(len(msg.topic_data) + 1, out)
    for topic_data_item in msg.topic_data:
        _encode_topic_produce_data_v9(topic_data_item, out)
    out.append(0)


def _decode_topic_produce_data_v13(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partition_data_count, pos = read_compact_count(buf, pos + 16, 6, budget)
    partition_data: list[PartitionProduceData] = []
    for _ in range(partition_data_count):
        partition_data_item, pos = _decode_partition_produce_data_v9(buf, pos, budget)
        partition_data.append(partition_data_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicProduceData("", topic_id, partition_data), pos


def _encode_topic_produce_data_v13(msg: TopicProduceData, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partition_data) + 1, out)
    for partition_data_item in msg.partition_data:
        _encode_partition_produce_data_v9(partition_data_item, out)
    out.append(0)


def _decode_produce_request_v13(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    acks, timeout_ms = _unpack_hi(buf, pos)
    topic_data_count, pos = read_compact_count(buf, pos + 6, 18, budget)
    topic_data: list[TopicProduceData] = []
    for _ in range(topic_data_count):
        topic_data_item, pos = _decode_topic_produce_data_v13(buf, pos, budget)
        topic_data.append(topic_data_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), pos


def _encode_produce_request_v13(msg: ProduceRequest, out: WireBuffer) -> None:
    write_compact_nullable_string(msg.transactional_id, out)
    out += _pack_hi(msg.acks, msg.timeout_ms)
    write_uvarint(len(msg.topic_data) + 1, out)
    for topic_data_item in msg.topic_data:
        _encode_topic_produce_data_v13(topic_data_item, out)
    out.append(0)


def _decode_partition_produce_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset = _unpack_ihq(buf, pos)
    return PartitionProduceResponse(index, error_code, base_offset), pos + 14


def _encode_partition_produce_response_v0(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionProduceResponse.current_leader")
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
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


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
    if msg.node_endpoints:
        raise not_in_version("ProduceResponse.node_endpoints")
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
    if msg.node_endpoints:
        raise not_in_version("ProduceResponse.node_endpoints")
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
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionProduceResponse.current_leader")
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
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


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
    if msg.node_endpoints:
        raise not_in_version("ProduceResponse.node_endpoints")
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
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionProduceResponse.current_leader")
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
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


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
    if msg.node_endpoints:
        raise not_in_version("ProduceResponse.node_endpoints")
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
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionProduceResponse.current_leader")
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
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


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
    if msg.node_endpoints:
        raise not_in_version("ProduceResponse.node_endpoints")
    out += _pack_i(len(msg.responses))
    for responses_item in msg.responses:
        _encode_topic_produce_response_v8(responses_item, out)
    out += _pack_i(msg.throttle_time_ms)


def _decode_batch_index_and_error_message_v9(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[BatchIndexAndErrorMessage, int]:
    (batch_index,) = _unpack_i(buf, pos)
    batch_index_error_message, pos = read_compact_nullable_string(buf, pos + 4)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BatchIndexAndErrorMessage(batch_index, batch_index_error_message), pos


def _encode_batch_index_and_error_message_v9(msg: BatchIndexAndErrorMessage, out: WireBuffer) -> None:
    out += _pack_i(msg.batch_index)
    write_compact_nullable_string(msg.batch_index_error_message, out)
    out.append(0)


def _decode_partition_produce_response_v9(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset = _unpack_ihqqq(buf, pos)
    record_errors_count, pos = read_compact_count(buf, pos + 30, 6, budget)
    record_errors: list[BatchIndexAndErrorMessage] = []
    for _ in range(record_errors_count):
        record_errors_item, pos = _decode_batch_index_and_error_message_v9(buf, pos, budget)
        record_errors.append(record_errors_item)
    error_message, pos = read_compact_nullable_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return PartitionProduceResponse(
        index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message
    ), pos


def _encode_partition_produce_response_v9(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        raise not_in_version("PartitionProduceResponse.current_leader")
    out += _pack_ihqqq(msg.index, msg.error_code, msg.base_offset, msg.log_append_time_ms, msg.log_start_offset)
    write_uvarint(len(msg.record_errors) + 1, out)
    for record_errors_item in msg.record_errors:
        _encode_batch_index_and_error_message_v9(record_errors_item, out)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_topic_produce_response_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    name, pos = read_compact_string(buf, pos)
    partition_responses_count, pos = read_compact_count(buf, pos, 33, budget)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v9(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


def _encode_topic_produce_response_v9(msg: TopicProduceResponse, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partition_responses) + 1, out)
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v9(partition_responses_item, out)
    out.append(0)


def _decode_produce_response_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    responses_count, pos = read_compact_count(buf, pos, 3, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v9(buf, pos, budget)
        responses.append(responses_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ProduceResponse(responses, throttle_time_ms), pos


def _encode_produce_response_v9(msg: ProduceResponse, out: WireBuffer) -> None:
    if msg.node_endpoints:
        raise not_in_version("ProduceResponse.node_endpoints")
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_topic_produce_response_v9(responses_item, out)
    out += _pack_iB(msg.throttle_time_ms, 0)


def _decode_leader_id_and_epoch_v10(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _unpack_ii(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _encode_leader_id_and_epoch_v10(msg: LeaderIdAndEpoch, out: WireBuffer) -> None:
    out += _pack_iiB(msg.leader_id, msg.leader_epoch, 0)


def _decode_partition_produce_response_v10(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset = _unpack_ihqqq(buf, pos)
    record_errors_count, pos = read_compact_count(buf, pos + 30, 6, budget)
    record_errors: list[BatchIndexAndErrorMessage] = []
    for _ in range(record_errors_count):
        record_errors_item, pos = _decode_batch_index_and_error_message_v9(buf, pos, budget)
        record_errors.append(record_errors_item)
    error_message, pos = read_compact_nullable_string(buf, pos)
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            current_leader, pos = _decode_leader_id_and_epoch_v10(buf, pos, budget)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return PartitionProduceResponse(
        index,
        error_code,
        base_offset,
        log_append_time_ms,
        log_start_offset,
        record_errors,
        error_message,
        current_leader,
    ), pos


def _encode_partition_produce_response_v10(msg: PartitionProduceResponse, out: WireBuffer) -> None:
    out += _pack_ihqqq(msg.index, msg.error_code, msg.base_offset, msg.log_append_time_ms, msg.log_start_offset)
    write_uvarint(len(msg.record_errors) + 1, out)
    for record_errors_item in msg.record_errors:
        _encode_batch_index_and_error_message_v9(record_errors_item, out)
    write_compact_nullable_string(msg.error_message, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.current_leader.leader_id != -1 or msg.current_leader.leader_epoch != -1:
        current_leader_value = WireBuffer()
        _encode_leader_id_and_epoch_v10(msg.current_leader, current_leader_value)
        tagged.append((0, current_leader_value))
    write_tagged_fields(tagged, out)


def _decode_topic_produce_response_v10(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    name, pos = read_compact_string(buf, pos)
    partition_responses_count, pos = read_compact_count(buf, pos, 33, budget)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v10(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicProduceResponse(name, ZERO_UUID, partition_responses), pos


def _encode_topic_produce_response_v10(msg: TopicProduceResponse, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partition_responses) + 1, out)
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v10(partition_responses_item, out)
    out.append(0)


def _decode_node_endpoint_v10(buf: memoryview, pos: int, budget: Budget) -> tuple[NodeEndpoint, int]:
    (node_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_i(buf, pos)
    rack, pos = read_compact_nullable_string(buf, pos + 4)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return NodeEndpoint(node_id, host, port, rack), pos


def _encode_node_endpoint_v10(msg: NodeEndpoint, out: WireBuffer) -> None:
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_i(msg.port)
    write_compact_nullable_string(msg.rack, out)
    out.append(0)


def _decode_produce_response_v10(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    responses_count, pos = read_compact_count(buf, pos, 3, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v10(buf, pos, budget)
        responses.append(responses_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    node_endpoints: list[NodeEndpoint] = []
    tagged_count, pos = read_tagged_count(buf, pos + 4, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            node_endpoints_count, pos = read_compact_count(buf, pos, 11, budget)
            node_endpoints = []
            for _ in range(node_endpoints_count):
                node_endpoints_item, pos = _decode_node_endpoint_v10(buf, pos, budget)
                node_endpoints.append(node_endpoints_item)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return ProduceResponse(responses, throttle_time_ms, node_endpoints), pos


def _encode_produce_response_v10(msg: ProduceResponse, out: WireBuffer) -> None:
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_topic_produce_response_v10(responses_item, out)
    out += _pack_i(msg.throttle_time_ms)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.node_endpoints:
        node_endpoints_value = WireBuffer()
        write_uvarint(len(msg.node_endpoints) + 1, node_endpoints_value)
        for node_endpoints_item in msg.node_endpoints:
            _encode_node_endpoint_v10(node_endpoints_item, node_endpoints_value)
        tagged.append((0, node_endpoints_value))
    write_tagged_fields(tagged, out)


def _decode_topic_produce_response_v13(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicProduceResponse, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partition_responses_count, pos = read_compact_count(buf, pos + 16, 33, budget)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(partition_responses_count):
        partition_responses_item, pos = _decode_partition_produce_response_v10(buf, pos, budget)
        partition_responses.append(partition_responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicProduceResponse("", topic_id, partition_responses), pos


def _encode_topic_produce_response_v13(msg: TopicProduceResponse, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partition_responses) + 1, out)
    for partition_responses_item in msg.partition_responses:
        _encode_partition_produce_response_v10(partition_responses_item, out)
    out.append(0)


def _decode_produce_response_v13(buf: memoryview, pos: int, budget: Budget) -> tuple[ProduceResponse, int]:
    responses_count, pos = read_compact_count(buf, pos, 18, budget)
    responses: list[TopicProduceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_topic_produce_response_v13(buf, pos, budget)
        responses.append(responses_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    node_endpoints: list[NodeEndpoint] = []
    tagged_count, pos = read_tagged_count(buf, pos + 4, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            node_endpoints_count, pos = read_compact_count(buf, pos, 11, budget)
            node_endpoints = []
            for _ in range(node_endpoints_count):
                node_endpoints_item, pos = _decode_node_endpoint_v10(buf, pos, budget)
                node_endpoints.append(node_endpoints_item)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return ProduceResponse(responses, throttle_time_ms, node_endpoints), pos


def _encode_produce_response_v13(msg: ProduceResponse, out: WireBuffer) -> None:
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_topic_produce_response_v13(responses_item, out)
    out += _pack_i(msg.throttle_time_ms)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.node_endpoints:
        node_endpoints_value = WireBuffer()
        write_uvarint(len(msg.node_endpoints) + 1, node_endpoints_value)
        for node_endpoints_item in msg.node_endpoints:
            _encode_node_endpoint_v10(node_endpoints_item, node_endpoints_value)
        tagged.append((0, node_endpoints_value))
    write_tagged_fields(tagged, out)


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
    _decode_produce_request_v9,
    _decode_produce_request_v9,
    _decode_produce_request_v9,
    _decode_produce_request_v9,
    _decode_produce_request_v13,
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
    _encode_produce_request_v9,
    _encode_produce_request_v9,
    _encode_produce_request_v9,
    _encode_produce_request_v9,
    _encode_produce_request_v13,
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
    _decode_produce_response_v9,
    _decode_produce_response_v10,
    _decode_produce_response_v10,
    _decode_produce_response_v10,
    _decode_produce_response_v13,
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
    _encode_produce_response_v9,
    _encode_produce_response_v10,
    _encode_produce_response_v10,
    _encode_produce_response_v10,
    _encode_produce_response_v13,
)
