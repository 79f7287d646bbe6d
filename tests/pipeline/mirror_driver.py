"""Mirrors in a process of their own, to be killed: `python -m tests.pipeline.mirror_driver '{...}'`.

Says one JSON object a line, as `driver.py` does. `mirrors` is a list of what a `MirrorPlan` is made of, and all of them
run in one session: name, alias, source and target (addresses), topics, prefix.
"""

import json
import sys
import tempfile
from pathlib import Path

from barnabas.core.parent import die_with_parent
from barnabas.pipeline.mirror.mirror_run import run_mirrors
from barnabas.pipeline.mirror.plan import MirrorPlan
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.figures import Metrics
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.spark.session import KAFKA_CONNECTOR, checkpoint_lock, spark_session
from tests.pipeline.driver import say
from tests.spark import SHORT_LIVED


def main() -> None:
    asked = json.loads(sys.argv[1])
    die_with_parent(asked["parent"])
    plans = [
        MirrorPlan(
            mirror["name"],
            mirror["alias"],
            KafkaOptions(mirror["source"], {"isolation.level": "read_committed"}),
            KafkaOptions(mirror["target"], {}),
            tuple(mirror["topics"]),
            asked["checkpoint"],
            prefix=mirror["prefix"],
            is_once=asked["is_once"],
            trigger_s=asked["trigger_s"],
            limits=Limits(records_per_s=asked["records_per_s"]),
        )
        for mirror in asked["mirrors"]
    ]
    settings = {**SHORT_LIVED, "spark.master": asked["master"], "spark.scheduler.mode": "FAIR", **asked["settings"]}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        checkpoint_lock(Path(asked["checkpoint"] + ".lock"), 60.0, lambda: None) as lock,
        spark_session(
            "barnabas-killed",
            scratch=Path(scratch) / "spark",
            packages=KAFKA_CONNECTOR,
            settings=settings,
            locks=[lock],
            log=Path(asked["log"]),
        ) as spark,
    ):
        say("ready")
        run_mirrors(spark, plans, Metrics(), lambda figures: say("batch"), lambda text: say("warning", text=text))
    say("done")


if __name__ == "__main__":
    main()
