"""What a mirror was asked for: from which cluster into which, which topics, under what names, how fast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.clients.mirror_offsets import TABLE_TOPIC
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.plan import Bound, OnDataLoss, PlanError

DEFAULT_NAME = "mirror"
DEFAULT_ALIAS = "source"
# Stands for the source's alias in a prefix.
_ALIAS_PLACE = "{source}"


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
        trigger_s: Seconds between batches, at least; None: one.
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

    @property
    def topic_prefix(self) -> str:
        """The prefix with the alias in its place."""
        return self.prefix.replace(_ALIAS_PLACE, self.alias)

    def target_topic(self, topic: str) -> str:
        """Name a source's topic in the target."""
        return f"{self.topic_prefix}{topic}"


def check_clusters(plan: MirrorPlan, source_cluster_id: str, target_cluster_id: str) -> None:
    """Find a mirror of a cluster onto itself.

    Raises:
        PlanError: source and target are one cluster, and the topics would be their own mirrors.
    """
    if source_cluster_id == target_cluster_id and not plan.topic_prefix:
        raise PlanError(
            f"{plan.run}: source and target are the same cluster ({source_cluster_id}): name another --target, or "
            "give the topics another name with --prefix"
        )


def is_mirrored(topic: str) -> bool:
    """Return whether a pattern may take a topic: not the clusters' own, nor the table of a mirror into the source."""
    return not topic.startswith("__") and topic != TABLE_TOPIC


def parse_sources(texts: Sequence[str]) -> dict[str, str]:
    """Read `[ALIAS=]HOST:PORT,...` options: the addresses by alias.

    Raises:
        PlanError: one is none, or two have the same alias.
    """
    found: dict[str, str] = {}
    for text in texts:
        alias, equals, address = text.rpartition("=")
        alias = alias if equals else DEFAULT_ALIAS
        if not address or not alias or "/" in alias:
            raise PlanError(f"--source {text}: it must be ALIAS=HOST:PORT,...")
        if alias in found:
            raise PlanError(f"--source {text}: another source is called {alias!r}, too; write ALIAS=HOST:PORT,...")
        found[alias] = address
    return found


def of_aliases(values: Mapping[str, str], aliases: Sequence[str], option: str) -> Mapping[str, str]:
    """Return what options say by alias.

    Raises:
        PlanError: there is no source of that alias.
    """
    if unknown := sorted(set(values) - set(aliases)):
        raise PlanError(f"{option} {unknown[0]}=...: no --source is called so; there is {', '.join(aliases)}")
    return values
