"""CreatePartitions: topics that become longer."""

import pytest

from barnabas.broker.administration.partitions import MorePartitions
from barnabas.broker.administration.topic_rules import NewTopic
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import SetOp
from barnabas.wire.registry.znodes.topics import TopicAssignment, decode_assignment, encode_assignment
from tests.unit.broker.controller.harness import Cluster, play, settle, until

pytestmark = pytest.mark.played(by=play)

E = ErrorCode


async def replicas_of(cluster: Cluster, topic: str) -> dict[int, list[int]]:
    data, _ = await cluster.registry.get(paths.topic(topic))
    return decode_assignment(data).replicas


async def test_new_partitions_are_led_and_the_old_ones_stay_as_they_are(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("t", 2, 1)], 1000)
    (result,) = await cluster.partitions.add([MorePartitions("t", 5)], 1000)
    assert (result.error_code, result.message) == (E.NONE, None)
    assert cluster.view.image.has_leaders("t", 5)
    assert await replicas_of(cluster, "t") == {index: [0] for index in range(5)}
    request = cluster.replicas.requests[-1]
    assert isinstance(request, LeaderAndIsrRequest)
    (topic,) = request.topic_states
    assert [(each.partition_index, each.is_new) for each in topic.partition_states] == [(2, True), (3, True), (4, True)]
    # Again: the watch on the topic is set anew.
    (result,) = await cluster.partitions.add([MorePartitions("t", 6)], 1000)
    assert result.error_code == E.NONE
    assert (await cluster.state("t", 5)).leader == 0
    await cluster.restart()
    assert cluster.view.image.partition_count("t") == 6
    (result,) = await cluster.partitions.add([MorePartitions("t", 7)], 1000)
    assert result.error_code == E.NONE


async def test_partitions_that_kafkas_tools_add_through_zookeeper_are_made(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    await cluster.registry.multi([SetOp(paths.topic("t"), encode_assignment(TopicAssignment({0: [0], 1: [0]})))])
    await until(lambda: cluster.view.image.has_leaders("t", 2))


@pytest.mark.parametrize(
    ("topic", "error_code", "message"),
    [
        (MorePartitions("t", 2), E.INVALID_PARTITIONS, "Topic already has 2 partitions."),
        (
            MorePartitions("t", 1, [[99]]),
            E.INVALID_PARTITIONS,
            "Topic currently has 2 partitions, which is higher than the requested 1.",
        ),
        (
            MorePartitions("t", -1),
            E.INVALID_PARTITIONS,
            "Topic currently has 2 partitions, which is higher than the requested -1.",
        ),
        (MorePartitions("nope", 5), E.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'nope' does not exist."),
        (MorePartitions("t/partitions", 5), E.UNKNOWN_TOPIC_OR_PARTITION, "The topic 't/partitions' does not exist."),
        (MorePartitions("", 5), E.UNKNOWN_TOPIC_OR_PARTITION, "The topic '' does not exist."),
        (
            MorePartitions("t", 4, [[0]]),
            E.INVALID_REPLICA_ASSIGNMENT,
            "Increasing the number of partitions by 2 but 1 assignments provided.",
        ),
        (
            MorePartitions("t", 3, []),
            E.INVALID_REPLICA_ASSIGNMENT,
            "Increasing the number of partitions by 1 but 0 assignments provided.",
        ),
        (
            MorePartitions("t", 4, [[0], []]),
            E.INVALID_REPLICA_ASSIGNMENT,
            "Cannot have replication factor of 0 for partition id 3.",
        ),
        (
            MorePartitions("t", 3, [[99], [0]]),
            E.INVALID_REPLICA_ASSIGNMENT,
            "Unknown broker(s) in replica assignment: 99.",
        ),
        (
            MorePartitions("t", 3, [[0, 0]]),
            E.INVALID_REPLICA_ASSIGNMENT,
            "Duplicate brokers not allowed in replica assignment: 0, 0 for partition id 2.",
        ),
        (MorePartitions("t", 2**31 - 1), E.INVALID_PARTITIONS, None),
        (MorePartitions("t", 3), E.NONE, None),
        (MorePartitions("t", 4, [[0], [0]]), E.NONE, None),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_each_topic_is_judged_as_kafka_judges_it(
    cluster: Cluster, /, topic: MorePartitions, error_code: ErrorCode, message: str | None, validate_only: bool
) -> None:
    await cluster.topics.create([NewTopic("t", 2, 1)], 1000)
    (result,) = await cluster.partitions.add([topic], 1000, validate_only)
    assert result.error_code == error_code
    if message is not None:
        assert result.message == message
    is_longer = error_code == E.NONE and not validate_only
    assert len(await replicas_of(cluster, "t")) == (topic.partition_count if is_longer else 2)


async def test_as_many_replicas_as_partition_0_has_and_brokers_in_turn_from_its_leader_on(cluster: Cluster, /) -> None:
    for broker_id in (1, 2):
        await cluster.add_broker(broker_id)
    await cluster.topics.create([NewTopic("t", -1, -1, [(0, [1, 2])])], 1000)
    results = await cluster.partitions.add([MorePartitions("t", 5)], 1000)
    assert results[0].error_code == E.NONE
    # Partition 1 goes to the broker after partition 0's leader, and so on; the distance of the followers begins
    # with the place of that leader, and grows at partition 3.
    assert await replicas_of(cluster, "t") == {0: [1, 2], 1: [2, 1], 2: [0, 2], 3: [1, 2], 4: [2, 0]}
    results = await cluster.partitions.add([MorePartitions("t", 6, [[0]])], 1000)
    assert results[0].error_code == E.INVALID_REPLICA_ASSIGNMENT
    await cluster.remove_broker(1)
    await cluster.remove_broker(2)
    results = await cluster.partitions.add([MorePartitions("t", 6)], 1000)
    assert results[0].error_code == E.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_who_does_not_wait_is_told_so_and_the_partitions_come(cluster: Cluster, /, timeout_ms: int) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    wanted = [MorePartitions("t", 2), MorePartitions("nope", 2)]
    results = await cluster.partitions.add(wanted, timeout_ms)
    assert [each.error_code for each in results] == [E.REQUEST_TIMED_OUT, E.UNKNOWN_TOPIC_OR_PARTITION]
    await until(lambda: cluster.view.image.has_leaders("t", 2))
    (validated,) = await cluster.partitions.add([MorePartitions("t", 3)], timeout_ms, validate_only=True)
    assert validated.error_code == E.NONE


async def test_brokers_that_take_too_long_are_told_of(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    cluster.replicas.is_holding = True
    waiting = cluster.spawner.spawn(cluster.partitions.add([MorePartitions("t", 2)], 1000))
    await settle()
    cluster.clock.advance(999)
    await settle()
    assert not waiting.is_done
    cluster.clock.advance(1)
    await until(lambda: waiting.is_done)
    assert waiting.value[0].error_code == E.REQUEST_TIMED_OUT
    cluster.replicas.release()
    await until(lambda: cluster.view.image.has_leaders("t", 2))


async def test_a_topic_on_its_way_out_gets_none(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    cluster.replicas.is_holding = True
    assert (await cluster.topics.delete(["t"], 1000))["t"] == E.NONE
    (result,) = await cluster.partitions.add([MorePartitions("t", 2)], 1000)
    assert result.error_code == E.INVALID_TOPIC_EXCEPTION
    cluster.replicas.release()
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is None


async def test_two_that_make_the_same_topic_longer(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    pending = [cluster.spawner.spawn(cluster.partitions.add([MorePartitions("t", count)], 1000)) for count in (3, 2, 4)]
    await until(lambda: all(each.is_done for each in pending))
    assert [each.value[0].error_code for each in pending] == [E.NONE, E.INVALID_PARTITIONS, E.NONE]
    assert cluster.view.image.has_leaders("t", 4)


async def test_there_is_room_for_so_many_only(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("a", 1, 1), NewTopic("b", 1, 1)], 1000)
    cluster.room = 3
    results = await cluster.partitions.add([MorePartitions("a", 3), MorePartitions("b", 3)], 1000)
    assert [each.error_code for each in results] == [E.NONE, E.POLICY_VIOLATION]
    results = await cluster.partitions.add([MorePartitions("a", 10_000), MorePartitions("b", 10_002)], 1000)
    assert [each.error_code for each in results] == [E.POLICY_VIOLATION, E.INVALID_PARTITIONS]


async def test_not_while_replicas_move(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    moving = TopicAssignment({0: [0, 9]}, adding={0: [9]})
    await cluster.registry.set(paths.topic("t"), encode_assignment(moving))
    (result,) = await cluster.partitions.add([MorePartitions("t", 2)], 1000)
    assert result.error_code == E.REASSIGNMENT_IN_PROGRESS
