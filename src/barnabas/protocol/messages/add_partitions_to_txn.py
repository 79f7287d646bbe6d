"""AddPartitionsToTxn (API key 24): request and response.

Generated from the AddPartitionsToTxn schemas by scripts/generate.

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
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    not_in_version,
    read_compact_count,
    read_compact_string,
    read_int32s,
    read_string,
    skip_tagged_fields,
    write_compact_string,
    write_int32s,
    write_string,
    write_uvarint,
)

_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ii = Struct(">ii").pack
_pack_qh = Struct(">qh").pack
_pack_qhi = Struct(">qhi").pack
_pack_qht = Struct(">qh?").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_qh = Struct(">qh").unpack_from
_unpack_qhi = Struct(">qhi").unpack_from
_unpack_qht = Struct(">qh?").unpack_from


class AddPartitionsToTxnTopic(Part):
    """Part of AddPartitionsToTxnRequest."""

    __slots__ = (
        "name",  # versions 0-3
        "partitions",  # versions 0-3
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is None else partitions


class AddPartitionsToTxnTopic2(Part):
    """Part of AddPartitionsToTxnRequest."""

    __slots__ = (
        "name",  # versions 4+
        "partitions",  # versions 4+
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is None else partitions


class AddPartitionsToTxnTransaction(Part):
    """Part of AddPartitionsToTxnRequest."""

    __slots__ = (
        "transactional_id",  # versions 4+
        "producer_id",  # versions 4+
        "producer_epoch",  # versions 4+
        "verify_only",  # versions 4+
        "topics",  # versions 4+
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic2] | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics: list[AddPartitionsToTxnTopic2] = [] if topics is None else topics


class AddPartitionsToTxnRequest(Message):
    """AddPartitionsToTxnRequest (API key 24), versions 0-5."""

    __slots__ = (
        "v3_and_below_transactional_id",  # versions 0-3
        "v3_and_below_producer_id",  # versions 0-3
        "v3_and_below_producer_epoch",  # versions 0-3
        "v3_and_below_topics",  # versions 0-3
        "transactions",  # versions 4+
    )

    SCHEMA_NAME: ClassVar[str] = "AddPartitionsToTxnRequest"
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddPartitionsToTxnRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddPartitionsToTxnRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] | None = None,
        transactions: list[AddPartitionsToTxnTransaction] | None = None,
    ) -> None:
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics: list[AddPartitionsToTxnTopic] = (
            [] if v3_and_below_topics is None else v3_and_below_topics
        )
        self.transactions: list[AddPartitionsToTxnTransaction] = [] if transactions is None else transactions


class AddPartitionsToTxnPartitionResult(Part):
    """Part of AddPartitionsToTxnResponse."""

    __slots__ = (
        "partition_index",  # versions 0-3
        "partition_error_code",  # versions 0-3
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


class AddPartitionsToTxnTopicResult(Part):
    """Part of AddPartitionsToTxnResponse."""

    __slots__ = (
        "name",  # versions 0-3
        "results_by_partition",  # versions 0-3
    )

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] | None = None,
    ) -> None:
        self.name = name
        self.results_by_partition: list[AddPartitionsToTxnPartitionResult] = (
            [] if results_by_partition is None else results_by_partition
        )


class AddPartitionsToTxnPartitionResult2(Part):
    """Part of AddPartitionsToTxnResponse."""

    __slots__ = (
        "partition_index",  # versions 4+
        "partition_error_code",  # versions 4+
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


class AddPartitionsToTxnTopicResult2(Part):
    """Part of AddPartitionsToTxnResponse."""

    __slots__ = (
        "name",  # versions 4+
        "results_by_partition",  # versions 4+
    )

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult2] | None = None,
    ) -> None:
        self.name = name
        self.results_by_partition: list[AddPartitionsToTxnPartitionResult2] = (
            [] if results_by_partition is None else results_by_partition
        )


class AddPartitionsToTxnResult(Part):
    """Part of AddPartitionsToTxnResponse."""

    __slots__ = (
        "transactional_id",  # versions 4+
        "topic_results",  # versions 4+
    )

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult2] | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results: list[AddPartitionsToTxnTopicResult2] = [] if topic_results is None else topic_results


class AddPartitionsToTxnResponse(Message):
    """AddPartitionsToTxnResponse (API key 24), versions 0-5."""

    __slots__ = (
        "throttle_time_ms",
        "results_by_topic_v3_and_below",  # versions 0-3
        "error_code",  # versions 4+
        "results_by_transaction",  # versions 4+
    )

    SCHEMA_NAME: ClassVar[str] = "AddPartitionsToTxnResponse"
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AddPartitionsToTxnResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AddPartitionsToTxnResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] | None = None,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = (
            [] if results_by_topic_v3_and_below is None else results_by_topic_v3_and_below
        )
        self.error_code = error_code
        self.results_by_transaction: list[AddPartitionsToTxnResult] = (
            [] if results_by_transaction is None else results_by_transaction
        )


def _decode_add_partitions_to_txn_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopic, int]:
    name, pos = read_string(buf, pos)
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(partitions_count, len(buf) - pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    return AddPartitionsToTxnTopic(name, partitions), pos


def _encode_add_partitions_to_txn_topic_v0(msg: AddPartitionsToTxnTopic, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.partitions))
    write_int32s(msg.partitions, out)


def _decode_add_partitions_to_txn_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnRequest, int]:
    v3_and_below_transactional_id, pos = read_string(buf, pos)
    v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics_count = _unpack_qhi(buf, pos)
    pos += 14
    check_count(v3_and_below_topics_count, len(buf) - pos, 6, budget)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
    for _ in range(v3_and_below_topics_count):
        v3_and_below_topics_item, pos = _decode_add_partitions_to_txn_topic_v0(buf, pos, budget)
        v3_and_below_topics.append(v3_and_below_topics_item)
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics
    ), pos


def _encode_add_partitions_to_txn_request_v0(msg: AddPartitionsToTxnRequest, out: WireBuffer) -> None:
    if msg.transactions:
        raise not_in_version("AddPartitionsToTxnRequest.transactions")
    write_string(msg.v3_and_below_transactional_id, out)
    out += _pack_qhi(msg.v3_and_below_producer_id, msg.v3_and_below_producer_epoch, len(msg.v3_and_below_topics))
    for v3_and_below_topics_item in msg.v3_and_below_topics:
        _encode_add_partitions_to_txn_topic_v0(v3_and_below_topics_item, out)


def _decode_add_partitions_to_txn_topic_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnTopic(name, partitions), pos


def _encode_add_partitions_to_txn_topic_v3(msg: AddPartitionsToTxnTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_add_partitions_to_txn_request_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnRequest, int]:
    v3_and_below_transactional_id, pos = read_compact_string(buf, pos)
    v3_and_below_producer_id, v3_and_below_producer_epoch = _unpack_qh(buf, pos)
    v3_and_below_topics_count, pos = read_compact_count(buf, pos + 10, 3, budget)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
    for _ in range(v3_and_below_topics_count):
        v3_and_below_topics_item, pos = _decode_add_partitions_to_txn_topic_v3(buf, pos, budget)
        v3_and_below_topics.append(v3_and_below_topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics
    ), pos


def _encode_add_partitions_to_txn_request_v3(msg: AddPartitionsToTxnRequest, out: WireBuffer) -> None:
    if msg.transactions:
        raise not_in_version("AddPartitionsToTxnRequest.transactions")
    write_compact_string(msg.v3_and_below_transactional_id, out)
    out += _pack_qh(msg.v3_and_below_producer_id, msg.v3_and_below_producer_epoch)
    write_uvarint(len(msg.v3_and_below_topics) + 1, out)
    for v3_and_below_topics_item in msg.v3_and_below_topics:
        _encode_add_partitions_to_txn_topic_v3(v3_and_below_topics_item, out)
    out.append(0)


def _decode_add_partitions_to_txn_topic2_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopic2, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnTopic2(name, partitions), pos


def _encode_add_partitions_to_txn_topic2_v4(msg: AddPartitionsToTxnTopic2, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_add_partitions_to_txn_transaction_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTransaction, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    producer_id, producer_epoch, verify_only = _unpack_qht(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 11, 3, budget)
    topics: list[AddPartitionsToTxnTopic2] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_add_partitions_to_txn_topic2_v4(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnTransaction(transactional_id, producer_id, producer_epoch, verify_only, topics), pos


def _encode_add_partitions_to_txn_transaction_v4(msg: AddPartitionsToTxnTransaction, out: WireBuffer) -> None:
    write_compact_string(msg.transactional_id, out)
    out += _pack_qht(msg.producer_id, msg.producer_epoch, msg.verify_only)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_add_partitions_to_txn_topic2_v4(topics_item, out)
    out.append(0)


def _decode_add_partitions_to_txn_request_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnRequest, int]:
    transactions_count, pos = read_compact_count(buf, pos, 14, budget)
    transactions: list[AddPartitionsToTxnTransaction] = []
    for _ in range(transactions_count):
        transactions_item, pos = _decode_add_partitions_to_txn_transaction_v4(buf, pos, budget)
        transactions.append(transactions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnRequest("", 0, 0, [], transactions), pos


def _encode_add_partitions_to_txn_request_v4(msg: AddPartitionsToTxnRequest, out: WireBuffer) -> None:
    if msg.v3_and_below_transactional_id != "":
        raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_transactional_id")
    if msg.v3_and_below_producer_id != 0:
        raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_producer_id")
    if msg.v3_and_below_producer_epoch != 0:
        raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_producer_epoch")
    if msg.v3_and_below_topics:
        raise not_in_version("AddPartitionsToTxnRequest.v3_and_below_topics")
    write_uvarint(len(msg.transactions) + 1, out)
    for transactions_item in msg.transactions:
        _encode_add_partitions_to_txn_transaction_v4(transactions_item, out)
    out.append(0)


def _decode_add_partitions_to_txn_partition_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnPartitionResult, int]:
    partition_index, partition_error_code = _unpack_ih(buf, pos)
    return AddPartitionsToTxnPartitionResult(partition_index, partition_error_code), pos + 6


def _encode_add_partitions_to_txn_partition_result_v0(msg: AddPartitionsToTxnPartitionResult, out: WireBuffer) -> None:
    out += _pack_ih(msg.partition_index, msg.partition_error_code)


def _decode_add_partitions_to_txn_topic_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopicResult, int]:
    name, pos = read_string(buf, pos)
    (results_by_partition_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(results_by_partition_count, len(buf) - pos, 6, budget)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(results_by_partition_count):
        results_by_partition_item, pos = _decode_add_partitions_to_txn_partition_result_v0(buf, pos, budget)
        results_by_partition.append(results_by_partition_item)
    return AddPartitionsToTxnTopicResult(name, results_by_partition), pos


def _encode_add_partitions_to_txn_topic_result_v0(msg: AddPartitionsToTxnTopicResult, out: WireBuffer) -> None:
    write_string(msg.name, out)
    out += _pack_i(len(msg.results_by_partition))
    for results_by_partition_item in msg.results_by_partition:
        _encode_add_partitions_to_txn_partition_result_v0(results_by_partition_item, out)


def _decode_add_partitions_to_txn_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnResponse, int]:
    throttle_time_ms, results_by_topic_v3_and_below_count = _unpack_ii(buf, pos)
    pos += 8
    check_count(results_by_topic_v3_and_below_count, len(buf) - pos, 6, budget)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(results_by_topic_v3_and_below_count):
        results_by_topic_v3_and_below_item, pos = _decode_add_partitions_to_txn_topic_result_v0(buf, pos, budget)
        results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
    return AddPartitionsToTxnResponse(throttle_time_ms, results_by_topic_v3_and_below), pos


def _encode_add_partitions_to_txn_response_v0(msg: AddPartitionsToTxnResponse, out: WireBuffer) -> None:
    if msg.results_by_transaction:
        raise not_in_version("AddPartitionsToTxnResponse.results_by_transaction")
    out += _pack_ii(msg.throttle_time_ms, len(msg.results_by_topic_v3_and_below))
    for results_by_topic_v3_and_below_item in msg.results_by_topic_v3_and_below:
        _encode_add_partitions_to_txn_topic_result_v0(results_by_topic_v3_and_below_item, out)


def _decode_add_partitions_to_txn_partition_result_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnPartitionResult, int]:
    partition_index, partition_error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnPartitionResult(partition_index, partition_error_code), pos


def _encode_add_partitions_to_txn_partition_result_v3(msg: AddPartitionsToTxnPartitionResult, out: WireBuffer) -> None:
    out += _pack_ihB(msg.partition_index, msg.partition_error_code, 0)


def _decode_add_partitions_to_txn_topic_result_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    results_by_partition_count, pos = read_compact_count(buf, pos, 7, budget)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(results_by_partition_count):
        results_by_partition_item, pos = _decode_add_partitions_to_txn_partition_result_v3(buf, pos, budget)
        results_by_partition.append(results_by_partition_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnTopicResult(name, results_by_partition), pos


def _encode_add_partitions_to_txn_topic_result_v3(msg: AddPartitionsToTxnTopicResult, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.results_by_partition) + 1, out)
    for results_by_partition_item in msg.results_by_partition:
        _encode_add_partitions_to_txn_partition_result_v3(results_by_partition_item, out)
    out.append(0)


def _decode_add_partitions_to_txn_response_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    results_by_topic_v3_and_below_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(results_by_topic_v3_and_below_count):
        results_by_topic_v3_and_below_item, pos = _decode_add_partitions_to_txn_topic_result_v3(buf, pos, budget)
        results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnResponse(throttle_time_ms, results_by_topic_v3_and_below), pos


def _encode_add_partitions_to_txn_response_v3(msg: AddPartitionsToTxnResponse, out: WireBuffer) -> None:
    if msg.results_by_transaction:
        raise not_in_version("AddPartitionsToTxnResponse.results_by_transaction")
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.results_by_topic_v3_and_below) + 1, out)
    for results_by_topic_v3_and_below_item in msg.results_by_topic_v3_and_below:
        _encode_add_partitions_to_txn_topic_result_v3(results_by_topic_v3_and_below_item, out)
    out.append(0)


def _decode_add_partitions_to_txn_partition_result2_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnPartitionResult2, int]:
    partition_index, partition_error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnPartitionResult2(partition_index, partition_error_code), pos


def _encode_add_partitions_to_txn_partition_result2_v4(
    msg: AddPartitionsToTxnPartitionResult2, out: WireBuffer
) -> None:
    out += _pack_ihB(msg.partition_index, msg.partition_error_code, 0)


def _decode_add_partitions_to_txn_topic_result2_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnTopicResult2, int]:
    name, pos = read_compact_string(buf, pos)
    results_by_partition_count, pos = read_compact_count(buf, pos, 7, budget)
    results_by_partition: list[AddPartitionsToTxnPartitionResult2] = []
    for _ in range(results_by_partition_count):
        results_by_partition_item, pos = _decode_add_partitions_to_txn_partition_result2_v4(buf, pos, budget)
        results_by_partition.append(results_by_partition_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnTopicResult2(name, results_by_partition), pos


def _encode_add_partitions_to_txn_topic_result2_v4(msg: AddPartitionsToTxnTopicResult2, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.results_by_partition) + 1, out)
    for results_by_partition_item in msg.results_by_partition:
        _encode_add_partitions_to_txn_partition_result2_v4(results_by_partition_item, out)
    out.append(0)


def _decode_add_partitions_to_txn_result_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnResult, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    topic_results_count, pos = read_compact_count(buf, pos, 3, budget)
    topic_results: list[AddPartitionsToTxnTopicResult2] = []
    for _ in range(topic_results_count):
        topic_results_item, pos = _decode_add_partitions_to_txn_topic_result2_v4(buf, pos, budget)
        topic_results.append(topic_results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnResult(transactional_id, topic_results), pos


def _encode_add_partitions_to_txn_result_v4(msg: AddPartitionsToTxnResult, out: WireBuffer) -> None:
    write_compact_string(msg.transactional_id, out)
    write_uvarint(len(msg.topic_results) + 1, out)
    for topic_results_item in msg.topic_results:
        _encode_add_partitions_to_txn_topic_result2_v4(topic_results_item, out)
    out.append(0)


def _decode_add_partitions_to_txn_response_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AddPartitionsToTxnResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    results_by_transaction_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    results_by_transaction: list[AddPartitionsToTxnResult] = []
    for _ in range(results_by_transaction_count):
        results_by_transaction_item, pos = _decode_add_partitions_to_txn_result_v4(buf, pos, budget)
        results_by_transaction.append(results_by_transaction_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AddPartitionsToTxnResponse(throttle_time_ms, [], error_code, results_by_transaction), pos


def _encode_add_partitions_to_txn_response_v4(msg: AddPartitionsToTxnResponse, out: WireBuffer) -> None:
    if msg.results_by_topic_v3_and_below:
        raise not_in_version("AddPartitionsToTxnResponse.results_by_topic_v3_and_below")
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.results_by_transaction) + 1, out)
    for results_by_transaction_item in msg.results_by_transaction:
        _encode_add_partitions_to_txn_result_v4(results_by_transaction_item, out)
    out.append(0)


AddPartitionsToTxnRequest.DECODERS = (
    _decode_add_partitions_to_txn_request_v0,
    _decode_add_partitions_to_txn_request_v0,
    _decode_add_partitions_to_txn_request_v0,
    _decode_add_partitions_to_txn_request_v3,
    _decode_add_partitions_to_txn_request_v4,
    _decode_add_partitions_to_txn_request_v4,
)

AddPartitionsToTxnRequest.ENCODERS = (
    _encode_add_partitions_to_txn_request_v0,
    _encode_add_partitions_to_txn_request_v0,
    _encode_add_partitions_to_txn_request_v0,
    _encode_add_partitions_to_txn_request_v3,
    _encode_add_partitions_to_txn_request_v4,
    _encode_add_partitions_to_txn_request_v4,
)

AddPartitionsToTxnResponse.DECODERS = (
    _decode_add_partitions_to_txn_response_v0,
    _decode_add_partitions_to_txn_response_v0,
    _decode_add_partitions_to_txn_response_v0,
    _decode_add_partitions_to_txn_response_v3,
    _decode_add_partitions_to_txn_response_v4,
    _decode_add_partitions_to_txn_response_v4,
)

AddPartitionsToTxnResponse.ENCODERS = (
    _encode_add_partitions_to_txn_response_v0,
    _encode_add_partitions_to_txn_response_v0,
    _encode_add_partitions_to_txn_response_v0,
    _encode_add_partitions_to_txn_response_v3,
    _encode_add_partitions_to_txn_response_v4,
    _encode_add_partitions_to_txn_response_v4,
)
