"""Groups: consumers that start together, commits, and idle members that only send heartbeats."""

import heapq
import select
import socket
import statistics
import struct
import time
from collections.abc import Generator, Sequence
from typing import Any

from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.wire.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.protocol.wire import Message
from benchmarks.load.process import cpu, resident_mb
from benchmarks.log_numbers.brokers import Measured
from benchmarks.whole.topics import create, produce_one_each
from benchmarks.whole.wire import MEMBER_ID_REQUIRED, NONE, REBALANCE_IN_PROGRESS, Peer, ask_all, decoded, flood, frame

Figures = dict[str, float]

_CONSUMER_COUNTS = (1, 10, 200)
_ROUND_COUNT, _WARMUP_COUNT = 9, 20
# No member expires while others are measured.
_SESSION_MS = 300_000
_COMMIT_COUNT, _COMMIT_CONNECTIONS = 30_000, 50
_IDLE_CONNECTIONS, _IDLE_MEMBERS = 5_000, 500
_HEARTBEAT_S, _IDLE_S = 3.0, 15.0
# Heartbeat interval, after which a consumer learns that it must rejoin. The default of 3 s would hide all other costs.
_REBALANCE_HEARTBEAT_S = 0.05
_TOPIC = "whole"


def _find(peer: Peer, group: str) -> None:
    peer.ask_until(FindCoordinatorRequest(group), 0, lambda answer: answer.error_code)


def _join(group: str, member_id: str, user_data: bytes = b"") -> JoinGroupRequest:
    subscription = b"\0\0\0\0\0\1\0\5" + _TOPIC.encode() + struct.pack(">i", len(user_data)) + user_data
    protocols = [JoinGroupRequestProtocol("range", subscription)]
    return JoinGroupRequest(group, _SESSION_MS, _SESSION_MS, member_id, None, "consumer", protocols)


def join_together(peers: Sequence[Peer], group: str) -> list[tuple[str, int]]:
    """Make all peers members of one generation; return their member ids and generations."""
    named = ask_all(peers, [_join(group, "")] * len(peers), 4)
    _check(named, MEMBER_ID_REQUIRED)
    ids = [answer.member_id for answer in named]
    # The coordinator does not wait for others after a group's first member. So the first peer forms a generation alone,
    # before the others join.
    (first,) = ask_all(peers[:1], [_join(group, ids[0])], 4)
    _check(ask_all(peers[:1], [SyncGroupRequest(group, first.generation_id, ids[0])], 2), NONE)
    while True:
        joined = ask_all(peers, [_join(group, member_id) for member_id in ids], 4)
        _check(joined, NONE)
        if len({answer.generation_id for answer in joined}) == 1:
            break
    return _sync(peers, group, ids, joined)


def rejoin(peers: Sequence[Peer], group: str, ids: Sequence[str], number: int) -> None:
    """Make all members join a new generation: each has a new subscription, so the first join starts a rebalance."""
    joined = ask_all(peers, [_join(group, member_id, b"%d" % number) for member_id in ids], 4)
    _check(joined, NONE)
    _sync(peers, group, ids, joined)


def _sync(peers: Sequence[Peer], group: str, ids: Sequence[str], joined: Sequence[Any]) -> list[tuple[str, int]]:
    requests = []
    for member_id, answer in zip(ids, joined, strict=True):
        shares = [SyncGroupRequestAssignment(member.member_id, b"share") for member in answer.members]
        requests.append(SyncGroupRequest(group, answer.generation_id, member_id, assignments=shares))
    _check(ask_all(peers, requests, 2), NONE)
    return [(member_id, answer.generation_id) for member_id, answer in zip(ids, joined, strict=True)]


def _check(answers: Sequence[Any], error_code: int) -> None:
    errors = {answer.error_code for answer in answers}
    if errors != {error_code}:
        raise RuntimeError(f"error codes {sorted(errors)}")


class _Consumer:
    """One member of a group: joins, gets its offsets, fetches once, then sends heartbeats."""

    def __init__(self, peer: Peer, group: str) -> None:
        self.peer, self._group, self._member_id = peer, group, ""
        self.has_record = False
        self.answer_of: tuple[int, int] = (0, 0)

    def steps(self) -> Generator[tuple[Message, int] | None, Any, None]:
        """Yield requests with their versions, and receive the responses; None: wait until the next heartbeat."""
        while True:
            generation, partitions = yield from self._join()
            if partitions and not self.has_record:
                yield from self._fetch(partitions)
                self.has_record = True
            while True:
                yield None
                answer = yield HeartbeatRequest(self._group, generation, self._member_id), 2
                if answer.error_code == REBALANCE_IN_PROGRESS:
                    break
                _check([answer], NONE)

    def _join(self) -> Generator[tuple[Message, int] | None, Any, tuple[int, list[int]]]:
        while True:
            joined = yield _join(self._group, self._member_id), 4
            if joined.error_code == MEMBER_ID_REQUIRED:
                self._member_id = joined.member_id
                continue
            _check([joined], NONE)
            shares = [
                SyncGroupRequestAssignment(member.member_id, struct.pack(">i", number))
                for number, member in enumerate(joined.members)
            ]
            synced = yield SyncGroupRequest(self._group, joined.generation_id, self._member_id, assignments=shares), 2
            if synced.error_code != REBALANCE_IN_PROGRESS:
                _check([synced], NONE)
                return joined.generation_id, list(struct.unpack(f">{len(synced.assignment) // 4}i", synced.assignment))

    def _fetch(self, partitions: list[int]) -> Generator[tuple[Message, int] | None, Any, None]:
        _check([(yield OffsetFetchRequest(self._group, [OffsetFetchRequestTopic(_TOPIC, partitions)]), 5)], NONE)
        earliest = [ListOffsetsPartition(each, timestamp=-2) for each in partitions]
        yield ListOffsetsRequest(-1, 0, [ListOffsetsTopic(_TOPIC, earliest)]), 2
        wanted = [FetchPartition(each, partition_max_bytes=1 << 20) for each in partitions]
        topics = [FetchTopic(_TOPIC, partitions=wanted)]
        answer = yield FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, topics=topics), 4
        if not any(each.records for each in answer.responses[0].partitions):
            raise RuntimeError("no record")


def _consume_first(peers: Sequence[Peer], group: str) -> float:
    """Start a consumer on each connection; return the seconds until the last one has its first record."""
    start = time.perf_counter()
    poller, waiting, running = select.epoll(), [], {}

    def go_on(descriptor: int, answer: Any) -> None:
        consumer, steps = running[descriptor]
        step = steps.send(answer)
        if step is None:
            heapq.heappush(waiting, (time.perf_counter() + _REBALANCE_HEARTBEAT_S, descriptor))
        else:
            consumer.answer_of = step[0].API_KEY, step[1]
            consumer.peer.send(frame(*step))

    for peer in peers:
        consumer = _Consumer(peer, group)
        running[peer.socket.fileno()] = consumer, consumer.steps()
        poller.register(peer.socket, select.EPOLLIN)
        go_on(peer.socket.fileno(), None)
    while not all(consumer.has_record for consumer, _ in running.values()):
        while waiting and waiting[0][0] <= time.perf_counter():
            go_on(heapq.heappop(waiting)[1], None)
        timeout_s = max(0.0, waiting[0][0] - time.perf_counter()) if waiting else 60.0
        for descriptor, _ in poller.poll(timeout_s):
            consumer = running[descriptor][0]
            go_on(descriptor, decoded(*consumer.answer_of, consumer.peer.receive()))
    elapsed_s = time.perf_counter() - start
    poller.close()
    return elapsed_s


def rebalances(broker: Measured) -> Figures:
    """The time from the first JoinGroup to the last consumer's first record, when many consumers start at once."""
    broker.start()
    most = max(_CONSUMER_COUNTS)
    create(broker, {_TOPIC: most})
    produce_one_each(broker, {_TOPIC: most})
    _find(Peer(broker.address), "g")
    figures: Figures = {}
    for number in range(_WARMUP_COUNT):
        _consume_first(fresh := [Peer(broker.address) for _ in range(10)], f"warm-{number}")
        for peer in fresh:
            peer.close()
    for count in _CONSUMER_COUNTS:
        times_s, before_s = [], cpu(broker.pid)
        for number in range(_ROUND_COUNT):
            times_s.append(_consume_first(fresh := [Peer(broker.address) for _ in range(count)], f"g-{count}-{number}"))
            for peer in fresh:
                peer.close()
        figures[f"first_record_{count}_ms"] = statistics.median(times_s) * 1e3
        figures[f"first_record_{count}_cpu"] = (cpu(broker.pid) - before_s) / _ROUND_COUNT * 1e3
    return figures


def commits(broker: Measured) -> Figures:
    """Commits of one offset, from many connections, each for its own group."""
    broker.start()
    create(broker, {_TOPIC: 1})
    peers = [Peer(broker.address) for _ in range(_COMMIT_CONNECTIONS)]
    _find(peers[0], "g")
    offsets = [OffsetCommitRequestTopic(_TOPIC, [OffsetCommitRequestPartition(0, 1)])]
    requests = [frame(OffsetCommitRequest(f"group-{number}", topics=offsets), 6) for number in range(len(peers))]
    flood(peers, requests, _COMMIT_COUNT // 2, error_at=2)
    start, before_s = time.perf_counter(), cpu(broker.pid)
    times_s = flood(peers, requests, _COMMIT_COUNT, error_at=2)
    elapsed_s = time.perf_counter() - start
    return {
        "commits_per_s": _COMMIT_COUNT / elapsed_s,
        "commit_p50_us": statistics.median(times_s) * 1e6,
        "commit_cpu": (cpu(broker.pid) - before_s) / _COMMIT_COUNT * 1e6,
    }


def idle(broker: Measured) -> Figures:
    """Idle connections, and members that only send heartbeats."""
    broker.start()
    create(broker, {_TOPIC: 1})
    members = [Peer(broker.address) for _ in range(_IDLE_MEMBERS)]
    _find(members[0], "g")
    # A broker's work in its first seconds is not its cost of being idle.
    _heartbeat_for(broker, members[:0], [], _HEARTBEAT_S)
    alone_s = _heartbeat_for(broker, members[:0], [], _IDLE_S / 2) / (_IDLE_S / 2)
    before_mb = resident_mb(broker.pid)
    host, port = broker.address.rsplit(":", 1)
    silent = [socket.create_connection((host, int(port))) for _ in range(_IDLE_CONNECTIONS)]
    after_mb = resident_mb(broker.pid)
    connected_s = _heartbeat_for(broker, members[:0], [], _IDLE_S) / _IDLE_S
    joined = join_together(members, "g")
    beats = [frame(HeartbeatRequest("g", generation, member_id), 2) for member_id, generation in joined]
    beating_s = _heartbeat_for(broker, members, beats, _IDLE_S) / _IDLE_S
    for connection in silent:
        connection.close()
    return {
        "idle_cpu_per_s": alone_s * 1e3,
        "connected_cpu_per_s": connected_s * 1e3,
        "members_cpu_per_s": beating_s * 1e3,
        "connection_kb": (after_mb - before_mb) * 1e3 / _IDLE_CONNECTIONS,
    }


def _heartbeat_for(broker: Measured, members: Sequence[Peer], beats: Sequence[bytes], seconds: float) -> float:
    """Send each member's heartbeat every three seconds, evenly distributed; return the broker's CPU."""
    before_s, start = cpu(broker.pid), time.perf_counter()
    number = 0
    while (elapsed_s := time.perf_counter() - start) < seconds:
        while members and number < elapsed_s / _HEARTBEAT_S * len(members):
            member, beat = members[number % len(members)], beats[number % len(members)]
            member.send(beat)
            if member.receive()[8:10] != b"\0\0":
                raise RuntimeError("a heartbeat was refused")
            number += 1
        time.sleep(0.01)
    return cpu(broker.pid) - before_s
