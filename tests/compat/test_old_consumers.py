"""Kafka 0.8.2's high-level consumers, in Java, and ours in one group: members come, go and die, and topics grow.

The whole is `scripts/soak --old-consumers`.
"""

import pytest

from tests.compat.old_consumers.history import play
from tests.compat.old_consumers.member import KINDS
from tests.compat.old_consumers.site import REGISTRIES


# Who loses its session is of another kind on each. test_offset_migration.py has such a group on a broker's own tree.
@pytest.mark.parametrize(
    ("registry", "kinds"),
    [("zookeeper", ("java", "python")), pytest.param("embedded", ("python", "java"), marks=pytest.mark.whole)],
)
def test_a_mixed_group_shares_partitions_by_the_rule(registry: str, kinds: tuple[str, str]) -> None:
    outcome = play(registry, seed=1, kinds=kinds)
    assert outcome.wrong == []
    assert len(outcome.changes) == 9


@pytest.mark.whole
@pytest.mark.parametrize("registry", REGISTRIES)
@pytest.mark.parametrize("seed", [2, 3])
def test_any_history_of_a_mixed_group(registry: str, seed: int) -> None:
    assert play(registry, seed, step_count=12).wrong == []


@pytest.mark.whole
@pytest.mark.parametrize("registry", REGISTRIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_group_of_one_kind(registry: str, kind: str) -> None:
    """What fails here is not the mixture's."""
    assert play(registry, seed=4, kinds=(kind,)).wrong == []
