"""Random histories of clusters, the short form: `scripts/soak --cluster-histories` plays more of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.cluster import ClusterHistory
from tests.simulation.cluster_administration import ClusterAdministrationHistory
from tests.simulation.cluster_transactions import ClusterTransactionHistory

ROOT = Path(__file__).parents[2]
DIGESTS = """
from tests.simulation.cluster import ClusterHistory
for seed in (1, 2):
    print(ClusterHistory(seed, 10).play().digest)
"""


def seeds(count: int, whole_count: int) -> list[object]:
    """Seeds of which the first ones are always played."""
    return [*range(count), *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(count, whole_count))]


@pytest.mark.parametrize("seed", seeds(6, 10))
def test_nothing_is_lost(seed: int) -> None:
    outcome = ClusterHistory(seed).play()
    assert outcome.violations == [], f"again: scripts/soak --cluster-histories --count 1 --show --seed {seed}"
    assert outcome.counts["records acknowledged"] > 0


@pytest.mark.parametrize("seed", seeds(3, 5))
def test_transactions_are_whole(seed: int) -> None:
    outcome = ClusterTransactionHistory(seed).play()
    assert outcome.violations == [], f"again: scripts/soak --cluster-transactions --count 1 --show --seed {seed}"
    assert outcome.counts["committed"] > 0


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_what_is_administered_is_done_in_the_end(seed: int) -> None:
    outcome = ClusterAdministrationHistory(seed).play()
    assert outcome.violations == [], f"again: scripts/soak --cluster-administration --count 1 --show --seed {seed}"
    assert outcome.counts["asked to move"] > 0


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
    assert len(set(told[0].split())) == 2
