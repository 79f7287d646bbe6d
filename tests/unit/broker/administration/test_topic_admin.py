import asyncio

import pytest

from barnabas.broker.administration.topic_rules import NewTopic
from barnabas.broker.administration.topics import TIME_TO_COME_MS
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.wire.registry.znodes.configs import decode_config
from tests.unit.broker.controller.harness import Cluster, play, settle, until

pytestmark = pytest.mark.played(by=play)

E = ErrorCode


async def test_creating_waits_for_leaders_and_writes_what_kafka_writes(cluster: Cluster, /) -> None:
    topic = NewTopic("t", 2, 1, configs=[("segment.bytes", "1000000")])
    (result,) = await cluster.topics.create([topic], 1000)
    assert (result.error_code, result.message) == (E.NONE, None)
    assert (result.partition_count, result.replication_factor) == (2, 1)
    assert result.config is not None
    assert result.config.segment_bytes == 1_000_000
    assert cluster.view.image.has_leaders("t", 2)
    assert cluster.view.topic_overrides("t") == {"segment.bytes": "1000000"}
    assert (await cluster.registry.get("/brokers/topics/t"))[0] == (
        b'{"version":2,"partitions":{"0":[0],"1":[0]},"adding_replicas":{},"removing_replicas":{}}'
    )
    assert (await cluster.registry.get("/config/topics/t"))[0] == (
        b'{"version":1,"config":{"segment.bytes":"1000000"}}'
    )


@pytest.mark.played(by=play, overrides={"num.partitions": "3"})
async def test_what_is_not_given_comes_from_the_broker(cluster: Cluster, /) -> None:
    (result,) = await cluster.topics.create([NewTopic("t")], 1000)
    assert (result.partition_count, result.replication_factor) == (3, 1)


@pytest.mark.parametrize(
    ("topic", "error_code"),
    [
        (NewTopic("there", 1, 1), E.TOPIC_ALREADY_EXISTS),
        (NewTopic("there", 0, 1), E.TOPIC_ALREADY_EXISTS),
        (NewTopic("t", 0, 1), E.INVALID_PARTITIONS),
        (NewTopic("t", -2, 1), E.INVALID_PARTITIONS),
        (NewTopic("t", 1, 0), E.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, 2), E.INVALID_REPLICATION_FACTOR),
        (NewTopic("", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic(".", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("..", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a b", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("é", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t\n", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t" * 250, 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t" * 249, 1, 1), E.NONE),
        (NewTopic("a_b", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t", 1, 1, [(0, [0])]), E.INVALID_REQUEST),
        (NewTopic("t", -1, -1, [(0, [0]), (1, [0])]), E.NONE),
        (NewTopic("t", -1, -1, [(0, [0]), (2, [0])]), E.INVALID_REPLICA_ASSIGNMENT),
        # Of two for one partition the later counts.
        (NewTopic("t", -1, -1, [(0, [0, 0]), (0, [0])]), E.NONE),
        (NewTopic("t", -1, -1, [(-1, [0]), (0, [0])]), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, [(0, [0]), (1, [0, 1])]), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, [(0, [0, 0])]), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, [(0, [])]), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", 1, 1, configs=[("retention.ms", None)]), E.INVALID_REQUEST),
        (NewTopic("t", 1, 1, configs=[("no.such.setting", "1")]), E.INVALID_CONFIG),
        (NewTopic("t", 1, 1, configs=[("retention.ms", "soon")]), E.INVALID_CONFIG),
        (NewTopic("t", 1, 1, configs=[("message.timestamp.type", "LogAppendTime")]), E.NONE),
    ],
    ids=lambda value: value.name[:20] if isinstance(value, NewTopic) else None,
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_each_topic_is_judged_as_kafka_judges_it(
    cluster: Cluster, /, topic: NewTopic, error_code: ErrorCode, validate_only: bool
) -> None:
    await cluster.topics.create([NewTopic("there"), NewTopic("a.b")], 1000)
    (result,) = await cluster.topics.create([topic], 1000, validate_only)
    assert result.error_code == error_code
    assert (result.message is None) == (error_code == E.NONE)
    is_made = error_code == E.NONE and not validate_only
    assert (topic.name in await cluster.registry.children("/brokers/topics")) == (is_made or topic.name == "there")


async def test_names_that_collide_within_a_request(cluster: Cluster, /) -> None:
    topics = [NewTopic("a.b", 1, 1), NewTopic("a_b", 1, 1), NewTopic("c.d", 0, 1), NewTopic("c_d", 1, 1)]
    results = await cluster.topics.create(topics, 1000)
    assert [each.error_code for each in results] == [E.NONE, E.INVALID_TOPIC_EXCEPTION, E.INVALID_PARTITIONS, E.NONE]
    # What is only looked at comes into nobody's way.
    topics = [NewTopic("e.f", 1, 1), NewTopic("e_f", 1, 1)]
    results = await cluster.topics.create(topics, 1000, validate_only=True)
    assert [each.error_code for each in results] == [E.NONE, E.NONE]


async def test_one_bad_topic_leaves_the_others(cluster: Cluster, /) -> None:
    results = await cluster.topics.create([NewTopic("a", 1, 1), NewTopic("b", 1, 9), NewTopic("c", 1, 1)], 1000)
    assert [result.error_code for result in results] == [E.NONE, E.INVALID_REPLICATION_FACTOR, E.NONE]
    assert sorted(cluster.view.image.topics) == ["a", "c"]


async def test_creating_that_takes_too_long_is_told_and_goes_on(cluster: Cluster, /) -> None:
    timer_count = cluster.clock.timer_count
    cluster.replicas.is_holding = True
    creating = asyncio.ensure_future(cluster.topics.create([NewTopic("t", 1, 1)], 500))
    await settle()
    assert not creating.done()
    cluster.clock.advance(500)
    (result,) = await creating
    assert (result.error_code, result.partition_count) == (E.REQUEST_TIMED_OUT, -1)
    cluster.replicas.release()
    await until(lambda: cluster.view.image.has_leaders("t", 1))
    assert cluster.clock.timer_count == timer_count


async def test_without_time_to_wait_it_is_late_at_once(cluster: Cluster, /) -> None:
    (result,) = await cluster.topics.create([NewTopic("t", 1, 1)], 0)
    assert result.error_code == E.REQUEST_TIMED_OUT
    await until(lambda: cluster.view.image.has_leaders("t", 1))
    assert await cluster.topics.delete(["t"], 0) == {"t": E.REQUEST_TIMED_OUT}
    await until(lambda: "t" not in cluster.view.image.topics)


async def test_two_that_create_the_same_topic(cluster: Cluster, /) -> None:
    results = await asyncio.gather(*(cluster.topics.create([NewTopic("t", 1, 1)], 1000) for _ in range(2)))
    assert sorted(result.error_code for (result,) in results) == [E.NONE, E.TOPIC_ALREADY_EXISTS]


async def test_a_configuration_left_over_is_replaced(cluster: Cluster, /) -> None:
    await cluster.registry.create("/config/topics/t", b'{"version":1,"config":{"retention.ms":"1"}}')
    (result,) = await cluster.topics.create([NewTopic("t", 1, 1)], 1000)
    assert result.error_code == E.NONE
    assert decode_config((await cluster.registry.get("/config/topics/t"))[0]) == {}
    assert cluster.view.topic_overrides("t") == {}


async def test_deleting(cluster: Cluster, /) -> None:
    await cluster.topics.create([NewTopic("t", 1, 1), NewTopic("u", 1, 1)], 1000)
    results = await asyncio.gather(cluster.topics.delete(["t", "none"], 1000), cluster.topics.delete(["t"], 1000))
    assert results[0] == {"t": E.NONE, "none": E.UNKNOWN_TOPIC_OR_PARTITION}
    assert results[1] == {"t": E.NONE}
    assert list(cluster.view.image.topics) == ["u"]


async def test_what_a_client_asks_about_is_created(cluster: Cluster, /) -> None:
    results = await asyncio.gather(*(cluster.topics.auto_create(["t", "bad name"]) for _ in range(2)))
    assert results == [{"t": E.LEADER_NOT_AVAILABLE, "bad name": E.INVALID_TOPIC_EXCEPTION}] * 2
    await until(lambda: cluster.view.image.has_leaders("t", 1))


async def test_internal_topics_have_their_own_settings(cluster: Cluster, /) -> None:
    await asyncio.gather(*(cluster.topics.create_internal(GROUP_OFFSETS_TOPIC) for _ in range(2)))
    await until(lambda: cluster.view.image.has_leaders(GROUP_OFFSETS_TOPIC, 50))
    assert cluster.view.topic_overrides(GROUP_OFFSETS_TOPIC) == {
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
        "compression.type": "producer",
    }
    assert await cluster.topics.auto_create([TRANSACTION_STATE_TOPIC]) == {
        TRANSACTION_STATE_TOPIC: E.LEADER_NOT_AVAILABLE
    }
    await until(lambda: cluster.view.image.has_leaders(TRANSACTION_STATE_TOPIC, 50))
    assert cluster.view.topic_overrides(TRANSACTION_STATE_TOPIC)["min.insync.replicas"] == "1"


@pytest.mark.played(by=play, overrides={"offsets.topic.replication.factor": "3"})
async def test_internal_topics_need_their_brokers(cluster: Cluster, /) -> None:
    await cluster.topics.create_internal(GROUP_OFFSETS_TOPIC)
    assert await cluster.topics.auto_create([GROUP_OFFSETS_TOPIC]) == {
        GROUP_OFFSETS_TOPIC: E.INVALID_REPLICATION_FACTOR
    }


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_who_does_not_wait_is_told_so_even_where_the_topics_are_there(cluster: Cluster, /, timeout_ms: int):
    # So many that the first are led before the last are written.
    topics = [NewTopic(f"t{number}", 1, 1) for number in range(120)]
    results = await cluster.topics.create([*topics, NewTopic("bad", 0, 1)], timeout_ms)
    assert [result.error_code for result in results] == [E.REQUEST_TIMED_OUT] * 120 + [E.INVALID_PARTITIONS]
    await until(lambda: all(cluster.view.image.has_leaders(topic.name, 1) for topic in topics))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            GROUP_OFFSETS_TOPIC,
            "consumer groups cannot work: offsets.topic.replication.factor=2 needs 2 brokers, found 1; "
            "set it to 1 or start more brokers",
        ),
        (
            TRANSACTION_STATE_TOPIC,
            "transactions cannot work: transaction.state.log.replication.factor=2 needs 2 brokers, found 1; "
            "set it to 1 or start more brokers",
        ),
    ],
)
def test_too_few_brokers_for_the_brokers_own_topic_are_told_of_once(
    name: str, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(cluster: Cluster) -> None:
        for _ in range(3):
            await cluster.topics.create_internal(name)
            assert await cluster.topics.auto_create([name]) == {name: E.INVALID_REPLICATION_FACTOR}
        await cluster.add_broker(1)
        await cluster.topics.create_internal(name)
        await until(lambda: cluster.view.image.has_leaders(name, 50))
        cluster.topics.warn_of_too_few_brokers(name)

    settings = {"offsets.topic.replication.factor": "2", "transaction.state.log.replication.factor": "2"}
    play(story, overrides=settings)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [expected]


@pytest.mark.parametrize("comes", [True, False], ids=["another one comes", "nobody comes"])
@pytest.mark.played(by=play, overrides={"offsets.topic.replication.factor": "2", "zookeeper.connect": "zoo:2181"})
async def test_where_there_may_be_other_brokers_they_have_time_to_come(
    cluster: Cluster, /, comes: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> int:
        return sum("cannot work" in record.getMessage() for record in caplog.records)

    for _ in range(2):
        await cluster.topics.create_internal(GROUP_OFFSETS_TOPIC)
        cluster.clock.advance(TIME_TO_COME_MS // 2 - 1)
    if comes:
        await cluster.add_broker(1)
    assert told() == 0
    cluster.clock.advance(2)
    assert told() == (0 if comes else 1)
