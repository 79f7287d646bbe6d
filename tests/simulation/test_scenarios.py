"""The stories in tests/golden/scenarios; `pytest --rewrite` writes down what happens now. Explain each changed line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulation import cluster_scenarios, scenarios

SCENARIOS = Path(__file__).parents[1] / "golden" / "scenarios"


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_scenario(path: Path, pytestconfig: pytest.Config) -> None:
    told(scenarios.play, path, pytestconfig)


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("cluster/*.txt")), ids=lambda path: path.stem)
def test_cluster_scenario(path: Path, pytestconfig: pytest.Config) -> None:
    told(cluster_scenarios.play, path, pytestconfig)


def told(play: Callable[[Path], str], path: Path, pytestconfig: pytest.Config) -> None:
    seen = play(path)
    if pytestconfig.getoption("--rewrite"):
        path.write_text(seen)
    assert seen == path.read_text()
