"""A broker at its limits: 10,000 partitions, 1,000 topics in a request, 5,000 connections, 500 members, 10,000 groups,
20,000 denied names.

So many partitions and groups are made by `scripts/soak --tests`; fewer, in every run, show as well whether a request
takes turns. Whatever of it is asked for, the event loop computes for 50 ms at a time at the most, or for longer by as
much as this machine is slower than the one that is known for it: it is measured beside. What a machine that
has something else to do keeps it waiting for (a core, the disk, another thread that has the interpreter and no core)
does not count here: it is in the log, and in `scripts/bench --whole`.
"""

import contextlib
import resource
import socket
import time
from collections.abc import Iterable, Iterator

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker
from barnabas.wire.protocol.api_keys import response_class
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.protocol.wire import Budget
from barnabas.wire.records.builder import BatchBuilder
from tests.integration.hostile_peers import ask, frame_of, new_topics, read_answer
from tests.integration.test_http import get
from tests.patience import PATIENCE_S
from tools.kafka.server import free_port

MOST_MS = 50
# What `yardstick` takes where MOST_MS holds.
YARDSTICK_MS = 6.0
TOPICS = [f"t{number}" for number in range(1_000)]
CONNECTION_COUNT, MEMBER_COUNT = 5_000, 500
WHOLE = [pytest.mark.whole, pytest.mark.alone]
GROUP_COUNTS = [2_000, pytest.param(10_000, marks=WHOLE)]
# Half of the descriptors are for partitions; and a few remain for others.
MOST_PARTITIONS, DESCRIPTOR_COUNT = 9_900, 20_000
# The partitions of one topic, and of each of 49 others.
PARTITION_COUNTS = [(1_500, 5), pytest.param(5_000, 100, marks=WHOLE)]
SMALL_COUNT = 49
DENIED_COUNT = 20_000
TOPIC_RESOURCE = 2
METRICS_PORT = free_port()
COMES_LATER = (14, 15, 16)
TIMEOUT_MS = int(PATIENCE_S * 1_000)
CONFIG = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "1000",
    "auto.create.topics.enable": "false",
}


@pytest.fixture
def broker():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < DESCRIPTOR_COUNT:
        pytest.skip(f"a process may have {hard} files open, {DESCRIPTOR_COUNT} are needed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    metrics = {"barnabas.http.listeners": str(METRICS_PORT), "barnabas.metrics.max.entities": str(2 * MOST_PARTITIONS)}
    with Broker(config={**CONFIG, **metrics}, start_timeout_s=PATIENCE_S) as broker:
        yield broker
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def yardstick() -> float:
    """The CPU milliseconds that some work of a kind with the broker's takes here and now."""
    found = {}
    start_ns = time.thread_time_ns()
    for number in range(60_000):
        found[number & 1_023] = (number, str(number))
    return (time.thread_time_ns() - start_ns) / 1e6


@contextlib.contextmanager
def no_stall(broker: Broker) -> Iterator[None]:
    """What is done within keeps nobody waiting for long."""
    slowness = [yardstick()]
    broker.stalls_of_late_ms()
    yield
    longest_ms, computing_ms = broker.stalls_of_late_ms()
    slowness.append(yardstick())
    most_ms = MOST_MS * max(1, max(slowness) / YARDSTICK_MS)
    told = f"the loop computed for {computing_ms} ms (of {most_ms:.0f}), and stood still for {longest_ms} ms"
    print(told)
    assert computing_ms <= most_ms, told


def scraped(name: str) -> list[str]:
    """The lines of one metric."""
    status, body = get(("127.0.0.1", METRICS_PORT), "/metrics")
    assert status == 200
    return [line for line in body.decode().splitlines() if line.startswith((f"{name}{{", f"{name} "))]


def create(broker: Broker, names: Iterable[str], partition_count: int = 1) -> None:
    request = new_topics(names, partition_count)
    request.timeout_ms = TIMEOUT_MS
    assert {topic.error_code for topic in ask(broker, request, 4).topics} == {0}


def delete(broker: Broker, names: list[str]) -> None:
    answer = ask(broker, DeleteTopicsRequest(names, TIMEOUT_MS), 3)
    assert {topic.error_code for topic in answer.responses} == {0}


def batch() -> bytes:
    builder = BatchBuilder()
    builder.append(0, b"key", b"value")
    return bytes(builder.build())


def produce(topic: str, partitions: Iterable[int]) -> ProduceRequest:
    records = batch()
    return ProduceRequest(
        None, 1, 1_000, [TopicProduceData(topic, [PartitionProduceData(i, records) for i in partitions])]
    )


def list_offsets(topics: dict[str, int]) -> ListOffsetsRequest:
    asked = {name: [ListOffsetsPartition(i, timestamp=-1) for i in range(count)] for name, count in topics.items()}
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, partitions) for name, partitions in asked.items()])


def fetch(topics: dict[str, int], max_wait_ms: int = 100, offset: int = 0) -> FetchRequest:
    asked = {
        name: [FetchPartition(i, fetch_offset=offset, partition_max_bytes=1_000) for i in range(count)]
        for name, count in topics.items()
    }
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(name, partitions=partitions) for name, partitions in asked.items()],
    )


def commit(group: str, partition_count: int) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(index, 1) for index in range(partition_count)]
    return OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic("t", partitions)])


def connect(broker: Broker) -> socket.socket:
    return socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S)


def ask_all(sockets: list[socket.socket], requests: list, version: int) -> list:
    """All requests are under way at once; their answers."""
    for sock, request in zip(sockets, requests, strict=True):
        sock.sendall(frame_of(request, version))
    answer = response_class(requests[0].API_KEY)
    return [answer.decode(version, memoryview(read_answer(sock)), 4, Budget(1 << 40))[0] for sock in sockets]


def find_coordinator(broker: Broker) -> None:
    while ask(broker, FindCoordinatorRequest("g"), 0).error_code in COMES_LATER:
        pass


def test_a_thousand_topics_in_one_request(broker):
    with no_stall(broker):
        create(broker, TOPICS)
    one_each = dict.fromkeys(TOPICS, 1)
    with no_stall(broker):
        assert len(ask(broker, MetadataRequest(None), 4).topics) == len(TOPICS)
        named = MetadataRequest([MetadataRequestTopic(name=name) for name in TOPICS])
        assert {topic.error_code for topic in ask(broker, named, 9).topics} == {0}
    with no_stall(broker):
        resources = [DescribeConfigsResource(TOPIC_RESOURCE, name, None) for name in TOPICS]
        assert len(ask(broker, DescribeConfigsRequest(resources, True, True), 3).results) == len(TOPICS)
    with no_stall(broker):
        assert len(ask(broker, list_offsets(one_each), 4).topics) == len(TOPICS)
        assert len(ask(broker, fetch(one_each), 11).responses) == len(TOPICS)
    with no_stall(broker):
        delete(broker, TOPICS)
    assert ask(broker, MetadataRequest(None), 4).topics == []


def test_very_many_names_that_are_denied():
    names = [f"t{number}" for number in range(DENIED_COUNT)]
    authorizer = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
    with Broker(config={**CONFIG, **authorizer}, start_timeout_s=PATIENCE_S) as broker:
        with no_stall(broker):
            deleted = ask(broker, DeleteTopicsRequest(names, TIMEOUT_MS), 3).responses
            assert {each.error_code for each in deleted} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
        with no_stall(broker):
            assert len(ask(broker, list_offsets(dict.fromkeys(names, 0)), 4).topics) == DENIED_COUNT


@pytest.mark.parametrize(("large", "each"), PARTITION_COUNTS)
def test_very_many_partitions(broker, large, each):
    small = [f"s{number}" for number in range(SMALL_COUNT)]
    partition_count = large + SMALL_COUNT * each
    with no_stall(broker):
        create(broker, ["large"], large)
        create(broker, small, each)
    with no_stall(broker):
        answer = ask(broker, MetadataRequest(None), 9)
        assert sum(len(topic.partitions) for topic in answer.topics) == partition_count
    with no_stall(broker):
        ask(broker, produce("large", range(large)), 7)
    with no_stall(broker):
        offsets = ask(broker, list_offsets({"large": large}), 4).topics[0].partitions
        assert {partition.offset for partition in offsets} == {1}
        ask(broker, fetch({"large": large}), 11)
    with no_stall(broker):
        create(broker, ["one"])
        delete(broker, ["one"])
    find_coordinator(broker)
    with no_stall(broker):
        request = commit("g", large)
        request.topics[0].name = "large"
        ask(broker, request, 6)
        assert len(ask(broker, OffsetFetchRequest("g", None), 7).topics[0].partitions) == large
    with no_stall(broker):
        # With that of the offsets.
        assert len(scraped("kafka_log_log_size")) == partition_count + 1
    with no_stall(broker):
        delete(broker, ["large", *small])


def test_five_thousand_connections(broker):
    create(broker, ["t"])
    ask(broker, produce("t", [0]), 7)
    sockets = []
    with contextlib.ExitStack() as stack, no_stall(broker):
        with no_stall(broker):
            for _ in range(CONNECTION_COUNT):
                sockets.append(stack.enter_context(connect(broker)))
        with no_stall(broker):
            ask_all(sockets, [MetadataRequest(None)] * len(sockets), 4)
        with no_stall(broker):
            waiting = frame_of(fetch({"t": 1}, TIMEOUT_MS, offset=1), 4)
            for sock in sockets:
                sock.sendall(waiting)
            ask(broker, produce("t", [0]), 7)
            assert all(read_answer(sock) for sock in sockets)
        # All leave together, at the end of the stack.


@pytest.mark.parametrize("group_count", GROUP_COUNTS)
def test_five_hundred_members_and_very_many_groups(broker, group_count):
    create(broker, ["t"])
    find_coordinator(broker)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connect(broker)) for _ in range(MEMBER_COUNT)]

        def join(member_id: str) -> JoinGroupRequest:
            return JoinGroupRequest(
                "g",
                TIMEOUT_MS,
                TIMEOUT_MS,
                member_id,
                None,
                "consumer",
                [JoinGroupRequestProtocol("range", b"t" * 100)],
            )

        with no_stall(broker):
            ids = [answer.member_id for answer in ask_all(sockets, [join("")] * MEMBER_COUNT, 4)]
            joined = ask_all(sockets, [join(member_id) for member_id in ids], 4)
            assert {(each.error_code, each.generation_id) for each in joined} == {(0, 1)}
            requests = [
                SyncGroupRequest(
                    "g",
                    1,
                    member_id,
                    assignments=[SyncGroupRequestAssignment(member.member_id, b"a" * 100) for member in answer.members],
                )
                for member_id, answer in zip(ids, joined, strict=True)
            ]
            assert {each.error_code for each in ask_all(sockets, requests, 2)} == {0}
        with no_stall(broker):
            beats = [HeartbeatRequest("g", 1, member_id) for member_id in ids]
            assert {each.error_code for each in ask_all(sockets, beats, 2)} == {0}
        with no_stall(broker):
            described = ask(broker, DescribeGroupsRequest(["g"] * 60), 5).groups
            assert {len(group.members) for group in described} == {MEMBER_COUNT}
    with no_stall(broker), connect(broker) as sock:
        for number in range(group_count):
            sock.sendall(frame_of(commit(f"g{number}", 1), 6))
            read_answer(sock)
    with no_stall(broker):
        assert len(ask(broker, ListGroupsRequest(), 4).groups) == group_count + 1
    with no_stall(broker):
        (line,) = scraped("kafka_coordinator_group_groupmetadatamanager_numgroups")
        assert line.split()[1] == str(group_count + 1)
    with no_stall(broker):
        names = [f"g{number}" for number in range(group_count)]
        assert len(ask(broker, DescribeGroupsRequest(names), 5).groups) == group_count
    with no_stall(broker):
        delete(broker, ["t"])
        while len(ask(broker, ListGroupsRequest(), 4).groups) > 1:
            pass
