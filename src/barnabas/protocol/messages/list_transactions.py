"""ListTransactions (API key 66): request and response.

Generated from the ListTransactions schemas by scripts/generate.

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
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int64s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int64s,
    write_uvarint,
)

_pack_ih = Struct(">ih").pack
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack
_unpack_ih = Struct(">ih").unpack_from
_unpack_q = Struct(">q").unpack_from


class ListTransactionsRequest(Message):
    """ListTransactionsRequest (API key 66), versions 0-2."""

    __slots__ = (
        "state_filters",
        "producer_id_filters",
        "duration_filter",  # versions 1+
        "transactional_id_pattern",  # versions 2+
    )

    SCHEMA_NAME: ClassVar[str] = "ListTransactionsRequest"
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListTransactionsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListTransactionsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        state_filters: list[str] | None = None,
        producer_id_filters: list[int] | None = None,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters: list[str] = [] if state_filters is None else state_filters
        self.producer_id_filters: list[int] = [] if producer_id_filters is None else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern


class TransactionState(Part):
    """Part of ListTransactionsResponse."""

    __slots__ = (
        "transactional_id",
        "producer_id",
        "transaction_state",
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state


class ListTransactionsResponse(Message):
    """ListTransactionsResponse (API key 66), versions 0-2."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "unknown_state_filters",
        "transaction_states",
    )

    SCHEMA_NAME: ClassVar[str] = "ListTransactionsResponse"
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListTransactionsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListTransactionsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] | None = None,
        transaction_states: list[TransactionState] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters: list[str] = [] if unknown_state_filters is None else unknown_state_filters
        self.transaction_states: list[TransactionState] = [] if transaction_states is None else transaction_states


def _decode_list_transactions_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListTransactionsRequest, int]:
    state_filters_count, pos = read_compact_count(buf, pos, 1, budget)
    state_filters: list[str] = []
    for _ in range(state_filters_count):
        state_filters_item, pos = read_compact_string(buf, pos)
        state_filters.append(state_filters_item)
    producer_id_filters_count, pos = read_compact_count(buf, pos, 8, budget)
    producer_id_filters = read_int64s(buf, pos, producer_id_filters_count)
    pos += 8 * producer_id_filters_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListTransactionsRequest(state_filters, producer_id_filters), pos


def _encode_list_transactions_request_v0(msg: ListTransactionsRequest, out: WireBuffer) -> None:
    if msg.duration_filter != -1:
        raise not_in_version("ListTransactionsRequest.duration_filter")
    if msg.transactional_id_pattern is not None:
        raise not_in_version("ListTransactionsRequest.transactional_id_pattern")
    write_uvarint(len(msg.state_filters) + 1, out)
    for state_filters_item in msg.state_filters:
        write_compact_string(state_filters_item, out)
    write_uvarint(len(msg.producer_id_filters) + 1, out)
    write_int64s(msg.producer_id_filters, out)
    out.append(0)


def _decode_list_transactions_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListTransactionsRequest, int]:
    state_filters_count, pos = read_compact_count(buf, pos, 1, budget)
    state_filters: list[str] = []
    for _ in range(state_filters_count):
        state_filters_item, pos = read_compact_string(buf, pos)
        state_filters.append(state_filters_item)
    producer_id_filters_count, pos = read_compact_count(buf, pos, 8, budget)
    producer_id_filters = read_int64s(buf, pos, producer_id_filters_count)
    pos += 8 * producer_id_filters_count
    (duration_filter,) = _unpack_q(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter), pos


def _encode_list_transactions_request_v1(msg: ListTransactionsRequest, out: WireBuffer) -> None:
    if msg.transactional_id_pattern is not None:
        raise not_in_version("ListTransactionsRequest.transactional_id_pattern")
    write_uvarint(len(msg.state_filters) + 1, out)
    for state_filters_item in msg.state_filters:
        write_compact_string(state_filters_item, out)
    write_uvarint(len(msg.producer_id_filters) + 1, out)
    write_int64s(msg.producer_id_filters, out)
    out += _pack_qB(msg.duration_filter, 0)


def _decode_list_transactions_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListTransactionsRequest, int]:
    state_filters_count, pos = read_compact_count(buf, pos, 1, budget)
    state_filters: list[str] = []
    for _ in range(state_filters_count):
        state_filters_item, pos = read_compact_string(buf, pos)
        state_filters.append(state_filters_item)
    producer_id_filters_count, pos = read_compact_count(buf, pos, 8, budget)
    producer_id_filters = read_int64s(buf, pos, producer_id_filters_count)
    pos += 8 * producer_id_filters_count
    (duration_filter,) = _unpack_q(buf, pos)
    transactional_id_pattern, pos = read_compact_nullable_string(buf, pos + 8)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, transactional_id_pattern), pos


def _encode_list_transactions_request_v2(msg: ListTransactionsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.state_filters) + 1, out)
    for state_filters_item in msg.state_filters:
        write_compact_string(state_filters_item, out)
    write_uvarint(len(msg.producer_id_filters) + 1, out)
    write_int64s(msg.producer_id_filters, out)
    out += _pack_q(msg.duration_filter)
    write_compact_nullable_string(msg.transactional_id_pattern, out)
    out.append(0)


def _decode_transaction_state_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TransactionState, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    (producer_id,) = _unpack_q(buf, pos)
    transaction_state, pos = read_compact_string(buf, pos + 8)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TransactionState(transactional_id, producer_id, transaction_state), pos


def _encode_transaction_state_v0(msg: TransactionState, out: WireBuffer) -> None:
    write_compact_string(msg.transactional_id, out)
    out += _pack_q(msg.producer_id)
    write_compact_string(msg.transaction_state, out)
    out.append(0)


def _decode_list_transactions_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListTransactionsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    unknown_state_filters_count, pos = read_compact_count(buf, pos + 6, 1, budget)
    unknown_state_filters: list[str] = []
    for _ in range(unknown_state_filters_count):
        unknown_state_filters_item, pos = read_compact_string(buf, pos)
        unknown_state_filters.append(unknown_state_filters_item)
    transaction_states_count, pos = read_compact_count(buf, pos, 11, budget)
    transaction_states: list[TransactionState] = []
    for _ in range(transaction_states_count):
        transaction_states_item, pos = _decode_transaction_state_v0(buf, pos, budget)
        transaction_states.append(transaction_states_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListTransactionsResponse(throttle_time_ms, error_code, unknown_state_filters, transaction_states), pos


def _encode_list_transactions_response_v0(msg: ListTransactionsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.unknown_state_filters) + 1, out)
    for unknown_state_filters_item in msg.unknown_state_filters:
        write_compact_string(unknown_state_filters_item, out)
    write_uvarint(len(msg.transaction_states) + 1, out)
    for transaction_states_item in msg.transaction_states:
        _encode_transaction_state_v0(transaction_states_item, out)
    out.append(0)


ListTransactionsRequest.DECODERS = (
    _decode_list_transactions_request_v0,
    _decode_list_transactions_request_v1,
    _decode_list_transactions_request_v2,
)

ListTransactionsRequest.ENCODERS = (
    _encode_list_transactions_request_v0,
    _encode_list_transactions_request_v1,
    _encode_list_transactions_request_v2,
)

ListTransactionsResponse.DECODERS = (
    _decode_list_transactions_response_v0,
    _decode_list_transactions_response_v0,
    _decode_list_transactions_response_v0,
)

ListTransactionsResponse.ENCODERS = (
    _encode_list_transactions_response_v0,
    _encode_list_transactions_response_v0,
    _encode_list_transactions_response_v0,
)
