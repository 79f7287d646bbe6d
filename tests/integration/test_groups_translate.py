"""`barnabas groups translate`: where a group goes on in a cluster that another one was mirrored into.

What `barnabas mirror` does is done here by hand, a transaction at a time, so that each case is what it says.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from barnabas.cli.main import main
from barnabas.clients import Admin, Pool
from barnabas.clients.admin import NewTopic
from barnabas.clients.admin_topics import NewPartitions
from barnabas.clients.mirror.offsets import (
    TABLE_CONFIGS,
    TABLE_TOPIC,
    Place,
    Run,
    SourcePartition,
    extended,
    place_record,
)
from barnabas.core.errors import KafkaError
from barnabas.testing import Broker
from tests.patience import PATIENCE_S
from tests.settled import await_markers

TOPIC = "views"


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[Broker, Broker]]:
    # A client that hears late that a topic is gone would have it made again, beneath the next test.
    config = {"auto.create.topics.enable": "false"}
    with Broker(config=config) as source, Broker(config=config) as target:
        yield source, target


@pytest.fixture
def source(brokers: tuple[Broker, Broker]) -> Iterator[Broker]:
    yield from emptied(brokers[0])


@pytest.fixture
def target(brokers: tuple[Broker, Broker]) -> Iterator[Broker]:
    yield from emptied(brokers[1])


@pytest.fixture
def translate(
    source: Broker, target: Broker, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[dict[str, object]], str]]:
    """Run the command for the group `g`; its exit code, what it prints as JSON, and its remarks."""

    def run(*arguments: str) -> tuple[int, list[dict[str, object]], str]:
        words = ["groups", "translate", "--group", "g", "--bootstrap-server", source.bootstrap_servers]
        words += ["--target-bootstrap-server", target.bootstrap_servers, "--json", *arguments]
        code = main(words)
        said = capsys.readouterr()
        return code, json.loads(said.out or "[]"), said.err

    return run


class SmallMirror:
    """Mirrors one partition by hand, under the same name or another."""

    def __init__(self, source: Broker, target: Broker, name: str = "m", to: str = TOPIC) -> None:
        self.partition = SourcePartition(name, source.cluster_id, TOPIC, 0)
        self.place = Place(to, 0, 1, ())
        self._servers = target.bootstrap_servers
        if to != TOPIC:
            create(target, to)
        self._producer = Producer(
            {
                "bootstrap.servers": target.bootstrap_servers,
                "transactional.id": f"{name}-{source.cluster_id}",
                "linger.ms": 0,
            }
        )
        self._producer.init_transactions(PATIENCE_S)

    def commit(self, records: dict[int, bytes], position: int) -> list[int]:
        """Mirror these values, by source offset, up to a position; the offsets that they have in the target."""
        placed: list[int] = []
        self._producer.begin_transaction()
        for value in records.values():
            self._producer.produce(
                self.place.target_topic, value, partition=0, on_delivery=lambda _, sent: placed.append(sent.offset())
            )
        assert self._producer.flush(PATIENCE_S) == 0
        runs = extended(self.place.runs, (Run(*pair, 1) for pair in zip(records, placed, strict=True)))
        self.place = replace(self.place, position=position, runs=runs)
        key, value = place_record(self.partition, self.place)
        self._producer.produce(TABLE_TOPIC, value, key)
        self._producer.commit_transaction(PATIENCE_S)
        await_markers(self._servers, TABLE_TOPIC)
        return placed


def test_a_group_goes_on_where_it_stopped(source, target, translate) -> None:
    send(source, 6)
    commit(source, "g", 3)
    # Others have written there, and offset 4 is not mirrored.
    send(target, 2, "theirs")
    mirror = SmallMirror(source, target)
    mirror.commit(values(0, 1), 2)
    mirror.commit(values(2, 3, 5), 6)
    send(source, 4)

    code, rows, remarks = translate()
    assert code == 0
    assert rows == [
        {
            "group": "g",
            "topic": TOPIC,
            "partition": 0,
            "offset": 3,
            "target_topic": TOPIC,
            "new_offset": 6,
            "coverage": "exact",
            "to_be_mirrored": 4,
        }
    ]
    assert remarks == "Nothing was changed. Add --execute to commit the offsets.\n"
    assert committed(target, "g") == {}

    code, rows, remarks = translate("--execute", "--to-group", "h")
    assert (code, rows[0]["new_offset"], remarks) == (0, 6, "")
    assert committed(target, "h") == {(TOPIC, 0): 6}
    assert read(target, "h", 2) == [b"3", b"5"]

    commit(target, "g", 1)
    code, _, remarks = translate("--execute")
    assert (code, remarks) == (0, "The group's offset of views-0 in the target was 1.\n")
    assert committed(target, "g") == {(TOPIC, 0): 6}


def test_partitions_that_are_not_mirrored_are_left_out_unless_they_were_asked_for(source, target, translate) -> None:
    create(source, "clicks")
    send(source, 2)
    commit(source, "g", 1)
    commit(source, "g", 0, "clicks")
    code, _, remarks = translate()
    assert (code, remarks) == (
        1,
        "barnabas groups translate: the target is no mirror: it has no topic "
        f"{TABLE_TOPIC} with offsets, which barnabas mirror writes\n",
    )
    SmallMirror(source, target, to="eu.views").commit(values(0, 1), 2)
    code, rows, remarks = translate("--execute")
    assert [(row["target_topic"], row["new_offset"]) for row in rows] == [("eu.views", 1)]
    assert remarks == "Left out: partition clicks-0 is not mirrored into the target.\n"
    code, _, remarks = translate("--topic", "clicks")
    assert (code, remarks) == (
        1,
        "barnabas groups translate: partition clicks-0 of the source is not mirrored into the target\n",
    )
    assert translate("--topic", TOPIC)[0] == 0
    code, _, remarks = translate("--topic", f"{TOPIC}:0,7")
    assert (code, remarks) == (
        1,
        f"barnabas groups translate: group g has no offset of partition {TOPIC}-7 at the source\n",
    )


def test_a_partition_of_which_nothing_is_mirrored_begins_at_the_target_s_first_record(
    source, target, translate
) -> None:
    """The mirror notes a partition with its first record. A group without an offset would skip it, by `latest`."""
    grow(source, 3)
    grow(target, 2)
    send(source, 2)
    for partition, offset in enumerate((1, 0, 0)):
        commit(source, "g", offset, partition=partition)
    SmallMirror(source, target).commit(values(0, 1), 2)
    # What is empty is not waited for.
    code, rows, remarks = translate("--execute", "--wait", "30", "--topic", f"{TOPIC}:0,1")
    assert [(row["new_offset"], row["coverage"], row["to_be_mirrored"]) for row in rows] == [
        (1, "exact", 0),
        (0, "exact", 0),
    ]
    assert (code, remarks) == (0, "")
    assert committed(target, "g") == {(TOPIC, 0): 1, (TOPIC, 1): 0}

    send(source, 3, partition=1)
    commit(source, "g", 2, partition=1)
    code, rows, remarks = translate()
    assert [(row["new_offset"], row["coverage"], row["to_be_mirrored"]) for row in rows[1:]] == [(0, "ahead", 3)]
    assert "views-1 is mirrored up to offset 0, the group is at 2" in remarks
    assert "Left out: partition views-2 is not mirrored into the target.\n" in remarks


def test_of_several_mirrors_one_must_be_named(source, target, translate) -> None:
    send(source, 2)
    commit(source, "g", 1)
    SmallMirror(source, target).commit(values(0, 1), 2)
    SmallMirror(source, target, "n", "copy").commit(values(0, 1), 2)
    code, _, remarks = translate()
    assert (code, remarks) == (
        1,
        "barnabas groups translate: partition views-0 is mirrored by m, n: choose one with --mirror NAME\n",
    )
    code, rows, _ = translate("--mirror", "n")
    assert (code, rows[0]["target_topic"]) == (0, "copy")


def test_a_group_with_members_is_left_as_it_is(source, target, translate) -> None:
    send(source, 2)
    commit(source, "g", 1)
    SmallMirror(source, target).commit(values(0, 1), 2)
    member = Consumer({"bootstrap.servers": target.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"})
    member.subscribe([TOPIC])
    try:
        polled(member, 2)
        code, rows, remarks = translate("--execute")
        assert (code, rows) == (1, [])
        assert remarks == (
            "barnabas groups translate: group g is Stable in the target: stop its consumers there first\n"
        )
    finally:
        member.close()


def test_a_group_that_is_ahead_of_the_mirror_is_waited_for(source, target, translate) -> None:
    send(source, 4)
    commit(source, "g", 3)
    mirror = SmallMirror(source, target)
    later = threading.Timer(0.5, mirror.commit, (values(0), 3))
    later.start()
    code, rows, remarks = translate("--wait", str(int(PATIENCE_S)))
    later.join()
    assert (code, rows[0]["new_offset"], rows[0]["coverage"]) == (0, 1, "exact")
    assert remarks.startswith(f"Waiting up to {int(PATIENCE_S)} s for the mirror: views-0 is not mirrored yet\n")
    mirror.place = replace(mirror.place, position=1)
    mirror.commit({}, 1)

    code, rows, remarks = translate()
    assert (code, rows[0]["new_offset"], rows[0]["coverage"]) == (0, 1, "ahead")
    assert remarks.startswith(
        "Warning: views-0 is mirrored up to offset 1, the group is at 3: the records between are read again; --wait S "
        "waits"
    )

    later = threading.Timer(0.5, mirror.commit, (values(1, 2, 3), 4))
    later.start()
    code, rows, remarks = translate("--wait", str(int(PATIENCE_S)))
    later.join()
    assert (code, rows[0]["new_offset"], rows[0]["coverage"]) == (0, 4, "exact")
    assert remarks.startswith(
        f"Waiting up to {int(PATIENCE_S)} s for the mirror: views-0 is mirrored up to offset 1, the"
    )


def test_a_marker_is_nothing_to_wait_for(source, target, translate) -> None:
    producer = Producer({"bootstrap.servers": source.bootstrap_servers, "transactional.id": "t"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(TOPIC, b"0", partition=0)
    producer.commit_transaction(PATIENCE_S)
    await_markers(source.bootstrap_servers, TOPIC)
    # The consumer stands behind the marker, the mirror behind the record.
    commit(source, "g", 2)
    SmallMirror(source, target).commit(values(0), 1)
    code, rows, remarks = translate("--execute")
    assert (code, rows[0]["new_offset"], rows[0]["coverage"], remarks) == (0, 1, "exact", "")


def test_a_group_beyond_the_log_s_end_waits_for_nothing(source, target, translate) -> None:
    """The log was cut, or a person committed what is not there yet."""
    send(source, 2)
    commit(source, "g", 9)
    SmallMirror(source, target).commit(values(0, 1), 2)
    code, rows, _ = translate("--timeout", "5000")
    assert (code, rows[0]["new_offset"], rows[0]["coverage"]) == (0, 2, "exact")


def test_what_the_table_has_forgotten_is_warned_of(source, target, translate) -> None:
    send(source, 6)
    commit(source, "g", 1)
    mirror = SmallMirror(source, target)
    mirror.place = replace(mirror.place, position=4, begin=4)
    mirror.commit(values(4, 5), 6)
    code, rows, remarks = translate()
    assert (code, rows[0]["new_offset"], rows[0]["coverage"]) == (0, 0, "before")
    assert remarks.startswith("Warning: the offset table covers views-0 from offset 4 on, the group is at 1")


def test_both_ways_nothing_is_skipped(source, target, translate) -> None:
    """A record of the target stands before one of the source there, and was not yet read here."""
    send(target, 1, "there")
    send(source, 1, "here")
    there, back = SmallMirror(source, target), SmallMirror(target, source)
    there.commit({0: b"here"}, 1)
    back.commit({}, 0)
    commit(source, "g", 1)
    code, rows, remarks = translate()
    assert (code, rows[0]["new_offset"]) == (0, 0)
    assert "views-0 is mirrored both ways: the group may read some records again.\n" in remarks

    # It came here, and was read here.
    (placed,) = back.commit({0: b"there"}, 2)
    commit(source, "g", placed + 1)
    there.commit({}, placed + 2)
    code, rows, _ = translate("--execute")
    assert (code, rows[0]["new_offset"]) == (0, 2)


def values(*offsets: int) -> dict[int, bytes]:
    return {offset: b"%d" % offset for offset in offsets}


def send(broker: Broker, count: int, text: str = "", partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(count):
        producer.produce(TOPIC, (text or str(number)).encode(), partition=partition)
    assert producer.flush(PATIENCE_S) == 0


def emptied(broker: Broker) -> Iterator[Broker]:
    """The broker with the topics of these tests, which go afterwards."""
    create(broker, TABLE_TOPIC, **TABLE_CONFIGS)
    create(broker, TOPIC)
    yield broker

    async def clean() -> None:
        async with Pool(broker.bootstrap_servers) as pool:
            admin = Admin(pool)
            # Before the topics: with these a group's offsets go, and then the group itself.
            for group in await admin.groups():
                await admin.delete_group(group)
            for name, metadata in (await admin.topics()).items():
                if not metadata.is_internal:
                    await admin.delete_topic(name)

    asyncio.run(clean())


def create(broker: Broker, topic: str, **configs: str) -> None:
    async def work() -> None:
        async with Pool(broker.bootstrap_servers) as pool, asyncio.timeout(PATIENCE_S):
            admin = Admin(pool)
            while topic not in await admin.topics():
                # One that was deleted is not to be seen any more, and the controller is about to be done with it.
                with suppress(KafkaError):
                    await admin.create_topic(NewTopic(topic, 1, 1, configs))

    asyncio.run(work())


def grow(broker: Broker, partition_count: int) -> None:
    async def work() -> None:
        async with Pool(broker.bootstrap_servers) as pool:
            await Admin(pool).create_partitions({TOPIC: NewPartitions(partition_count)})

    asyncio.run(work())


def commit(broker: Broker, group: str, offset: int, topic: str = TOPIC, partition: int = 0) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
    consumer.close()


def committed(broker: Broker, group: str) -> dict[tuple[str, int], int]:
    async def work() -> dict[tuple[str, int], int]:
        async with Pool(broker.bootstrap_servers) as pool:
            return {tuple(each): offset for each, offset in (await Admin(pool).committed_offsets(group)).items()}

    return asyncio.run(work())


def read(broker: Broker, group: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "auto.offset.reset": "error"}
    )
    consumer.subscribe([TOPIC])
    try:
        return [message.value() for message in polled(consumer, count)]
    finally:
        consumer.close()


def polled(consumer: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < count:
        messages += consumer.consume(count - len(messages), PATIENCE_S)
    return messages
