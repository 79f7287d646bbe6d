"""Handling of brokers that start, restart and fail.

New brokers are handled in this order: the other brokers get their addresses; the new ones get the complete metadata;
their replicas become online; partitions without a leader get an election. The order matters because a follower rejects
a leader that it does not know. A broker that registers again in another session counts as failed, then started.

Source: replication.md, brokers come and go; Kafka 2.7.2, KafkaController.processBrokerChange, onBrokerStartup,
onBrokerFailure, onReplicasBecomeOffline.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.deletion import fail_deletion, resume_deletion
from barnabas.broker.controller.events import Signal
from barnabas.broker.controller.partition_states import bring_waiting_online, set_phases
from barnabas.broker.controller.reassignment import resume_reassignments
from barnabas.broker.controller.replica_states import change_replicas
from barnabas.broker.controller.state import LiveBroker, PartitionPhase, Replica, ReplicaPhase, compare_brokers
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError
from barnabas.wire.registry.znodes.brokers import decode_registration
from barnabas.wire.registry.znodes.payload import decimal_int32

log = logging.getLogger(__name__)

Admits = Callable[[int], bool]
"""Whether a registered broker belongs to this cluster."""


async def read_brokers(context: ControllerContext, admits: Admits) -> dict[int, LiveBroker]:
    """Read the registered brokers and set the watches again."""
    names = await context.registry.children(paths.BROKER_IDS, context.watch(Signal.BROKERS_CHANGED))
    found: dict[int, LiveBroker] = {}
    for name in names:
        broker_id, path = decimal_int32(name), paths.child(paths.BROKER_IDS, name)
        try:
            data, stat = await context.registry.get(path, context.watch(Signal.BROKER_SET))
        except NoNodeError:
            continue
        if broker_id is None or not stat.ephemeral_owner:
            # differs from Kafka (impossible-broker): Kafka's controller fails if the name is not a number.
            if context.state.is_news(path, "no registration"):
                log.warning("%s is not a broker registration: ignored", path)
        elif admits(broker_id):
            found[broker_id] = LiveBroker(decode_registration(broker_id, data), stat.czxid)
    return found


async def brokers_changed(context: ControllerContext, admits: Admits) -> None:
    """Handle changes of the registered brokers."""
    state = context.state
    found = await read_brokers(context, admits)
    change = compare_brokers(state.brokers, found)
    if not any(change):
        return
    log.info("brokers: new %s, restarted %s, gone %s", change.new, change.bounced, change.dead)
    for broker_id in [*change.bounced, *change.dead]:
        context.sender.remove(broker_id)
    for broker_id in change.new:
        context.sender.add(broker_id)
    if change.new:
        state.brokers.update({broker_id: found[broker_id] for broker_id in change.new})
        await brokers_started(context, change.new)
    if change.bounced:
        for broker_id in change.bounced:
            del state.brokers[broker_id]
        await _brokers_failed(context, change.bounced)
        state.brokers.update({broker_id: found[broker_id] for broker_id in change.bounced})
        # Not earlier: requests created above have the old broker epoch, and their rejection closes a channel.
        for broker_id in change.bounced:
            context.sender.add(broker_id)
        await brokers_started(context, change.bounced)
    if change.dead:
        for broker_id in change.dead:
            del state.brokers[broker_id]
        await _brokers_failed(context, change.dead)


async def broker_set(context: ControllerContext, admits: Admits) -> None:
    """Apply rewritten registrations; send changed endpoints to all brokers."""
    state = context.state
    found = await read_brokers(context, admits)
    moved = []
    for broker_id, broker in found.items():
        known = state.brokers.get(broker_id)
        # A registration of another session is handled by `brokers_changed`.
        if known is not None and known.epoch == broker.epoch:
            if known.registration.endpoints != broker.registration.endpoints:
                moved.append(broker_id)
            state.brokers[broker_id] = broker
    if moved:
        log.info("brokers %s changed their addresses", moved)
        await context.send_update_metadata()


async def brokers_started(context: ControllerContext, started: Sequence[int]) -> None:
    """Include newly registered brokers in the cluster."""
    state = context.state
    for broker_id in started:
        state.failed_replicas.pop(broker_id, None)
    standing = [broker_id for broker_id in state.brokers if broker_id not in started]
    await context.send_update_metadata(standing)
    await context.send_update_metadata(started, state.led_partitions())
    replicas = state.replicas_on(started)
    await change_replicas(context, replicas, ReplicaPhase.ONLINE)
    await bring_waiting_online(context)
    await resume_reassignments(context, started)
    await resume_deletion(context, {replica.partition.topic for replica in replicas})


async def _brokers_failed(context: ControllerContext, failed: Sequence[int]) -> None:
    context.state.shutting_down.difference_update(failed)
    for broker_id in failed:
        # Reports of failed log directories end with the registration.
        context.state.failed_replicas.pop(broker_id, None)
    await replicas_failed(context, context.state.replicas_on(failed))


async def replicas_failed(context: ControllerContext, replicas: Sequence[Replica]) -> None:
    """Elect other leaders for offline replicas, and remove the replicas from the ISR."""
    state = context.state
    on_their_way_out = [replica for replica in replicas if replica.partition.topic in state.deleting]
    others = [replica for replica in replicas if replica.partition.topic not in state.deleting]
    # There may be very many replicas: other work of the loop runs between the steps.
    await asyncio.sleep(0)
    leaderless = state.partitions_without_live_leader()
    await asyncio.sleep(0)
    set_phases(state, leaderless, PartitionPhase.OFFLINE)
    await asyncio.sleep(0)
    await bring_waiting_online(context)
    await change_replicas(context, others, ReplicaPhase.OFFLINE)
    if on_their_way_out:
        await fail_deletion(context, on_their_way_out)
    # differs from Kafka (dead-broker-in-metadata): Kafka keeps a dead broker there while any partition has no leader.
    if not leaderless or not others:
        await context.send_update_metadata()


async def leaders_answered(context: ControllerContext, broker_id: int, response: LeaderAndIsrResponse) -> None:
    """Record which replicas of a broker are in a failed log directory, and which have recovered."""
    if response.error_code or broker_id not in context.state.brokers:
        return
    failed = context.state.failed_replicas.setdefault(broker_id, set())
    new = []
    for each in response.partition_errors:
        partition = TopicPartition(each.topic_name, each.partition_index)
        if each.error_code == ErrorCode.KAFKA_STORAGE_ERROR and partition not in failed:
            failed.add(partition)
            new.append(Replica(partition, broker_id))
        elif each.error_code == ErrorCode.NONE:
            failed.discard(partition)
    if not failed:
        del context.state.failed_replicas[broker_id]
    if new:
        log.warning("%d replicas of broker %d are in a failed log directory", len(new), broker_id)
        await replicas_failed(context, new)
