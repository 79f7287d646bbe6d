"""State of a group's migration between ZooKeeper and Kafka: its phase, the next step, and whether that step is safe.

    to Kafka:      zookeeper ──dual-commit──► both ──kafka-alone──► kafka
    to ZooKeeper:  kafka ──dual-commit──► both ──zookeeper-alone──► zookeeper

Each step changes settings and restarts one consumer after another; meanwhile consumers of both phases share the group.
This works because consumers that commit to both sides begin at the larger of the two offsets. Therefore:

- Before `dual-commit`, the new side must not be ahead in any partition: consumers would skip the records between.
- Before a group leaves one side, the other side must have all of its offsets, and no consumer may commit to the first
  side alone. Otherwise a consumer that resumes from the other side would reread records, or begin by auto.offset.reset.

Everything that cannot be observed is a doubt, and a doubt makes the step unsafe. A consumer that committed nothing is
such a doubt.

Source: design document of 0.8.2, migrating offsets from ZooKeeper to Kafka; Kafka 0.8.2.2,
ZookeeperConsumerConnector.fetchOffsets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from barnabas.migration.offsets.evidence import Commits, PartitionEvidence, together


class Side(Enum):
    """The store in which the offsets are kept after the migration."""

    KAFKA = "kafka"
    ZOOKEEPER = "zookeeper"


class Phase(Enum):
    """The phase of a migration, by where the group's consumers commit."""

    ZOOKEEPER = "all consumers commit to ZooKeeper alone"
    ZOOKEEPER_AND_BOTH = "some consumers commit to ZooKeeper alone, some to both"
    BOTH = "all consumers commit to both"
    BOTH_AND_KAFKA = "some consumers commit to both, some to Kafka alone"
    KAFKA = "all consumers commit to Kafka alone"
    SPLIT = "some consumers commit to ZooKeeper alone, some to Kafka alone"
    UNTOLD = "unknown, because nothing was committed"
    STOPPED = "no consumer is registered"


class Step(Enum):
    """The next step of a migration, by the values of `--step`."""

    DUAL_COMMIT = "dual-commit"
    KAFKA_ALONE = "kafka-alone"
    ZOOKEEPER_ALONE = "zookeeper-alone"
    RESTART_THE_OTHERS = "restart-the-others"
    REPAIR = "repair"
    WAIT = "wait"
    DONE = "done"


STEP_TEXTS = {
    Step.DUAL_COMMIT: "set offsets.storage=kafka and dual.commit.enabled=true, restart one consumer after the other",
    Step.KAFKA_ALONE: "set dual.commit.enabled=false, restart one consumer after the other",
    Step.ZOOKEEPER_ALONE: "set offsets.storage=zookeeper, restart one consumer after the other",
    Step.RESTART_THE_OTHERS: "go on with the restart: the settings of the others are as before",
    Step.REPAIR: "set offsets.storage=kafka and dual.commit.enabled=true everywhere: "
    "a partition that changes hands now goes back",
    Step.WAIT: "let the consumers read, and look again for at least the interval of their commits",
    Step.DONE: "nothing: the offsets are where they are to be",
}


@dataclass(slots=True, frozen=True)
class ConsumerState:
    """The observed state of one registered consumer.

    Attributes:
        registered_ms: When it registered, by its own clock; None: its node has no time.
        partition_count: The number of partitions that it owns.
        commits: The stores to which it was seen to commit.
    """

    name: str
    registered_ms: int | None
    partition_count: int
    commits: Commits


@dataclass(slots=True, frozen=True)
class MigrationState:
    """The result of the observation of a group.

    Attributes:
        reasons: Why the next step is not safe.
        doubts: Unknowns, which make the step unsafe unless the operator rules them out.
    """

    to: Side
    phase: Phase
    step: Step
    consumers: tuple[ConsumerState, ...]
    partitions: tuple[PartitionEvidence, ...]
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]

    @property
    def is_safe(self) -> bool:
        """Return whether the next step is safe."""
        return not self.reasons and not self.doubts


_PHASES: Mapping[frozenset[Commits], Phase] = {
    frozenset(): Phase.UNTOLD,
    frozenset({Commits.ZOOKEEPER}): Phase.ZOOKEEPER,
    frozenset({Commits.ZOOKEEPER, Commits.BOTH}): Phase.ZOOKEEPER_AND_BOTH,
    frozenset({Commits.BOTH}): Phase.BOTH,
    frozenset({Commits.BOTH, Commits.KAFKA}): Phase.BOTH_AND_KAFKA,
    frozenset({Commits.KAFKA}): Phase.KAFKA,
}
_STEPS: Mapping[Side, Mapping[Phase, Step]] = {
    Side.KAFKA: {
        Phase.STOPPED: Step.DUAL_COMMIT,
        Phase.ZOOKEEPER: Step.DUAL_COMMIT,
        Phase.ZOOKEEPER_AND_BOTH: Step.RESTART_THE_OTHERS,
        Phase.BOTH: Step.KAFKA_ALONE,
        Phase.BOTH_AND_KAFKA: Step.RESTART_THE_OTHERS,
        Phase.KAFKA: Step.DONE,
        Phase.SPLIT: Step.REPAIR,
        Phase.UNTOLD: Step.WAIT,
    },
    Side.ZOOKEEPER: {
        Phase.STOPPED: Step.DUAL_COMMIT,
        Phase.KAFKA: Step.DUAL_COMMIT,
        Phase.BOTH_AND_KAFKA: Step.RESTART_THE_OTHERS,
        Phase.BOTH: Step.ZOOKEEPER_ALONE,
        Phase.ZOOKEEPER_AND_BOTH: Step.RESTART_THE_OTHERS,
        Phase.ZOOKEEPER: Step.DONE,
        Phase.SPLIT: Step.REPAIR,
        Phase.UNTOLD: Step.WAIT,
    },
}
# The consumers still to be restarted, by their commits.
_OTHERS: Mapping[tuple[Side, Phase], Commits] = {
    (Side.KAFKA, Phase.ZOOKEEPER_AND_BOTH): Commits.ZOOKEEPER,
    (Side.KAFKA, Phase.BOTH_AND_KAFKA): Commits.BOTH,
    (Side.ZOOKEEPER, Phase.BOTH_AND_KAFKA): Commits.KAFKA,
    (Side.ZOOKEEPER, Phase.ZOOKEEPER_AND_BOTH): Commits.BOTH,
}


def migration_state(
    registered: Mapping[str, int | None],
    partitions: Sequence[PartitionEvidence],
    to: Side,
    *,
    new_members: Sequence[str] = (),
    allows_silence: bool = False,
) -> MigrationState:
    """Derive the migration state from observations.

    Args:
        registered: The consumers at the end of the observation, with their registration times.
        partitions: The evidence of each partition of an existing topic.
        to: The destination of the offsets.
        new_members: Members of a group of this name at Kafka's coordinator: newer consumers.
        allows_silence: Silent consumers and unread partitions are not doubts, because the operator ruled them out.
    """
    consumers = tuple(
        ConsumerState(
            name,
            registered_ms,
            sum(each.owner == name for each in partitions),
            together(each.commits for each in partitions if each.owner == name),
        )
        for name, registered_ms in sorted(registered.items())
    )
    # A consumer without partitions in the tree may still commit.
    told = {each.commits for each in consumers} | {each.commits for each in partitions if each.owner not in registered}
    told.discard(Commits.SILENT)
    phase = Phase.STOPPED if not registered and not told else _PHASES.get(frozenset(told), Phase.SPLIT)
    step = _STEPS[to][phase]
    reasons = _reasons(phase, step, to, consumers, partitions)
    reasons += [
        f"{member} is a newer consumer in a group of this name: Kafka refuses others' commits" for member in new_members
    ]
    doubts = [] if allows_silence else _doubts(step, consumers, partitions)
    return MigrationState(to, phase, step, consumers, tuple(partitions), tuple(reasons), tuple(doubts))


def _reasons(
    phase: Phase,
    step: Step,
    to: Side,
    consumers: Sequence[ConsumerState],
    partitions: Sequence[PartitionEvidence],
) -> list[str]:
    match step:
        case Step.DUAL_COMMIT:
            return [
                _difference_text(each, to, "dual commit begins with the larger offset and would skip what lies between")
                for each in partitions
                if _is_behind(each, _other(to))
            ]
        case Step.KAFKA_ALONE | Step.ZOOKEEPER_ALONE | Step.DONE:
            return [
                _difference_text(each, _other(to), "what lies between would be read again")
                for each in partitions
                if _is_behind(each, to)
            ]
        case Step.RESTART_THE_OTHERS:
            left = _OTHERS[to, phase]
            where = "both" if left is Commits.BOTH else f"{_named(Side(left.value))} alone"
            return [f"{each.name} still commits to {where}" for each in consumers if each.commits is left] or [
                f"somebody still commits to {where}"
            ]
        case Step.REPAIR:
            return [f"{each.name} commits to {each.commits.value}" for each in consumers] or [phase.value]
        case Step.WAIT:
            return [phase.value]


def _doubts(step: Step, consumers: Sequence[ConsumerState], partitions: Sequence[PartitionEvidence]) -> list[str]:
    """List doubts about leaving a side; before both sides are in use, there are none."""
    if step not in (Step.KAFKA_ALONE, Step.ZOOKEEPER_ALONE, Step.DONE):
        return []
    doubts = [
        f"{each.name} owns no partition: where it would commit is unknown"
        if not each.partition_count
        else f"{each.name} committed nothing: where it would commit is unknown"
        for each in consumers
        if each.commits is Commits.SILENT
    ]
    return doubts + [
        f"{each.partition} has no owner: its offsets stay as they are"
        for each in partitions
        if each.owner is None and (each.is_behind_in_kafka or each.is_behind_in_zookeeper)
    ]


def _is_behind(partition: PartitionEvidence, side: Side) -> bool:
    return partition.is_behind_in_kafka if side is Side.KAFKA else partition.is_behind_in_zookeeper


def _difference_text(partition: PartitionEvidence, side: Side, consequence: str) -> str:
    """Describe how far one side is ahead of the other, and the consequence."""
    offsets = {Side.KAFKA: partition.kafka, Side.ZOOKEEPER: partition.zookeeper}
    other = offsets[_other(side)]
    held = "nothing" if other is None else str(other)
    return (
        f"{partition.partition}: {_named(side)} has {offsets[side]}, {_named(_other(side))} has {held}: {consequence}"
    )


def _other(side: Side) -> Side:
    return Side.ZOOKEEPER if side is Side.KAFKA else Side.KAFKA


def _named(side: Side) -> str:
    return "Kafka" if side is Side.KAFKA else "ZooKeeper"
