"""Transactions and committed offsets, with coordinators and leaders on all three brokers."""

import time

from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from benchmarks.cluster.clusters import Cluster
from benchmarks.cluster.rounds import Load
from benchmarks.load.lines import Figures
from benchmarks.whole.transactions import TOPIC, Producer, run
from benchmarks.whole.wire import Peer, flood, frame

_PRODUCER_COUNT, _TRANSACTION_COUNT = 20, 600
_GROUP_COUNT, _COMMIT_COUNT = 50, 6_000
_GROUP, _TRANSACTION = 0, 1


def _coordinator(cluster: Cluster, name: str, kind: int) -> Peer:
    """Connect to the broker that coordinates a group or a transactional id."""
    peer = Peer(cluster.members[1].bootstrap_servers)
    found = peer.ask_until(FindCoordinatorRequest(name, kind), 1, lambda answer: answer.error_code)
    peer.close()
    return Peer(f"{found.host}:{found.port}")


def transactions(cluster: Cluster) -> Load:
    """Twenty producers with transactions of ten records, each in its own partition."""
    leaders = [1 + number % 3 for number in range(_PRODUCER_COUNT)]
    cluster.create(TOPIC, [[leader, leader % 3 + 1, (leader + 1) % 3 + 1] for leader in leaders])
    producers = []
    for number, leader in enumerate(leaders):
        name = f"producer-{number}"
        coordinator, peer = _coordinator(cluster, name, _TRANSACTION), Peer(cluster.members[leader].bootstrap_servers)
        producers.append(Producer(coordinator, peer, name, number))

    def load() -> Figures:
        before, start = cluster.cpu(), time.perf_counter()
        run(producers, _TRANSACTION_COUNT)
        elapsed_s = time.perf_counter() - start
        return {
            "transactions_per_s": _TRANSACTION_COUNT / elapsed_s,
            "transaction_cpu": (cluster.cpu() - before) / _TRANSACTION_COUNT * 1e6,
        }

    return Load(load, "transaction_cpu")


def commits(cluster: Cluster) -> Load:
    """Commits of one offset from fifty connections, each for its own group."""
    cluster.create("committed", [[1, 2, 3]])
    offsets = [OffsetCommitRequestTopic("committed", [OffsetCommitRequestPartition(0, 1)])]
    groups = [f"group-{number}" for number in range(_GROUP_COUNT)]
    peers = [_coordinator(cluster, group, _GROUP) for group in groups]
    requests = [frame(OffsetCommitRequest(group, topics=offsets), 6) for group in groups]

    def load() -> Figures:
        before, start = cluster.cpu(), time.perf_counter()
        flood(peers, requests, _COMMIT_COUNT, error_at=2)
        elapsed_s = time.perf_counter() - start
        return {
            "commits_per_s": _COMMIT_COUNT / elapsed_s,
            "commit_cpu": (cluster.cpu() - before) / _COMMIT_COUNT * 1e6,
        }

    return Load(load, "commit_cpu")
