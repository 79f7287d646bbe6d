"""Reassigns partitions to other brokers on behalf of administrators.

A reassignment is stored in the topic's node until it is complete: the partition's old and new replicas, and which of
them are being added and removed. This step runs when the reassignment begins, is resumed, or may complete:

1. The topic's node is written, if it differs; replicas that are no longer wanted are stopped. If one of them was the
   leader, another in-sync replica becomes leader.
2. If some target replicas are not in sync: the leader epoch is raised, so that the leader accepts the new replicas; old
   and new replicas get the state, the new ones marked as new.
3. If all are in sync: one of them becomes leader in a higher epoch; the others leave the ISR and are deleted; the
   topic's node is written.

Source: replication.md, reassignment; Kafka 2.7.2, KafkaController.onPartitionReassignment; KIP-455.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.deletion import pause_deletions, resume_deletion
from barnabas.broker.controller.epoch_guard import ControllerMovedError
from barnabas.broker.controller.events import IsrSet
from barnabas.broker.controller.leader_election import Strategy, raised
from barnabas.broker.controller.partition_states import bring_online, read_states, set_phases, write_states
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import (
    NO_LEADER,
    ControllerState,
    Moving,
    PartitionPhase,
    Replica,
    ReplicaPhase,
    set_or_drop,
)
from barnabas.broker.interbroker.versions import NOT_USED, version_of
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import (
    BadVersionError,
    DeleteOp,
    NoNodeError,
    Op,
    RegistryClosedError,
    RegistryError,
    SetOp,
)
from barnabas.wire.registry.znodes.admin_requests import decode_reassignment, encode_reassignment
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import decode_assignment, encode_assignment

log = logging.getLogger(__name__)

_PARTITIONS_PER_TURN = 100


class ReassignmentResult(NamedTuple):
    """The result of one partition's reassignment."""

    error_code: ErrorCode = ErrorCode.NONE
    message: str | None = None


_UNKNOWN = ReassignmentResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
_NONE_IN_PROGRESS = ReassignmentResult(
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
)


async def reassign(
    context: ControllerContext, wanted: Mapping[TopicPartition, Sequence[int] | None]
) -> dict[TopicPartition, ReassignmentResult]:
    """Begin reassignments, and complete those that can end.

    Args:
        wanted: Partition to its target replicas; None cancels its reassignment.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    # A request overrides the node of the old tools.
    await _drop_asked_by_node(context, wanted)
    return await begin_reassignments(context, wanted)


async def begin_reassignments(
    context: ControllerContext, wanted: Mapping[TopicPartition, Sequence[int] | None]
) -> dict[TopicPartition, ReassignmentResult]:
    """Begin reassignments without dropping other requests for the same partitions, unlike `reassign`."""
    results: dict[TopicPartition, ReassignmentResult] = {}
    for number, (partition, target) in enumerate(wanted.items(), 1):
        results[partition] = await _begin(context, partition, target)
        if number % _PARTITIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    return results


async def _begin(
    context: ControllerContext, partition: TopicPartition, target: Sequence[int] | None
) -> ReassignmentResult:
    there = _plan(context.state, partition, target)
    if isinstance(there, ReassignmentResult):
        return there
    try:
        is_there = await _take_step(context, partition, there)
    except (ControllerMovedError, RegistryClosedError):
        raise
    except Exception as error:
        # What was written stays, and the reassignment is resumed later.
        log.exception("cannot continue the reassignment of %s", partition)
        return ReassignmentResult(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
    return ReassignmentResult() if is_there else _UNKNOWN


def _plan(
    state: ControllerState, partition: TopicPartition, target: Sequence[int] | None
) -> Moving | ReassignmentResult:
    """Return the replicas during a requested reassignment, or the error if it must not begin."""
    here = state.moving(partition) or Moving([], [], [])
    if target is None:
        if not here.is_under_way:
            return _NONE_IN_PROGRESS
        target = here.origin
    else:
        reason = _refusal(target, here.origin, state)
        if reason is not None:
            return ReassignmentResult(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    if not here.replicas or partition.topic in state.deleting:
        return _UNKNOWN
    there, leadership = here.to(target), state.leaders.get(partition)
    in_sync = () if leadership is None else leadership.node.isr
    if in_sync and not set(in_sync) & set(there.replicas):
        # differs from Kafka (last-in-sync-stays): Kafka deletes records that only these have; then no replica can lead.
        listed = ", ".join(map(str, in_sync))
        reason = f"None of the replicas that would be left is in sync, only those on brokers {listed} are."
        return ReassignmentResult(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    return there


def _refusal(target: Sequence[int], origin: Sequence[int], state: ControllerState) -> str | None:
    """Return why a partition cannot have these replicas; None if it can.

    Args:
        origin: The replicas before a reassignment, which may be on dead brokers.
    """
    listed = f"({', '.join(map(str, target))})"
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) != len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {listed}"
    if any(replica < 0 for replica in target):
        return f"Invalid broker id in replica list: {listed}"
    alive = state.brokers.keys() - state.shutting_down
    dead = [replica for replica in target if replica not in origin and replica not in alive]
    if dead:
        return (
            f"Replica assignment has brokers that are not alive. Replica list: ({', '.join(map(str, dead))}), "
            f"live broker list: ({', '.join(map(str, sorted(alive)))})"
        )
    return None


async def resume_reassignments(context: ControllerContext, brokers: Iterable[int] | None = None) -> None:
    """Resume all reassignments, or only those with a target replica on these brokers."""
    wanted = None if brokers is None else set(brokers)
    for partition, here in context.state.reassignments().items():
        if partition.topic not in context.state.deletion_started and (wanted is None or wanted & set(here.target)):
            await _take_step(context, partition, here)


async def complete_reassignments(context: ControllerContext, partitions: Iterable[TopicPartition]) -> None:
    """Complete the reassignments whose new replicas are all in sync, according to the registry."""
    for partition in partitions:
        here = context.state.moving(partition)
        if here is not None and here.is_under_way and await _is_complete(context, partition, here):
            await _take_step(context, partition, here)


async def isr_set(context: ControllerContext, partition: TopicPartition) -> None:
    """Check whether a reassignment can complete, after a leader wrote the ISR."""
    here = context.state.moving(partition)
    if here is None or not here.is_under_way:
        return
    await _watch_isr(context, partition)
    await complete_reassignments(context, [partition])


async def _watch_isr(context: ControllerContext, partition: TopicPartition) -> None:
    """Watch states that leaders write themselves; leaders with AlterIsr propose changes to the controller."""
    if version_of(ApiKey.ALTER_ISR, context.protocol) == NOT_USED:
        path = paths.partition_state(*partition)
        await context.registry.exists(path, context.watch(IsrSet(partition)))


async def _take_step(context: ControllerContext, partition: TopicPartition, there: Moving) -> bool:
    """Move a partition as close to its target replicas as possible now; False: the topic was deleted."""
    state = context.state
    pause_deletions(state, [partition.topic])
    here = state.moving(partition)
    if here is None:
        return False
    if here != there:
        if not await _write_assignment(context, partition, there):
            return False
        state.assign(partition, there)
        unneeded = [replica for replica in here.replicas if replica not in there.replicas]
        await _stop_replicas(context, partition, unneeded, is_epoch_known=True)
    if _lacks_possible_leader(state, partition):
        # First, because an added replica may get the state or become the leader.
        await _begin_replicas(context, partition, there)
        await bring_online(context, [partition], Strategy.OFFLINE)
    await _watch_isr(context, partition)
    if await _is_complete(context, partition, there):
        await _complete(context, partition, there)
        return True
    await _raise_epoch(context, partition, there)
    await _begin_replicas(context, partition, there)
    return True


def _lacks_possible_leader(state: ControllerState, partition: TopicPartition) -> bool:
    """Return whether a partition has no leader, although an election without data loss is possible.

    Either none of its earlier replicas was ever alive, or the step stopped the leader and an in-sync replica is left.
    """
    if state.phase(partition) is PartitionPhase.NEW:
        return True
    # Kafka elects no leader here if the reassignment does not complete: see left-without-leader below.
    leadership = state.leaders.get(partition)
    return (
        leadership is not None
        and leadership.node.leader == NO_LEADER
        and any(state.is_online(replica, partition) for replica in leadership.node.isr)
    )


async def _begin_replicas(context: ControllerContext, partition: TopicPartition, there: Moving) -> None:
    """Mark the added replicas as new, and send them the state; those that an earlier step began keep their state."""
    adding = [Replica(partition, broker_id) for broker_id in there.adding]
    fresh = [replica for replica in adding if context.state.replica_phase(replica) is ReplicaPhase.NON_EXISTENT]
    await change_replicas(context, fresh, ReplicaPhase.NEW)


async def _is_complete(context: ControllerContext, partition: TopicPartition, there: Moving) -> bool:
    if not there.is_under_way:
        return True
    await read_states(context.registry, context.state, [partition])
    leadership = context.state.leaders.get(partition)
    return leadership is not None and set(there.target) <= set(leadership.node.isr)


async def _complete(context: ControllerContext, partition: TopicPartition, there: Moving) -> None:
    state = context.state
    adding = [Replica(partition, broker_id) for broker_id in there.adding]
    await change_replicas(context, adding, ReplicaPhase.ONLINE)
    done = Moving(there.target, [], [])
    state.assign(partition, done)
    leadership = state.leaders.get(partition)
    leader = None if leadership is None else leadership.node.leader
    if leader in done.replicas and leader is not None and state.is_online(leader, partition):
        await _raise_epoch(context, partition, done)
    elif leadership is not None:
        await bring_online(context, [partition], Strategy.REASSIGN)
    await _stop_replicas(context, partition, there.removing)
    await _write_assignment(context, partition, done)
    await _drop_done_by_node(context, partition, done)
    await context.send_update_metadata(None, [partition])
    await resume_deletion(context, [partition.topic])


async def _raise_epoch(context: ControllerContext, partition: TopicPartition, there: Moving) -> None:
    """Write the partition's state in the next epoch, and send it to the current and the target replicas."""
    state = context.state
    await write_states(context, [partition], lambda _, current: raised(current, state.epoch))
    batch = context.new_batch()
    batch.lead(there.origin, partition, there)
    batch.lead(there.adding, partition, there, is_new=True)
    await context.send(batch)


async def _stop_replicas(
    context: ControllerContext, partition: TopicPartition, brokers: Sequence[int], is_epoch_known: bool = False
) -> None:
    """Stop replicas and delete their logs, without waiting for the answers.

    Args:
        is_epoch_known: Whether those brokers may know the current epoch.
    """
    if not brokers:
        return
    state = context.state
    replicas = [Replica(partition, broker_id) for broker_id in brokers]
    before = state.leaders.get(partition)
    await change_replicas(context, replicas, ReplicaPhase.OFFLINE)
    after = state.leaders.get(partition)
    if after is not None and after.node.leader == NO_LEADER and state.phase(partition) is PartitionPhase.ONLINE:
        # differs from Kafka (left-without-leader): Kafka leaves it online, so a broker's return elects no leader.
        set_phases(state, [partition], PartitionPhase.OFFLINE)
    stop_epoch = None
    if is_epoch_known and before is not None and after is not None:
        # differs from Kafka (cancelled-reassignment): Kafka sends an epoch that the brokers know, so they ignore the
        # request. The next epoch, which is that of the following step, fences them in any case. A replica created later
        # has a higher epoch, so this request cannot delete it, however late it arrives.
        stop_epoch = max(before.node.leader_epoch + 1, after.node.leader_epoch)
    await change_replicas(context, replicas, ReplicaPhase.DELETION_STARTED, stop_epoch)
    await change_replicas(context, replicas, ReplicaPhase.DELETION_SUCCESSFUL)
    for replica in replicas:
        state.set_replica_phase(replica, ReplicaPhase.NON_EXISTENT)


async def _write_assignment(context: ControllerContext, partition: TopicPartition, there: Moving) -> bool:
    """Write a partition's replicas into its topic's znode; False: the topic was deleted."""
    path, index = paths.topic(partition.topic), partition.partition
    while True:
        try:
            data, stat = await context.registry.get(path)
        except NoNodeError:
            return False
        found = decode_assignment(data)
        found.replicas[index] = there.replicas
        set_or_drop(found.adding, index, there.adding)
        set_or_drop(found.removing, index, there.removing)
        try:
            await context.write([SetOp(path, encode_assignment(found), stat.version)])
        except BadVersionError:
            # Another writer changed the node, for example added partitions.
            continue
        except NoNodeError:
            return False
        return True


# /admin/reassign_partitions: completed entries are removed, and the node with the last one


async def _drop_done_by_node(context: ControllerContext, partition: TopicPartition, done: Moving) -> None:
    asked = await _read_asked(context)
    if asked is not None and asked[0].get(partition) == done.replicas:
        await _write_asked(context, asked, {partition})


async def _drop_asked_by_node(
    context: ControllerContext, wanted: Mapping[TopicPartition, Sequence[int] | None]
) -> None:
    """Drop requests through znodes for the partitions that this request reassigns; a rejected request drops none."""
    asked = await _read_asked(context)
    if asked is None:
        return
    named = [
        each for each in wanted if each in asked[0] and isinstance(_plan(context.state, each, wanted[each]), Moving)
    ]
    if named:
        await _write_asked(context, asked, named)


async def _read_asked(context: ControllerContext) -> tuple[dict[TopicPartition, list[int]], int] | None:
    try:
        data, stat = await context.registry.get(paths.REASSIGNMENT)
        return decode_reassignment(data), stat.version
    except (NoNodeError, MalformedError):
        return None


async def _write_asked(
    context: ControllerContext, asked: tuple[dict[TopicPartition, list[int]], int], without: Iterable[TopicPartition]
) -> None:
    dropped = set(without)
    left = {partition: target for partition, target in asked[0].items() if partition not in dropped}
    op: Op = (
        SetOp(paths.REASSIGNMENT, encode_reassignment(left), asked[1])
        if left
        else DeleteOp(paths.REASSIGNMENT, asked[1])
    )
    try:
        await context.write([op])
    except RegistryError as error:
        if isinstance(error, RegistryClosedError):
            raise
        log.info("%s changed while it was processed", paths.REASSIGNMENT)
