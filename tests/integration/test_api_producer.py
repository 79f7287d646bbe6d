"""The documented producer on a broker: what each setting makes of what is sent, by what the broker gets."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from barnabas.api import Producer
from barnabas.api.errors import ClosedError
from barnabas.api.producer import (
    AsyncProducer,
    CallbackHandler,
    EncodingError,
    MessageTooLargeError,
    PartitionerError,
    ProducerData,
    QueueFullError,
    SendError,
    Sends,
)
from barnabas.api.producer.settings import ProducerConfig
from barnabas.core.errors import ConfigError
from barnabas.testing import Broker
from tests.integration.api_producers import add_partitions, make_topic, sent_batches, stored
from tests.patience import PATIENCE_S
from tools.kafka.server import free_port

# What a loaded machine does late it does; whether it fails is another test's.
ACKS = {"request.required.acks": 1, "message.send.max.retries": 10_000}


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(config={"num.partitions": 4, "message.max.bytes": 5_000_000}) as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Broker:
    """The shared broker; each test has topics of its own."""
    return shared


def producer(broker: Broker, **settings: object) -> Producer:
    """A producer whose messages are acknowledged; settings with `_` for the dots of their names."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"metadata.broker.list": broker.bootstrap_servers, **ACKS, **named})


class Recorder(CallbackHandler):
    """Notes every hook that is called."""

    def __init__(self, last_topic: str = "") -> None:
        self.last_topic = last_topic
        self.calls: list[object] = []
        self.failures: list[SendError] = []
        self.has_failed = threading.Event()

    def init(self, props: Mapping[str, object]) -> None:
        self.calls.append(("init", dict(props)))

    def before_enqueue(self, data: ProducerData) -> ProducerData:
        self.calls.append("before_enqueue")
        return ProducerData(data.topic, data.key, [*data.messages, b"+enqueue"])

    def after_enqueue(self, data: ProducerData, added: bool) -> None:
        self.calls.append(("after_enqueue", added))

    def after_dequeuing_existing_data(self, batch: list[ProducerData]) -> list[ProducerData]:
        self.calls.append("after_dequeuing_existing_data")
        return [*batch, ProducerData(batch[0].topic, None, [b"+dequeue"])]

    def before_sending_data(self, batch: list[ProducerData]) -> list[ProducerData]:
        self.calls.append("before_sending_data")
        return [*batch, ProducerData(batch[0].topic, None, [b"+send"])]

    def last_batch_before_close(self) -> list[ProducerData]:
        self.calls.append("last_batch_before_close")
        return [ProducerData(self.last_topic, None, [b"+last"])] if self.last_topic else []

    def on_failure(self, error: SendError) -> None:
        self.failures.append(error)
        self.has_failed.set()

    def close(self) -> None:
        self.calls.append("close")


def test_messages_of_a_call_arrive_in_order_in_one_partition(broker: Broker) -> None:
    with producer(broker) as sends:
        sends.send("simple", None, [b"1", b"2", None])
        sends.send("simple", b"key", [b"3"])
    found = stored(broker, "simple")
    assert sorted(each.value or b"" for each in found) == [b"", b"1", b"2", b"3"]
    keyless = [each for each in found if each.key is None]
    assert [each.value for each in keyless] == [b"1", b"2", None]
    assert len({each.partition for each in keyless}) == 1


def test_many_partitions_and_topics_in_one_go(broker: Broker) -> None:
    with producer(broker) as sends, broker.on("Produce", topic="many").watch() as produced:
        sends.send(*(ProducerData("many", b"%d" % number, [b"v"] * 3) for number in range(20)))
        sends.send(ProducerData("many", b"a", [b"1"]), ProducerData("many-too", b"b", [b"2"]))
    assert {batch.partition for batch in sent_batches(produced)} == {0, 1, 2, 3}
    assert len(stored(broker, "many")) == 61
    assert len(stored(broker, "many-too")) == 1


def test_messages_without_a_key_are_spread_call_by_call(broker: Broker) -> None:
    with producer(broker) as sends:
        for _ in range(60):
            sends.send("spread", None, [b"x"])
    # That one of four gets none of sixty happens once in ten million.
    assert {each.partition for each in stored(broker, "spread")} == {0, 1, 2, 3}


def test_it_is_called_in_one_of_two_ways(broker: Broker) -> None:
    with producer(broker) as sends:
        for given in [("t",), ("t", b"x"), (b"t", None, [b"x"]), ("t", None, 7)]:
            with pytest.raises(TypeError):
                sends.send(*given)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a sequence of messages"):
            sends.send("t", None, b"x")


def test_a_closed_producer_sends_nothing(broker: Broker) -> None:
    for kind in ("sync", "async"):
        closed = producer(broker, producer_type=kind)
        closed.close()
        closed.close()
        with pytest.raises(ClosedError):
            closed.send("t", None, [b"x"])


@pytest.mark.parametrize("name", ["metadata.broker.list", "broker.list"])
def test_brokers_from_a_list(broker: Broker, name: str) -> None:
    with Producer({name: f"7:{broker.bootstrap_servers}", **ACKS}) as sends:
        sends.send(f"list-{len(name)}", None, [b"x"])
    assert len(stored(broker, f"list-{len(name)}")) == 1


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_acks_and_timeout_are_what_brokers_are_asked_for(broker: Broker, acks: int) -> None:
    settings = {"request.required.acks": acks, "request.timeout.ms": 12_345, "client.id": f"acks{acks}"}
    with (
        broker.on("Produce", client_id=f"acks{acks}").watch() as produced,
        Producer({"broker.list": broker.bootstrap_servers, **settings}) as sends,
    ):
        sends.send("acks", None, [b"x"])
        (request,) = produced.wait_for(1)
    assert (request.message.acks, request.message.timeout_ms) == (acks, 12_345)


def test_nobody_is_asked_to_acknowledge_by_default(broker: Broker) -> None:
    with (
        broker.on("Produce", topic="no-acks").watch() as produced,
        Producer({"broker.list": broker.bootstrap_servers}) as sends,
    ):
        sends.send("no-acks", None, [b"x"])
        assert produced.wait_for(1)[0].message.acks == 0


def test_sync_returns_when_the_broker_has_answered(broker: Broker) -> None:
    with producer(broker) as sends:
        sends.send("held", None, [b"first"])
        with broker.on("Produce", topic="held").hold() as held:
            thread = threading.Thread(target=sends.send, args=("held", None, [b"second"]), daemon=True)
            thread.start()
            held.wait_for(1)
            assert thread.is_alive()
            held.release()
            thread.join(PATIENCE_S)
    assert len(stored(broker, "held")) == 2


def test_async_returns_before(broker: Broker) -> None:
    with producer(broker, producer_type="async", queue_time=0) as sends, broker.on("Produce").hold() as held:
        sends.send("early", None, [b"x"])
        held.wait_for(1)
        held.release()
    assert len(stored(broker, "early")) == 1


def test_async_sends_batches_of_batch_size(broker: Broker) -> None:
    with (
        broker.on("Produce", topic="batches").watch() as produced,
        producer(broker, producer_type="async", batch_size=10, queue_time=1 << 30) as sends,
    ):
        for _ in range(30):
            sends.send("batches", None, [b"x"])
        produced.wait_for(1)
        sends.send("batches", None, [b"x"])
    batches = sent_batches(produced)
    assert sum(batch.record_count for batch in batches) == 31
    assert max(batch.record_count for batch in batches) == 10


def test_async_sends_what_has_waited_for_queue_time(broker: Broker) -> None:
    with (
        broker.on("Produce", topic="waited").watch() as produced,
        producer(broker, producer_type="async", batch_size=1_000, queue_time=1) as sends,
    ):
        sends.send("waited", None, [b"x"])
        produced.wait_for(1)
        assert sends.queued_count == 0


def test_async_close_sends_what_is_queued(broker: Broker) -> None:
    with producer(broker, producer_type="async", batch_size=1_000, queue_time=1 << 30) as sends:
        for number in range(250):
            sends.send("closing", None, [b"%d" % number] * 10)
        # Two full batches may be gone.
        assert sends.queued_count >= 500
    assert len(stored(broker, "closing")) == 2_500


@pytest.mark.parametrize(("timeout", "text"), [(0, "queue.size"), (5, "after 5 ms")])
def test_a_full_queue_refuses_or_waits(timeout: int, text: str) -> None:
    settings = {"queue.size": 5, "batch.size": 1_000, "queue.time": 1 << 30, "queue.enqueue.timeout.ms": timeout}
    # Nobody is there: what is queued stays unsent.
    settings |= {"message.send.max.retries": 0, "request.timeout.ms": 10, "retry.backoff.ms": 1}
    with Producer({"producer.type": "async", "broker.list": f"127.0.0.1:{free_port()}", **settings}) as sends:
        sends.send("t", None, [b"x"])
        with pytest.raises(QueueFullError, match=text):
            sends.send("t", None, [b"x"] * 5)
        sends.send("t", None, [b"x"] * 4)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_call_larger_than_librdkafkas_queue_waits_for_room(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    given = ProducerConfig.librdkafka

    def with_small_queue(self: ProducerConfig, servers: str, codec: str) -> dict[str, str | int]:
        # 1 GiB otherwise.
        return {**given(self, servers, codec), "queue.buffering.max.kbytes": 1_024}

    monkeypatch.setattr(ProducerConfig, "librdkafka", with_small_queue)
    messages = [b"%d" % number * 100_000 for number in range(10)] * 4
    topic = f"large-{kind}"
    with producer(broker, producer_type=kind, max_message_size=100_000) as sends:
        sends.send(topic, None, messages)
    assert [each.value for each in stored(broker, topic)] == messages


def test_encoders(broker: Broker) -> None:
    with producer(broker, serializer_class="kafka.serializer.StringEncoder", serializer_encoding="latin-1") as sends:
        sends.send("encoded", "ü", ["ä"])
        with pytest.raises(EncodingError):
            sends.send("encoded", "ü", ["ä", b"x"])
    keys = {"key.serializer.class": "barnabas.api.producer.StringEncoder"}
    with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **keys}) as sends:
        sends.send("encoded", "k", [b"v"])
    assert sorted((each.key, each.value) for each in stored(broker, "encoded")) == [(b"k", b"v"), (b"\xfc", b"\xe4")]


class Third:
    """Always the last of four; notes how many there were."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def partition(self, key: object, partition_count: int) -> int:
        self.counts.append(partition_count)
        return int(str(key)) if isinstance(key, str) else 3


def test_a_partitioner_chooses_for_keys(broker: Broker) -> None:
    settings = {"partitioner.class": Third(), "key.serializer.class": "kafka.serializer.StringEncoder"}
    with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **settings}) as sends:
        sends.send("chosen", "3", [b"x"])
        sends.send("chosen", "1", [b"y"])
        with pytest.raises(PartitionerError, match="Third gave 4 for a key of chosen, which has 4 partitions"):
            sends.send("chosen", "4", [b"z"])
    assert [(each.partition, each.value) for each in stored(broker, "chosen")] == [(1, b"y"), (3, b"x")]


def test_the_default_partition_of_a_key_is_that_of_java(broker: Broker) -> None:
    with producer(broker, serializer_class="barnabas.api.producer.StringEncoder") as sends:
        sends.send("hashed", "hello", ["x"])
    (found,) = stored(broker, "hashed")
    assert found.partition == 99162322 % 4


@pytest.mark.parametrize(("codec", "number"), [("none", 0), ("gzip", 1), ("1", 1), ("snappy", 2), (2, 2), ("lz4", 3)])
def test_codecs(broker: Broker, codec: object, number: int) -> None:
    topic = f"codec-{codec}"
    with broker.on("Produce", topic=topic).watch() as produced, producer(broker, compression_codec=codec) as sends:
        sends.send(topic, None, [b"x" * 1_000] * 10)
    assert {batch.codec for batch in sent_batches(produced)} == {number}


def test_only_compressed_topics_are_compressed(broker: Broker) -> None:
    with (
        broker.on("Produce", client_id="some").watch() as produced,
        producer(broker, compression_codec="gzip", compressed_topics="small,smaller", client_id="some") as sends,
    ):
        values = [b"x" * 1_000] * 10
        sends.send(*(ProducerData(topic, None, values) for topic in ("small", "smaller", "large")))
    codecs = {batch.topic: batch.codec for batch in sent_batches(produced)}
    assert codecs == {"small": 1, "smaller": 1, "large": 0}


def test_messages_have_a_largest_size(broker: Broker) -> None:
    with producer(broker, max_message_size=2_000_000) as sends:
        sends.send("sized", None, [b"x" * 2_000_000])
        with pytest.raises(MessageTooLargeError, match=r"2000001 bytes .*max\.message\.size is 2000000"):
            sends.send("sized", None, [b"small", b"x" * 2_000_001])
    with producer(broker) as sends, pytest.raises(MessageTooLargeError):
        sends.send("sized", None, [b"x" * 1_000_001])
    assert [len(each.value or b"") for each in stored(broker, "sized")] == [2_000_000]


@pytest.mark.parametrize("name", ["reconnect.interval", "reconnect.time.interval.ms"])
def test_connections_are_made_anew(broker: Broker, name: str) -> None:
    def connections(settings: dict[str, object]) -> int:
        settings |= {"client.id": "again", "broker.list": broker.bootstrap_servers, **ACKS}
        # A connection begins with the question for the versions.
        with broker.on("ApiVersions", client_id="again").watch() as opened, Producer(settings) as sends:
            for _ in range(6):
                sends.send("again", None, [b"x"])
        return opened.count

    assert connections({name: {"reconnect.interval": 2, "reconnect.time.interval.ms": 0}[name]}) >= 3
    assert connections({}) <= 2


def test_new_partitions_are_asked_for_at_the_interval(broker: Broker) -> None:
    def counts(topic: str, refresh_ms: int) -> list[int]:
        partitioner = Third()
        settings = {"partitioner.class": partitioner, "topic.metadata.refresh.interval.ms": refresh_ms}
        with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **settings}) as sends:
            sends.send(topic, b"k", [b"x"])
            add_partitions(broker, topic, 6)
            sends.send(topic, b"k", [b"x"])
        return partitioner.counts

    assert counts("refreshed", 0) == [4, 6]
    assert counts("remembered", -1) == [4, 4]


def test_hooks_at_every_stage(broker: Broker) -> None:
    hooks = Recorder("hooks")
    settings = {"callback.handler": hooks, "callback.handler.props": {"a": 1}, "producer.type": "async"}
    with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **settings}) as sends:
        sends.send("hooks", None, [b"sent"])
    assert hooks.calls == [
        ("init", {"a": 1}),
        "before_enqueue",
        ("after_enqueue", True),
        "after_dequeuing_existing_data",
        "before_sending_data",
        "last_batch_before_close",
        "before_sending_data",
        "close",
    ]
    values = sorted(each.value or b"" for each in stored(broker, "hooks"))
    assert values == sorted([b"sent", b"+enqueue", b"+dequeue", b"+send", b"+last", b"+send"])


def test_hooks_hear_of_what_was_not_queued() -> None:
    hooks = Recorder()
    settings = {"callback.handler": hooks, "queue.size": 3, "queue.enqueue.timeout.ms": 0, "producer.type": "async"}
    with Producer({"broker.list": f"127.0.0.1:{free_port()}", "message.send.max.retries": 0, **settings}) as sends:
        with pytest.raises(QueueFullError):
            sends.send("t", None, [b"x"] * 3)
        assert ("after_enqueue", False) in hooks.calls


def test_properties_come_from_a_file_too(broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "hooks.properties").write_text("a=1\n")
    hooks = Recorder()
    settings = {"callback.handler": hooks, "callback.handler.props": str(tmp_path / "hooks.properties")}
    producer(
        broker, producer_type="async", **{name.replace(".", "_"): value for name, value in settings.items()}
    ).close()
    assert hooks.calls[0] == ("init", {"a": "1"})


class Shouting:
    """An event handler that sends everything in capitals."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def init(self, props: Mapping[str, object]) -> None:
        self.calls.append(props)

    def handle(self, batch: list[ProducerData], sender: Sends) -> None:
        for data in batch:
            sender.send([ProducerData(data.topic, data.key, [str(each).upper() for each in data.messages])])

    def close(self) -> None:
        self.calls.append("close")


def test_an_event_handler_does_it_in_place_of_the_default(broker: Broker) -> None:
    handler = Shouting()
    settings = {"event.handler": handler, "event.handler.props": {"loud": "yes"}, "producer.type": "async"}
    settings["serializer.class"] = "kafka.serializer.StringEncoder"
    with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **settings}) as sends:
        sends.send("loud", None, ["hello"])
    assert [each.value for each in stored(broker, "loud")] == [b"HELLO"]
    assert handler.calls == [{"loud": "yes"}, "close"]


def test_what_a_program_does_wrong_in_a_batch_costs_its_messages_alone(broker: Broker) -> None:
    hooks = Recorder()
    settings = {"producer.type": "async", "callback.handler": hooks, "queue.time": 1 << 30}
    with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **settings}) as sends:
        for key, message in ((None, "no bytes"), (b"k", b"1"), (1.5, b"no key's bytes"), (b"k", b"2")):
            sends.send("partly", key, [message])
    assert ["EncodingError" in error.reason for error in hooks.failures] == [True, True]
    kept = [each.value for each in stored(broker, "partly") if each.key == b"k"]
    assert [value for value in kept if value != b"+enqueue"] == [b"1", b"2"]


def test_a_key_that_has_no_partition_costs_its_messages_alone(broker: Broker) -> None:
    hooks = Recorder()
    settings = {
        "producer.type": "async",
        "callback.handler": hooks,
        "queue.time": 1 << 30,
        "partitioner.class": Third(),
    }
    settings["serializer.class"] = "kafka.serializer.StringEncoder"
    with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **settings}) as sends:
        hooks.before_enqueue = lambda data: data  # type: ignore[method-assign]
        hooks.before_sending_data = lambda batch: batch  # type: ignore[method-assign]
        hooks.after_dequeuing_existing_data = lambda batch: batch  # type: ignore[method-assign]
        for key in ("0", "4", "1"):
            sends.send("placed", key, [key])
    assert [error.failed for error in hooks.failures] == [[ProducerData("placed", b"4", [b"4"])]]
    assert [each.value for each in stored(broker, "placed")] == [b"0", b"1"]


def test_what_was_refused_is_forgotten(broker: Broker) -> None:
    make_topic(broker, "forgotten")
    settings = {"partitioner.class": Third(), "serializer.class": "kafka.serializer.StringEncoder"}
    with Producer({"broker.list": broker.bootstrap_servers, **ACKS, **settings}) as sends:
        # The first topic can't be: nobody knows its partitions.
        with pytest.raises(PartitionerError):
            sends.send(ProducerData("no/topic", None, ["x"]), ProducerData("forgotten", "4", ["x"]))
        sends.send("forgotten", "0", ["y"])
        with pytest.raises(SendError, match=r"1 message was not sent after 1 try: no/topic: .*Invalid topic"):
            sends.send("no/topic", None, ["x"])
    assert [each.value for each in stored(broker, "forgotten")] == [b"y"]


def test_settings_that_librdkafka_refuses_are_told_at_once(broker: Broker) -> None:
    nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    settings = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": nonsense, "security.protocol": "SSL"}
    with pytest.raises(ConfigError, match="librdkafka rejects the settings"):
        Producer({"broker.list": broker.bootstrap_servers, **settings})


def test_an_event_loop_goes_on_while_something_is_sent(broker: Broker) -> None:
    async def story() -> None:
        settings = {"broker.list": broker.bootstrap_servers, **ACKS}
        unopened = AsyncProducer(settings)
        with pytest.raises(RuntimeError, match="not open"):
            await unopened.send("loop", None, [b"x"])
        await unopened.close()
        async with AsyncProducer(settings) as sends:
            await sends.send("loop", None, [b"1"])
            with broker.on("Produce", topic="loop").hold() as held:
                sending = asyncio.create_task(sends.send(ProducerData("loop", None, [b"2"])))
                await asyncio.to_thread(held.wait_for, 1)
                assert not sending.done()
                held.release()
                await sending

    asyncio.run(story())
    assert sorted(each.value or b"" for each in stored(broker, "loop")) == [b"1", b"2"]


def test_brokers_that_want_tls() -> None:
    with Broker(security_protocol="SSL") as secure:
        settings = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": secure.ca_path}
        with Producer({"broker.list": secure.bootstrap_servers, **ACKS, **settings}) as sends:
            sends.send("t", None, [b"x"])
