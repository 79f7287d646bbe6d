"""`kill -9` in the middle of rebalances, the short form (`group_kills.py`)."""

import random
from pathlib import Path

from tests.integration.group_kills import play

KILL_COUNT = 3


def test_a_group_resumes_after_every_kill_in_a_rebalance(tmp_path: Path) -> None:
    play(tmp_path / "data", random.randrange(1 << 32), KILL_COUNT)
