"""Dead letters and other records that the driver or a task writes to topics; without Spark."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from barnabas.pipeline.job import Job
from barnabas.pipeline.runner.cluster import Cluster, KafkaOptions
from barnabas.pipeline.runner.dead_letters import DeadLetter, DeadLetters
from barnabas.pipeline.runner.plan import RunPlan
from barnabas.pipeline.runner.topic_output import TopicWriteError, record_producer


@pytest.fixture
def asked(cluster) -> Iterator[Cluster]:
    with closing(Cluster(KafkaOptions(cluster.bootstrap_servers, {}))) as asked:
        yield asked


def read(asked: Cluster, topic: str) -> list[Message]:
    """Return all records of a topic's first partition."""
    end = asked.ends({topic: [0]})[topic][0]
    with closing(Consumer(asked.options.for_consumer())) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return consumer.consume(end, 60)


def letters_of(asked: Cluster, warnings: list[str]) -> DeadLetters:
    job = Job("judge", "", (), (), lambda inputs, parameters: {})
    plan = RunPlan(job, asked.options, "tables", "delta", "checkpoints/", "judging")
    return DeadLetters(asked, plan, warnings.append)


def test_a_letter_has_the_record_its_place_and_the_reason(asked: Cluster, name: str) -> None:
    warnings: list[str] = []
    letters = letters_of(asked, warnings)
    letters.write(
        [
            DeadLetter(name, 2, 7, 1_000, b"k", b"\xff", "no JSON"),
            DeadLetter(name, 0, 8, 2_000, None, None, "no key: " + "é" * 600),
        ]
    )
    first, second = sorted(read(asked, f"{name}.dlq"), key=lambda each: dict(each.headers())["offset"])
    place = {"topic": name.encode(), "partition": b"2", "offset": b"7", "timestamp": b"1000", "job": b"judging"}
    assert (first.key(), first.value()) == (b"k", b"\xff")
    assert dict(first.headers()) == {"reason": b"no JSON", **place}
    assert (second.key(), second.value()) == (None, None)
    assert dict(second.headers())["reason"].decode() == ("no key: " + "é" * 600)[:500]
    letters.write([DeadLetter(name, 0, 9, 3_000, None, None, "no key")])
    assert warnings == [f"judging: refused {name}-2 offset 7: no JSON; refused records are in {name}.dlq"]


def test_a_letter_that_is_too_large_for_its_topic_is_cut(asked: Cluster, name: str) -> None:
    asked.create_topic(f"{name}.dlq", {"max.message.bytes": "3000"})
    letters = [
        DeadLetter(name, 0, number, 1_000, b"k" * size, b"v" * 5_000, "r" * 900)
        for number, size in enumerate((10, 9_000, 20))
    ]
    letters_of(asked, []).write(letters)
    found = {int(dict(each.headers())["offset"]): each for each in read(asked, f"{name}.dlq")}
    assert len(found) == 3
    headers = dict(found[0].headers())
    assert found[0].key() == b"k" * 10
    assert 0 < len(found[0].value()) < 3_000
    assert (headers["value_bytes"], "key_bytes" in headers) == (b"5000", False)
    assert 0 < len(found[1].key()) < 3_000
    assert (found[1].value(), dict(found[1].headers())["key_bytes"]) == (b"", b"9000")


def test_letters_of_a_dead_letter_topic_are_logged(asked: Cluster, name: str) -> None:
    warnings: list[str] = []
    topic = f"{name}.dlq"
    letters_of(asked, warnings).write(DeadLetter(topic, 0, number, 0, None, b"", "bad") for number in range(12))
    assert warnings[0] == f"judging: refused {topic}-0 offset 0: bad"
    assert warnings[10:] == ["judging: refused 2 more records of dead-letter topics"]
    assert f"{topic}.dlq" not in asked.topics()


def test_a_record_that_is_refused_ends_the_write_with_its_topic_and_the_reason(asked: Cluster, name: str) -> None:
    asked.create_topic(name, {"max.message.bytes": "500"})
    settings = asked.options.for_producer()
    with pytest.raises(TopicWriteError, match=f"topic {name}: .*size"), record_producer(settings) as producer:
        producer.send(name, b"k", b"v" * 5_000)
    with pytest.raises(TopicWriteError, match=f"topic {name}: .*large"), record_producer(settings) as producer:
        producer.send(name, b"k", b"v" * 2_000_000)


def test_a_producer_is_kept_for_the_next_write_unless_it_failed(asked: Cluster, name: str) -> None:
    settings = {**asked.options.for_producer(), "message.max.bytes": 10_000}
    with record_producer(settings) as first:
        first.send(name, b"k", b"1")
        with record_producer(settings) as beside:
            assert beside is not first
    with record_producer(settings) as second:
        second.send(name, b"k", b"2")
    assert second is first
    with pytest.raises(TopicWriteError, match="large"), record_producer(settings) as failed:
        failed.send(name, b"k", b"v" * 20_000)
    with record_producer(settings) as third:
        third.send(name, b"k", b"3")
    assert third is not failed
    assert [each.value() for each in read(asked, name)] == [b"1", b"2", b"3"]
