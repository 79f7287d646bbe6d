"""What a mirror on Spark was asked for: what the engine is to copy, and how fast, from when on, until when."""

import os
import platform
from dataclasses import dataclass, field

from barnabas.clients.mirror import plan as engine
from barnabas.clients.mirror.plan import MirroredCluster
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.plan import Bound, OnDataLoss


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """A source cluster and the way in which it is to be mirrored.

    Attributes:
        name: Who mirrors: its places in the target's table are under this name.
        alias: What the source cluster is called.
        source: The cluster that is read.
        target: The cluster that is written.
        topics: Of the source; a text between slashes is a pattern.
        checkpoint: The directory of all runs' checkpoints; this one's is below it.
        prefix: Of topics' names in the target; `{source}` in it is the alias.
        start: Where partitions begin as long as the target holds no place of any; later ones begin at their log start.
        is_once: End when all is mirrored that was there at the start.
        trigger_s: Seconds between batches, at least; None: as they take.
        give_up_s: How long a cluster may be away.
        keeps_quotas: Size batches by the quotas of its users and client ids at both clusters.
    """

    name: str
    alias: str
    source: KafkaOptions
    target: KafkaOptions
    topics: tuple[str, ...]
    checkpoint: str
    prefix: str = ""
    start: Bound = field(default_factory=Bound)
    is_once: bool = False
    trigger_s: float | None = None
    give_up_s: float = 120.0
    limits: Limits = field(default_factory=Limits)
    on_data_loss: OnDataLoss = OnDataLoss.STOP
    keeps_quotas: bool = True

    @property
    def run(self) -> str:
        """The run's name in its figures, and in the checkpoints' directory."""
        return f"{self.name}/{self.alias}"

    @property
    def own_checkpoint(self) -> str:
        """The directory of this source's checkpoint."""
        return f"{self.checkpoint.rstrip('/')}/{self.run}"

    def engine_plan(self) -> engine.MirrorPlan:
        """Return what the engine is to copy."""
        source, target = (MirroredCluster(each.bootstrap_servers, each.options) for each in (self.source, self.target))
        return engine.MirrorPlan(
            self.name,
            self.alias,
            source,
            target,
            self.topics,
            self.prefix,
            self.start,
            self.on_data_loss,
            platform.node(),
            os.getpid(),
        )
