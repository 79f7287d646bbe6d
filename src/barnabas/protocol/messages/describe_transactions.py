"""DescribeTransactions (API key 65): request and response.

Generated from the DescribeTransactions schemas by scripts/generate.

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
    read_compact_count,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_string,
    write_int32s,
    write_uvarint,
)

_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iqqh = Struct(">iqqh").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iqqh = Struct(">iqqh").unpack_from


class DescribeTransactionsRequest(Message):
    """DescribeTransactionsRequest (API key 65), versions 0."""

    __slots__ = ("transactional_ids",)

    SCHEMA_NAME: ClassVar[str] = "DescribeTransactionsRequest"
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeTransactionsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeTransactionsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_ids: list[str] | None = None,
    ) -> None:
        self.transactional_ids: list[str] = [] if transactional_ids is None else transactional_ids


class TopicData(Part):
    """Part of DescribeTransactionsResponse."""

    __slots__ = (
        "topic",
        "partitions",
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is None else partitions


class TransactionState(Part):
    """Part of DescribeTransactionsResponse."""

    __slots__ = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
    )

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] | None = None,
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics: list[TopicData] = [] if topics is None else topics


class DescribeTransactionsResponse(Message):
    """DescribeTransactionsResponse (API key 65), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "transaction_states",
    )

    SCHEMA_NAME: ClassVar[str] = "DescribeTransactionsResponse"
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeTransactionsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeTransactionsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states: list[TransactionState] = [] if transaction_states is None else transaction_states


def _decode_describe_transactions_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeTransactionsRequest, int]:
    transactional_ids_count, pos = read_compact_count(buf, pos, 1, budget)
    transactional_ids: list[str] = []
    for _ in range(transactional_ids_count):
        transactional_ids_item, pos = read_compact_string(buf, pos)
        transactional_ids.append(transactional_ids_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeTransactionsRequest(transactional_ids), pos


def _encode_describe_transactions_request_v0(msg: DescribeTransactionsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.transactional_ids) + 1, out)
    for transactional_ids_item in msg.transactional_ids:
        write_compact_string(transactional_ids_item, out)
    out.append(0)


def _decode_topic_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicData, int]:
    topic, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TopicData(topic, partitions), pos


def _encode_topic_data_v0(msg: TopicData, out: WireBuffer) -> None:
    write_compact_string(msg.topic, out)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    out.append(0)


def _decode_transaction_state_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TransactionState, int]:
    (error_code,) = _unpack_h(buf, pos)
    transactional_id, pos = read_compact_string(buf, pos + 2)
    transaction_state, pos = read_compact_string(buf, pos)
    transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch = _unpack_iqqh(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 22, 3, budget)
    topics: list[TopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TransactionState(
        error_code,
        transactional_id,
        transaction_state,
        transaction_timeout_ms,
        transaction_start_time_ms,
        producer_id,
        producer_epoch,
        topics,
    ), pos


def _encode_transaction_state_v0(msg: TransactionState, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_string(msg.transactional_id, out)
    write_compact_string(msg.transaction_state, out)
    out += _pack_iqqh(msg.transaction_timeout_ms, msg.transaction_start_time_ms, msg.producer_id, msg.producer_epoch)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_describe_transactions_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeTransactionsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    transaction_states_count, pos = read_compact_count(buf, pos + 4, 28, budget)
    transaction_states: list[TransactionState] = []
    for _ in range(transaction_states_count):
        transaction_states_item, pos = _decode_transaction_state_v0(buf, pos, budget)
        transaction_states.append(transaction_states_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeTransactionsResponse(throttle_time_ms, transaction_states), pos


def _encode_describe_transactions_response_v0(msg: DescribeTransactionsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.transaction_states) + 1, out)
    for transaction_states_item in msg.transaction_states:
        _encode_transaction_state_v0(transaction_states_item, out)
    out.append(0)


DescribeTransactionsRequest.DECODERS = (_decode_describe_transactions_request_v0,)

DescribeTransactionsRequest.ENCODERS = (_encode_describe_transactions_request_v0,)

DescribeTransactionsResponse.DECODERS = (_decode_describe_transactions_response_v0,)

DescribeTransactionsResponse.ENCODERS = (_encode_describe_transactions_response_v0,)
