"""Elections and reassignments that an administrator asks for."""

import asyncio
from dataclasses import replace

import pytest

from barnabas.broker.administration.leadership import LeadershipAdmin
from barnabas.broker.administration.topic_rules import NewTopic
from barnabas.broker.controller.leaders import Election
from barnabas.broker.controller.state import Moving
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import SetOp
from barnabas.wire.registry.znodes.notifications import encode_isr_notification
from barnabas.wire.registry.znodes.topics import (
    PartitionStateNode,
    TopicAssignment,
    decode_assignment,
    encode_assignment,
    encode_partition_state,
)
from tests.unit.broker.controller.harness import Cluster, play, settle, until
from tests.unit.broker.controller.test_cluster import only_partition, propose
from tests.unit.broker.controller.test_controller import leaders_of, put_led_topic, put_topic

pytestmark = pytest.mark.played(by=play)

E = ErrorCode
T0 = TopicPartition("t", 0)
P, U = Election.PREFERRED, Election.UNCLEAN


def admin_of(cluster: Cluster) -> LeadershipAdmin:
    return LeadershipAdmin(cluster.view, cluster.controller, cluster.clock)


async def assignment(cluster: Cluster) -> TopicAssignment:
    data, _ = await cluster.registry.get(paths.topic("t"))
    return decode_assignment(data)


async def test_the_preferred_leader_leads_again(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [1, 0])])], 1000)
    # As its leader would write it, were there replication: both in sync, and broker 0 leads.
    state = encode_partition_state(PartitionStateNode(0, 3, (0, 1), 1))
    await cluster.registry.multi([SetOp(paths.partition_state("t", 0), state)])
    results = await admin_of(cluster).elect([T0, TopicPartition("t", 1)], P, 1000)
    # What the controller knew was older: it leads already.
    assert [each.error_code for each in results.values()] == [E.ELECTION_NOT_NEEDED, E.UNKNOWN_TOPIC_OR_PARTITION]

    # What it is told of it knows.
    await cluster.registry.multi([SetOp(paths.partition_state("t", 0), state)])
    await cluster.registry.create(paths.ISR_CHANGE_PREFIX, encode_isr_notification([T0]), sequence=True)
    await settle()
    results = await admin_of(cluster).elect([T0], P, 1000)
    assert results[T0].error_code == E.NONE
    assert (await cluster.state("t", 0)).leader == 1
    known = cluster.view.image.partition("t", 0)
    assert known is not None
    assert known.leader == 1
    assert any(isinstance(each, LeaderAndIsrRequest) for each in cluster.links[1].requests)


async def test_a_replica_that_is_not_in_sync_leads_where_that_is_asked_for(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [1, 0])])], 1000)
    await cluster.registry.set(paths.partition_state("t", 0), encode_partition_state(PartitionStateNode(1, 0, (1,), 1)))

    await cluster.remove_broker(1)
    await cluster.restart()
    admin = admin_of(cluster)
    assert (await cluster.state("t", 0)).leader == -1
    results = await admin.elect([T0], P, 1000)
    assert results[T0].error_code == E.PREFERRED_LEADER_NOT_AVAILABLE
    waiting = cluster.spawner.spawn(admin.elect([T0], U, 1000))
    await until(lambda: waiting.is_done)
    assert waiting.value[T0].error_code == E.NONE
    state = await cluster.state("t", 0)
    assert (state.leader, state.isr) == (0, (0,))
    assert (await admin.elect([T0], U, 1000))[T0].error_code == E.ELECTION_NOT_NEEDED


async def test_an_election_that_takes_too_long_is_told_of(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [1])])], 1000)
    await cluster.remove_broker(1)
    assert (await admin_of(cluster).reassign({T0: [0]}))[T0].error_code == E.NONE
    await settle()
    cluster.replicas.is_holding = True
    waiting = cluster.spawner.spawn(admin_of(cluster).elect([T0], U, 1000))
    await settle()
    cluster.clock.advance(1000)
    await until(lambda: waiting.is_done)
    assert waiting.value[T0].error_code == E.REQUEST_TIMED_OUT
    cluster.replicas.release()
    await until(lambda: cluster.view.image.has_leaders("t", 1))


async def test_what_one_replica_alone_has_is_not_deleted_by_taking_its_reassignment_back(cluster: Cluster, /) -> None:
    await cluster.add_broker(9)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [9])])], 1000)
    await cluster.remove_broker(9)
    admin = admin_of(cluster)
    assert (await admin.reassign({T0: [0]}))[T0].error_code == E.NONE
    # The one that is added has caught up, and the others have gone since.
    state = cluster.controller.state
    assert state is not None
    known = state.leaders[T0]
    state.leaders[T0] = known._replace(node=replace(known.node, isr=(0,)))
    refused = (await admin.reassign({T0: None}))[T0]
    assert refused.error_code == E.INVALID_REPLICA_ASSIGNMENT
    assert refused.message == "None of the replicas that would be left is in sync, only those on brokers 0 are."
    assert await admin.reassignments() == {T0: Moving([0, 9], [0], [9])}


async def test_a_reassignment_that_is_not_listed_any_more_is_in_the_registry(cluster: Cluster, /) -> None:
    await cluster.add_broker(9)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [0, 9])])], 1000)
    admin = admin_of(cluster)
    moving = asyncio.ensure_future(admin.reassign({T0: [0]}))
    await asyncio.sleep(0)
    # The reassignment ends in one step; a request meanwhile is handled after it.
    assert await admin.reassignments() == {}
    assert await assignment(cluster) == TopicAssignment({0: [0]})
    assert (await moving)[T0].error_code == E.NONE


async def test_a_partition_whose_brokers_are_gone_comes_to_this_one(cluster: Cluster, /) -> None:
    await cluster.add_broker(9)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [9]), (1, [9])])], 1000)
    await cluster.remove_broker(9)
    admin = admin_of(cluster)
    assert (await admin.reassign({T0: [0]}))[T0].error_code == E.NONE
    # It can't end: nobody has what broker 9 had.
    assert await admin.reassignments() == {T0: Moving([0, 9], [0], [9])}
    assert await assignment(cluster) == TopicAssignment({0: [0, 9], 1: [9]}, {0: [0]}, {0: [9]})
    await settle()
    told = [each for each in cluster.replicas.requests if isinstance(each, LeaderAndIsrRequest)]
    # As one of those that come, and as a new replica.
    assert len(told) == 2
    for request in told:
        (partition,) = request.topic_states[0].partition_states
        assert (partition.replicas, partition.adding_replicas, partition.removing_replicas) == ([0, 9], [0], [9])
        assert partition.is_new
    await cluster.restart()
    # It goes on after a restart.
    admin = admin_of(cluster)
    assert await admin.reassignments() == {T0: Moving([0, 9], [0], [9])}
    assert (await admin.reassign({T0: None}))[T0].error_code == E.NONE
    await settle()
    assert await assignment(cluster) == TopicAssignment({0: [9], 1: [9]})
    assert (await admin.reassignments(), (await cluster.state("t", 0)).leader) == ({}, -1)
    stop = cluster.replicas.requests[-1]
    assert isinstance(stop, StopReplicaRequest)
    assert stop.topic_states[0].partition_states[0].delete_partition
    assert (await admin.reassign({T0: None}))[T0].error_code == E.NO_REASSIGNMENT_IN_PROGRESS
    await cluster.restart()
    admin = admin_of(cluster)
    await admin.reassign({T0: [0]})
    assert (await admin.elect([T0], U, 1000))[T0].error_code == E.NONE
    await settle()
    assert await assignment(cluster) == TopicAssignment({0: [0], 1: [9]})
    state = await cluster.state("t", 0)
    assert (state.leader, state.isr, await admin.reassignments()) == (0, (0,), {})


async def test_a_dead_broker_is_a_target_only_if_it_had_the_partition_before(cluster: Cluster, /) -> None:
    for broker_id in (1, 2, 3):
        await cluster.add_broker(broker_id)
    await put_led_topic(cluster, "t", {0: [0, 3]})
    admin = admin_of(cluster)
    assert (await admin.reassign({T0: [0, 1]}))[T0].error_code == E.NONE
    await cluster.remove_broker(1)
    await cluster.remove_broker(3)
    targets: dict[ErrorCode, list[list[int]]] = {
        E.INVALID_REPLICA_ASSIGNMENT: [[0, 1], [0, 1, 2], [3, 1]],
        E.NONE: [[0, 3], [0, 3, 2]],
    }
    for error_code, refused_or_not in targets.items():
        for target in refused_or_not:
            assert (await admin.reassign({T0: target}))[T0].error_code == error_code, target


async def test_a_partition_that_was_never_led_moves_to_live_brokers(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await cluster.add_broker(2)
    # Broker 9 never registered.
    await put_topic(cluster, "t", {0: [9]})
    await settle()
    assert (await admin_of(cluster).reassign({T0: [1, 2]}))[T0].error_code == E.NONE
    await settle()
    assert await assignment(cluster) == TopicAssignment({0: [1, 2]})
    assert (await cluster.state("t", 0)).isr == (1, 2)
    await cluster.remove_broker(2)
    assert (await cluster.state("t", 0)).isr == (1,)
    await cluster.add_broker(2)
    await settle()
    assert ("t", 0) in leaders_of(cluster.links[2].of(LeaderAndIsrRequest)[-1])
    assert await cluster.topics.delete(["t"], 1000) == {"t": E.NONE}
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is None


@pytest.mark.parametrize(
    ("target", "replicas", "adding"),
    [([4], [4, 1], [4]), ([4, 1], [4, 1], [4]), (None, [1], [])],
    ids=["elsewhere", "partly", "cancelled"],
)
async def test_a_reassignment_that_loses_its_leader_leaves_the_partition_to_one_in_sync(
    cluster: Cluster, /, target: list[int] | None, replicas: list[int], adding: list[int]
) -> None:
    for broker_id in (1, 2, 3, 4):
        await cluster.add_broker(broker_id)
    await put_led_topic(cluster, "t", {0: [1]})
    admin = admin_of(cluster)
    await admin.reassign({T0: [2, 3]})
    # Broker 2 has caught up and leads; broker 3 has not.
    assert only_partition(await propose(cluster, [1, 2], epoch=1, version=1)).error_code == E.NONE
    assert (await admin.elect([T0], P, 1000))[T0].leader == 2
    assert (await admin.reassign({T0: target}))[T0].error_code == E.NONE
    await settle()
    state, now = await cluster.state("t", 0), await assignment(cluster)
    assert (state.leader, state.isr) == (1, (1,))
    assert (now.replicas[0], now.adding.get(0, [])) == (replicas, adding)
    known = cluster.view.image.partition("t", 0)
    assert known is not None
    assert known.leader == 1


async def test_replicas_that_are_left_out_are_dropped_where_they_live(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [1, 0])])], 1000)
    results = await admin_of(cluster).reassign({T0: [0]})
    assert results[T0].error_code == E.NONE
    await settle()
    assert await assignment(cluster) == TopicAssignment({0: [0]})
    state = await cluster.state("t", 0)
    # It is elected, and then the other one leaves those in sync.
    assert (state.leader, state.leader_epoch, state.isr) == (0, 2, (0,))
    stops = [each.topic_states[0].partition_states[0] for each in cluster.links[1].of(StopReplicaRequest)]
    assert [(each.leader_epoch, each.delete_partition) for each in stops] == [(1, False), (2, True)]
    known = cluster.view.image.partition("t", 0)
    assert known is not None
    assert (known.leader, known.replicas) == (0, (0,))


async def test_partitions_that_were_added_meanwhile_are_not_lost(cluster: Cluster, /) -> None:
    await cluster.add_broker(9)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [9, 0])])], 1000)
    await cluster.remove_broker(9)
    moving = cluster.spawner.spawn(admin_of(cluster).reassign({T0: [0]}))
    await cluster.registry.set(paths.topic("t"), encode_assignment(TopicAssignment({0: [9, 0], 1: [0]})))
    await until(lambda: moving.is_done and cluster.view.image.partition_count("t") == 2)
    await settle()
    assert await assignment(cluster) == TopicAssignment({0: [0], 1: [0]})


async def test_nobody_but_the_controller_does_it(cluster: Cluster, /) -> None:
    admin = admin_of(cluster)
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    waiting = cluster.spawner.spawn(admin.elect([T0], P, 1000))
    # Another controller was elected before this one comes to it.
    await cluster.registry.set(paths.CONTROLLER_EPOCH, b"9")
    await cluster.registry.delete(paths.CONTROLLER)
    await until(lambda: waiting.is_done)
    assert waiting.value[T0].error_code in (E.NOT_CONTROLLER, E.ELECTION_NOT_NEEDED)
    await cluster.controller.close()
    assert (await admin.elect([T0], P, 1000))[T0].error_code == E.NOT_CONTROLLER
    assert await admin.reassign({T0: [0]}) is None
    assert not admin.is_controller
