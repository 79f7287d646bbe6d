"""Three brokers and three ZooKeepers with a fault or two under load: a short form of `scripts/soak --cluster`."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


# Which faults is drawn: tests/integration/test_cluster.py plays those that each run must show.
@pytest.mark.whole
def test_rounds_of_faults_lose_nothing() -> None:
    seed = random.randrange(2**32)
    # A process of its own: it enters namespaces where the kernel allows them.
    options = ["--rounds", "3", "--seed", str(seed), "--longest-pause", "5"]
    command = [sys.executable, "-m", "tests.cluster_soak", *options]
    played = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "0 things are wrong" in played.stdout
