"""How many producers a partition remembers, and which give way."""

from barnabas.broker.log.producers.producer_state import MOST_PRODUCERS, ProducerState
from barnabas.core.types import NO_OFFSET
from barnabas.wire.records.batch import read_header
from barnabas.wire.records.builder import BatchBuilder


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
