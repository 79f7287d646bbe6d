"""What a client without rights makes a broker keep: no more than its own bounds, however it calls things."""

import socket

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.quotas.entities import LONGEST_NAME
from benchmarks.attacks.memory import ATTACKS, attack, deny, frame_of, name
from benchmarks.attacks.target import AUTHORIZED, Target
from benchmarks.load.process import resident_mb
from benchmarks.whole.wire import Peer, decoded
from tests.patience import PATIENCE_S, until
from tools.kafka.server import free_port

# By names of 32 KB: 64 MB of them.
COUNT = 2_000
KEPT_MB = 20
MOST_PAGE_MB = 5
SMALL_MEMORY = dict.fromkeys(("socket.request.max.bytes", "queued.max.request.bytes"), str(32 << 20))


@pytest.mark.parametrize("what", ATTACKS)
def test_long_names_are_not_kept(what: str) -> None:
    frames, _ = ATTACKS[what]
    http = f"127.0.0.1:{free_port()}"
    with Broker(config={**AUTHORIZED, "barnabas.http.listeners": http}, host="::") as broker:
        deny(broker.port)
        grown = attack(Target(broker.port, broker.pid), frames(COUNT), f"http://{http}/metrics", settled_s=0)
        assert grown.during_mb < grown.before_mb + KEPT_MB
        assert grown.page_mb is not None
        assert grown.page_mb < MOST_PAGE_MB


def test_a_member_of_a_group_is_not_called_by_a_long_client_id() -> None:
    request = JoinGroupRequest("g", 10_000, 10_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")])
    with Broker(config={"offsets.topic.num.partitions": "1"}) as broker:
        peer = Peer(broker.bootstrap_servers)
        peer.ask_until(FindCoordinatorRequest("g"), 0, lambda answer: int(answer.error_code))
        peer.send(frame_of(request, 4, name(1).encode()))
        member_id = decoded(request.API_KEY, 4, peer.receive()).member_id
        peer.close()
    assert member_id.startswith("00000001xx")
    # With a UUID.
    assert len(member_id) <= LONGEST_NAME + 40


def test_fetches_that_wait_for_ever_keep_little() -> None:
    with Broker(config=SMALL_MEMORY) as broker:
        peers = [Peer(broker.bootstrap_servers) for _ in range(20)]
        created = peers[0].ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)]), 4)
        assert created.topics[0].error_code == 0
        before_mb = resident_mb(broker.pid)
        # 6 MB each.
        topics = [FetchTopic(name(each), partitions=[FetchPartition(0)]) for each in range(200)]
        topics.append(FetchTopic("t", partitions=[FetchPartition(0)]))
        frame = frame_of(FetchRequest(replica_id=-1, max_wait_ms=2**31 - 1, min_bytes=1, topics=topics), 11)
        for last, peer in zip([None, *peers], peers, strict=False):
            peer.send(frame)
            if last is not None:
                # It has waited longest.
                last.receive()
        kept_mb = resident_mb(broker.pid)
        for peer in peers:
            peer.close()
    assert kept_mb < before_mb + 80


def test_members_that_say_much_of_themselves_are_refused() -> None:
    with Broker(config={**SMALL_MEMORY, "offsets.topic.num.partitions": "1"}) as broker:
        peer = Peer(broker.bootstrap_servers)
        peer.ask_until(FindCoordinatorRequest("g"), 0, lambda answer: int(answer.error_code))
        before_mb = resident_mb(broker.pid)
        protocols = [JoinGroupRequestProtocol("range", bytes(3 << 20))]
        codes = []
        for number in range(60):
            request = JoinGroupRequest(f"g{number}", 1_800_000, 2**31 - 1, "", None, "consumer", protocols)
            codes.append(peer.ask(request, 3).error_code)
        kept_mb = resident_mb(broker.pid)
        peer.close()
    assert kept_mb < before_mb + 60
    assert codes == [ErrorCode.NONE] * 10 + [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 50


def test_responses_that_nobody_reads_are_bounded_together() -> None:
    # The response of 6 MB repeats the names.
    frame = frame_of(MetadataRequest([MetadataRequestTopic(name=name(each)) for each in range(200)]), 8)
    with Broker(config=SMALL_MEMORY) as broker:
        before_mb = resident_mb(broker.pid)
        silent = []
        for _ in range(25):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            sock.settimeout(PATIENCE_S)
            sock.connect((broker.host, broker.port))
            sock.sendall(frame)
            # The response has begun.
            sock.recv(1, socket.MSG_PEEK)
            silent.append(sock)
        # A busy machine may delay the turn in which the broker closes a connection.
        until(lambda: resident_mb(broker.pid) < before_mb + 80, lambda: (before_mb, resident_mb(broker.pid)))
        peer = Peer(broker.bootstrap_servers)
        peer.send(frame)
        assert len(peer.receive()) > 6_000_000
        peer.close()
        for sock in silent:
            sock.close()
