"""Real clients meet what a test does with their requests: `Broker.on`."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing

import kafka
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from barnabas import clients
from barnabas.core import errors, types
from barnabas.testing import Broker, ErrorCode
from tests.integration.test_testing_kit import is_gone
from tests.patience import PATIENCE_S

# kafka-python leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

# What a client does again it does soon.
SOON = {"retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50}


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Broker:
    """The shared broker; each test has topics and groups of its own."""
    return shared


def librdkafka(broker: Broker, **options: object) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap_servers, **SOON, **options})


def produce(producer: Producer, topic: str, value: bytes) -> list[KafkaError | None]:
    """Send one record and wait for what becomes of it."""
    outcomes: list[KafkaError | None] = []
    producer.produce(topic, value, partition=0, on_delivery=lambda error, message: outcomes.append(error))
    assert producer.flush(PATIENCE_S) == 0
    return outcomes


def values(broker: Broker, topic: str, count: int) -> list[bytes]:
    with closing(Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in consumer.consume(count, PATIENCE_S)]


def test_librdkafka_sends_again_what_has_no_leader(broker: Broker) -> None:
    producer = librdkafka(broker)
    with broker.on("Produce", topic="no-leader").fail(ErrorCode.NOT_LEADER_OR_FOLLOWER, times=3) as refused:
        assert produce(producer, "no-leader", b"one") == [None]
    assert [request.is_taken for request in refused.requests] == [True, True, True, False]
    assert values(broker, "no-leader", 1) == [b"one"]


def test_librdkafka_gives_up_where_time_heals_nothing(broker: Broker) -> None:
    with broker.on("Produce", topic="denied").fail(ErrorCode.TOPIC_AUTHORIZATION_FAILED) as refused:
        (error,) = produce(librdkafka(broker), "denied", b"one")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert refused.count == 1


def test_an_idempotent_producer_whose_answer_was_lost_writes_once(broker: Broker) -> None:
    producer = librdkafka(broker, **{"enable.idempotence": True})
    with broker.on("Produce", topic="once").drop(times=1, handles_first=True) as lost:
        assert produce(producer, "once", b"one") == [None]
    assert produce(producer, "once", b"two") == [None]
    assert lost.count == 2
    assert values(broker, "once", 2) == [b"one", b"two"]


def test_a_producer_that_counts_nothing_writes_twice(broker: Broker) -> None:
    with broker.on("Produce", topic="twice").drop(times=1, handles_first=True):
        assert produce(librdkafka(broker), "twice", b"one") == [None]
    assert values(broker, "twice", 2) == [b"one", b"one"]


def test_a_dropped_request_was_never_handled(broker: Broker) -> None:
    with broker.on("Produce", topic="dropped").drop(times=1) as dropped:
        assert produce(librdkafka(broker), "dropped", b"one") == [None]
        assert produce(librdkafka(broker), "dropped", b"two") == [None]
    assert dropped.count == 3
    assert values(broker, "dropped", 2) == [b"one", b"two"]


def test_kafka_python_begins_anew_where_its_offset_is_gone(broker: Broker) -> None:
    assert produce(librdkafka(broker), "gone", b"one") == [None]
    consumer = kafka.KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
    partition = kafka.TopicPartition("gone", 0)
    try:
        with (
            broker.on("Fetch", topic="gone").fail(ErrorCode.OFFSET_OUT_OF_RANGE, times=1) as refused,
            broker.on("ListOffsets", topic="gone").watch() as asked,
        ):
            consumer.assign([partition])
            # The end of the log, where nothing is read but what comes.
            consumer.seek(partition, 1)
            batches = consumer.poll(timeout_ms=PATIENCE_S * 1000)
            assert [record.value for record in batches[partition]] == [b"one"]
        assert refused.requests[0].is_taken
        assert asked.count == 1
    finally:
        consumer.close()


def test_librdkafka_is_told_that_its_offset_is_gone(broker: Broker) -> None:
    assert produce(librdkafka(broker), "nowhere", b"one") == [None]
    options = {"group.id": "unused", "auto.offset.reset": "error"}
    with closing(Consumer({"bootstrap.servers": broker.bootstrap_servers, **options})) as consumer:
        with broker.on("Fetch", topic="nowhere").fail(ErrorCode.OFFSET_OUT_OF_RANGE, times=1) as refused:
            consumer.assign([TopicPartition("nowhere", 0, 0)])
            told = consumer.poll(PATIENCE_S)
        assert told.error().code() == KafkaError._AUTO_OFFSET_RESET
        assert refused.requests[0].is_taken
        consumer.assign([TopicPartition("nowhere", 0, 0)])
        assert consumer.poll(PATIENCE_S).value() == b"one"


def test_kafka_python_sends_again_what_has_no_leader(broker: Broker) -> None:
    with closing(
        kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers, retry_backoff_ms=10, retries=10)
    ) as producer:
        with broker.on("Produce", topic="python").fail(ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2) as refused:
            assert producer.send("python", b"one").get(PATIENCE_S).offset == 0
        assert refused.count == 3


def test_librdkafkas_group_joins_again_when_it_rebalances(broker: Broker) -> None:
    assert produce(librdkafka(broker), "rebalanced", b"one") == [None]
    options = {"group.id": "members", "auto.offset.reset": "earliest", "heartbeat.interval.ms": 50}
    with closing(
        Consumer({"bootstrap.servers": broker.bootstrap_servers, "session.timeout.ms": 30_000, **options})
    ) as consumer:
        with broker.on("JoinGroup", group="members").watch() as joined:
            consumer.subscribe(["rebalanced"])
            assert [message.value() for message in consumer.consume(1, PATIENCE_S)] == [b"one"]
            first_count = joined.count
            with broker.on("Heartbeat", group="members").fail(ErrorCode.REBALANCE_IN_PROGRESS, times=1) as told:
                wait_for(lambda: joined.count > first_count, consumer)
        assert told.requests[0].is_taken
        assert told.requests[0].groups == {"members"}


def wait_for(condition, consumer: Consumer) -> None:
    """Poll, as a member of a group must, until the condition holds."""
    for _ in range(int(PATIENCE_S / 0.1)):
        if condition():
            return
        consumer.poll(0.1)
    raise AssertionError("it did not come to that")


def test_a_commit_that_fails_is_the_callers_business(broker: Broker) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "commits"})
    offsets = [TopicPartition("committed", 0, 7)]
    assert produce(librdkafka(broker), "committed", b"one") == [None]
    try:
        with (
            broker.on("OffsetCommit", group="commits").fail(ErrorCode.GROUP_AUTHORIZATION_FAILED),
            pytest.raises(KafkaException, match="GROUP_AUTHORIZATION_FAILED"),
        ):
            consumer.commit(offsets=offsets, asynchronous=False)
        consumer.commit(offsets=offsets, asynchronous=False)
        (committed,) = consumer.committed(offsets, PATIENCE_S)
        assert committed.offset == 7
    finally:
        consumer.close()


def test_our_own_clients_go_on(broker: Broker) -> None:
    async def use() -> None:
        async with clients.Pool(broker.bootstrap_servers) as pool, clients.Producer(pool) as producer:
            with broker.on("Produce", topic="own").fail(ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2) as refused:
                assert (await (await producer.send("own", b"one"))).offset == 0
            assert refused.count == 3
            consumer = clients.Consumer(pool, auto_offset_reset="none")
            partition = types.TopicPartition("own", 0)
            consumer.assign({partition: 0})
            with broker.on("Fetch", topic="own").fail(ErrorCode.OFFSET_OUT_OF_RANGE):
                with pytest.raises(errors.KafkaError) as caught:
                    await consumer.poll(int(PATIENCE_S * 1000))
                assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
            (batch,) = await consumer.poll(int(PATIENCE_S * 1000))
            assert [record.value for record in batch.records] == [b"one"]
            await consumer.close()
            member = clients.GroupMember(pool, "own", ["own"], heartbeat_interval_ms=10)
            with broker.on("Heartbeat", group="own").fail(ErrorCode.REBALANCE_IN_PROGRESS, times=1):
                await member.join("earliest")
                await asyncio.wait_for(member.wait_for_rebalance(), PATIENCE_S)
                assert member.needs_rejoin
            await member.join("earliest")
            assert member.assignment == [partition]
            await member.leave()

    asyncio.run(use())


def test_a_held_request_is_handled_once_it_is_released(broker: Broker) -> None:
    producer = librdkafka(broker)
    outcomes: list[KafkaError | None] = []
    with broker.on("Produce", topic="held").hold() as held:
        producer.produce("held", b"one", partition=0, on_delivery=lambda error, message: outcomes.append(error))
        producer.poll(0)
        held.wait_for(1, PATIENCE_S)
        assert outcomes == []
        held.release()
        assert producer.flush(PATIENCE_S) == 0
        assert outcomes == [None]
        producer.produce("held", b"two", partition=0)
        producer.poll(0)
        held.wait_for(2, PATIENCE_S)
    # The end of the block releases what is left.
    assert producer.flush(PATIENCE_S) == 0
    assert values(broker, "held", 2) == [b"one", b"two"]


def test_an_ignored_request_is_given_up_by_its_client(broker: Broker) -> None:
    producer = librdkafka(broker, **{"message.timeout.ms": 1_000, "socket.timeout.ms": 500})
    assert produce(producer, "ignored", b"one") == [None]
    with broker.on("Produce", topic="ignored").ignore(handles_first=True) as ignored:
        (error,) = produce(producer, "ignored", b"two")
    assert error is not None
    assert error.code() == KafkaError._MSG_TIMED_OUT
    assert ignored.count >= 1
    # Lost to its client, and there all the same.
    assert values(broker, "ignored", 2) == [b"one", b"two"]


def test_a_delayed_answer_comes_in_the_end(broker: Broker) -> None:
    with broker.on("Produce", topic="late").delay(0.05, times=1) as delayed:
        assert produce(librdkafka(broker), "late", b"one") == [None]
    assert delayed.count == 1


def test_a_request_is_changed_on_its_way(broker: Broker) -> None:
    def rename(request) -> None:
        request.topic_data[0].name = "changed"

    # The answer names the topic that the broker was asked for; the client knows the one that it asked.
    def name_back(answer, request) -> None:
        answer.responses[0].name = "asked"

    producer = librdkafka(broker)
    assert produce(producer, "changed", b"one") == [None]
    assert produce(producer, "asked", b"one") == [None]
    with broker.on("Produce", topic="asked").change_request(rename) as renamed:
        producer.produce("asked", b"two", partition=0)
        producer.poll(0)
        renamed.wait_for(1, PATIENCE_S)
        assert values(broker, "changed", 2) == [b"one", b"two"]
        # What was seen is what came.
        assert renamed.requests[0].topics == {"asked"}


def test_an_answer_with_records_is_changed_on_its_way(broker: Broker) -> None:
    def hide(answer, request) -> None:
        assert request.api == "Fetch"
        for topic in answer.responses:
            for partition in topic.partitions:
                seen.append(len(partition.records))
                partition.records = b""

    seen: list[int] = []
    assert produce(librdkafka(broker), "hidden", b"one") == [None]
    with closing(Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})) as consumer:
        with broker.on("Fetch", topic="hidden").change_answer(hide) as hidden:
            consumer.assign([TopicPartition("hidden", 0, 0)])
            consumer.poll(0)
            hidden.wait_for(2, PATIENCE_S)
        # Nothing was lost: it was hidden, and is read once it no longer is.
        (message,) = consumer.consume(1, PATIENCE_S)
        assert message.value() == b"one"
        assert seen[0] > 60


def test_an_error_of_the_test_is_raised_at_the_blocks_end(broker: Broker) -> None:
    def fail(answer, request) -> None:
        raise ZeroDivisionError("of the test")

    def select(request) -> bool:
        raise ZeroDivisionError("of the filter")

    producer = librdkafka(broker)
    with pytest.raises(ZeroDivisionError, match="of the test"), broker.on("Produce").change_answer(fail):
        assert produce(producer, "errors", b"one") == [None]
    with pytest.raises(ZeroDivisionError, match="of the filter"), broker.on("Produce", where=select).drop():
        assert produce(producer, "errors", b"two") == [None]


def test_a_function_that_returns_another_message_is_an_error_of_the_test(broker: Broker) -> None:
    producer = librdkafka(broker)
    answers, requests = broker.on("Produce"), broker.on("Produce")
    with (
        pytest.raises(TypeError, match="must return a ProduceResponse or None, not PartitionProduceResponse"),
        answers.change_answer(lambda answer, request: answer.responses[0].partition_responses.pop()),
    ):
        assert produce(producer, "errors", b"three") == [None]
    with (
        pytest.raises(TypeError, match="must return a ProduceRequest or None, not int"),
        requests.change_request(lambda request: 0),  # type: ignore[arg-type, return-value]  # the fault
    ):
        assert produce(producer, "errors", b"four") == [None]


def test_filters(broker: Broker) -> None:
    one, two = (librdkafka(broker, **{"client.id": name}) for name in ("one", "two"))
    with (
        broker.on("Produce", client_id="one").watch() as of_one,
        broker.on("Produce", topic="filter-b").watch() as of_b,
        broker.on("Produce", version=8).watch() as of_8,
        broker.on("Produce", version=7).watch() as of_7,
        broker.on("Produce", where=lambda request: request.message.acks == 1).watch() as of_acks,
    ):
        for producer, topic in ((one, "filter-a"), (one, "filter-b"), (two, "filter-b")):
            assert produce(producer, topic, b"x") == [None]
        assert [each.count for each in (of_one, of_b, of_8, of_7, of_acks)] == [2, 2, 3, 0, 0]
    assert produce(one, "filter-b", b"x") == [None]
    assert of_one.count == 2


def test_the_newest_interception_acts_as_long_as_it_lasts(broker: Broker) -> None:
    producer = librdkafka(broker)
    with broker.on("Produce", topic="newest").fail(ErrorCode.TOPIC_AUTHORIZATION_FAILED) as older:
        with broker.on("Produce", topic="newest").fail(ErrorCode.NOT_LEADER_OR_FOLLOWER, times=1) as newer:
            (error,) = produce(producer, "newest", b"one")
        assert error is not None
        assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert [request.is_taken for request in newer.requests] == [True, False]
        assert [request.is_taken for request in older.requests] == [False, True]


def test_what_is_no_api_and_no_error_is_refused(broker: Broker) -> None:
    with pytest.raises(ValueError, match="'Prodce' is not an API"):
        broker.on("Prodce")
    with pytest.raises(ValueError, match="NONE is not an error"):
        broker.on("Produce").fail(ErrorCode.NONE)


def test_an_interception_is_there_before_the_first_request_and_after_a_restart() -> None:
    broker = Broker()
    with broker.on("Produce").fail(ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2) as refused, broker:
        producer = librdkafka(broker)
        assert produce(producer, "views", b"one") == [None]
        assert refused.count == 3
        broker.kill()
        # Nobody is there to be told.
        with broker.on("Fetch").watch():
            pass
        broker.start()
        assert produce(producer, "views", b"two") == [None]
        pid = broker.pid
    assert is_gone(pid)
    assert refused.count >= 4


def test_interceptions_begin_and_end_in_many_threads(broker: Broker) -> None:
    failures: list[BaseException] = []

    def use(number: int) -> None:
        try:
            producer = librdkafka(broker, **{"client.id": f"thread-{number}"})
            for turn in range(10):
                with broker.on("Produce", client_id=f"thread-{number}").fail(
                    ErrorCode.NOT_LEADER_OR_FOLLOWER, times=1
                ) as refused:
                    assert produce(producer, "threads", b"%d" % turn) == [None]
                assert refused.count == 2
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
