"""Random histories of transactions, the short form: `scripts/soak --transactions` plays more of them."""

import pytest

from barnabas.broker.log.producers.producer_state import ProducerState
from barnabas.broker.log.segments.segment_chain import SegmentChain
from barnabas.broker.transactions.coordinator import TransactionCoordinator
from tests.replacing import replaces
from tests.simulation.transactions import TransactionHistory

# Some mistakes show in one history of ten.
MISTAKEN_COUNT = 20


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(5, 8))])
def test_each_transaction_ends_one_way(seed: int) -> None:
    outcome = TransactionHistory(seed).play()
    assert outcome.violations == [], f"again: scripts/soak --transactions --count 1 --show --seed {seed}"
    assert outcome.counts["committed"] > 0


# What the histories are worth: each of these mistakes is found within a few of them.


def violations() -> list[str]:
    for seed in range(MISTAKEN_COUNT):
        found = TransactionHistory(seed).play().violations
        if found:
            return found
    return []


def test_an_outcome_that_is_not_told_again_after_a_crash_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransactionCoordinator, "_on_loaded", lambda coordinator, partition: None)
    assert any("a transaction hangs" in text for text in violations())


@replaces("barnabas.broker.log.segments.segment_chain")
def test_aborted_transactions_that_readers_are_not_told_of_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SegmentChain, "aborted_transactions", lambda chain, offset, part, end_offset: [])
    assert any("was committed: False; can be read: True" in text for text in violations())


def test_a_transaction_that_is_stable_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProducerState, "_find_first_unstable", lambda producers: None)
    assert any("was seen and is gone" in text or "can be read" in text for text in violations())
