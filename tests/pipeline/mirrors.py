"""Two clusters and mirrors between them, for tests: what is sent into one, and what a reader sees in the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.clients.mirror_offsets import TABLE_TOPIC, Coverage, MirrorOffsets, SourcePartition
from barnabas.pipeline.mirror.mirror_run import MirrorRun, run_mirrors
from barnabas.pipeline.mirror.plan import MirrorPlan
from barnabas.pipeline.mirror.table import OffsetTable
from barnabas.pipeline.mirror.writer import write_owner
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.figures import Metrics
from tests.mirrored_clusters import Cluster
from tests.settled import await_markers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _table(target: Cluster) -> MirrorOffsets:
    await_markers(target.address, TABLE_TOPIC)
    with OffsetTable(KafkaOptions(target.address, {})) as table:
        table.refresh()
    return table.offsets


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

    def translate(self, target: Cluster, run: MirrorRun, topic: str, offset: int) -> tuple[int | None, Coverage] | None:
        """Give where a group of partition 0 would go on in the target."""
        return _table(target).translate(SourcePartition(run.plan.name, run.source_cluster_id, topic, 0), offset)

    def position(self, target: Cluster, run: MirrorRun, topic: str, partition: int) -> int:
        """Give how far a partition is mirrored, as the target's table has it."""
        source = SourcePartition(run.plan.name, run.source_cluster_id, topic, partition)
        return _table(target).places[source].position

    def claim(self, target: Cluster, plan: MirrorPlan, generation: int) -> None:
        """Become the mirror's owner, as a process that was started later does."""
        found = _table(target).owners[plan.name, plan.alias]
        write_owner(plan.target, plan.name, found.cluster_id, lambda: replace(found, generation=generation))
