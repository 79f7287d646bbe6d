"""Moves partitions to other brokers, as an administrator asks.

A reassignment is in the topic's node as long as it goes on: the partition has its old and its new replicas, and which
of them are added and removed. It ends when all that it is to have are in sync, and one of them leads. Replicas that
are in sync already, or brokers that are to be left out, need no more than that; to bring a new replica in sync is
replication's part.

Source: semantics, AlterPartitionReassignments; KIP-455; zookeeper.md, topic assignment.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.controller.epoch_guard import write_as_controller
from barnabas.broker.controller.partitions import change_state, create_states
from barnabas.broker.controller.state import ControllerState
from barnabas.broker.controller.work import Outcome
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import BadVersionError, NoNodeError, Registry, SetOp
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_assignment, encode_assignment

_PARTITIONS_PER_TURN = 100


class Moving(NamedTuple):
    """The replicas of one partition.

    Attributes:
        replicas: All, those on their way in or out too; the preferred leader first.
        adding, removing: Those on their way.
    """

    replicas: list[int]
    adding: list[int]
    removing: list[int]

    @property
    def target(self) -> list[int]:
        """Those that it is to have in the end."""
        return [replica for replica in self.replicas if replica not in self.removing]

    @property
    def origin(self) -> list[int]:
        """Those that it had before."""
        return [replica for replica in self.replicas if replica not in self.adding]

    def to(self, target: Sequence[int]) -> "Moving":
        """On the way to these replicas."""
        origin = self.origin
        replicas = list(dict.fromkeys([*target, *origin]))
        return Moving(
            replicas,
            [replica for replica in replicas if replica not in origin],
            [replica for replica in replicas if replica not in target],
        )


class ReassignmentResult(NamedTuple):
    """What came of one partition's reassignment."""

    error_code: ErrorCode = ErrorCode.NONE
    message: str | None = None


_UNKNOWN = ReassignmentResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
_NONE_IN_PROGRESS = ReassignmentResult(
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
)


def moving(state: ControllerState, partition: TopicPartition) -> Moving | None:
    """The replicas of a partition; None: there is no such partition."""
    assignment = state.topics.get(partition.topic)
    replicas = None if assignment is None else assignment.replicas.get(partition.partition)
    if assignment is None or replicas is None:
        return None
    index = partition.partition
    return Moving(replicas, assignment.adding.get(index, []), assignment.removing.get(index, []))


def reassignments(state: ControllerState) -> dict[TopicPartition, Moving]:
    """All partitions that are on their way to other brokers."""
    found = {}
    for topic in sorted(state.topics):
        assignment = state.topics[topic]
        for index in sorted(assignment.adding.keys() | assignment.removing.keys()):
            partition = TopicPartition(topic, index)
            here = moving(state, partition)
            if here is not None and (here.adding or here.removing):
                found[partition] = here
    return found


async def reassign(
    registry: Registry, state: ControllerState, wanted: Mapping[TopicPartition, Sequence[int] | None]
) -> Outcome[dict[TopicPartition, ReassignmentResult]]:
    """Begin reassignments, and end those that can.

    Args:
        wanted: Partition to the replicas that it is to have; None cancels what is going on.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    results: dict[TopicPartition, ReassignmentResult] = {}
    begun: list[TopicPartition] = []
    removed: list[tuple[int, TopicPartition]] = []
    for number, (partition, target) in enumerate(wanted.items(), 1):
        before = state.replicas(partition)
        result = results[partition] = await _begin(registry, state, partition, target)
        if result.error_code == ErrorCode.NONE:
            begun.append(partition)
            # Those that an earlier reassignment was adding, and this one does not want.
            unneeded = set(before) - set(state.replicas(partition))
            removed += [(replica, partition) for replica in sorted(unneeded) if replica in state.brokers]
        if number % _PARTITIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    completed = await complete_reassignments(registry, state, begun)
    return Outcome(results, begun, [*removed, *completed.removed])


async def _begin(
    registry: Registry, state: ControllerState, partition: TopicPartition, target: Sequence[int] | None
) -> ReassignmentResult:
    here = moving(state, partition) or Moving([], [], [])
    if target is None:
        if not here.adding and not here.removing:
            return _NONE_IN_PROGRESS
        target = here.origin
    else:
        reason = _refusal(target, here.replicas, state)
        if reason is not None:
            return ReassignmentResult(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    if not here.replicas or partition.topic in state.deleting:
        return _UNKNOWN
    is_written = await _write(registry, state, partition, here.to(target))
    if not is_written:
        return _UNKNOWN
    if partition not in state.leaders:
        # Nobody of those that it had ever lived.
        await create_states(registry, state, [partition.topic])
    return ReassignmentResult()


def _refusal(target: Sequence[int], replicas: Sequence[int], state: ControllerState) -> str | None:
    """Why a partition can't have these replicas."""
    listed = f"({', '.join(map(str, target))})"
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) != len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {listed}"
    if any(replica < 0 for replica in target):
        return f"Invalid broker id in replica list: {listed}"
    dead = [replica for replica in target if replica not in replicas and replica not in state.brokers]
    if dead:
        return (
            f"Replica assignment has brokers that are not alive. Replica list: ({', '.join(map(str, dead))}), "
            f"live broker list: ({', '.join(map(str, sorted(state.brokers)))})"
        )
    return None


async def complete_reassignments(
    registry: Registry, state: ControllerState, partitions: Iterable[TopicPartition]
) -> Outcome[list[TopicPartition]]:
    """End those reassignments whose new replicas are all in sync; the value is which.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    completed: list[TopicPartition] = []
    removed: list[tuple[int, TopicPartition]] = []
    for partition in partitions:
        here = moving(state, partition)
        if here is None or not (here.adding or here.removing) or not _may_complete(state, partition, here.target):
            continue
        target = here.target

        def decide(current: PartitionStateNode, target: Sequence[int] = target) -> PartitionStateNode | None:
            return _completed_state(current, target, state)

        await change_state(registry, state, partition, decide)
        if await _write(registry, state, partition, Moving(target, [], [])):
            completed.append(partition)
            removed += [(replica, partition) for replica in here.removing if replica in state.brokers]
    return Outcome(completed, completed, removed)


def _may_complete(state: ControllerState, partition: TopicPartition, target: Sequence[int]) -> bool:
    leadership = state.leaders.get(partition)
    return (
        leadership is not None
        and set(target) <= set(leadership.node.isr)
        and any(replica in state.brokers for replica in target)
    )


def _completed_state(
    current: PartitionStateNode, target: Sequence[int], state: ControllerState
) -> PartitionStateNode | None:
    isr = tuple(replica for replica in current.isr if replica in target)
    leader = current.leader
    if leader not in target or leader not in state.brokers:
        leader = next(replica for replica in target if replica in isr and replica in state.brokers)
    if (leader, isr) == (current.leader, current.isr):
        return None
    return PartitionStateNode(leader, current.leader_epoch + 1, isr, state.epoch)


async def _write(registry: Registry, state: ControllerState, partition: TopicPartition, there: Moving) -> bool:
    """Write a partition's replicas into its topic's node, and take them over; False: the topic is gone."""
    path, index = paths.topic(partition.topic), partition.partition
    while True:
        try:
            data, stat = await registry.get(path)
        except NoNodeError:
            return False
        found = decode_assignment(data)
        found.replicas[index] = there.replicas
        _set(found.adding, index, there.adding)
        _set(found.removing, index, there.removing)
        try:
            await write_as_controller(
                registry, state.epoch_zk_version, [SetOp(path, encode_assignment(found), stat.version)]
            )
        except BadVersionError:
            # Somebody else added partitions.
            continue
        except NoNodeError:
            return False
        # Only this partition: what else is new there its own event brings.
        known = state.topics[partition.topic]
        known.replicas[index] = there.replicas
        _set(known.adding, index, there.adding)
        _set(known.removing, index, there.removing)
        return True


def _set(by_partition: dict[int, list[int]], index: int, replicas: list[int]) -> None:
    if replicas:
        by_partition[index] = replicas
    else:
        by_partition.pop(index, None)
