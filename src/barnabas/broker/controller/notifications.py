"""Handles brokers' notifications through znodes: ISR changes by leaders, and failed log directories.

    /isr_change_notification/isr_change_<n>          {"version":1,"partitions":[{"topic":"t","partition":0}]}
    /log_dir_event_notification/log_dir_event_<n>    {"version":1,"broker":0,"event":1}

Invariant: a malformed node is deleted like the others and does not stop their handling.

Source: replication.md, notifications, log dirs; zookeeper.md, admin requests through ZooKeeper.
"""

import logging
from collections.abc import Sequence

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.events import Signal
from barnabas.broker.controller.partition_states import read_states
from barnabas.broker.controller.reassignment import complete_reassignments
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import Replica, ReplicaPhase
from barnabas.core.types import TopicPartition
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import DeleteOp
from barnabas.wire.registry.znodes.admin_requests import decode_election
from barnabas.wire.registry.znodes.notifications import decode_log_dir_event
from barnabas.wire.registry.znodes.payload import MalformedError

log = logging.getLogger(__name__)


async def drop_notifications(context: ControllerContext) -> None:
    """Delete notifications for earlier controllers, since a new one reads everything anyway. Sets the watches."""
    for parent, signal in ((paths.LOG_DIR_EVENTS, Signal.LOG_DIRS_NOTIFIED), (paths.ISR_CHANGES, Signal.ISR_NOTIFIED)):
        names = await context.registry.children(parent, context.watch(signal))
        await _delete(context, [paths.child(parent, name) for name in names])


async def isr_notified(context: ControllerContext) -> None:
    """Send the states that leaders wrote to all brokers."""
    names = await context.registry.children(paths.ISR_CHANGES, context.watch(Signal.ISR_NOTIFIED))
    nodes = [paths.child(paths.ISR_CHANGES, name) for name in names]
    partitions: dict[TopicPartition, None] = {}
    for path, node in zip(nodes, await context.registry.get_many(nodes), strict=True):
        try:
            partitions.update(dict.fromkeys(decode_election(None if node is None else node[0])))
        except MalformedError as error:
            log.warning("%s ignored: %s", path, error)
    known = [partition for partition in partitions if partition in context.state.leaders]
    if known:
        await read_states(context.registry, context.state, known)
        await context.send_update_metadata(None, known)
        await complete_reassignments(context, known)
    await _delete(context, nodes)


async def log_dirs_notified(context: ControllerContext) -> None:
    """Send LeaderAndIsr to brokers with a failed log directory; their answers list the offline replicas."""
    names = await context.registry.children(paths.LOG_DIR_EVENTS, context.watch(Signal.LOG_DIRS_NOTIFIED))
    nodes = [paths.child(paths.LOG_DIR_EVENTS, name) for name in names]
    found = await context.registry.get_many(nodes)
    told = (decode_log_dir_event(None if node is None else node[0]) for node in found)
    brokers = {broker_id for broker_id in told if broker_id is not None}
    online: list[Replica] = [
        replica
        for replica in context.state.replicas_on(brokers)
        if context.state.is_online(replica.broker_id, replica.partition)
    ]
    await change_replicas(context, online, ReplicaPhase.ONLINE)
    await _delete(context, nodes)


async def _delete(context: ControllerContext, nodes: Sequence[str]) -> None:
    await context.write_each({path: [DeleteOp(path)] for path in nodes})
