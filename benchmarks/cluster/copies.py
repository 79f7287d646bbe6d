"""Replication: a follower alone, a follower that catches up, and partitions that are reassigned."""

import os
import time

from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.records.builder import BatchBuilder
from benchmarks.cluster.clusters import Cluster
from benchmarks.cluster.rounds import Load, until_warm
from benchmarks.load import raw
from benchmarks.load.lines import Figures
from benchmarks.load.process import cpu

_ALL = -1
_BATCH_RECORDS, _RECORD_BYTES, _PARTITIONS = 15, 1_024, 4
_LOOK_EVERY_S = 0.05


class Filling:
    """The data that a follower copies.

    Args:
        name: Name of the topic.
        record_count: Records of a batch.
        record_bytes: Size of a record's value.
        request_count: Number of requests, each with a batch for every partition.
        partition_count: Partitions of the topic.
    """

    def __init__(
        self, name: str, record_count: int, record_bytes: int, request_count: int, partition_count: int
    ) -> None:
        builder = BatchBuilder()
        for _ in range(record_count):
            builder.append(int(time.time() * 1000), None, os.urandom(record_bytes))
        self.name, self.batch = name, bytes(builder.build())
        self.request_count, self.partition_count = request_count, partition_count

    @property
    def size_gb(self) -> float:
        return len(self.batch) * self.request_count * self.partition_count / 1e9

    def send(self, address: str, acks: int = 1) -> None:
        """Produce all requests."""
        connection = raw.connect(address)
        request = raw.produce_request(self.name, self.batch, acks, range(self.partition_count))
        for _ in range(self.request_count):
            connection.sendall(request)
            if error := raw.produce_error(raw.receive(connection), self.name):
                raise RuntimeError(f"produce: error {error}")
        connection.close()


def follower(cluster: Cluster) -> Figures:
    """Broker 3, which leads no partition, becomes a follower of broker 1's existing partitions."""
    figures: Figures = {}
    for key, filling in {
        "1mb": Filling("f-1mb", 970, 1_024, 300, 1),
        "16kb": Filling("f-16kb", 15, 1_024, 2_000, 4),
        "200b": Filling("f-200b", 1, 120, 4_000, 10),
    }.items():
        cluster.create(filling.name, [[1]] * filling.partition_count, **{"min.insync.replicas": "1"})
        filling.send(cluster.members[1].bootstrap_servers)

        def load(key: str = key, filling: Filling = filling) -> Figures:
            # Remove the replica that it copied before.
            _assign(cluster, filling, [1])
            pid, before, start = cluster.members[3].pid, cpu(cluster.members[3].pid), time.perf_counter()
            _assign(cluster, filling, [1, 3])
            used, elapsed_s = cpu(pid) - before, time.perf_counter() - start
            return {
                f"follower_{key}_cpu_per_gb": used / filling.size_gb,
                f"follower_{key}_mb_per_s": filling.size_gb * 1e3 / elapsed_s,
            }

        figures |= until_warm(cluster, Load(load, f"follower_{key}_cpu_per_gb"))
    return figures


def _assign(cluster: Cluster, filling: Filling, replicas: list[int]) -> None:
    targets = {TopicPartition(filling.name, index): replicas for index in range(filling.partition_count)}
    refused = cluster.ask(lambda pool: ReplicaAdmin(pool).alter_reassignments(targets))
    if any(error.code is not ErrorCode.NONE for error in refused.values()):
        raise RuntimeError(f"the controller does not reassign: {refused}")
    cluster.wait_for(
        filling.name,
        lambda found: sorted(found.replicas) == replicas and sorted(found.isr) == replicas,
        filling.partition_count,
    )


def _of_size(name: str, size_bytes: int) -> Filling:
    """Return batches of 16 KB for four partitions, with this total size."""
    one = Filling(name, _BATCH_RECORDS, _RECORD_BYTES, 1, _PARTITIONS)
    return Filling(name, _BATCH_RECORDS, _RECORD_BYTES, max(1, int(size_bytes / one.size_gb / 1e9)), _PARTITIONS)


def catch_up(cluster: Cluster, size_bytes: int) -> Figures:
    """Pause broker 3 until it is out of sync and the data is written, then resume it.

    Measures its copying, and the latency of a small produce to three replicas meanwhile.
    """
    filling = _of_size("catch-up", size_bytes)
    cluster.create("catch-up", [[1, 2, 3]] * _PARTITIONS)
    cluster.create("beside", [[1, 2, 3]])
    address, away = cluster.members[1].bootstrap_servers, cluster.members[3]
    produce = raw.produce_request("beside", raw.record_batch(100), _ALL)

    def stored_bytes() -> int:
        return sum(file.stat().st_size for file in away.data_dir.glob("catch-up-*/*.log"))

    def load() -> Figures:
        away.pause()
        cluster.wait_for("catch-up", lambda found: 3 not in found.isr, _PARTITIONS)
        filling.send(address, _ALL)
        connection, before, before_bytes, times_s = raw.connect(address), cluster.cpu(), stored_bytes(), []
        start = look_at = None
        away.resume()
        while True:
            sent_at = time.perf_counter()
            connection.sendall(produce)
            answer = raw.receive(connection)
            now = time.perf_counter()
            if error := raw.produce_error(answer, "beside"):
                raise RuntimeError(f"produce: error {error}")
            if start is None:
                start = now if stored_bytes() > before_bytes else None
                continue
            times_s.append(now - sent_at)
            if look_at is None or now > look_at:
                if cluster.is_so("catch-up", lambda found: 3 in found.isr, _PARTITIONS):
                    break
                look_at = now + _LOOK_EVERY_S
        connection.close()
        times = raw.summary(times_s)
        return {
            "catch_up_mb_per_s": filling.size_gb * 1e3 / (now - start),
            "catch_up_p50_us": times["p50_us"],
            "catch_up_p99_us": times["p99_us"],
            "catch_up_cpu_per_gb": (cluster.cpu() - before) / filling.size_gb,
        }

    return until_warm(cluster, Load(load, "catch_up_cpu_per_gb"))


def reassign(cluster: Cluster, size_bytes: int) -> Figures:
    """Move four partitions from one of their two brokers to a third and back, without a throttle."""
    filling = _of_size("moved", size_bytes)
    cluster.create("moved", [[1, 2]] * _PARTITIONS)
    filling.send(cluster.members[1].bootstrap_servers, _ALL)
    targets = [[2, 3], [1, 2]]

    def load() -> Figures:
        before, start = cluster.cpu(), time.perf_counter()
        _assign(cluster, filling, targets[0])
        elapsed_s = time.perf_counter() - start
        targets.reverse()
        return {"reassign_s": elapsed_s, "reassign_cpu_per_gb": (cluster.cpu() - before) / filling.size_gb}

    return until_warm(cluster, Load(load, "reassign_cpu_per_gb"))
