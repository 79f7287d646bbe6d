"""Hostile peers: mutated and random frames, and connections that send half a frame and wait.

The broker runs in its own process; its /proc entry says how much memory it holds. For how long its event loop was held
up is measured by `scripts/bench --hostile`.
"""

import contextlib
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from tests.integration.hostile_peers import (
    MANY,
    ask,
    describe_one_very_often,
    epochs_of_many,
    fetch_of_many,
    frame_of,
    golden_frames,
    groups_of_many,
    half_frames,
    list_offsets_of_many,
    metadata_of_many,
    mutated,
    new_topics,
    produce_of_many,
    read_answer,
    send_all,
)
from tests.patience import PATIENCE_S, is_readable, until

FRAME_COUNTS = [5_000, pytest.param(100_000, marks=pytest.mark.whole)]
CONNECTION_COUNT = 1_000
ROUND_COUNT = 1_000
# A request of a hostile peer may well be right: what it makes the broker keep (topics, groups) is not a leak.
KEPT_MB = 20
LEFT_MB = 4
LENGTHS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\1\x86\xa1")
API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the broker is gone")


def is_answering(broker: Broker) -> bool:
    with socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S) as sock:
        sock.sendall(API_VERSIONS_V0)
        return len(sock.recv(65536)) > 10


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker whose memory is measured, or which has no topics yet."""
    with Broker(config={"auto.create.topics.enable": "false"}) as made:
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    """A broker for those who look at their answers alone; it has no topic `t`."""
    with Broker(config={"auto.create.topics.enable": "false"}) as made:
        yield made


@pytest.mark.parametrize("frame_count", FRAME_COUNTS)
def test_mutated_frames_cost_nobody_else_anything(broker, frame_count):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = mutated(random.Random(seed), golden_frames())
    before_mb = resident_mb(broker.pid)
    for _ in range(frame_count // ROUND_COUNT):
        send_all(broker, [next(source) for _ in range(ROUND_COUNT)])
    assert is_answering(broker)
    assert "Traceback" not in broker.log_text()
    assert resident_mb(broker.pid) < before_mb + KEPT_MB


def test_a_thousand_connections_with_half_a_frame_cost_nothing_that_stays(broker):
    assert is_answering(broker)
    before_mb = resident_mb(broker.pid)
    sockets = half_frames(broker, CONNECTION_COUNT)
    assert is_answering(broker)
    assert resident_mb(broker.pid) < before_mb + 60
    for sock in sockets:
        sock.close()
    assert is_answering(broker)
    until(lambda: resident_mb(broker.pid) < before_mb + LEFT_MB)
    assert "Traceback" not in broker.log_text()


# --- requests that are right and ask for very much


def topic_errors(answer) -> set[int]:
    return {each.error_code for each in answer.topics}


def test_topics_beyond_all_measure_are_refused(broker):
    for partition_count in (2**31 - 1, 10_001):
        assert topic_errors(ask(broker, new_topics(["big"], partition_count), 4)) == {ErrorCode.INVALID_PARTITIONS}
    names = [f"t{number}" for number in range(20_000)]
    codes = [each.error_code for each in ask(broker, new_topics(names, validate_only=True), 4).topics]
    # As many as one request may create, and no more.
    assert codes == [ErrorCode.NONE] * 10_000 + [ErrorCode.INVALID_PARTITIONS] * 10_000
    wrong = [f"t {number}" for number in range(50_000)]
    assert topic_errors(ask(broker, new_topics(wrong), 4)) == {ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert ask(broker, new_topics([f"t{number}" for number in range(100_001)]), 4) is None
    assert ask(broker, MetadataRequest(None), 4).topics == []
    assert_unharmed(broker)


@pytest.mark.whole
def test_a_thousand_partitions_at_once_hold_nobody_up(broker):
    assert topic_errors(ask(broker, new_topics(["big"], 1_000), 4)) == {ErrorCode.NONE}
    assert_unharmed(broker)


def test_requests_that_name_very_many_partitions_are_answered(shared):
    fetched = ask(shared, fetch_of_many(), 11)
    assert {each.error_code for each in fetched.responses[0].partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    produced = ask(shared, produce_of_many(), 7)
    assert len(produced.responses[0].partition_responses) == len(MANY)
    assert topic_errors(ask(shared, metadata_of_many(), 4)) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    for many, version in ((list_offsets_of_many(), 4), (epochs_of_many(), 3)):
        (topic,) = ask(shared, many, version).topics
        assert [each.error_code for each in topic.partitions] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * len(MANY)
    assert len(ask(shared, groups_of_many(), 4).groups) == len(MANY)
    assert_unharmed(shared)


def test_an_answer_does_not_grow_by_asking_again_in_one_request(shared):
    described = ask(shared, describe_one_very_often(), 1)
    assert len(described.results) == 1
    assert_unharmed(shared)


def test_a_waiting_fetch_that_names_a_partition_very_often_waits_for_one(shared):
    ask(shared, new_topics(["waited"]), 4)
    partitions = [FetchPartition(0)] * 90_000
    fetched = ask(
        shared, FetchRequest(max_wait_ms=10, min_bytes=1, topics=[FetchTopic("waited", partitions=partitions)]), 11
    )
    assert [len(each.partitions) for each in fetched.responses] == [1]
    assert_unharmed(shared)


def test_joins_of_very_many_groups_and_members_cost_no_more_than_their_bytes(broker):
    while ask(broker, FindCoordinatorRequest("g"), 0).error_code:
        pass
    before_mb = resident_mb(broker.pid)
    join = JoinGroupRequest(
        "g", 30_000, 30_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"x" * 1_000)]
    )
    with contextlib.ExitStack() as stack:
        for number in range(500):
            sock = stack.enter_context(socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S))
            # Version 3 makes a member at once, version 4 only an id that is kept for a while.
            join.group_id = "one" if number % 2 else f"g{number}"
            sock.sendall(frame_of(join, 3 if number % 4 < 2 else 4))
        assert is_answering(broker)
        assert resident_mb(broker.pid) < before_mb + 30
    assert_unharmed(broker)


def test_who_never_reads_its_answers_holds_up_itself_alone(broker):
    before_mb = resident_mb(broker.pid)
    burst = API_VERSIONS_V0 * 1_000
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            sock = stack.enter_context(socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S))
            sock.setblocking(False)
            # Until neither the broker nor the system between takes more.
            with contextlib.suppress(BlockingIOError):
                while sock.send(burst):
                    pass
        assert is_answering(broker)
        assert resident_mb(broker.pid) < before_mb + 40
    assert_unharmed(broker)


def test_conversions_for_old_clients_share_one_budget(broker):
    """Batches that unpack to 32 MiB, asked for by six clients of Kafka 0.10, take no more than one of them does."""
    partitions = range(4)
    batch = BatchBuilder(Codec.GZIP)
    batch.append(1_600_000_000_000, None, bytes(32 << 20))
    data = bytes(batch.build())
    ask(broker, new_topics(["bombs"], len(partitions)), 4)
    for each in partitions:
        produced = ProduceRequest(None, 1, 1_000, [TopicProduceData("bombs", [PartitionProduceData(each, data)])])
        assert ask(broker, produced, 7).responses[0].partition_responses[0].error_code == 0
    wanted = [FetchPartition(each, fetch_offset=0, partition_max_bytes=1 << 20) for each in partitions]
    request = frame_of(FetchRequest(max_wait_ms=100, min_bytes=1, topics=[FetchTopic("bombs", partitions=wanted)]), 2)
    before_mb = peak_mb = resident_mb(broker.pid)
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(6):
            clients.append(stack.enter_context(socket.create_connection((broker.host, broker.port), PATIENCE_S)))
            clients[-1].sendall(request)
        for client in clients:
            while not is_readable(client, 0.02):
                peak_mb = max(peak_mb, resident_mb(broker.pid))
            assert len(read_answer(client)) > len(data) // 2
    # Unpacked and converted, and what is unpacked is put together from pieces.
    assert peak_mb - before_mb < 4 * 32
    assert_unharmed(broker)


def assert_unharmed(broker: Broker) -> None:
    assert is_answering(broker)
    assert "Traceback" not in broker.log_text()
