"""A run of one job in a process of its own, to be killed: `python -m tests.pipeline.driver '{...}'`.

Says one JSON object a line: `ready`, then `batch` after each. With `kill_after_commit` N the process kills itself right
after the data's Nth commit, before Spark's checkpoint hears of it; with `kill_before_commit` right before.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from barnabas.core.parent import die_with_parent
from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.runner import outputs
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.plan import RunPlan
from barnabas.pipeline.runner.run_metrics import Metrics
from barnabas.pipeline.runner.supervisor import run_jobs
from barnabas.pipeline.spark.object_stores import clients_for
from barnabas.pipeline.spark.session import checkpoint_lock, spark_session
from tests.spark import SHORT_LIVED


def main() -> None:
    asked = json.loads(sys.argv[1])
    die_with_parent(asked["parent"])
    job = find_job(asked["job"])
    plan = RunPlan(
        job,
        KafkaOptions(asked["bootstrap_servers"], {"client.id": "barnabas-killed"}),
        asked["tables"],
        asked["format"],
        asked["checkpoint"],
        job.name,
        asked["topics"],
        tuple(asked["any_topics"]),
        is_once=True,
        limits=Limits(records_per_s=asked["records_per_batch"]),
        give_up_s=120.0,
        by_key=tuple(asked["by_key"]),
        keeps_deleted=asked["keeps_deleted"],
    )
    arm(asked)
    clients = clients_for([asked["tables"]], os.environ)
    settings: dict[str, Any] = {
        **clients.settings,
        **SHORT_LIVED,
        "spark.jars.excludes": ",".join(clients.excludes),
        "spark.master": asked["master"],
        **asked["settings"],
    }
    with (
        # Its name has spaces, as a user's may.
        tempfile.TemporaryDirectory(prefix="barnabas is killed ", ignore_cleanup_errors=True) as scratch,
        checkpoint_lock(Path(asked["checkpoint"] + ".lock"), 60.0, lambda: None) as lock,
        spark_session(
            "barnabas-killed",
            scratch=Path(scratch) / "spark",
            packages=",".join(clients.packages),
            settings=settings,
            locks=[lock],
            log=Path(asked["log"]),
        ) as spark,
    ):
        say("ready")
        run_jobs(spark, [plan], Metrics(), lambda figures: say("batch"), lambda text: say("warning", text=text))
    say("done")


def arm(asked: dict[str, Any]) -> None:
    """Make the process kill itself at the commit that it was asked to."""
    count = 0

    def counted(put: Any) -> Any:
        def counting(self: outputs.TableWriter, *arguments: Any) -> None:
            nonlocal count
            count += 1
            if count == asked.get("kill_before_commit"):
                os.kill(os.getpid(), signal.SIGKILL)
            put(self, *arguments)
            if count == asked.get("kill_after_commit"):
                os.kill(os.getpid(), signal.SIGKILL)

        return counting

    for name in ("_put", "_put_files"):
        setattr(outputs.TableWriter, name, counted(getattr(outputs.TableWriter, name)))


def say(event: str, **fields: str) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


if __name__ == "__main__":
    main()
