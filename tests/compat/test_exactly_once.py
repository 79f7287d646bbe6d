"""Exactly once, by Kafka's own programs: short forms of what `scripts/soak --transactions` plays whole."""

import random
from pathlib import Path

import pytest

from tests.compat.broker_kills import copy_beside_kills
from tests.compat.conftest import RunningBroker, StartBroker
from tests.compat.exactly_once import copier, word_count

SEED = random.randrange(2**32)


def test_streams_counts_each_word_once_though_it_is_killed(cluster: RunningBroker, name: str, tmp_path: Path) -> None:
    outcome = word_count(cluster.bootstrap_servers, name, tmp_path, 1, random.Random(SEED))
    assert outcome.is_right, (SEED, outcome)


# Streams above is Java's, too; the workers below commit with their group's metadata.
@pytest.mark.whole
def test_a_copy_is_complete_and_has_nothing_twice_though_the_copier_is_killed(
    cluster: RunningBroker, name: str, tmp_path: Path
) -> None:
    outcome = copier(cluster.bootstrap_servers, name, 3, random.Random(SEED), tmp_path)
    assert outcome.is_right, (SEED, outcome)


def test_a_copy_is_complete_and_has_nothing_twice_though_the_broker_is_killed(
    start_broker: StartBroker, name: str
) -> None:
    outcome = copy_beside_kills(start_broker(), name, 2, SEED)
    assert outcome.is_right, (SEED, outcome)
