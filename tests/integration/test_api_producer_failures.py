"""The documented producer where brokers refuse, fall silent, are killed and come back."""

import threading
from collections.abc import Iterator

import pytest

from barnabas.api import Producer
from barnabas.api.producer import CallbackHandler, ProducerData, SendError
from barnabas.testing import Broker, ErrorCode
from tests.integration.api_producers import make_topic, stored
from tools.kafka.server import free_port


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker that lives; each test has topics of its own."""
    with Broker() as broker:
        yield broker


class Failures(CallbackHandler):
    """Notes what was given up."""

    def __init__(self) -> None:
        self.errors: list[SendError] = []
        self.has_failed = threading.Event()

    def on_failure(self, error: SendError) -> None:
        self.errors.append(error)
        self.has_failed.set()

    @property
    def values(self) -> list[object]:
        return values_of(self.errors)


def values_of(errors: list[SendError]) -> list[object]:
    return [message for error in errors for data in error.failed for message in data.messages]


def settings(broker: Broker, **more: object) -> dict[str, object]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {"broker.list": broker.bootstrap_servers, "request.required.acks": 1, "retry.backoff.ms": 10, **named}


def test_sync_raises_when_nobody_is_there() -> None:
    sends = Producer({"broker.list": f"127.0.0.1:{free_port()}", "retry.backoff.ms": 1})
    with sends, pytest.raises(SendError, match=r"2 messages were not sent after 4 tries: no broker reports") as failed:
        sends.send(ProducerData("t", b"k", [b"1"]), ProducerData("t", None, [b"2"]))
    assert failed.value.failed == [ProducerData("t", b"k", [b"1"]), ProducerData("t", None, [b"2"])]


@pytest.mark.parametrize("retries", [0, 2])
def test_what_a_broker_refuses_is_tried_as_often_as_the_setting_says(broker: Broker, retries: int) -> None:
    topic = f"refused-{retries}"
    make_topic(broker, topic)
    with Producer(settings(broker, message_send_max_retries=retries)) as sends:
        sends.send(topic, None, [b"first"])
        with broker.on("Produce").fail(ErrorCode.NOT_ENOUGH_REPLICAS) as refused:
            with pytest.raises(SendError, match="1 message was not sent") as failed:
                sends.send(topic, None, [b"second"])
            assert refused.count == retries + 1
        assert failed.value.failed == [ProducerData(topic, None, [b"second"])]
        with broker.on("Produce").fail(ErrorCode.NOT_ENOUGH_REPLICAS, times=retries):
            sends.send(topic, None, [b"third"])
    assert [each.value for each in stored(broker, topic)] == [b"first", b"third"]


def test_what_can_be_no_other_answer_is_not_tried_again(broker: Broker) -> None:
    make_topic(broker, "denied")
    with Producer(settings(broker)) as sends:
        sends.send("denied", None, [b"first"])
        with broker.on("Produce").fail(ErrorCode.TOPIC_AUTHORIZATION_FAILED) as refused:
            with pytest.raises(SendError, match=r"[Aa]uthorization"):
                sends.send("denied", None, [b"second"])
            assert refused.count == 1


def test_what_is_refused_is_told_and_the_rest_of_a_call_is_sent(broker: Broker) -> None:
    with Producer(settings(broker, message_send_max_retries=0)) as sends:
        make_topic(broker, "good")
        make_topic(broker, "bad")
        with broker.on("Produce", topic="bad").fail(ErrorCode.CORRUPT_MESSAGE), pytest.raises(SendError) as failed:
            sends.send(ProducerData("good", None, [b"1"]), ProducerData("bad", b"k", [b"2", None]))
        assert failed.value.failed == [ProducerData("bad", b"k", [b"2", None])]
        assert [each.value for each in stored(broker, "good")] == [b"1"]


def test_a_broker_that_never_answers_is_waited_for_as_long_as_the_settings_say(broker: Broker) -> None:
    """By default that would be 40 s; what is short here is what is waited for, and nothing has to be quick."""
    make_topic(broker, "silent")
    with (
        broker.on("Produce").ignore(),
        Producer(settings(broker, message_send_max_retries=1, request_timeout_ms=100)) as sends,
        pytest.raises(SendError, match="1 message was not sent"),
    ):
        sends.send("silent", None, [b"never"])
    assert stored(broker, "silent") == []


def test_messages_without_a_key_go_where_a_leader_is(broker: Broker) -> None:
    def lose_leader(answer: object, _request: object) -> None:
        for topic in answer.topics:  # type: ignore[attr-defined]
            for partition in topic.partitions:
                if partition.partition_index != 2:
                    partition.leader_id, partition.error_code = -1, ErrorCode.LEADER_NOT_AVAILABLE

    make_topic(broker, "led", 3)
    with (
        broker.on("Metadata").change_answer(lose_leader),
        Producer(settings(broker, message_send_max_retries=10_000)) as sends,
    ):
        for number in range(20):
            sends.send("led", None, [b"%d" % number])
    assert {each.partition for each in stored(broker, "led")} == {2}


def test_what_is_under_way_to_a_lost_leader_is_sent_to_another_partition(broker: Broker) -> None:
    """The partition that was chosen refuses, and then has no leader: the messages go to the one that has."""
    is_lost = threading.Event()

    def lose(answer: object, _request: object) -> None:
        for topic in answer.topics if is_lost.is_set() else ():  # type: ignore[attr-defined]
            for partition in topic.partitions:
                if partition.partition_index == 0:
                    partition.leader_id, partition.error_code = -1, ErrorCode.LEADER_NOT_AVAILABLE

    def is_for_the_lost(request: object) -> bool:
        topics = request.message.topic_data  # type: ignore[attr-defined]
        return any(partition.index == 0 for topic in topics for partition in topic.partition_data)

    retries = {"message_send_max_retries": 10_000, "topic_metadata_refresh_interval_ms": -1}
    make_topic(broker, "lost", 2)
    with Producer(settings(broker, **retries)) as sends:
        sends.send("lost", None, [b"first"])
        with (
            broker.on("Metadata").change_answer(lose),
            broker.on("Produce", where=is_for_the_lost).fail(ErrorCode.NOT_LEADER_OR_FOLLOWER) as refused,
        ):
            is_lost.set()
            sent = 0
            while not refused.count:
                sends.send("lost", None, [b"%d" % sent])
                sent += 1
    values = [(each.partition, each.value) for each in stored(broker, "lost") if each.value != b"first"]
    assert values == [(1, b"%d" % number) for number in range(sent)]


def test_sync_a_broker_killed_in_mid_stream_is_an_exception_that_says_so() -> None:
    acknowledged: list[object] = []
    last: list[bytes] = []
    with Broker() as broker, Producer(settings(broker)) as sends:
        make_topic(broker, "t")
        with broker.on("Produce").watch() as produced:

            def kill() -> None:
                produced.wait_for(20)
                broker.kill()

            killer = threading.Thread(target=kill)
            killer.start()

            def stream() -> None:
                for number in range(1_000_000):
                    last[:] = [b"%d-%d" % (number, each) for each in range(20)]
                    sends.send("t", None, list(last))
                    acknowledged.extend(last)

            with pytest.raises(SendError) as failed:
                stream()
            killer.join()
        assert "no broker" in failed.value.reason
        failed_values = values_of([failed.value])
        assert failed_values == last[-len(failed_values) :]
        broker.start()
        with Producer(settings(broker, message_send_max_retries=10_000)) as again:
            again.send("t", None, [b"after"])
        kept = [each.value for each in stored(broker, "t")]
    assert kept[-1] == b"after"
    # What was acknowledged is there, in its order; of the call that failed whatever was not given up.
    assert [value for value in kept if value in set(acknowledged)] == acknowledged
    assert set(last) - set(failed_values) <= set(kept)


def test_async_a_broker_killed_in_mid_stream_is_told_to_the_callback() -> None:
    failures = Failures()
    more = {"producer_type": "async", "callback_handler": failures, "batch_size": 50, "queue_size": 500}
    sent: list[object] = []
    with Broker() as broker:
        make_topic(broker, "t")
        with Producer(settings(broker, **more)) as sends:
            with broker.on("Produce").watch() as produced:
                while produced.count < 20:
                    sent += [values := [b"%d" % (len(sent) + each) for each in range(50)]] and values
                    sends.send("t", None, values)
            broker.kill()
            while not failures.has_failed.is_set():
                sent += [values := [b"%d" % (len(sent) + each) for each in range(50)]] and values
                sends.send("t", None, values)
            broker.start()
        with Producer(settings(broker, message_send_max_retries=10_000)) as again:
            again.send("t", None, [b"after"])
        assert sends.failed_count == len(failures.values)
        kept = [each.value for each in stored(broker, "t")]
    assert "no broker" in failures.errors[0].reason
    assert kept[-1] == b"after"
    # Every message is there or was given up; what the broker took and could not acknowledge is both.
    assert set(sent) <= set(kept) | set(failures.values)
    assert kept[:-1] == sorted(kept[:-1], key=lambda value: int(value or b""))


def test_async_a_broker_that_comes_back_in_time_costs_nothing() -> None:
    failures = Failures()
    more = {"producer_type": "async", "callback_handler": failures, "message_send_max_retries": 100_000}
    with Broker(config={"num.partitions": 2}) as broker:
        with Producer(settings(broker, batch_size=50, queue_size=2_000, **more)) as sends:
            for number in range(400):
                if number in (100, 200, 300):
                    broker.kill()
                    broker.start()
                sends.send("t", b"key", [b"%d" % (50 * number + each) for each in range(50)])
        kept = [int(each.value or b"") for each in stored(broker, "t")]
    assert failures.values == []
    assert set(kept) == set(range(20_000))
    # What was under way at a kill may be there twice, as it was sent again in one piece.
    firsts = list(dict.fromkeys(kept))
    assert firsts == sorted(firsts)
