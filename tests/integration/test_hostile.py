"""Hostile peers: mutated and random frames, and connections that send half a frame and wait.

The broker runs in its own process. Its own watchdog says how long its event loop stood still, its own /proc entry how
much memory it holds.
"""

import contextlib
import json
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.wire import Budget, WireBuffer
from barnabas.testing import Broker

VECTORS = Path(__file__).parent.parent / "golden" / "message-vectors.tsv"
SCHEMAS = Path(__file__).parent.parent.parent / "schemas" / "messages"
FRAME_COUNT = 100_000
CONNECTION_COUNT = 1_000
ROUND_COUNT = 1_000
BURST_COUNT = 20
LONGEST_STALL_MS = 50
# A single request with as many elements as are allowed at all takes its time.
LONGEST_STALL_OF_LARGE_REQUEST_MS = 500
PATIENCE_S = 20
# A request of a hostile peer may well be right: what it makes the broker keep (topics, groups) is not a leak.
KEPT_MB = 20
LEFT_MB = 4
LENGTHS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\1\x86\xa1")
API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def golden_frames() -> list[bytes]:
    """Every request of the golden vectors as a frame without its size."""
    keys: dict[str, tuple[int, int | None]] = {}
    for path in SCHEMAS.glob("*Request.json"):
        schema = json.loads(path.read_text())
        flexible = schema["flexibleVersions"]
        keys[schema["name"]] = (
            schema["apiKey"],
            None if flexible == "none" else int(flexible.rstrip("+").split("-")[0]),
        )
    frames = []
    for line in VECTORS.read_text().splitlines():
        if line.startswith("#"):
            continue
        name, version, body, _ = line.split("\t")
        if name not in keys:
            continue
        api_key, flexible_from = keys[name]
        header = struct.pack(">hhih", api_key, int(version), 7, 4) + b"fuzz"
        if flexible_from is not None and int(version) >= flexible_from:
            header += b"\0"
        frames.append(header + (b"" if body == "-" else bytes.fromhex(body)))
    return frames


def mutated(source: random.Random, frames: list[bytes]) -> Iterator[bytes]:
    """Frames with bits flipped, bytes cut out or put in, lengths blown up; and random ones."""
    while True:
        if source.random() < 0.1:
            yield source.randbytes(source.randrange(0, 300))
            continue
        frame = bytearray(source.choice(frames))
        for _ in range(source.choice((1, 1, 2, 5))):
            place = source.randrange(len(frame) + 1)
            match source.randrange(5):
                case 0 if place < len(frame):
                    frame[place] ^= 1 << source.randrange(8)
                case 1:
                    del frame[place : place + source.randrange(1, 9)]
                case 2:
                    frame[place:place] = source.randbytes(source.randrange(1, 9))
                case 3:
                    frame[place : place + 4] = source.choice(
                        (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\1\x86\xa1")
                    )
                case _:
                    del frame[place:]
        yield bytes(frame)


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the broker is gone")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def is_answering(broker: Broker) -> bool:
    with socket.create_connection((broker.host, broker.port), timeout=10) as sock:
        sock.sendall(API_VERSIONS_V0)
        return len(sock.recv(65536)) > 10


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(config={"auto.create.topics.enable": "false"}) as made:
        yield made


def stall_ms(broker: Broker) -> int:
    """The longest stall of the loop, as the broker says when it stops."""
    broker.stop()
    lines = [line for line in broker.log_text().splitlines() if "longest stall of the event loop" in line]
    return int(lines[-1].split("longest stall of the event loop: ")[1].split()[0])


def answered_count(sock: socket.socket) -> int:
    """How many answers come before the broker closes the connection."""
    data = bytearray()
    with contextlib.suppress(ConnectionError):
        while part := sock.recv(1 << 20):
            data += part
    count = position = 0
    while len(data) - position >= 4:
        (size,) = struct.unpack_from(">i", data, position)
        position += 4 + size
        count += position <= len(data)
    return count


def send_all(broker: Broker, frames: list[bytes]) -> None:
    """Have the broker take every frame: those behind one that cost its connection go into the next connection."""
    start = 0
    while start < len(frames):
        burst = frames[start : start + BURST_COUNT]
        with socket.create_connection((broker.host, broker.port), timeout=30) as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in burst))
                sock.shutdown(socket.SHUT_WR)
            # The first that was not answered is the one that the connection was closed for.
            start += answered_count(sock) + 1


def test_mutated_frames_cost_nobody_else_anything(broker):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = mutated(random.Random(seed), golden_frames())
    before_mb = resident_mb(broker.pid)
    for _ in range(FRAME_COUNT // ROUND_COUNT):
        send_all(broker, [next(source) for _ in range(ROUND_COUNT)])
    assert is_answering(broker)
    assert "Traceback" not in broker.log_text()
    assert resident_mb(broker.pid) < before_mb + KEPT_MB
    assert stall_ms(broker) <= LONGEST_STALL_MS


def test_a_thousand_connections_with_half_a_frame_cost_nothing_that_stays(broker):
    assert is_answering(broker)
    before_mb = resident_mb(broker.pid)
    sockets = []
    for number in range(CONNECTION_COUNT):
        sock = socket.create_connection((broker.host, broker.port), timeout=10)
        # Each claims a large frame, sends a little of it, and waits.
        sock.sendall(struct.pack(">ihhih", 50_000_000, 0, 7, number, 4) + b"half" + b"x" * 2_000)
        sockets.append(sock)
    assert is_answering(broker)
    assert resident_mb(broker.pid) < before_mb + 60
    for sock in sockets:
        sock.close()
    assert is_answering(broker)
    wait_until(lambda: resident_mb(broker.pid) < before_mb + LEFT_MB)
    assert "Traceback" not in broker.log_text()
    assert stall_ms(broker) <= LONGEST_STALL_MS


# --- requests that are right and ask for very much


def frame_of(request, version: int) -> bytes:
    out = WireBuffer()
    request.encode(version, out)
    header = struct.pack(">hhih", request.API_KEY, version, 7, 4) + b"evil"
    if version >= FIRST_FLEXIBLE_VERSION[request.API_KEY]:
        header += b"\0"
    return struct.pack(">i", len(header) + len(out)) + header + bytes(out)


def read_answer(sock: socket.socket) -> bytes:
    """The next answer's header and body; empty when the connection is closed."""
    data = bytearray()
    size = 4
    while len(data) < size:
        try:
            part = sock.recv(size - len(data))
        except ConnectionError:
            return b""
        if not part:
            return b""
        data += part
        if len(data) == 4:
            size += struct.unpack(">i", data)[0]
    return bytes(data[4:])


def ask(broker: Broker, request, version: int):
    """The answer, or None where the connection was closed for the request."""
    with socket.create_connection((broker.host, broker.port), timeout=60) as sock:
        sock.sendall(frame_of(request, version))
        data = read_answer(sock)
    if not data:
        return None
    position = 5 if version >= FIRST_FLEXIBLE_VERSION[request.API_KEY] else 4
    return response_class(request.API_KEY).decode(version, memoryview(data), position, Budget(1 << 40))[0]


def topic_errors(answer) -> set[int]:
    return {each.error_code for each in answer.topics}


def new_topics(names, partition_count=1, *, validate_only=False) -> CreateTopicsRequest:
    topics = [CreatableTopic(name, partition_count, 1) for name in names]
    return CreateTopicsRequest(topics, 30_000, validate_only)


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


def test_a_thousand_partitions_at_once_hold_nobody_up(broker):
    assert topic_errors(ask(broker, new_topics(["big"], 1_000), 4)) == {ErrorCode.NONE}
    assert_unharmed(broker)


def test_requests_that_name_very_many_partitions_are_answered(broker):
    many = range(90_000)
    fetched = ask(
        broker,
        FetchRequest(
            max_wait_ms=2**31 - 1,
            min_bytes=2**31 - 1,
            topics=[FetchTopic("t", partitions=[FetchPartition(each) for each in many])],
        ),
        11,
    )
    assert {each.error_code for each in fetched.responses[0].partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    records = b"r" * 61
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(each, records) for each in many])]
    produced = ask(broker, ProduceRequest(None, 1, 1_000, data), 7)
    assert len(produced.responses[0].partition_responses) == len(many)
    named = ask(broker, MetadataRequest([MetadataRequestTopic(name=f"t{each}") for each in many]), 4)
    assert topic_errors(named) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert_unharmed(broker)


def test_an_answer_does_not_grow_by_asking_again_in_one_request(broker):
    described = ask(broker, DescribeConfigsRequest([DescribeConfigsResource(4, "0", None)] * 50_000), 1)
    assert len(described.results) == 1
    assert_unharmed(broker)


def test_a_waiting_fetch_that_names_a_partition_very_often_costs_the_producers_nothing(broker):
    ask(broker, new_topics(["t"]), 4)
    with socket.create_connection((broker.host, broker.port), timeout=60) as sock:
        partitions = [FetchPartition(0)] * 90_000
        sock.sendall(
            frame_of(
                FetchRequest(
                    max_wait_ms=2**31 - 1, min_bytes=2**31 - 1, topics=[FetchTopic("t", partitions=partitions)]
                ),
                11,
            )
        )
        assert read_answer(sock)
    assert_unharmed(broker)


def test_joins_of_very_many_groups_and_members_cost_no_more_than_their_bytes(broker):
    while ask(broker, FindCoordinatorRequest("g"), 0).error_code:
        pass
    before_mb = resident_mb(broker.pid)
    join = JoinGroupRequest(
        "g", 30_000, 30_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"x" * 1_000)]
    )
    with contextlib.ExitStack() as stack:
        for number in range(500):
            sock = stack.enter_context(socket.create_connection((broker.host, broker.port), timeout=60))
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
            sock = stack.enter_context(socket.create_connection((broker.host, broker.port), timeout=60))
            sock.setblocking(False)
            # Until neither the broker nor the system between takes more.
            with contextlib.suppress(BlockingIOError):
                while sock.send(burst):
                    pass
        assert is_answering(broker)
        assert resident_mb(broker.pid) < before_mb + 40
    assert_unharmed(broker)


def assert_unharmed(broker: Broker) -> None:
    assert is_answering(broker)
    assert "Traceback" not in broker.log_text()
    assert stall_ms(broker) <= LONGEST_STALL_OF_LARGE_REQUEST_MS
