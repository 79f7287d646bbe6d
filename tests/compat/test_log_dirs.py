"""Replicas that move between a broker's directories: the same on Kafka 2.7.2 with `BARNABAS_COMPAT_TARGET=kafka`."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from barnabas.wire.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.compat.clients.java import JavaClient, JavaClientError
from tests.compat.conftest import TARGET, RunningBroker
from tests.compat.raw import ask, create_topic
from tests.patience import PATIENCE_S, until
from tools.kafka.jars import CLIENTS_4, KAFKA
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

E = ErrorCode
THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER = 4


class Replica(NamedTuple):
    size: int
    lag: int
    is_future: bool


class Place:
    """A broker with two directories."""

    def __init__(self, broker: RunningBroker, directories: list[Path]) -> None:
        self.broker = broker
        self.first, self.second = map(str, directories)

    def ask(self, request, version: int):
        return ask(self.broker.bootstrap_servers, request, version)

    def create(self, name: str, partition_count: int = 1, **configs: str) -> None:
        create_topic(self.broker.bootstrap_servers, name, partition_count, **configs)

    def move(self, directory: str, *wanted: tuple[str, int], version: int = 1) -> dict[tuple[str, int], int]:
        """The error of each partition."""
        topics = [AlterReplicaLogDirTopic(name, [index]) for name, index in wanted]
        request = AlterReplicaLogDirsRequest([AlterReplicaLogDir(directory, topics)])
        return {
            (topic.topic_name, each.partition_index): each.error_code
            for topic in self.ask(request, version).results
            for each in topic.partitions
        }

    def replicas(self, name: str, version: int = 1) -> dict[tuple[str, int], list[Replica]]:
        """What there is of a topic, by directory and partition; copies after what they are made of."""
        found: dict[tuple[str, int], list[Replica]] = {}
        for directory in self.ask(DescribeLogDirsRequest(None), version).results:
            assert directory.error_code == 0
            for topic in directory.topics:
                for each in topic.partitions if topic.name == name else ():
                    replica = Replica(each.partition_size, each.offset_lag, each.is_future_key)
                    found.setdefault((directory.log_dir, each.partition_index), []).append(replica)
        return found

    def wait_for(self, name: str, index: int, directory: str) -> None:
        """Wait until a partition stands in a directory, and nowhere else."""

        def has_moved() -> bool:
            found = {key: each for key, each in self.replicas(name).items() if key[1] == index}
            return list(found) == [(directory, index)] and not found[directory, index][0].is_future

        until(has_moved)

    def throttle(self, bytes_per_s: int) -> None:
        config = AlterableConfig(THROTTLE, 0, str(bytes_per_s))
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, "0", [config])], False)
        assert self.ask(request, 1).responses[0].error_code == 0

    def produce(self, name: str, count: int, *, start: int = 0, size: int = 1_000) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "acks": "all"})
        failed: list[object] = []
        for number in range(start, start + count):
            producer.produce(
                name,
                str(number).encode().ljust(size),
                partition=0,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert failed == []

    def consumed(self, name: str, count: int) -> list[int]:
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap_servers, "group.id": name})
        consumer.assign([TopicPartition(name, 0, 0)])
        found: list[int] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count}"
            found += [int(message.value()) for message in consumer.consume(1_000, 1)]
        consumer.close()
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directories = [tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")]
    both = ",".join(map(str, directories))
    with ExitStack() as stack:
        broker: RunningBroker
        if TARGET == "kafka":
            broker = stack.enter_context(QuickKafkaServer(config={"log.dirs": both}))
        else:
            from barnabas.testing import Broker

            broker = stack.enter_context(Broker(config=ONE_BROKER, data_dir=both))
        yield Place(broker, directories)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_all_directories_are_told_of(place: Place, name: str, version: int) -> None:
    place.create(name, 2)
    place.produce(name, 3, size=100)
    answer = place.ask(DescribeLogDirsRequest([DescribableLogDirTopic(name, [0])]), version)
    assert {each.log_dir: each.error_code for each in answer.results} == {place.first: 0, place.second: 0}
    # All topics are listed, of the partitions those that were asked about.
    listed = [topic for each in answer.results for topic in each.topics if topic.name == name]
    assert sum(len(topic.partitions) for topic in listed) == 1
    (replica,) = [each for topic in listed for each in topic.partitions]
    assert (replica.partition_index, replica.offset_lag, replica.is_future_key) == (0, 0, False)
    assert replica.partition_size > 300
    asked = place.ask(DescribeLogDirsRequest([]), version)
    assert [topic.partitions for each in asked.results for topic in each.topics if topic.name == name] == [[]] * len(
        listed
    )
    assert {key[1] for key in place.replicas(name, version)} == {0, 1}


@pytest.mark.parametrize("version", [0, 1])
def test_where_a_replica_can_not_go(place: Place, name: str, version: int) -> None:
    place.create(name)
    assert place.move("/not/there", (name, 0), (name, 7), ("not-there", 0), version=version) == dict.fromkeys(
        [(name, 0), (name, 7), ("not-there", 0)], E.LOG_DIR_NOT_FOUND
    )
    assert place.move(place.first + "/", (name, 0), version=version) == {(name, 0): E.LOG_DIR_NOT_FOUND}
    # 255 characters are as much as a directory's name may have: 2 for the number, 40 for what makes it a copy's name.
    for length, error_code in ((215, E.INVALID_TOPIC_EXCEPTION), (213, E.UNKNOWN_TOPIC_OR_PARTITION)):
        long = "x" * length
        assert place.move(place.first, (long, 0), version=version) == {(long, 0): error_code}
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert place.move(place.first, (name, 7), (name + "-2", 0), version=version) == {
        (name, 7): unknown,
        (name + "-2", 0): unknown,
    }
    assert place.ask(AlterReplicaLogDirsRequest([]), version).results == []


def test_a_replica_is_made_where_it_was_wanted_before(place: Place, name: str) -> None:
    for index, directory in enumerate((place.second, place.second, place.first, place.second)):
        assert place.move(directory, (name, index)) == {(name, index): E.UNKNOWN_TOPIC_OR_PARTITION}
    place.create(name, 4)
    assert sorted(place.replicas(name)) == sorted(
        [(place.second, 0), (place.second, 1), (place.first, 2), (place.second, 3)]
    )


def test_a_replica_moves_while_it_is_written(place: Place, name: str) -> None:
    place.move(place.first, (name, 0))
    place.create(name, segment_bytes="1100000")
    place.produce(name, 2_000)
    (size,) = [each.size for replicas in place.replicas(name).values() for each in replicas]
    assert place.move(place.second, (name, 0)) == {(name, 0): 0}
    place.produce(name, 1_000, start=2_000)
    place.wait_for(name, 0, place.second)
    place.produce(name, 10, start=3_000)
    assert place.consumed(name, 3_010) == list(range(3_010))
    (replica,) = place.replicas(name)[place.second, 0]
    assert replica.size > size
    assert replica.lag == 0
    # Where it stands already, nothing moves.
    assert place.move(place.second, (name, 0)) == {(name, 0): 0}
    assert list(place.replicas(name)) == [(place.second, 0)]
    path = Path(place.second) / f"{name}-0"
    for log in sorted(path.glob("*.log")):
        dumped = run_tool("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", str(log))
        assert dumped.returncode == 0, dumped.stderr
        assert "isvalid: false" not in dumped.stdout
        break
    until(lambda: not [each for each in Path(place.first).iterdir() if each.name == f"{name}-0"])


def test_a_replica_on_its_way_is_told_of_and_comes_back(place: Place, name: str) -> None:
    place.move(place.first, (name, 0))
    place.create(name)
    place.produce(name, 4_000)
    place.throttle(10_000)
    try:
        assert place.move(place.second, (name, 0)) == {(name, 0): 0}
        until(lambda: (place.second, 0) in place.replicas(name))
        (future,) = place.replicas(name)[place.second, 0]
        assert future.is_future
        assert future.lag > 0
        copies = [each.name for each in Path(place.second).iterdir() if each.name.startswith(f"{name}-0.")]
        assert len(copies) == 1
        assert copies[0].endswith("-future")
        place.produce(name, 10, start=4_000)
        # Back: the copy goes.
        assert place.move(place.first, (name, 0)) == {(name, 0): 0}
        until(lambda: list(place.replicas(name)) == [(place.first, 0)])
        place.move(place.second, (name, 0))
        until(lambda: (place.second, 0) in place.replicas(name))
    finally:
        place.throttle(1_000_000_000)
    place.wait_for(name, 0, place.second)
    assert place.consumed(name, 4_010) == list(range(4_010))


def test_a_topic_is_deleted_on_its_way(place: Place, name: str) -> None:
    place.move(place.first, (name, 0))
    place.create(name)
    place.produce(name, 4_000)
    place.throttle(100_000)
    try:
        place.move(place.second, (name, 0))
        until(lambda: (place.second, 0) in place.replicas(name))
        answer = place.ask(DeleteTopicsRequest([name], 30_000), 4)
        assert answer.responses[0].error_code == 0
        until(lambda: place.replicas(name) == {})
    finally:
        place.throttle(1_000_000_000)


def test_kafkas_tool_reads_it(place: Place, name: str) -> None:
    place.create(name)
    place.produce(name, 10)
    told = run_tool(
        "kafka.admin.LogDirsCommand",
        *("--bootstrap-server", place.broker.bootstrap_servers, "--describe", "--topic-list", name),
    )
    assert told.returncode == 0, told.stderr
    (broker,) = json.loads(told.stdout.splitlines()[-1])["brokers"]
    assert {each["logDir"]: each["error"] for each in broker["logDirs"]} == {place.first: None, place.second: None}
    (partition,) = [each for directory in broker["logDirs"] for each in directory["partitions"]]
    assert (partition["partition"], partition["offsetLag"], partition["isFuture"]) == (f"{name}-0", 0, False)
    assert partition["size"] > 10_000


@pytest.mark.parametrize("jar_set", [KAFKA, pytest.param(CLIENTS_4, marks=pytest.mark.whole)])
def test_javas_admin_client_administers_all_of_it(place: Place, name: str, jar_set: str) -> None:
    place.move(place.first, (name, 0))
    with closing(JavaClient(place.broker.bootstrap_servers, jar_set)) as java:
        java.create_topic(name, 1, {})
        java.call("create-partitions", java.admin, name, 3)
        with pytest.raises(JavaClientError, match="InvalidPartitionsException: Topic already has 3 partitions"):
            java.call("create-partitions", java.admin, name, 3)
        assert java.call("elect-leaders", java.admin, name, 0, "PREFERRED") == [f"{name}-0=ElectionNotNeededException"]
        assert java.call("elect-leaders", java.admin, name, 7, "UNCLEAN") == [
            f"{name}-7=UnknownTopicOrPartitionException"
        ]
        java.call("reassign", java.admin, name, 0, 0)
        with pytest.raises(JavaClientError, match="InvalidReplicaAssignmentException"):
            java.call("reassign", java.admin, name, 0, "0,9")
        assert java.call("list-reassignments", java.admin) == ["[]"]
        assert java.call("replica-log-dir", java.admin, name, 0) == [place.first, "0", "null"]
        java.call("move-replica", java.admin, name, 0, place.second)
        until(lambda: java.call("replica-log-dir", java.admin, name, 0) == [place.second, "0", "null"])
        with pytest.raises(JavaClientError, match="LogDirNotFoundException"):
            java.call("move-replica", java.admin, name, 0, "/not/there")


# The last: the broker restarts.
def test_a_kill_in_the_middle_loses_nothing(place: Place, name: str) -> None:
    place.move(place.first, (name, 0))
    place.create(name, segment_bytes="1100000")
    place.produce(name, 8_000)
    count = 8_000
    for _ in range(3):
        place.throttle(500_000)
        place.move(place.second, (name, 0))
        until(lambda: any(each.is_future for each in place.replicas(name).get((place.second, 0), ())))
        place.produce(name, 50, start=count)
        count += 50
        place.broker.kill()
        place.broker.restart()
        until(lambda: place.replicas(name))
    place.throttle(1_000_000_000)
    place.wait_for(name, 0, place.second)
    assert place.consumed(name, count) == list(range(count))
