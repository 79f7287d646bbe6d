"""Offsets of a group move from ZooKeeper to Kafka under load and back, as the documents have it; members die meanwhile.

`barnabas groups migrate` allows each step when all were restarted and not before, and names who is left.

Kafka 0.8.2's high-level consumers, in Java, and ours are in one group.
"""

import pytest

from tests.compat.old_consumers.migration import migrate
from tests.compat.old_consumers.site import REGISTRIES


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command look at the offsets twice a second, as often as members commit."""
    monkeypatch.setattr("barnabas.cli.groups_migrate._SAMPLE_S", 0.5)


def test_two_members_move_their_offsets_to_kafka_and_back() -> None:
    # Where members stop committing to one of the stores.
    kills = ("kafka", "zookeeper again")
    outcome = migrate("embedded", seed=1, kinds=["java", "python"], kills=kills)
    assert outcome.wrong == []
    assert len(outcome.changes) == 4 * 2


@pytest.mark.whole
@pytest.mark.parametrize("registry", REGISTRIES)
def test_six_members_move_their_offsets_to_kafka_and_back(registry: str) -> None:
    assert migrate(registry, seed=2, kinds=["java", "python"] * 3).wrong == []
