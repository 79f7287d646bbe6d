"""Plans the adoption of directories that Kafka wrote: the contents of the embedded registry. Pure.

If the ZooKeeper tree of the directories is available, the registry is a copy of it. Otherwise the registry is derived
from the directories:

    cluster and broker id     meta.properties
    topics, partitions        names of directories; leader epochs one above the newest in each log
    settings                  internal topics as Kafka creates them; a topic that was compacted stays compacted;
                              all others keep everything (retention.ms=-1, retention.bytes=-1): their settings are lost,
                              and the broker's defaults would delete records
    producer ids              above the highest in any log

Invariants:

- No plan makes a record unreadable or allows its deletion.
- No leader epoch and no producer id is below one in the logs.

Source: zookeeper.md; log-format facts, files in a log dir.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.broker.administration.topic_rules import internal_topic
from barnabas.broker.log.producers.open_transactions import OpenTransaction, effect
from barnabas.core.config import BrokerConfig
from barnabas.core.internal_topics import INTERNAL_TOPICS, TRANSACTION_STATE_TOPIC
from barnabas.core.types import NO_PRODUCER_ID, TopicPartition
from barnabas.migration.directories import DirectoryFacts, LogFacts
from barnabas.migration.findings import Finding, Kind, is_blocked, ranges
from barnabas.migration.kafka_versions import NEWEST_KAFKA, Target
from barnabas.migration.limits import topic_limit
from barnabas.migration.tree_copy import Nodes, TreeCopy, carried, children, with_parents
from barnabas.migration.unreadable import unreadable
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.cluster import (
    ProducerIdBlock,
    decode_cluster_id,
    encode_cluster_id,
    encode_producer_id_block,
)
from barnabas.wire.registry.znodes.configs import decode_config, encode_config
from barnabas.wire.registry.znodes.topics import (
    PartitionStateNode,
    TopicAssignment,
    decode_assignment,
    decode_partition_state,
    encode_assignment,
    encode_partition_state,
)

_KEEP_EVERYTHING = {"retention.bytes": "-1", "retention.ms": "-1"}
_COMPACTED = {"cleanup.policy": "compact"}
# Ids that were allocated but never reached a log are unknown; ids have 64 bits, so a margin costs nothing.
_PRODUCER_ID_MARGIN = 1_000_000
# Maximum number of missing partitions: a log directory's name implies that all lower partitions exist.
_MOST_MISSING = 10_000


@dataclass(slots=True)
class TopicPlan:
    """The planned state of a topic.

    Attributes:
        partition_count: Total number of partitions.
        here: Partitions with logs in the directories.
        served: Partitions that this broker will lead.
        size_bytes: Total size of these logs.
        magics: Formats of the batches that were read.
        settings: Overridden settings.
    """

    name: str
    partition_count: int
    here: list[int] = field(default_factory=list)
    served: list[int] = field(default_factory=list)
    size_bytes: int = 0
    magics: set[int] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class AdoptionPlan:
    """The plan of an adoption, with findings.

    Attributes:
        broker_id, cluster_id: Broker and cluster of the directories.
        has_made_up_id: The cluster's id is unknown, so a new one was generated.
        source: The ZooKeeper that was read, if any.
        nodes: All nodes of the registry, parents first.
        tree_id: Id of the tree that was read.
        added: Nodes that are not in the tree.
        open_transactions: Open transactions of the topics, by partition and offset.
        target: The Kafka version that must be able to read new data.
    """

    broker_id: int = -1
    cluster_id: str = ""
    has_made_up_id: bool = False
    source: str | None = None
    nodes: Nodes = field(default_factory=dict)
    tree_id: str | None = None
    added: frozenset[str] = frozenset()
    topics: list[TopicPlan] = field(default_factory=list)
    open_transactions: list[tuple[TopicPartition, OpenTransaction]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    target: Target = NEWEST_KAFKA

    @property
    def is_blocked(self) -> bool:
        return is_blocked(self.findings)

    def say(self, kind: Kind, subject: object, text: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(kind, str(subject), text))


def plan_adoption(
    directories: Sequence[DirectoryFacts], tree: TreeCopy | None, new_cluster_id: str, *, allows_missing: bool = False
) -> AdoptionPlan:
    """Plan an adoption.

    Args:
        directories: All of the broker's log.dirs; the registry is created in the first.
        tree: The ZooKeeper tree of the directories, if any.
        new_cluster_id: Used if the cluster's id is unknown.
        allows_missing: Let partitions without a log start empty.
    """
    plan = AdoptionPlan(source=tree.source if tree else None)
    logs = _gather(plan, directories)
    _identify(plan, directories, tree, new_cluster_id)
    if plan.is_blocked:
        return plan
    if tree is not None:
        plan.nodes = carried(tree.nodes)
        plan.tree_id = tree.tree_id
        _check_tree(plan, tree)
        what_is_wrong = unreadable(plan.nodes, tree.source)
        if what_is_wrong:
            plan.findings += what_is_wrong
            return plan
    else:
        _make_nodes(plan, directories, logs)
    plan.nodes.setdefault(paths.CLUSTER_ID, encode_cluster_id(plan.cluster_id))
    for topic in children(plan.nodes, paths.BROKER_TOPICS):
        _plan_topic(plan, topic, logs, allows_missing)
    _check_logs(plan, logs)
    _tell_of_transactions(plan, logs)
    plan.nodes = with_parents(plan.nodes)
    plan.added = frozenset(plan.nodes) - frozenset(tree.nodes if tree is not None else ())
    return plan


# --- present state


def _gather(plan: AdoptionPlan, directories: Sequence[DirectoryFacts]) -> dict[TopicPartition, LogFacts]:
    logs: dict[TopicPartition, LogFacts] = {}
    for directory in directories:
        path = directory.path
        if directory.problem is not None:
            plan.say(Kind.BLOCKED, path, directory.problem)
        if directory.is_in_use:
            plan.say(Kind.BLOCKED, path, "a broker has the directory open: stop the broker first")
        if directory.has_registry:
            plan.say(
                Kind.BLOCKED,
                path,
                "is already adopted: `barnabas broker` starts on it, `barnabas release` returns it to Kafka",
            )
        if not directory.was_clean and directory.logs:
            plan.say(Kind.NOTE, path, "was not closed cleanly: the first start will check its logs, as Kafka would")
        for name in directory.former:
            plan.say(Kind.NOTE, path, f"{name} is a log being deleted or copied, and belongs to no topic")
        for topic_partition, log in directory.logs.items():
            if topic_partition in logs:
                plan.say(
                    Kind.BLOCKED,
                    topic_partition,
                    f"has two logs, {logs[topic_partition].path} and {log.path}: keep only one",
                )
            logs[topic_partition] = log
            if log.irregular:
                names = ", ".join(log.irregular[:3])
                plan.say(Kind.BLOCKED, log.path, f"{names} must be a regular file: replace it with the file itself")
            if log.leads_to is not None:
                plan.say(
                    Kind.NOTE,
                    log.path,
                    f"is a link: its records are in {log.leads_to}, and stay there when the link is deleted",
                )
    return logs


def _identify(
    plan: AdoptionPlan, directories: Sequence[DirectoryFacts], tree: TreeCopy | None, new_cluster_id: str
) -> None:
    named = [(it.path, it.identity) for it in directories if it.identity is not None]
    for directory in directories:
        if directory.identity is None and directory.problem is None:
            plan.say(Kind.BLOCKED, directory.path, "has no meta.properties: it is not a Kafka data directory")
    broker_ids = {identity.broker_id for _, identity in named if identity.broker_id is not None}
    cluster_ids = {identity.cluster_id for _, identity in named if identity.cluster_id is not None}
    everywhere = ", ".join(str(path) for path, _ in named)
    if len(broker_ids) > 1 or len(cluster_ids) > 1:
        plan.say(
            Kind.BLOCKED,
            everywhere,
            "belong to different brokers or clusters: adopt the directories of one broker together",
        )
        return
    if named and not broker_ids:
        plan.say(Kind.BLOCKED, everywhere, "meta.properties has no broker.id")
    plan.broker_id = next(iter(broker_ids), -1)
    known = decode_cluster_id(tree.nodes.get(paths.CLUSTER_ID)) if tree else None
    in_files = next(iter(cluster_ids), None)
    if known is not None and in_files is not None and known != in_files:
        plan.say(
            Kind.BLOCKED, everywhere, f"belongs to cluster {in_files}, but {plan.source} is the tree of cluster {known}"
        )
    plan.cluster_id = known or in_files or new_cluster_id
    plan.has_made_up_id = known is None and in_files is None
    if plan.has_made_up_id and named:
        why = (
            "was written before Kafka introduced cluster ids"
            if tree is not None
            else "has no cluster id (Kafka before 2.4 stores it only in ZooKeeper)"
        )
        plan.say(Kind.NOTE, everywhere, f"{why}: its new cluster id is {new_cluster_id}")


def _check_tree(plan: AdoptionPlan, tree: TreeCopy) -> None:
    if paths.BROKER_TOPICS not in tree.nodes:
        plan.say(Kind.BLOCKED, tree.source, "is not a Kafka tree (no /brokers/topics): check the chroot")
    for broker_id in tree.live_brokers:
        if broker_id == plan.broker_id:
            text = f"broker {broker_id} is registered: stop it, or wait until its session has expired"
        else:
            text = (
                f"broker {broker_id} of the cluster is alive and would continue with its own replicas: "
                "stop the whole cluster first"
            )
        plan.say(Kind.BLOCKED, tree.source, text)


# --- without a tree


def _make_nodes(
    plan: AdoptionPlan, directories: Sequence[DirectoryFacts], logs: Mapping[TopicPartition, LogFacts]
) -> None:
    me = plan.broker_id
    compacted = {topic_partition.topic for each in directories for topic_partition in each.compacted}
    here: dict[str, list[int]] = {}
    for topic, partition in logs:
        here.setdefault(topic, []).append(partition)
    guessed: list[str] = []
    missing_count = 0
    for topic, partitions in sorted(here.items()):
        count = max(partitions) + 1
        if missing_count + count - len(partitions) > _MOST_MISSING:
            plan.say(
                Kind.BLOCKED,
                topic,
                f"partitions {_gaps(partitions)} have no log in these directories, more than --allow-missing accepts "
                f"({_MOST_MISSING} in total): move away directories that are not partitions of the topic, or give the "
                "tree with --zookeeper",
            )
            continue
        missing_count += count - len(partitions)
        plan.nodes[paths.topic(topic)] = encode_assignment(TopicAssignment({index: [me] for index in range(count)}))
        settings = _settings(topic, topic in compacted)
        if topic not in INTERNAL_TOPICS:
            guessed.append(topic)
        plan.nodes[paths.topic_config(topic)] = encode_config(settings)
        for index in range(count):
            log = logs.get(TopicPartition(topic, index))
            if log is not None:
                state = PartitionStateNode(me, log.latest_epoch + 1, (me,), 0)
                plan.nodes[paths.partition_state(topic, index)] = encode_partition_state(state)
    for path in paths.PERSISTENT:
        plan.nodes.setdefault(path, None)
    highest = max((log.highest_producer_id for log in logs.values()), default=NO_PRODUCER_ID)
    if highest != NO_PRODUCER_ID:
        last = (highest + _PRODUCER_ID_MARGIN) // 1000 * 1000 - 1
        plan.nodes[paths.PRODUCER_ID_BLOCK] = encode_producer_id_block(ProducerIdBlock(me, last - 999, last))
    plan.say(
        Kind.NOTE,
        "no --zookeeper",
        "every log is assumed to be the only replica of its partition; users, quotas and access rules are unknown",
    )
    if guessed:
        plan.say(
            Kind.NOTE,
            "no --zookeeper",
            f"the settings of {len(guessed)} topics are unknown: topics that were compacted stay compacted, the others "
            "keep all records until you set retention.ms and retention.bytes",
        )


def _gaps(partitions: list[int]) -> str:
    """Return the missing numbers below the highest, as ranges."""
    found, expected = [], 0
    for partition in sorted(partitions):
        if partition > expected:
            found.append(f"{expected}-{partition - 1}" if partition - 1 > expected else str(expected))
        expected = partition + 1
    return ", ".join(found)


def _settings(topic: str, is_compacted: bool) -> dict[str, str]:
    if topic in INTERNAL_TOPICS:
        return {
            key: value
            for key, value in internal_topic(topic, BrokerConfig.single_broker()).configs
            if value is not None
        }
    return dict(_COMPACTED if is_compacted else _KEEP_EVERYTHING)


# --- topic by topic


def _plan_topic(plan: AdoptionPlan, topic: str, logs: Mapping[TopicPartition, LogFacts], allows_missing: bool) -> None:
    assignment = decode_assignment(plan.nodes[paths.topic(topic)]).replicas
    settings = decode_config(plan.nodes.get(paths.topic_config(topic)))
    topic_plan = TopicPlan(topic, len(assignment), settings=settings)
    plan.topics.append(topic_plan)
    missing: list[int] = []
    elsewhere: list[int] = []
    behind: list[int] = []
    for partition, replicas in assignment.items():
        log = logs.get(TopicPartition(topic, partition))
        if log is not None:
            topic_plan.here.append(partition)
            topic_plan.size_bytes += log.size_bytes
            topic_plan.magics |= log.magics
        if plan.broker_id not in replicas:
            elsewhere.append(partition)
            continue
        state = _state(plan, topic, partition)
        if state is not None and plan.broker_id not in state.isr:
            behind.append(partition)
            continue
        # Kafka creates a partition's log when it first leads it.
        if log is None and (state is not None or plan.source is None):
            missing.append(partition)
            if not allows_missing:
                continue
        topic_plan.served.append(partition)
        if log is not None and state is not None:
            _raise_epoch(plan, topic, partition, state, log)
    _tell_of_topic(plan, topic_plan, missing, elsewhere, behind, allows_missing)


def _state(plan: AdoptionPlan, topic: str, partition: int) -> PartitionStateNode | None:
    data = plan.nodes.get(paths.partition_state(topic, partition))
    return decode_partition_state(data) if data else None


def _raise_epoch(plan: AdoptionPlan, topic: str, partition: int, state: PartitionStateNode, log: LogFacts) -> None:
    """Raise the leader epoch above the log's, in case the tree is older than the log."""
    if state.leader_epoch >= log.latest_epoch:
        return
    raised = PartitionStateNode(state.leader, log.latest_epoch + 1, state.isr, state.controller_epoch)
    plan.nodes[paths.partition_state(topic, partition)] = encode_partition_state(raised)
    plan.say(
        Kind.NOTE,
        TopicPartition(topic, partition),
        f"its log has leader epoch {log.latest_epoch}, but the tree only {state.leader_epoch}: it continues with "
        f"{raised.leader_epoch}",
    )


def _tell_of_topic(
    plan: AdoptionPlan,
    topic: TopicPlan,
    missing: list[int],
    elsewhere: list[int],
    behind: list[int],
    allows_missing: bool,
) -> None:
    if elsewhere:
        plan.say(Kind.NOT_SERVED, topic.name, f"partitions {ranges(elsewhere)} have no replica on this broker")
    if behind:
        plan.say(
            Kind.NOT_SERVED,
            topic.name,
            f"partitions {ranges(behind)}: this broker's replica was not in sync; only other brokers have all records",
        )
    if missing and allows_missing:
        plan.say(Kind.NOTE, topic.name, f"partitions {ranges(missing)} have no log here and will start empty")
    elif missing:
        plan.say(
            Kind.BLOCKED,
            topic.name,
            f"partitions {ranges(missing)} have no log in these directories: give all of the broker's log.dirs "
            "(--allow-missing lets them start empty)",
        )
    limit = topic_limit(topic.settings)
    if limit is not None:
        plan.say(Kind.LIMITED, topic.name, limit)
    least = topic.settings.get("min.insync.replicas", "1")
    if least.isdecimal() and int(least) > 1:
        plan.say(
            Kind.LIMITED,
            topic.name,
            f"min.insync.replicas={least}: writes with acks=all are refused, because a single broker has one replica",
        )


def _check_logs(plan: AdoptionPlan, logs: Mapping[TopicPartition, LogFacts]) -> None:
    strays: dict[str, list[int]] = {}
    known = {TopicPartition(topic.name, index) for topic in plan.topics for index in topic.here}
    for topic, partition in logs.keys() - known:
        strays.setdefault(topic, []).append(partition)
    for topic, partitions in sorted(strays.items()):
        plan.say(
            Kind.NOTE,
            topic,
            f"the logs of partitions {ranges(partitions)} belong to no topic of the tree and are ignored",
        )


def _tell_of_transactions(plan: AdoptionPlan, logs: Mapping[TopicPartition, LogFacts]) -> None:
    has_coordinator = any(topic.name == TRANSACTION_STATE_TOPIC and topic.here for topic in plan.topics)
    for topic in plan.topics:
        for index in topic.here:
            topic_partition = TopicPartition(topic.name, index)
            found = logs[topic_partition].open_transactions
            plan.open_transactions += [(topic_partition, each) for each in found]
            if found:
                plan.say(
                    Kind.NOTE if has_coordinator else Kind.LIMITED,
                    topic_partition,
                    f"has an open transaction of producer {found[0].producer_id} from offset {found[0].first_offset} "
                    f"on: {effect(topic.name, found[0])}",
                )
    if plan.open_transactions:
        plan.say(
            Kind.NOTE if has_coordinator else Kind.LIMITED,
            "open transactions",
            "their coordinator completes them soon after the start: it finishes decided commits and aborts, and aborts "
            "the others at their transaction.timeout.ms"
            if has_coordinator
            else f"no coordinator knows them, because {TRANSACTION_STATE_TOPIC} is missing: read_committed consumers "
            "get no later records until `barnabas transactions abort` aborts them",
        )
