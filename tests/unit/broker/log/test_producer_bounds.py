"""How many producers a partition remembers, and which give way."""

import time

from barnabas.broker.log.producers.producer_snapshot import decode_snapshot, encode_snapshot
from barnabas.broker.log.producers.producer_state import MOST_PRODUCERS, ProducerState
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_OFFSET
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker


class CountedOffset(int):
    """An offset that counts its comparisons."""

    count = 0

    def __lt__(self, other):
        CountedOffset.count += 1
        return int(self) < int(other)

    def __gt__(self, other):
        CountedOffset.count += 1
        return int(self) > int(other)


def header(producer_id, sequence=0, timestamp=1_000, *, is_transactional=False):
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=is_transactional
    )
    builder.append(timestamp, None, b"value")
    return read_header(builder.build())


def test_of_too_many_producers_those_that_wrote_longest_ago_give_way():
    state = ProducerState()
    state.update(header(1, is_transactional=True), 0, 1_000)
    # Its timestamps would keep it for ever.
    state.update(header(2), 1, 2**62)
    state.update(header(3), 2, 0)
    for number in range(MOST_PRODUCERS + 4_000):
        if number % 1_000 == 0:
            state.update(header(3, sequence=number // 1_000 + 1), number + 3, 0)
        state.update(header(number + 10), number + 3, 1_000)
        assert len(state) <= MOST_PRODUCERS + 1
    # In a transaction, busy, and silent.
    assert state.get(1).transaction_first_offset == 0
    assert state.find_duplicate(header(3, sequence=MOST_PRODUCERS // 1_000 + 4)) is not None
    assert state.get(2) is None
    # As one that has expired it goes on with any sequence.
    assert state.check(header(2, sequence=7)) is None
    state.update(header(2, sequence=7), 10**6, 1_000)
    assert state.get(2).transaction_first_offset == NO_OFFSET


def test_a_producer_that_was_just_fenced_is_not_forgotten_before_those_that_wrote_longer_ago():
    written = ProducerState()
    for number in range(1, MOST_PRODUCERS):
        written.update(header(number), number, 1_000)
    # A restart keeps the order.
    state = decode_snapshot(encode_snapshot(written))
    state.update(header(0, is_transactional=True), MOST_PRODUCERS, 1_000)
    marker = EndTransactionMarker(MarkerType.ABORT, 0)
    state.end_transaction(read_header(build_marker(0, 1, marker, 1_000)), MOST_PRODUCERS + 1, marker)
    state.update(header(MOST_PRODUCERS), MOST_PRODUCERS + 2, 1_000)
    code, _ = state.check(header(0, sequence=1, is_transactional=True))
    assert code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert (state.get(1), state.get(MOST_PRODUCERS - 1) is None) == (None, False)


def test_the_work_per_open_transaction_of_a_snapshot_does_not_grow_with_their_number():
    written = ProducerState()
    for number in range(4_000):
        written.update(header(number), number, 1_000)
    for number in range(4_000):
        # The producer that wrote last began first.
        written.update(header(3_999 - number, sequence=1, is_transactional=True), 4_000 + number, 1_000)
    begin_s = time.thread_time()
    state = decode_snapshot(encode_snapshot(written))
    assert time.thread_time() - begin_s < 0.5
    assert list(state.open_transactions()) == list(written.open_transactions())
    assert state.first_unstable_offset == 4_000
    assert [key for key, _ in state.items()] == [key for key, _ in written.items()]


def test_the_work_per_transaction_does_not_grow_with_their_number():
    """A replay knows no high watermark: it regards all of them as not replicated."""
    state, transaction_count = ProducerState(), 2_000
    marker = EndTransactionMarker(MarkerType.COMMIT, 0)
    data, end = header(7, is_transactional=True), read_header(build_marker(7, 0, marker, 1_000))
    CountedOffset.count = 0
    for number in range(transaction_count):
        state.update(data, CountedOffset(2 * number), 1_000)
        state.end_transaction(end, CountedOffset(2 * number + 1), marker)
    assert state.first_unstable_offset == 0
    state.note_replicated(2 * transaction_count - 1)
    assert state.first_unstable_offset == 2 * (transaction_count - 1)
    assert CountedOffset.count < 20 * transaction_count
