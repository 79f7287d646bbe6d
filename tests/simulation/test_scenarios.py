"""The stories in tests/golden/scenarios; `pytest --rewrite` writes down what happens now. Explain each changed line."""

from pathlib import Path

import pytest

from tests.simulation.scenarios import play

SCENARIOS = Path(__file__).parents[1] / "golden" / "scenarios"


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_scenario(path: Path, pytestconfig: pytest.Config) -> None:
    seen = play(path)
    if pytestconfig.getoption("--rewrite"):
        path.write_text(seen)
    assert seen == path.read_text()
