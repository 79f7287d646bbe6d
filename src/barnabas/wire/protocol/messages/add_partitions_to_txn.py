"""AddPartitionsToTxn (API key 24): request and response.

Generated from the AddPartitionsToTxn schemas by scripts/generate.

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
    read_int32s,
    write_int32s,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_qhi: Final = Struct(">qhi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_qhi: Final = Struct(">qhi").unpack_from


class AddPartitionsToTxnTopic(Part):
    """Part of AddPartitionsToTxnRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is None else partitions


class AddPartitionsToTxnRequest(Message):
    """AddPartitionsToTxnRequest (API key 24), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", AddPartitionsToTxnTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "AddPartitionsToTxnRequest"
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddPartitionsToTxnRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddPartitionsToTxnRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[AddPartitionsToTxnTopic] | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics: list[AddPartitionsToTxnTopic] = [] if topics is None else topics


class AddPartitionsToTxnPartitionResult(Part):
    """Part of AddPartitionsToTxnResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class AddPartitionsToTxnTopicResult(Part):
    """Part of AddPartitionsToTxnResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", AddPartitionsToTxnPartitionResult, True),)

    def __init__(
        self,
        name: str = "",
        results: list[AddPartitionsToTxnPartitionResult] | None = None,
    ) -> None:
        self.name = name
        self.results: list[AddPartitionsToTxnPartitionResult] = [] if results is None else results


class AddPartitionsToTxnResponse(Message):
    """AddPartitionsToTxnResponse (API key 24), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", AddPartitionsToTxnTopicResult, True),)

    SCHEMA_NAME: ClassVar[str] = "AddPartitionsToTxnResponse"
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddPartitionsToTxnResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddPartitionsToTxnResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AddPartitionsToTxnTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AddPartitionsToTxnTopicResult] = [] if results is None else results


def _decode_add_partitions_to_txn_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 4 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    return AddPartitionsToTxnTopic(name, partitions), pos


def _encode_add_partitions_to_txn_topic_v0(msg: AddPartitionsToTxnTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_add_partitions_to_txn_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnRequest, int]:
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + transactional_id_length
    if transactional_id_length < 0 or end > len(buf):
        raise wrong_length("string", transactional_id_length, pos, buf)
    transactional_id = str(buf[pos:end], "utf-8")
    pos = end
    producer_id, producer_epoch, topics_count = _unpack_qhi(buf, pos)
    pos += 14
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[AddPartitionsToTxnTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_add_partitions_to_txn_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return AddPartitionsToTxnRequest(transactional_id, producer_id, producer_epoch, topics), pos


def _encode_add_partitions_to_txn_request_v0(msg: AddPartitionsToTxnRequest, out: WireBuffer) -> None:
    transactional_id_bytes = msg.transactional_id.encode()
    out += _pack_h(len(transactional_id_bytes))
    out += transactional_id_bytes
    out += _pack_qhi(msg.producer_id, msg.producer_epoch, len(msg.topics))
    for topics_item in msg.topics:
        _encode_add_partitions_to_txn_topic_v0(topics_item, out)


def _decode_add_partitions_to_txn_topic_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopicResult, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (results_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 6 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    results: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(results_count):
        results_partition_index, results_error_code = _unpack_ih(buf, pos)
        pos += 6
        results.append(AddPartitionsToTxnPartitionResult(results_partition_index, results_error_code))
    return AddPartitionsToTxnTopicResult(name, results), pos


def _encode_add_partitions_to_txn_topic_result_v0(msg: AddPartitionsToTxnTopicResult, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.results))
    for results_item in msg.results:
        out += _pack_ih(results_item.partition_index, results_item.error_code)


def _decode_add_partitions_to_txn_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 6 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    results: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_add_partitions_to_txn_topic_result_v0(buf, pos, budget)
        results.append(results_item)
    return AddPartitionsToTxnResponse(throttle_time_ms, results), pos


def _encode_add_partitions_to_txn_response_v0(msg: AddPartitionsToTxnResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        _encode_add_partitions_to_txn_topic_result_v0(results_item, out)


AddPartitionsToTxnRequest.DECODERS = (
    _decode_add_partitions_to_txn_request_v0,
    _decode_add_partitions_to_txn_request_v0,
    _decode_add_partitions_to_txn_request_v0,
)

AddPartitionsToTxnRequest.ENCODERS = (
    _encode_add_partitions_to_txn_request_v0,
    _encode_add_partitions_to_txn_request_v0,
    _encode_add_partitions_to_txn_request_v0,
)

AddPartitionsToTxnResponse.DECODERS = (
    _decode_add_partitions_to_txn_response_v0,
    _decode_add_partitions_to_txn_response_v0,
    _decode_add_partitions_to_txn_response_v0,
)

AddPartitionsToTxnResponse.ENCODERS = (
    _encode_add_partitions_to_txn_response_v0,
    _encode_add_partitions_to_txn_response_v0,
    _encode_add_partitions_to_txn_response_v0,
)
