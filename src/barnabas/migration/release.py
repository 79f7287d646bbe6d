"""Plans the changes of a ZooKeeper tree with which Kafka can start on an adopted directory. Pure.

Three states of the tree are compared (`three_states`): at the adoption, in the embedded registry now, and in ZooKeeper
now:

    only this broker changed it     the node is written
    only another client changed it  the other change is kept
    both, to the same data          nothing to do
    both, to different data         a conflict: nothing is written until it is resolved

Partitions are treated differently: only this broker has the records that it appended, so it is written as leader and
sole in-sync replica of the partitions that it led, with a new leader epoch. Partitions that the tree assigns to other
brokers only are not written. For controller epochs and producer ids, the higher value is kept.

Invariants:

- A plan for a complete tree is empty; an interrupted plan is completed by planning again.
- A node is written or deleted only if it did not change since it was read.
- Nodes that a tree never had count as new: only the adopted tree can have lost nodes meanwhile.

Source: zookeeper.md; semantics, controller (partition states, controller epoch).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from barnabas.migration.directories import DirectoryFacts
from barnabas.migration.findings import Finding, Kind, is_blocked, ranges
from barnabas.migration.kafka_versions import NEWEST_KAFKA, Target
from barnabas.migration.three_states import Changed, ThreeStates
from barnabas.migration.tree_copy import ADOPTED, Nodes, TreeCopy, carried, children, decode_adopted, subtree
from barnabas.migration.unreadable import unreadable
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, DeleteOp, Op, SetOp
from barnabas.wire.registry.znodes.cluster import decode_cluster_id, decode_controller_epoch, decode_producer_id_block
from barnabas.wire.registry.znodes.configs import decode_config
from barnabas.wire.registry.znodes.topics import (
    PartitionStateNode,
    decode_assignment,
    decode_partition_state,
    encode_partition_state,
)

_STATE = "/state"


class Action(Enum):
    """The kind of a change."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"


@dataclass(slots=True, frozen=True)
class Change:
    """One line of the plan.

    Attributes:
        subject: `topic views`, `settings of topic views`, or a path.
        text: Details of the change.
    """

    action: Action
    subject: str
    text: str = ""


@dataclass(slots=True)
class ReleasePlan:
    """The plan of a release, with findings.

    Attributes:
        target: The ZooKeeper to write.
        ops: Operations in a valid order.
        changes: The operations in words.
        not_written: Nodes of the registry that are not written, nor the nodes below them: another client deleted them
            in the tree, or they belong to a partition that the tree does not assign to this broker.
        kafka: The Kafka version that will start on the directories.
    """

    target: str
    broker_id: int = -1
    cluster_id: str = ""
    ops: list[Op] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    not_written: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    kafka: Target = NEWEST_KAFKA

    @property
    def is_blocked(self) -> bool:
        return is_blocked(self.findings)

    def say(self, kind: Kind, subject: object, text: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(kind, str(subject), text))


def plan_release(
    directories: Sequence[DirectoryFacts],
    registry: TreeCopy,
    target: TreeCopy,
    *,
    told_cluster_id: str | None = None,
) -> ReleasePlan:
    """Plan a release.

    Args:
        directories: All of the broker's log.dirs.
        registry: The embedded registry.
        target: The ZooKeeper tree; empty if it does not exist yet.
        told_cluster_id: Cluster id of that tree, if `adopt` had to generate the directories' cluster id; None if the
            ids must be equal.
    """
    return _Release(directories, registry, target, told_cluster_id).plan()


class _Release:
    def __init__(
        self, directories: Sequence[DirectoryFacts], registry: TreeCopy, target: TreeCopy, told_cluster_id: str | None
    ) -> None:
        self._directories = directories
        self._told_cluster_id = told_cluster_id
        self._ours = carried(registry.nodes)
        self._theirs = carried(target.nodes)
        self._our_paths, self._their_paths = sorted(self._ours), sorted(self._theirs)
        self._adopted = decode_adopted(registry.nodes.get(ADOPTED))
        self._states = ThreeStates(self._adopted, self._ours, target, self._theirs)
        self._target = target
        self._plan = ReleasePlan(target.source)
        self._creates: dict[str, bytes | None] = {}
        self._sets: dict[str, bytes | None] = {}
        self._deletes: set[str] = set()
        self._done: set[str] = set()

    def plan(self) -> ReleasePlan:
        self._check()
        if self._plan.is_blocked:
            return self._plan
        self._merge_counters()
        began = self._states.began
        for topic in sorted({*self._topics(self._ours), *self._topics(began)}):
            self._merge_topic(topic)
        for path in sorted(self._ours.keys() | began.keys()):
            if path not in self._done and not path.startswith(paths.BROKER_TOPICS + "/"):
                self._merge_node(path)
        if not self._plan.is_blocked:
            self._plan.ops = self._ops()
        return self._plan

    # --- checks

    def _check(self) -> None:
        plan = self._plan
        self._check_cluster()
        own_id = decode_cluster_id(self._ours.get(paths.CLUSTER_ID))
        plan.findings += unreadable(self._theirs, plan.target)
        if self._adopted is not None and self._adopted.source is not None and not self._states.is_adopted_tree:
            text = f"is not the tree that was adopted from {self._adopted.source}: all missing nodes are written"
            plan.say(Kind.NOTE, plan.target, text)
        for broker_id in self._target.live_brokers:
            plan.say(
                Kind.BLOCKED,
                plan.target,
                f"broker {broker_id} is registered: stop it, or wait until its session has expired",
            )
        for directory in self._directories:
            identity = directory.identity
            if directory.problem is not None:
                plan.say(Kind.BLOCKED, directory.path, directory.problem)
            elif directory.is_in_use:
                plan.say(Kind.BLOCKED, directory.path, "a broker has the directory open: stop the broker first")
            elif identity is None or identity.broker_id is None:
                plan.say(Kind.BLOCKED, directory.path, "has no meta.properties with a broker.id")
            elif identity.cluster_id not in (None, own_id, plan.cluster_id):
                plan.say(
                    Kind.BLOCKED, directory.path, f"belongs to cluster {identity.cluster_id}, its registry to {own_id}"
                )
            else:
                plan.broker_id = identity.broker_id
                if not directory.was_clean and directory.logs:
                    plan.say(
                        Kind.NOTE, directory.path, "was not closed cleanly: Kafka will check its logs at its start"
                    )

    def _check_cluster(self) -> None:
        """Check that the tree belongs to the directories' cluster.

        If `adopt` generated the id, the user must confirm it, because a wrong tree would be overwritten.
        """
        plan, told = self._plan, self._told_cluster_id
        ours = plan.cluster_id = decode_cluster_id(self._ours.get(paths.CLUSTER_ID)) or ""
        theirs = decode_cluster_id(self._theirs.get(paths.CLUSTER_ID))
        if told is not None and told != theirs:
            of = "a tree without a cluster id" if theirs is None else f"the tree of cluster {theirs}"
            plan.say(Kind.BLOCKED, plan.target, f"is {of}, not of {told} (--cluster-id)")
        elif theirs is None or theirs == ours:
            return
        elif self._adopted is None or not self._adopted.has_made_up_id:
            plan.say(Kind.BLOCKED, plan.target, f"is the tree of cluster {theirs}, but the directory belongs to {ours}")
        elif told is None:
            text = (
                f"is the tree of cluster {theirs}; the directory's cluster was unknown when it was adopted ({ours} was "
                f"generated). If this is the right tree, confirm it with --cluster-id {theirs}"
            )
            plan.say(Kind.BLOCKED, plan.target, text)
        else:
            plan.cluster_id = theirs
            self._done.add(paths.CLUSTER_ID)

    # --- counters that only increase

    def _merge_counters(self) -> None:
        path = paths.CONTROLLER_EPOCH
        self._done.add(path)
        ours, theirs = decode_controller_epoch(self._ours.get(path)), decode_controller_epoch(self._theirs.get(path))
        if path in self._ours and (path not in self._theirs or ours > theirs):
            self._write(path, self._ours[path], Change(Action.CHANGE, "controller epoch", f"{theirs} to {ours}"))
        path = paths.PRODUCER_ID_BLOCK
        self._done.add(path)
        block, known = decode_producer_id_block(self._ours.get(path)), decode_producer_id_block(self._theirs.get(path))
        if block is not None and (known is None or block.last > known.last):
            text = f"allocated up to {block.last}"
            self._write(path, self._ours[path], Change(Action.CHANGE, "producer ids", text))
        elif path in self._ours and path not in self._theirs:
            self._write(path, self._ours[path], None)

    # --- topics

    @staticmethod
    def _topics(nodes: Nodes) -> list[str]:
        return children(nodes, paths.BROKER_TOPICS)

    def _merge_topic(self, topic: str) -> None:
        path, subject = paths.topic(topic), f"topic {topic}"
        changed = self._states.changed(path, _is_same_assignment)
        if path not in self._ours:
            self._merge_deletion(topic, changed)
            return
        count = len(decode_assignment(self._ours[path]).replicas)
        if path not in self._theirs:
            if changed is Changed.THERE:
                self._plan.say(
                    Kind.NOTE, subject, "was deleted in ZooKeeper meanwhile and stays deleted; its logs are kept"
                )
                self._plan.not_written.add(path)
                return
            if changed is Changed.BOTH:
                self._conflict(subject, "was deleted in ZooKeeper and changed here")
                return
            text = f"{count} {'partition' if count == 1 else 'partitions'}"
            self._write(path, self._ours[path], Change(Action.CREATE, subject, text))
        elif changed is Changed.HERE:
            text = f"{len(decode_assignment(self._theirs[path]).replicas)} to {count} partitions"
            self._write(path, self._ours[path], Change(Action.CHANGE, subject, text))
        elif changed is Changed.BOTH:
            self._conflict(subject, "has other partitions or replicas here and in ZooKeeper")
            return
        self._merge_partitions(topic)

    def _merge_deletion(self, topic: str, changed: Changed) -> None:
        below = subtree(self._their_paths, paths.topic(topic))
        if not below:
            return
        if changed is not Changed.HERE:
            self._conflict(f"topic {topic}", "was deleted here and changed in ZooKeeper")
            return
        self._deletes.update(below)
        self._plan.changes.append(Change(Action.DELETE, f"topic {topic}"))
        settings = paths.topic_config(topic)
        if not self._states.is_adopted_tree and settings in self._theirs:
            # This broker never had these settings, so it cannot have changed them: delete them with their topic.
            self._done.add(settings)
            self._deletes.add(settings)

    def _merge_partitions(self, topic: str) -> None:
        self._leave_to_others(topic)
        moved: list[int] = []
        for path in subtree(self._our_paths, paths.partitions(topic)):
            if not self._plan.not_written.isdisjoint((path, paths.parent(path))):
                continue
            state = self._state_to_write(path) if path.endswith(_STATE) else None
            if state is not None:
                self._write(path, encode_partition_state(state), None)
                moved.append(int(paths.name(paths.parent(path))))
            elif path not in self._theirs and not path.endswith(_STATE):
                self._write(path, self._ours[path], None)
        if moved and paths.topic(topic) not in self._creates:
            text = f"led by broker {self._plan.broker_id} alone, in {len(moved)} partitions"
            self._plan.changes.append(Change(Action.CHANGE, f"leaders of topic {topic}", text))

    def _leave_to_others(self, topic: str) -> None:
        """Leave out partitions that the tree's assignment, where it is kept, does not give to this broker.

        A partition of other brokers that the tree assigns as the registry does is not left out: if a release was
        interrupted, the tree may lack its state.

        If the assignment was guessed and this broker is not in sync in the tree, each copy may have records that the
        other one lacks: the user must decide.
        """
        path, plan = paths.topic(topic), self._plan
        if path not in self._theirs or path in self._sets:
            return
        is_guess = self._adopted is not None and self._adopted.source is None
        replicas = decode_assignment(self._theirs[path]).replicas
        elsewhere: list[int] = []
        behind: list[int] = []
        for partition, here in decode_assignment(self._ours[path]).replicas.items():
            ours, theirs = _state(self._ours, topic, partition), _state(self._theirs, topic, partition)
            is_led = ours is not None and ours.leader == plan.broker_id
            if replicas.get(partition) == here and not is_led:
                continue
            if plan.broker_id not in replicas.get(partition, ()):
                plan.not_written.add(paths.partition(topic, partition))
                if is_led or partition not in replicas:
                    elsewhere.append(partition)
            elif is_led and is_guess and theirs is not None and plan.broker_id not in theirs.isr:
                behind.append(partition)
        if elsewhere:
            text = f"ZooKeeper does not assign partitions {ranges(elsewhere)} to broker {plan.broker_id}"
            plan.say(Kind.NOTE, f"topic {topic}", f"{text}: they stay as they are there; their logs are kept")
        if behind:
            text = f"was led here, but broker {plan.broker_id} is not in sync in ZooKeeper, partitions {ranges(behind)}"
            self._conflict(f"topic {topic}", text)

    def _state_to_write(self, path: str) -> PartitionStateNode | None:
        ours = decode_partition_state(self._ours[path])
        if path not in self._theirs:
            return ours
        theirs = decode_partition_state(self._theirs[path])
        if ours.leader != self._plan.broker_id:
            # This broker appended nothing: the broker with the records will lead.
            return None
        if (ours.leader, ours.isr) == (theirs.leader, theirs.isr):
            return ours if ours.leader_epoch > theirs.leader_epoch else None
        epoch = max(ours.leader_epoch, theirs.leader_epoch + 1)
        return PartitionStateNode(ours.leader, epoch, ours.isr, ours.controller_epoch)

    # --- everything else

    def _merge_node(self, path: str) -> None:
        changed = self._states.changed(path)
        if changed is Changed.BOTH:
            self._conflict(_subject(path), "was changed here and in ZooKeeper, to different data")
        elif changed is Changed.THERE and path not in self._theirs:
            self._plan.not_written.add(path)
        elif changed is not Changed.HERE:
            return
        elif path not in self._ours:
            self._delete(path)
        else:
            ours, theirs = self._ours[path], self._theirs.get(path)
            action = Action.CHANGE if path in self._theirs else Action.CREATE
            is_told = ours is not None and not self._is_of_new_topic(path)
            change = Change(action, _subject(path), _difference(path, theirs, ours)) if is_told else None
            self._write(path, ours, change)

    def _is_of_new_topic(self, path: str) -> bool:
        """Return whether a node has the empty settings of a new topic."""
        if paths.parent(path) != paths.CONFIG_TOPICS:
            return False
        return paths.topic(paths.name(path)) in self._creates and not decode_config(self._ours[path])

    def _delete(self, path: str) -> None:
        below = children(subtree(self._their_paths, path), path)
        if any(paths.child(path, name) not in self._states.began for name in below):
            self._conflict(_subject(path), "was deleted here, but nodes were added below it in ZooKeeper")
            return
        self._deletes.add(path)
        if self._theirs[path] is not None:
            self._plan.changes.append(Change(Action.DELETE, _subject(path)))

    def _write(self, path: str, data: bytes | None, change: Change | None) -> None:
        (self._sets if path in self._theirs else self._creates)[path] = data
        if change is not None:
            self._plan.changes.append(change)

    def _conflict(self, subject: str, text: str) -> None:
        self._plan.say(Kind.BLOCKED, subject, f"{text}: change one of the two so that they agree")

    def _ops(self) -> list[Op]:
        made = dict(self._creates)
        for path in self._creates:
            for above in paths.ancestors(path):
                if above not in self._theirs:
                    made.setdefault(above, None)
        versions = self._target.versions
        ops: list[Op] = [CreateOp(path, data) for path, data in sorted(made.items())]
        ops += [SetOp(path, data, versions[path]) for path, data in sorted(self._sets.items())]
        ops += [DeleteOp(path, versions[path]) for path in sorted(self._deletes, reverse=True)]
        return ops


def _state(nodes: Nodes, topic: str, partition: int) -> PartitionStateNode | None:
    data = nodes.get(paths.partition_state(topic, partition))
    return None if data is None else decode_partition_state(data)


def _is_same_assignment(one: bytes | None, other: bytes | None) -> bool:
    return decode_assignment(one) == decode_assignment(other)


def _subject(path: str) -> str:
    for parent, kind in (
        (paths.CONFIG_TOPICS, "topic"),
        (paths.CONFIG_USERS, "user"),
        (paths.CONFIG_CLIENTS, "client"),
    ):
        if paths.parent(path) == parent:
            return f"settings of {kind} {paths.desanitize(paths.name(path))}"
    return path


def _difference(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return the settings that differ, with values only for topics, because others may be secret."""
    if not path.startswith("/config/"):
        return ""
    old, new = decode_config(before), decode_config(after)
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if paths.parent(path) != paths.CONFIG_TOPICS:
        return ", ".join(names)
    return ", ".join(f"{name}={new[name]}" if name in new else f"{name} removed" for name in names)
