"""Random histories, the short form: `scripts/soak` plays more of them.

docs/contributing/simulation.md says what they are.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.broker.log import partition_log
from barnabas.broker.log.durability import Durability
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.producers.producer_state import ProducerState
from tests.replacing import replaces
from tests.simulation.histories import History

ROOT = Path(__file__).parents[2]
SEED_COUNT = 10
# Some mistakes show in one history of twenty.
MISTAKEN_COUNT = 25
DIGESTS = """
from tests.simulation.histories import History
for seed in (1, 2, 3):
    print(History(seed).play().digest)
"""


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_what_was_acknowledged_holds(seed: int) -> None:
    outcome = History(seed).play()
    assert outcome.violations == [], f"again: scripts/soak --count 1 --show --seed {seed}"
    assert outcome.counts["records acknowledged"] > 0


@pytest.mark.parametrize("seed", range(100, 105))
@replaces("barnabas.broker.log.partition_log")
def test_what_was_acknowledged_holds_where_batches_are_written_ahead(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_log, "LARGE_BYTES", 60)
    written_ahead = []
    write_ahead = PartitionLog.write_ahead

    def watched(log: PartitionLog, *args: object) -> bool:
        is_written = write_ahead(log, *args)  # type: ignore[arg-type]
        written_ahead.append(is_written)
        return is_written

    monkeypatch.setattr(PartitionLog, "write_ahead", watched)
    outcome = History(seed).play()
    assert outcome.violations == []
    assert any(written_ahead)


def test_a_seed_gives_the_same_history_whatever_the_hashes_are() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(set(told[0].split())) == 3


# What the histories are worth: each of these mistakes is found within a few of them.


def violations() -> list[str]:
    for seed in range(MISTAKEN_COUNT):
        found = History(seed).play().violations
        if found:
            return found
    return []


@replaces("barnabas.broker.log.partition_log")
def test_an_answer_before_the_disk_has_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartitionLog, "is_flush_due", lambda log: False)
    assert any("was acknowledged at" in text or "was committed" in text for text in violations())


def test_a_batch_that_is_written_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProducerState, "find_duplicate", lambda state, header: None)
    monkeypatch.setattr(ProducerState, "check", lambda state, header: None)
    assert any("stands at [(" in text for text in violations())


@replaces("barnabas.broker.log.durability")
def test_a_directory_that_is_not_synced_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def sync_without_directories(durability: Durability):
        segments = list(durability._chain.segments)

        def sync() -> None:
            for segment in segments:
                segment.file.sync()

        return sync

    monkeypatch.setattr(Durability, "_sync_work", sync_without_directories)
    assert violations()
