"""What the administration of topics answers, byte by byte as Kafka 2.7.2: `BARNABAS_COMPAT_TARGET=kafka` asks it."""

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.compat.conftest import RunningBroker, StartBroker
from tests.compat.raw import ask
from tests.patience import until

E = ErrorCode
BROKER = 0


def create(cluster: RunningBroker, *topics: CreatableTopic, version: int = 5, timeout_ms: int = 30_000):
    """The name, error code and message of each topic."""
    answer = ask(cluster.bootstrap_servers, CreateTopicsRequest(list(topics), timeout_ms, False), version)
    return [(each.name, each.error_code, each.error_message) for each in answer.topics]


def assigned(name: str, *replicas: tuple[int, list[int]]) -> CreatableTopic:
    return CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(*each) for each in replicas])


def add(cluster: RunningBroker, *topics: CreatePartitionsTopic, timeout_ms: int = 30_000, validate_only: bool = False):
    """The name, error code and message of each topic."""
    request = CreatePartitionsRequest(list(topics), timeout_ms, validate_only)
    answer = ask(cluster.bootstrap_servers, request, 1)
    return [(each.name, each.error_code, each.error_message) for each in answer.results]


def partition_count(cluster: RunningBroker, name: str) -> int:
    request = MetadataRequest([MetadataRequestTopic(name=name)], False)
    (topic,) = ask(cluster.bootstrap_servers, request, 4).topics
    return len(topic.partitions)


def more(name: str, count: int, *brokers: list[int]) -> CreatePartitionsTopic:
    return CreatePartitionsTopic(name, count, [CreatePartitionsAssignment(each) for each in brokers] or None)


ILLEGAL = """Topic name "%s" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"""
BOTH = "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time."


@pytest.mark.parametrize(
    ("topic", "error_code", "message"),
    [
        (CreatableTopic("", 1, 1), E.INVALID_TOPIC_EXCEPTION, "Topic name is illegal, it can't be empty"),
        (CreatableTopic("..", 1, 1), E.INVALID_TOPIC_EXCEPTION, 'Topic name cannot be "." or ".."'),
        (CreatableTopic("a b", 1, 1), E.INVALID_TOPIC_EXCEPTION, ILLEGAL % "a b"),
        (CreatableTopic("a\0b", 1, 1), E.INVALID_TOPIC_EXCEPTION, ILLEGAL % "a\0b"),
        (
            CreatableTopic("y" * 250, 1, 1),
            E.INVALID_TOPIC_EXCEPTION,
            "Topic name is illegal, it can't be longer than 249 characters, topic name: " + "y" * 250,
        ),
        # The size is looked at before the name, and settings without a value before either.
        (CreatableTopic("a b", 0, 0), E.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (
            CreatableTopic("a b", 0, 1, [], [CreatableTopicConfig("x", None), CreatableTopicConfig("y", None)]),
            E.INVALID_REQUEST,
            "Null value not supported for topic configs : x,y",
        ),
        (CreatableTopic("new", -2, 1), E.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (CreatableTopic("new", 1, 0), E.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (
            CreatableTopic("new", 1, 2),
            E.INVALID_REPLICATION_FACTOR,
            "Replication factor: 2 larger than available brokers: 1.",
        ),
        (
            CreatableTopic("new", 1, 1, [], [CreatableTopicConfig("retention.ms", "-2")]),
            E.INVALID_CONFIG,
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        (
            CreatableTopic("new", 1, 1, [], [CreatableTopicConfig("nope", "1")]),
            E.INVALID_CONFIG,
            "Unknown topic config name: nope",
        ),
        (CreatableTopic("new", 1, -1, [CreatableReplicaAssignment(0, [BROKER])]), E.INVALID_REQUEST, BOTH),
        (
            assigned("new", (1, [BROKER])),
            E.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            assigned("new", (0, [BROKER]), (1, [BROKER, 2])),
            E.INVALID_REPLICA_ASSIGNMENT,
            "All partitions should have the same number of replicas",
        ),
        (assigned("a b", (1, [BROKER])), E.INVALID_TOPIC_EXCEPTION, ILLEGAL % "a b"),
    ],
    ids=str,
)
def test_what_no_topic_can_be(
    cluster: RunningBroker, topic: CreatableTopic, error_code: ErrorCode, message: str
) -> None:
    assert create(cluster, topic) == [(topic.name, error_code, message)]


def test_topics_that_collide_or_are_named_twice(cluster: RunningBroker, name: str) -> None:
    twice = "Found multiple entries for this topic."
    colliding = f"Topic '{name}_a' collides with existing topics: {name}.a"
    topics = [CreatableTopic(name + each, 1, 1) for each in (".a", "_a", "x", "x", "y")]
    assert sorted(create(cluster, *topics)) == [
        (name + ".a", E.NONE, None),
        (name + "_a", E.INVALID_TOPIC_EXCEPTION, colliding),
        (name + "x", E.INVALID_REQUEST, twice),
        (name + "x", E.INVALID_REQUEST, twice),
        (name + "y", E.NONE, None),
    ]
    # Of a partition that is assigned twice the later replicas count.
    assert create(cluster, assigned(name, (0, [BROKER]), (0, [99])), timeout_ms=300) == [
        (name, E.REQUEST_TIMED_OUT, None)
    ]


@pytest.mark.parametrize("version", range(6))
def test_topics_that_go(cluster: RunningBroker, name: str, version: int) -> None:
    assert create(cluster, CreatableTopic(name, 1, 1)) == [(name, 0, None)]
    request = DeleteTopicsRequest([name, name + "-not-there", name, "", "a b"], 30_000)
    answer = ask(cluster.bootstrap_servers, request, version)
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert [(each.name, each.error_code, each.error_message) for each in answer.responses] == [
        (name, 0, None),
        (name + "-not-there", unknown, None),
        (name, 0, None),
        ("", unknown, None),
        ("a b", unknown, None),
    ]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_topics_that_go_without_waiting(cluster: RunningBroker, name: str, timeout_ms: int) -> None:
    assert create(cluster, CreatableTopic(name, 1, 1)) == [(name, 0, None)]
    answer = ask(cluster.bootstrap_servers, DeleteTopicsRequest([name, name + "-x"], timeout_ms), 4)
    assert [each.error_code for each in answer.responses] == [E.REQUEST_TIMED_OUT, E.UNKNOWN_TOPIC_OR_PARTITION]
    until(lambda: partition_count(cluster, name) == 0)


def test_topics_that_may_not_go(start_broker: StartBroker, name: str) -> None:
    broker = start_broker(**{"delete.topic.enable": "false"})
    create(broker, CreatableTopic(name, 1, 1))
    for version in range(6):
        answer = ask(broker.bootstrap_servers, DeleteTopicsRequest([name, "x"], 1_000), version)
        refusal = E.TOPIC_DELETION_DISABLED if version >= 3 else E.INVALID_REQUEST
        assert [(each.name, each.error_code) for each in answer.responses] == [(name, refusal), ("x", refusal)]


@pytest.mark.parametrize("version", range(4))
def test_topics_that_become_longer(cluster: RunningBroker, name: str, version: int) -> None:
    create(cluster, CreatableTopic(name, 1, 1))
    request = CreatePartitionsRequest([more(name, 3), more(name + "-not-there", 3)], 30_000, False)
    answer = ask(cluster.bootstrap_servers, request, version)
    assert [(each.name, each.error_code, each.error_message) for each in answer.results] == [
        (name, 0, None),
        (name + "-not-there", E.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}-not-there' does not exist."),
    ]
    assert partition_count(cluster, name) == 3


@pytest.mark.parametrize(
    ("count", "brokers", "error_code", "message"),
    [
        (2, [], E.INVALID_PARTITIONS, "Topic already has 2 partitions."),
        (1, [[99]], E.INVALID_PARTITIONS, "Topic currently has 2 partitions, which is higher than the requested 1."),
        (-1, [], E.INVALID_PARTITIONS, "Topic currently has 2 partitions, which is higher than the requested -1."),
        (3, [[99], []], E.INVALID_REPLICA_ASSIGNMENT, "Unknown broker(s) in replica assignment: 99."),
        (
            4,
            [[BROKER]],
            E.INVALID_REPLICA_ASSIGNMENT,
            "Increasing the number of partitions by 2 but 1 assignments provided.",
        ),
        (4, [[BROKER], []], E.INVALID_REPLICA_ASSIGNMENT, "Cannot have replication factor of 0 for partition id 3."),
        (
            3,
            [[BROKER, BROKER]],
            E.INVALID_REPLICA_ASSIGNMENT,
            "Duplicate brokers not allowed in replica assignment: 0, 0 for partition id 2.",
        ),
        (4, [[BROKER], [BROKER]], E.NONE, None),
    ],
    ids=str,
)
def test_what_no_topic_becomes(
    cluster: RunningBroker, name: str, count: int, brokers: list[list[int]], error_code: ErrorCode, message: str | None
) -> None:
    create(cluster, CreatableTopic(name, 2, 1))
    for validate_only in (True, False):
        assert add(cluster, more(name, count, *brokers), validate_only=validate_only) == [(name, error_code, message)]
        assert partition_count(cluster, name) == (2 if validate_only or error_code else count)


def test_topics_that_become_longer_without_waiting_or_twice(cluster: RunningBroker, name: str) -> None:
    create(cluster, CreatableTopic(name, 1, 1), CreatableTopic(name + "-2", 1, 1))
    twice = more(name + "-2", 2), more(name + "-2", 3)
    assert add(cluster, *twice, more(name, 2), timeout_ms=0) == [
        (name, E.REQUEST_TIMED_OUT, None),
        (name + "-2", E.INVALID_REQUEST, "Duplicate topic in request."),
    ]
    until(lambda: partition_count(cluster, name) == 2)
    assert partition_count(cluster, name + "-2") == 1
