"""Each cause that `barnabas explain` tells apart, once: `scripts/soak --explain` makes them again and again."""

import pytest

from tests.integration.test_advised_commands import COMMANDS, RUN_ELSEWHERE
from tests.simulation.explain_causes import CAUSES
from tests.simulation.explain_soak import ExplainHistory
from tests.unit.explain.worlds import shape


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_named_first_and_gone_when_it_is_gone(name: str) -> None:
    history = ExplainHistory(0, name)
    outcome = history.play()
    assert outcome.violations == [], f"again: scripts/soak --explain --cause {name} --count 1 --show --seed 0"
    assert history.is_named
    # And what is advised is run by a test.
    assert set(map(shape, history.advised)) <= {shape(each) for each in (*COMMANDS, *RUN_ELSEWHERE)}


def test_a_seed_gives_the_same_answer() -> None:
    assert ExplainHistory(7, "joined").play().digest == ExplainHistory(7, "joined").play().digest
