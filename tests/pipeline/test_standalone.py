"""A load on a standalone cluster of two workers: executors and a worker are killed, and each row is there once."""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compat.conftest import StartBroker
from tests.pipeline.exactly_once import table_trial
from tests.pipeline.site import Site
from tests.pipeline.standalone import StandaloneCluster

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds executors in /proc")


@pytest.mark.whole
def test_a_load_whose_executors_and_worker_are_killed(
    start_broker: StartBroker, site_of: Callable[..., Site], tmp_path: Path
):
    broker = start_broker()
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        trial = table_trial(site_of(broker), broker, tmp_path, "delta", seed=7, master=cluster.master)
        trial.lives.ask(settings={"spark.executor.memory": "512m", "spark.cores.max": "2"}, records_per_batch=300)

        def kill(process: subprocess.Popen[str], chance: random.Random) -> str:
            while process.poll() is None and trial.lives.killed.executor_kill_count < 1:
                trial.lives.killed.executor_kill_count += cluster.kill_an_executor()
                time.sleep(chance.uniform(0.5, 1.0))
            cluster.kill_a_worker()
            return "an executor, then a worker"

        assert trial.lives.live(kill), trial.lives.said()
        assert trial.lives.killed.executor_kill_count == 1
        assert trial.compare() == (0, 0), trial.lives.said()
