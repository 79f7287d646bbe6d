"""Files that name partitions, and how far a reassignment is."""

import json

import pytest

from barnabas.cli.partition_files import read_partitions
from barnabas.cli.reassign_plan import ReplicaLocation, Target, read_plan
from barnabas.cli.reassign_steps import _log_state, execute_plan, verify_plan
from barnabas.clients.admin_replicas import ReplicaAdmin, ReplicaLog
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from barnabas.wire.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from barnabas.wire.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.unit.clients.memory_broker import MemoryBroker

PARTITION = TopicPartition("t", 0)
NAME = {"topic": "t", "partition": 0}


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "file.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def test_partitions_are_read_with_what_stands_beside_them(file):
    other = {"topic": "u", "partition": 3, "offset": 5}
    assert read_partitions(file({"partitions": [NAME, other]})) == {PARTITION: NAME, TopicPartition("u", 3): other}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ("[]", 'must have the form {"version":1,"partitions"'),
        ({"partitions": {}}, 'must have the form {"version":1,"partitions"'),
        ({"partitions": []}, "the list of partitions is empty"),
        ({"version": 2, "partitions": [NAME]}, "version 2 is not supported; must be 1"),
        ({"partitions": [NAME, NAME]}, "partition t-0 is listed twice"),
        ({"partitions": ["t"]}, "entry 1 of partitions must have a topic and a partition"),
        ({"partitions": [{"topic": "t", "partition": -1}]}, "entry 1 of partitions must have"),
        ({"partitions": [{"topic": "t", "partition": True}]}, "entry 1 of partitions must have"),
        ({"partitions": [{"topic": "", "partition": 0}]}, "entry 1 of partitions must have"),
    ],
)
def test_what_is_no_such_file_is_said_in_a_line(file, content, complaint):
    with pytest.raises(BarnabasError) as caught:
        read_partitions(file(content))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan(file):
    moves = [{**NAME, "partition": 1, "replicas": [2, 1]}, {**NAME, "replicas": [0], "log_dirs": ["/d"]}]
    plan = read_plan(file({"version": 1, "partitions": moves}))
    assert list(plan.items()) == [
        (PARTITION, Target([0], ["/d"])),
        (TopicPartition("t", 1), Target([2, 1], ["any", "any"])),
    ]


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({}, "replicas of t-0 must be a list of broker ids"),
        ({"replicas": []}, "replicas of t-0 must be"),
        ({"replicas": ["0"]}, "replicas of t-0 must be"),
        ({"replicas": [0, 0]}, "t-0 names a broker twice"),
        ({"replicas": [0], "log_dirs": "any"}, "log_dirs of t-0 must be a list of paths"),
        ({"replicas": [0], "log_dirs": ["any", "any"]}, "t-0 has 1 replicas and 2 log_dirs"),
    ],
)
def test_what_is_no_plan(file, entry, complaint):
    with pytest.raises(BarnabasError, match=complaint):
        read_plan(file({"partitions": [{**NAME, **entry}]}))


@pytest.mark.parametrize(
    ("logs", "state", "detail"),
    [
        ({"/b": False}, "done", ""),
        ({"/a": False, "/b": True}, "moving", ""),
        ({"/a": False}, "wrong", "it is in /a rather than in /b"),
        ({"/b": False, "/c": True}, "wrong", "it is moving to /c rather than /b"),
        ({}, "wrong", "it is not there rather than in /b"),
    ],
)
def test_how_far_a_log_is(logs, state, detail):
    places = [ReplicaLocation(1, path, ReplicaLog(PARTITION, 5, 0, is_future)) for path, is_future in logs.items()]
    elsewhere = [ReplicaLocation(2, "/b", ReplicaLog(PARTITION, 5, 0, False))]
    found = _log_state(1, PARTITION, "/b", places + elsewhere)
    assert (found.what, found.state, found.detail) == ("replica t-0-1", state, detail)


@pytest.mark.parametrize("additional", [False, True])
def test_nothing_is_moved_beside_what_moves_unless_it_is_said(additional):
    moving = [OngoingTopicReassignment("u", [OngoingPartitionReassignment(1, [0, 1], [1], [0])])]
    broker = MemoryBroker(
        {
            ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda request: ListPartitionReassignmentsResponse(topics=moving),
            ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda request: AlterPartitionReassignmentsResponse(),
        }
    )

    async def use(pool):
        await execute_plan(ReplicaAdmin(pool), {PARTITION: Target([0], ["any"])}, additional=additional)

    if additional:
        broker.run(use)
    else:
        with pytest.raises(BarnabasError, match="other partitions are being reassigned"):
            broker.run(use)
    assert len(broker.requests[ApiKey.ALTER_PARTITION_REASSIGNMENTS]) == additional


def test_how_far_partitions_are():
    moving = [OngoingTopicReassignment("t", [OngoingPartitionReassignment(1, [0, 1], [1], [0])])]
    broker = MemoryBroker(
        {
            ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda request: ListPartitionReassignmentsResponse(topics=moving),
            ApiKey.DESCRIBE_LOG_DIRS: lambda request: log_dirs_of({"/a": {(1, False): 5_000}}),
        }
    )
    broker.partition_count = 3

    async def use(pool):
        wanted = {0: [0], 1: [1], 2: [1]}
        plan = {TopicPartition("t", index): Target(ids, ["any"]) for index, ids in wanted.items()}
        states = await verify_plan(ReplicaAdmin(pool), plan)
        assert [each.text for each in states] == [
            "is complete.",
            # Broker 1 is not there.
            "is still in progress: 0 bytes of 5 kB, nothing in the last second.",
            "is not active, but its replicas are 0 rather than 1.",
        ]

    broker.run(use)


def log_dirs_of(directories):
    """What a broker answers: sizes by directory, partition of t, and whether it is a future log."""
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                0,
                path,
                [
                    DescribeLogDirsTopic(
                        "t", [DescribeLogDirsPartition(p, size, 0, fut) for (p, fut), size in logs.items()]
                    )
                ],
            )
            for path, logs in directories.items()
        ]
    )


def test_how_fast_a_log_moves_between_directories():
    looks = [{"/a": {(0, False): 9_000}, "/b": {(0, True): copied}} for copied in (1_000, 3_000, 3_000)]
    broker = MemoryBroker(
        {
            ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda request: ListPartitionReassignmentsResponse(),
            ApiKey.DESCRIBE_LOG_DIRS: [lambda request, look=look: log_dirs_of(look) for look in looks],
        }
    )

    async def use(pool):
        partition, replica = await verify_plan(ReplicaAdmin(pool), {PARTITION: Target([0], ["/b"])})
        assert partition.text == "is complete."
        assert (replica.what, replica.text) == (
            "replica t-0-0",
            "is still in progress: 3 kB of 9 kB, 2 kB/s, 3 s left.",
        )

    broker.run(use)
