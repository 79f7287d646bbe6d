"""The whole proof of exactly once: `scripts/soak --pipeline`, or `python -m tests.pipeline.soak`.

Nine trials: a load to Delta, on the disk and in an S3 store, to Iceberg, Parquet and PostgreSQL; a load by key to
Delta, Iceberg and PostgreSQL; and a ranking. In each so many drivers are killed at random moments, one of them right
after the data's commit and one right before; one life starts without its checkpoint, and the broker is killed during
one. A tenth is a load on a standalone cluster whose executors are killed. Prints a line for each.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from barnabas.testing import Broker
from tests.pipeline.exactly_once import Trial, key_trial, ranking_trial, table_trial
from tests.pipeline.object_store import object_store
from tests.pipeline.postgresql_server import PostgresqlServer
from tests.pipeline.site import Site
from tests.pipeline.standalone import StandaloneCluster
from tests.spark import shared_session

_BY_KEY = "-by-key"
TRIALS = (
    "delta",
    "s3",
    "iceberg",
    "parquet",
    "postgresql",
    *(f"{name}{_BY_KEY}" for name in ("delta", "iceberg", "postgresql")),
    "ranking",
    "executors",
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill the pipeline again and again; each row must be there once.")
    parser.add_argument("--kills", type=int, default=20, metavar="N", help="drivers, in each trial (%(default)s)")
    parser.add_argument("--executor-kills", type=int, default=5, metavar="N", help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of all choices (%(default)s)")
    parser.add_argument(
        "--keep-deleted", action="store_true", help="mark deleted rows in tables by key, in place of taking them away"
    )
    parser.add_argument("--only", choices=TRIALS, action="append", help="one trial; may be given again")
    arguments = parser.parse_args()
    wrong = 0
    for name in arguments.only or TRIALS:
        began_s = time.monotonic()
        with ExitStack() as stack:
            missing, doubled, trial = _run(stack, name, arguments)
            killed = trial.lives.killed
            print(
                f"{name}: seed {killed.seed}, {killed.driver_kill_count} drivers and {killed.executor_kill_count} "
                f"executors killed, {killed.checkpoint_loss_count} checkpoints lost, {killed.broker_restart_count} "
                f"broker restarts, {killed.batch_count} batches: {missing} rows missing, {doubled} too many "
                f"({time.monotonic() - began_s:.0f} s)",
                flush=True,
            )
            if missing or doubled:
                wrong += 1
                print(trial.lives.said())
    print(f"{wrong} trials went wrong")
    return 1 if wrong else 0


def _run(stack: ExitStack, name: str, arguments: argparse.Namespace) -> tuple[int, int, Trial]:
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-soak-")))
    broker = stack.enter_context(Broker())
    site = stack.enter_context(Site(shared_session(), lambda: broker.bootstrap_servers, f"soak-{name}", directory))
    if name == "executors":
        trial = _kill_executors(stack, site, broker, directory, arguments)
    elif name == "ranking":
        trial = ranking_trial(site, broker, directory, seed=arguments.seed)
        _kill_drivers(trial, arguments.kills)
    elif name == "s3":
        store = stack.enter_context(object_store())
        store.make_known_to(shared_session())
        store.client.create_bucket(Bucket="lake")
        os.environ |= store.environment
        trial = table_trial(
            site, broker, directory, "delta", seed=arguments.seed, tables="s3a://lake", records_per_batch=100
        )
        _kill_drivers(trial, arguments.kills)
    else:
        table_format = name.removesuffix(_BY_KEY)
        tables = stack.enter_context(PostgresqlServer()).database_url() if table_format == "postgresql" else ""
        asked: dict[str, Any] = {"seed": arguments.seed, "tables": tables, "records_per_batch": 100}
        if name.endswith(_BY_KEY):
            trial = key_trial(site, broker, directory, table_format, keeps_deleted=arguments.keep_deleted, **asked)
        else:
            trial = table_trial(site, broker, directory, table_format, **asked)
        _kill_drivers(trial, arguments.kills)
    return *trial.compare(), trial


def _kill_drivers(trial: Trial, count: int) -> None:
    lives = trial.lives
    # What a life does in the seconds before its end is to be far less than all.
    lives.live_through(count // 2)
    lives.lose_the_checkpoint()
    lives.live_through(count - count // 2)
    trial.broker_away_during_a_life()


def _kill_executors(stack: ExitStack, site: Site, broker: Any, directory: Path, arguments: argparse.Namespace) -> Trial:
    cluster = stack.enter_context(StandaloneCluster(directory / "cluster"))
    settings = {"spark.executor.memory": "512m", "spark.cores.max": "2", "spark.task.maxFailures": "20"}
    trial = table_trial(
        site,
        broker,
        directory,
        "delta",
        seed=arguments.seed,
        master=cluster.master,
        settings=settings,
        records_per_batch=100,
    )

    def kill(process: subprocess.Popen[str], chance: random.Random) -> str:
        killed = trial.lives.killed
        while process.poll() is None and killed.executor_kill_count < arguments.executor_kills:
            time.sleep(chance.uniform(0.5, 4.0))
            killed.executor_kill_count += cluster.kill_an_executor()
        return "executors"

    assert trial.lives.live(kill), trial.lives.said()
    return trial


if __name__ == "__main__":
    sys.exit(main())
