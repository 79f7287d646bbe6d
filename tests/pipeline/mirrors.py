"""Mirrors on Spark between clusters, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.clients.mirror.partition import Link
from barnabas.clients.mirror.progress import MirrorProgress
from barnabas.pipeline.mirror.mirror_run import MirrorRun, run_mirrors
from barnabas.pipeline.mirror.plan import MirrorPlan
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.figures import Metrics
from tests.mirrored_clusters import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Mirrors:
    """Mirrors of one test, in its session and its directory.

    Attributes:
        warnings: What the runs have said.
    """

    def __init__(self, spark: SparkSession, directory: Path, name: str) -> None:
        self.warnings: list[str] = []
        self.metrics = Metrics()
        self._spark = spark
        self._directory = directory
        self._name = name
        self._life = 0

    def plan(self, source: Cluster, target: Cluster, *topics: str, **fields: Any) -> MirrorPlan:
        """Plan to mirror all that is there, from a checkpoint directory that nobody has used."""
        self._life += 1
        return MirrorPlan(
            **{
                "name": self._name,
                "alias": "source",
                "source": KafkaOptions(source.address, {"isolation.level": "read_committed"}),
                "target": KafkaOptions(target.address, {}),
                "topics": topics,
                "checkpoint": str(self._directory / f"life-{self._life}"),
                "is_once": True,
                "trigger_s": 0.1,
                "give_up_s": 60.0,
                **fields,
            }
        )

    def run(self, *plans: MirrorPlan, is_stopped: Callable[[], bool] = lambda: False) -> list[MirrorRun]:
        return run_mirrors(self._spark, plans, self.metrics, lambda figures: None, self.warnings.append, is_stopped)

    def once(self, source: Cluster, target: Cluster, *topics: str, **fields: Any) -> MirrorRun:
        (run,) = self.run(self.plan(source, target, *topics, **fields))
        return run

    def claim(self, plan: MirrorPlan) -> None:
        """Become the mirror's owner, as a process that was started later does."""

        async def begin() -> None:
            link = Link(plan.engine_plan())
            try:
                await MirrorProgress(link, self.warnings.append).begin()
            finally:
                await link.close()

        asyncio.run(begin())
