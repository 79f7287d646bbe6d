import asyncio
import itertools
import logging
from collections.abc import Sequence

import pytest

from barnabas.broker.administration.topic_rules import NewTopic
from barnabas.broker.controller import topic_assignments
from barnabas.broker.registry.zookeeper_server.messages import MOST_PARTS
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, Op, OpResult, SetOp
from barnabas.wire.registry.znodes.topics import PartitionStateNode, TopicAssignment, encode_assignment
from tests.unit.broker.controller.harness import Cluster, metadata_topics, play, settle, until

pytestmark = pytest.mark.played(by=play)


def leaders_of(request: object) -> dict[tuple[str, int], tuple[int, int, bool]]:
    """Topic and partition to leader, leader epoch and whether it is new."""
    assert isinstance(request, LeaderAndIsrRequest)
    return {
        (topic.topic_name, state.partition_index): (state.leader, state.leader_epoch, state.is_new)
        for topic in request.topic_states
        for state in topic.partition_states
    }


async def put_topic(cluster: Cluster, name: str, replicas: dict[int, list[int]]) -> None:
    """Create a topic as Kafka's tools do through ZooKeeper."""
    await cluster.registry.multi(
        [
            CreateOp(paths.topic_config(name), b'{"version":1,"config":{}}'),
            CreateOp(paths.topic(name), encode_assignment(TopicAssignment(replicas))),
        ]
    )


async def put_led_topic(cluster: Cluster, name: str, replicas: dict[int, list[int]]) -> None:
    """Create a topic, and wait until all its partitions have leaders."""
    await put_topic(cluster, name, replicas)
    await until(lambda: cluster.view.image.has_leaders(name, len(replicas)))


async def test_a_single_broker_becomes_controller_with_epoch_1(cluster: Cluster, /) -> None:
    assert cluster.controller.is_active
    assert (cluster.controller.epoch, cluster.view.image.controller_id) == (1, 0)
    assert cluster.view.image.brokers[0].endpoints == {"PLAINTEXT": ("host0", 9092)}
    data, stat = await cluster.registry.get("/controller_epoch")
    assert (data, stat.version) == (b"1", 1)
    controller, stat = await cluster.registry.get("/controller")
    assert controller == b'{"version":1,"brokerid":0,"timestamp":"1600000000000"}'
    assert stat.ephemeral_owner == cluster.registry.session_id


async def test_a_topic_in_the_registry_gets_states_leaders_and_metadata(cluster: Cluster, /) -> None:
    await put_led_topic(cluster, "t", {0: [0], 1: [0]})
    assert await cluster.state("t", 1) == PartitionStateNode(0, 0, (0,), 1)
    state = cluster.view.image.partition("t", 1)
    assert state is not None
    assert (state.leader, state.leader_epoch, state.isr, state.replicas, state.offline) == (0, 0, (0,), (0,), ())
    (request,) = cluster.replicas.requests
    assert leaders_of(request) == {("t", 0): (0, 0, True), ("t", 1): (0, 0, True)}


@pytest.mark.parametrize("ibp", ["0.11.0", "1.0"])
def test_a_new_partition_is_new_to_the_controllers_own_broker_in_every_protocol_version(ibp: str) -> None:
    async def story(cluster: Cluster) -> None:
        await put_led_topic(cluster, "t", {0: [0]})
        (request,) = cluster.replicas.requests
        assert leaders_of(request) == {("t", 0): (0, 0, True)}

    play(story, overrides={"inter.broker.protocol.version": ibp, "log.message.format.version": "0.11.0"})


async def test_metadata_follows_when_the_replicas_are_there(cluster: Cluster, /) -> None:
    cluster.replicas.is_holding = True
    await put_topic(cluster, "t", {0: [0]})
    await settle()
    assert len(cluster.replicas.requests) == 1
    assert "t" not in cluster.view.image.topics
    cluster.replicas.release()
    await until(lambda: cluster.view.image.has_leaders("t", 1))


async def test_a_restart_raises_the_controller_epoch_and_leaves_leaders_as_they_were(cluster: Cluster, /) -> None:
    await put_led_topic(cluster, "t", {0: [0]})
    await cluster.restart()
    assert cluster.controller.epoch == 2
    assert cluster.view.image.has_leaders("t", 1)
    assert await cluster.state("t", 0) == PartitionStateNode(0, 0, (0,), 1)
    (request,) = cluster.replicas.requests
    assert leaders_of(request) == {("t", 0): (0, 0, False)}


async def test_a_topic_that_came_while_nobody_was_controller_is_made_at_the_next_start(cluster: Cluster, /) -> None:
    await cluster.controller.close()
    await put_topic(cluster, "t", {0: [0]})
    await cluster.restart()
    assert cluster.view.image.has_leaders("t", 1)


async def test_deleting_takes_a_topic_out_of_metadata_then_replicas_then_the_registry(cluster: Cluster, /) -> None:
    await put_led_topic(cluster, "t", {0: [0], 1: [0]})
    cluster.replicas.is_holding = True
    await cluster.registry.create("/admin/delete_topics/t")
    await until(lambda: "t" not in cluster.view.image.topics)
    await settle()
    assert await cluster.registry.exists("/brokers/topics/t") is not None
    cluster.replicas.release()
    await settle()
    told = []
    for request in cluster.replicas.requests[-2:]:
        assert isinstance(request, StopReplicaRequest)
        states = request.topic_states[0].partition_states
        told.append([(each.partition_index, each.leader_epoch, each.delete_partition) for each in states])
    assert told == [[(0, -2, False), (1, -2, False)], [(0, -2, True), (1, -2, True)]]
    for path in ("/brokers/topics/t", "/config/topics/t", "/admin/delete_topics/t"):
        assert await cluster.registry.exists(path) is None
    await put_led_topic(cluster, "t", {0: [0]})


async def test_a_deletion_that_was_cut_short_is_finished_at_the_next_start(cluster: Cluster, /) -> None:
    await put_topic(cluster, "t", {0: [0]})
    await put_topic(cluster, "kept", {0: [0]})
    await until(lambda: cluster.view.image.has_leaders("t", 1))
    cluster.replicas.is_holding = True
    await cluster.registry.create("/admin/delete_topics/t")
    await settle()
    await cluster.restart()
    await settle()
    assert "t" not in cluster.view.image.topics
    assert await cluster.registry.exists("/brokers/topics/t") is None
    assert await cluster.registry.children("/admin/delete_topics") == []
    assert cluster.view.image.has_leaders("kept", 1)


async def put_unread_topic_and_its_deletion(cluster: Cluster) -> None:
    """Create a topic and its deletion, so that the controller handles the deletion first."""
    await put_led_topic(cluster, "before", {0: [0]})
    await asyncio.gather(
        cluster.registry.create("/admin/delete_topics/before"),
        cluster.registry.create(paths.topic("t"), encode_assignment(TopicAssignment({0: [0]}))),
        cluster.registry.create("/admin/delete_topics/t"),
    )
    await settle()
    assert await cluster.registry.children("/admin/delete_topics") == []


async def test_a_topic_that_is_created_and_deleted_during_another_deletion_is_deleted(cluster: Cluster, /) -> None:
    await put_unread_topic_and_its_deletion(cluster)
    assert await cluster.registry.children("/brokers/topics") == []


@pytest.mark.played(by=play, overrides={"delete.topic.enable": "false"})
async def test_with_deletion_disabled_a_topic_that_is_created_and_deleted_is_led(cluster: Cluster, /) -> None:
    await put_unread_topic_and_its_deletion(cluster)
    assert cluster.view.image.has_leaders("t", 1)


async def test_a_request_to_delete_what_is_not_there_is_removed(cluster: Cluster, /) -> None:
    await cluster.registry.create("/admin/delete_topics/nothing")
    await settle()
    assert await cluster.registry.children("/admin/delete_topics") == []


@pytest.mark.played(by=play, overrides={"delete.topic.enable": "false"})
async def test_with_deletion_disabled_the_request_is_removed_and_the_topic_stays(cluster: Cluster, /) -> None:
    await put_led_topic(cluster, "t", {0: [0]})
    await cluster.registry.create("/admin/delete_topics/t")
    await settle()
    assert await cluster.registry.children("/admin/delete_topics") == []
    assert cluster.view.image.has_leaders("t", 1)


async def test_a_broker_that_comes_is_told_everything_and_one_that_goes_loses_its_leaderships(cluster: Cluster, /):
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [1, 0], 1: [0, 1], 2: [1]})
    assert await cluster.state("t", 0) == PartitionStateNode(1, 0, (1, 0), 1)
    assert set(leaders_of(cluster.links[1].of(LeaderAndIsrRequest)[-1])) == {("t", 0), ("t", 1), ("t", 2)}
    assert set(leaders_of(cluster.replicas.requests[-1])) == {("t", 0), ("t", 1)}

    await cluster.remove_broker(1)
    assert await cluster.state("t", 0) == PartitionStateNode(0, 1, (0,), 1)
    assert await cluster.state("t", 1) == PartitionStateNode(0, 1, (0,), 1)
    assert await cluster.state("t", 2) == PartitionStateNode(-1, 1, (1,), 1)
    await until(lambda: cluster.view.image.topics["t"][2].leader == -1)
    assert cluster.view.image.topics["t"][0].offline == (1,)
    assert leaders_of(cluster.replicas.requests[-1]) == {("t", 0): (0, 1, False), ("t", 1): (0, 1, False)}

    await cluster.add_broker(1)
    await until(lambda: cluster.view.image.topics["t"][2].leader == 1)
    await settle()
    assert await cluster.state("t", 2) == PartitionStateNode(1, 2, (1,), 1)
    assert leaders_of(cluster.links[1].of(LeaderAndIsrRequest)[-1])[("t", 2)] == (1, 2, False)
    told = cluster.links[1].of(UpdateMetadataRequest)
    assert metadata_topics(told[0]) == {"t": {0: 0, 1: 0, 2: -1}}
    assert metadata_topics(told[-1]) == {"t": {2: 1}}


async def test_a_topic_with_a_replica_on_a_dead_broker_waits_to_be_deleted(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    await put_led_topic(cluster, "t", {0: [0, 1]})
    await cluster.remove_broker(1)
    results = await cluster.topics.delete(["t"], 1000)
    assert results == {"t": ErrorCode.NONE}
    await settle()
    assert await cluster.registry.exists("/brokers/topics/t") is not None
    (again,) = await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert await cluster.topics.delete(["t"], 1000) == {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    await cluster.add_broker(1)
    await settle()
    assert await cluster.registry.exists("/brokers/topics/t") is None
    assert len(cluster.links[1].of(StopReplicaRequest)) == 2


async def test_a_broker_that_changes_its_endpoints_is_told_of_to_all(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    data, _ = await cluster.registry.get("/brokers/ids/1")
    assert data is not None
    await cluster.registry.set("/brokers/ids/1", data.replace(b"host1", b"moved"))
    await until(lambda: cluster.view.image.brokers[1].endpoints["PLAINTEXT"][0] == "moved")


async def test_a_controller_whose_epoch_was_raised_by_another_resigns(cluster: Cluster, /) -> None:
    await cluster.registry.multi(
        [SetOp("/controller_epoch", b"2"), SetOp("/controller", b'{"version":1,"brokerid":7,"timestamp":"1"}')]
    )
    await put_topic(cluster, "t", {0: [0]})
    await until(lambda: not cluster.controller.is_active)
    await settle()
    assert await cluster.registry.exists("/brokers/topics/t/partitions") is None
    await cluster.registry.delete("/controller")
    await until(lambda: cluster.controller.is_active)
    await until(lambda: cluster.view.image.has_leaders("t", 1))
    assert cluster.controller.epoch == 3


@pytest.mark.parametrize("others", [[], [1]])
async def test_a_controller_that_closes_lets_another_broker_be_elected(cluster: Cluster, /, others: list[int]) -> None:
    for broker_id in others:
        await cluster.add_broker(broker_id)
    await cluster.controller.close()
    await settle()
    assert (await cluster.registry.exists("/controller") is None) is bool(others)
    await put_topic(cluster, "t", {0: [0]})
    await settle()
    assert not cluster.controller.is_active
    assert await cluster.registry.exists("/brokers/topics/t/partitions") is None


async def test_a_controller_that_closes_leaves_the_node_of_the_next_one(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    closing = asyncio.ensure_future(cluster.controller.close())
    await cluster.registry.set("/controller_epoch", b"2")
    await closing
    await settle()
    assert await cluster.registry.exists("/controller") is not None


async def test_a_controller_closes_while_the_registry_does_not_answer(cluster: Cluster, /) -> None:
    await cluster.add_broker(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster.registry, "multi", lambda ops: asyncio.get_running_loop().create_future())
        await cluster.controller.close()
    assert not cluster.controller.is_active


async def test_an_error_while_handling_an_event_leaves_the_controller_at_work(cluster: Cluster, /) -> None:
    class BrokenOnce:
        """A registry whose disk fails at one write."""

        def __init__(self, cluster: Cluster) -> None:
            self.real = cluster.registry.multi
            self.count = 0

        async def __call__(self, ops: object) -> object:
            self.count += 1
            if self.count == 2:
                raise StorageError("the disk is full")
            return await self.real(ops)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster.registry, "multi", BrokenOnce(cluster))
        await put_topic(cluster, "broken", {0: [0]})
        await settle()
    await put_led_topic(cluster, "t", {0: [0]})
    await until(lambda: cluster.view.image.has_leaders("broken", 1))


async def test_many_topics_at_once(cluster: Cluster, /) -> None:
    await asyncio.gather(*(put_topic(cluster, f"t{i}", {0: [0], 1: [0]}) for i in range(50)))
    await until(lambda: all(cluster.view.image.has_leaders(f"t{i}", 2) for i in range(50)))


async def test_no_transaction_has_more_parts_than_our_registry_takes_of_others(cluster: Cluster, /) -> None:
    part_counts: list[int] = []
    multi = cluster.registry.multi

    async def counted(ops: Sequence[Op]) -> list[OpResult]:
        part_counts.append(len(ops))
        return await multi(ops)

    cluster.registry.multi = counted  # type: ignore[method-assign]
    topics = {"large": 1_200, **{f"t{number}": 1 for number in range(600)}}
    for topic, count in topics.items():
        await put_topic(cluster, topic, {index: [0] for index in range(count)})
    await until(lambda: all(cluster.view.image.has_leaders(*each) for each in topics.items()))
    for topic in topics:
        await cluster.registry.create(f"/admin/delete_topics/{topic}")
    await until(lambda: not any(map(cluster.view.image.partition_count, topics)))
    await settle()
    assert 500 <= max(part_counts) <= MOST_PARTS


async def test_very_many_partitions_are_told_of_and_deleted_in_parts_but_shown_as_a_whole(cluster: Cluster, /) -> None:
    seen = set()
    cluster.view.on_change(lambda change: seen.add(change.image.partition_count("t")))
    await put_led_topic(cluster, "t", {index: [0] for index in range(1_300)})
    assert [len(leaders_of(each)) for each in cluster.replicas.requests] == [500, 500, 300]
    assert seen == {1_300}
    cluster.replicas.is_holding = True
    await cluster.registry.create("/admin/delete_topics/t")
    await until(lambda: isinstance(cluster.replicas.requests[-1], StopReplicaRequest))
    _, asked = await cluster.registry.get("/admin/delete_topics")
    cluster.replicas.release()
    await settle()
    _, done = await cluster.registry.get("/admin/delete_topics")
    assert done.pzxid - asked.pzxid == 10, "1,300 states and 2,601 nodes, 500 in a transaction, and then the rest"
    for path in ("/brokers/topics/t", "/config/topics/t", "/admin/delete_topics/t"):
        assert await cluster.registry.exists(path) is None
    assert seen == {1_300, 0}


async def test_a_deletion_that_ended_among_the_partitions_is_finished_at_the_next_start(cluster: Cluster, /) -> None:
    await put_led_topic(cluster, "t", {0: [0], 1: [0]})
    cluster.replicas.is_holding = True
    await cluster.registry.create("/admin/delete_topics/t")
    await settle()
    for path in ("/1/state", "/1", "/0/state"):
        await cluster.registry.delete(f"/brokers/topics/t/partitions{path}")
    await cluster.restart()
    await settle()
    assert "t" not in cluster.view.image.topics
    assert await cluster.registry.exists("/brokers/topics/t") is None
    assert await cluster.registry.children("/admin/delete_topics") == []


def test_a_very_large_topic_is_taken_in_some_partitions_in_a_turn(caplog, monkeypatch) -> None:
    monkeypatch.setattr(topic_assignments, "MANY_PARTITIONS", 2_000)

    def without_leader() -> int:
        return sum("has no leader" in record.msg for record in caplog.records)

    async def story(cluster: Cluster) -> None:
        counts = [0]
        # Broker 7 does not exist, so nothing is written and nothing has to be waited for.
        await put_topic(cluster, "t", {index: [7] for index in range(3_000)})
        while counts[-1] < 3_000:
            counts.append(without_leader())
            await asyncio.sleep(0)
        assert max(after - before for before, after in itertools.pairwise(counts)) <= 300

    with caplog.at_level(logging.WARNING):
        play(story)
    assert [each.args for each in caplog.records if "partitions: each uses" in each.msg] == [("t", 3_000)]
