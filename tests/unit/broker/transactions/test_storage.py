"""Records of `__transaction_state`: the bytes, and what is read back from a whole partition."""

from dataclasses import fields

import pytest

from barnabas.broker.transactions.loading import read_transactions
from barnabas.broker.transactions.storage import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    tombstone_batches,
    transition_batch,
)
from barnabas.broker.transactions.transaction import Transaction, TransactionState, Transition
from barnabas.core.errors import ProtocolError
from barnabas.core.types import TopicPartition

PLACES = frozenset((TopicPartition("t", 1), TopicPartition("t", 0), TopicPartition("u", 3)))


def transition(
    state: TransactionState = TransactionState.ONGOING, partitions: frozenset[TopicPartition] = PLACES
) -> Transition:
    return Transition(state, 5, 2, 5, -1, 60_000, partitions, 1_000, 2_000)


def shown(txn: Transaction) -> dict[str, object]:
    return {each.name: getattr(txn, each.name) for each in fields(txn)}


@pytest.mark.parametrize("state", list(TransactionState))
def test_a_value_comes_back(state: TransactionState) -> None:
    partitions = PLACES if state is not TransactionState.EMPTY else frozenset[TopicPartition]()
    written = transition(state, partitions)
    expected = Transaction("tx", 5)
    expected.become(written._replace(last_producer_id=-1))
    assert shown(decode_value("tx", encode_value(written))) == shown(expected)


def test_the_bytes() -> None:
    assert encode_key("tx") == b"\0\0" + b"\0\x02tx"
    assert encode_value(transition(partitions=frozenset((TopicPartition("t", 1),)))) == bytes.fromhex(
        "0000 0000000000000005 0002 0000ea60 01 00000001 0001 74 00000001 00000001 00000000000007d0 00000000000003e8"
    )
    empty = transition(TransactionState.EMPTY, frozenset())._replace(start_timestamp_ms=-1)
    assert encode_value(empty) == bytes.fromhex(
        "0000 0000000000000005 0002 0000ea60 00 ffffffff 00000000000007d0 ffffffffffffffff"
    )


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\x01", b"\0\0\0", encode_value(transition())[:-1]])
def test_what_is_no_value(value: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_value("tx", value)


def test_a_state_that_nobody_knows() -> None:
    value = bytearray(encode_value(transition()))
    value[16] = 9
    with pytest.raises(ProtocolError, match="state 9"):
        decode_value("tx", bytes(value))


def test_a_key_of_another_version() -> None:
    assert decode_key(b"\0\x01xx") is None
    with pytest.raises(ProtocolError):
        decode_key(b"\0")


def test_the_last_record_of_a_key_counts() -> None:
    stored = [
        transition_batch("a", transition(), 0),
        transition_batch("b", transition(), 0),
        transition_batch("a", transition(TransactionState.PREPARE_COMMIT), 0),
        *(batch for _, batch in tombstone_batches([Transaction("b", 5), Transaction("c", 6)], 0)),
        transition_batch("d", transition(), 0),
    ]
    loaded = read_transactions(memoryview(batch) for batch in stored)
    assert [(txn.transactional_id, txn.state) for txn in loaded.items] == [
        ("a", TransactionState.PREPARE_COMMIT),
        ("d", TransactionState.ONGOING),
    ]
    assert (loaded.record_count, loaded.skipped_count) == (6, 0)


def test_many_tombstones_are_split_into_batches() -> None:
    gone = [Transaction(f"{number}" + "x" * 30_000, number) for number in range(20)]
    found = tombstone_batches(gone, 0)
    assert len(found) > 1
    assert all(len(batch) < 300_000 for _, batch in found)
    assert [txn for some, _ in found for txn in some] == gone


def test_what_cannot_be_read_is_left_out() -> None:
    bad = transition_batch("b", transition(), 0)
    bad[-30] = 0x7F
    stored = [transition_batch("a", transition(), 0), bad[:-1] + b"\x7f", transition_batch("c", transition(), 0)]
    loaded = read_transactions(memoryview(bytes(batch)) for batch in stored)
    assert [txn.transactional_id for txn in loaded.items] == ["a", "c"]
    assert loaded.skipped_count == 1


def test_a_load_that_was_stopped_ends() -> None:
    asked = iter([False, True])
    stored = [transition_batch(name, transition(), 0) for name in "abc"]
    assert read_transactions(map(memoryview, stored), lambda: next(asked)).record_count == 1
