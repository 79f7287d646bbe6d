"""What is measured of a cluster, each work on topics of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from kazoo.client import KazooClient

from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.records.builder import BatchBuilder
from benchmarks.cluster.clusters import Cluster
from benchmarks.load import raw, report
from benchmarks.load.lines import Figures, is_settled
from benchmarks.load.process import cpu
from benchmarks.whole.wire import Peer
from tools.kafka.java import die_with_parent

_ALL = -1
_SMALL_COUNT, _SMALL_BYTES = 2_000, 100
_FLOOD_COUNT, _FLOOD_CONNECTIONS = 10_000, 100
_LIBRDKAFKA_COUNT, _LIBRDKAFKA_BYTES = 200_000, 1_024
_FAILOVER_PARTITIONS = 2_000
_MOST_ROUNDS, _WARM_S = 6, 30.0
_ROUNDS_IN_TURN = 5
_TIMEOUT_S = 300


class Load(NamedTuple):
    """A load that can be done again and again.

    Attributes:
        once: Does it, and says what was measured.
        settles: The figure that tells whether a JVM is warm.
    """

    once: Callable[[], Figures]
    settles: str


def until_warm(cluster: Cluster, load: Load) -> Figures:
    """Do a load, on a JVM until two rounds in a row cost the same within 5 % or half a minute is over."""
    rounds, end = [load.once(), load.once()], time.monotonic() + _WARM_S
    while (
        cluster.is_jvm
        and len(rounds) < _MOST_ROUNDS
        and time.monotonic() < end
        and not is_settled([each[load.settles] for each in rounds])
    ):
        rounds.append(load.once())
    return rounds[-1]


def in_turn(clusters: Mapping[str, Cluster], prepare: Callable[[Cluster], Load]) -> dict[str, Figures]:
    """Warm up all clusters, then have them do a load in turn, a few short rounds each; the medians of these.

    What else the machine does meanwhile is so the same for all. Those whose turn it is not only wait.
    """
    loads = {kind: prepare(cluster) for kind, cluster in clusters.items()}
    for kind, load in loads.items():
        until_warm(clusters[kind], load)
    rounds: dict[str, list[Figures]] = {kind: [] for kind in loads}
    for number in range(_ROUNDS_IN_TURN):
        for kind, load in list(loads.items())[:: 1 if number % 2 else -1]:
            rounds[kind].append(load.once())
    return {kind: report.medians(figures) for kind, figures in rounds.items()}


def small_produce(cluster: Cluster) -> Load:
    """One Produce of 100 bytes with acks=all in flight."""
    cluster.create("small", [[1, 2, 3]])
    address = cluster.members[1].bootstrap_servers

    def load() -> Figures:
        before = cluster.cpu()
        times = raw.latency(address, "small", _SMALL_COUNT, _SMALL_BYTES, _ALL)
        used = (cluster.cpu() - before) / _SMALL_COUNT * 1e6
        return {"small_p50_us": times["p50_us"], "small_p99_us": times["p99_us"], "small_cpu": used}

    return Load(load, "small_cpu")


def flood(cluster: Cluster) -> Load:
    """A hundred connections with one Produce of 100 bytes with acks=all in flight on each."""
    cluster.create("flood", [[1, 2, 3]])
    address = cluster.members[1].bootstrap_servers

    def load() -> Figures:
        before = cluster.cpu()
        found = raw.flood(address, "flood", _FLOOD_COUNT, _SMALL_BYTES, _FLOOD_CONNECTIONS, _ALL)
        used = (cluster.cpu() - before) / _FLOOD_COUNT * 1e6
        return {"flood_requests_per_s": found["requests_per_s"], "flood_cpu": used}

    return Load(load, "flood_cpu")


def librdkafka(cluster: Cluster) -> Figures:
    """200,000 records of a kilobyte by librdkafka (linger.ms=5, acks=all), led by all three brokers."""
    cluster.create("librdkafka", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    command = [sys.executable, "-m", "benchmarks.load.librdkafka", cluster.bootstrap_servers, "librdkafka"]
    command += [str(_LIBRDKAFKA_COUNT), str(_LIBRDKAFKA_BYTES), "linger.ms=5", "acks=all"]
    size_gb = _LIBRDKAFKA_COUNT * _LIBRDKAFKA_BYTES / 1e9

    def load() -> Figures:
        before = cluster.cpu()
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True, preexec_fn=die_with_parent
        )
        used = (cluster.cpu() - before) / size_gb
        return {"librdkafka_mb_per_s": json.loads(result.stdout)["mb_per_s"], "librdkafka_cpu_per_gb": used}

    return until_warm(cluster, Load(load, "librdkafka_cpu_per_gb"))


class Filling:
    """What a follower is to copy.

    Args:
        name: Of its topic.
        record_count: Of a batch.
        record_bytes: Of a record's value.
        request_count: How many are sent, each with a batch for every partition.
        partition_count: Of the topic.
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

    def send(self, address: str) -> None:
        """Produce all of it."""
        connection = raw.connect(address)
        request = raw.produce_request(self.name, self.batch, partitions=range(self.partition_count))
        for _ in range(self.request_count):
            connection.sendall(request)
            if error := raw.produce_error(raw.receive(connection), self.name):
                raise RuntimeError(f"produce: error {error}")
        connection.close()


def follower(cluster: Cluster) -> Figures:
    """Broker 3 leads nothing, and becomes a follower of what broker 1 has already."""
    figures: Figures = {}
    for key, filling in {
        "1mb": Filling("f-1mb", 970, 1_024, 300, 1),
        "16kb": Filling("f-16kb", 15, 1_024, 2_000, 4),
        "200b": Filling("f-200b", 1, 120, 4_000, 10),
    }.items():
        cluster.create(filling.name, [[1]] * filling.partition_count, **{"min.insync.replicas": "1"})
        filling.send(cluster.members[1].bootstrap_servers)

        def load(key: str = key, filling: Filling = filling) -> Figures:
            # What it copied before goes first.
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


def failover(cluster: Cluster) -> Figures:
    """One of three brokers, not the controller, is killed; each led a third of 2,000 partitions."""
    controller = cluster.ask(_controller)
    killed = next(each for each in (3, 2) if each != controller)
    others = [each for each in cluster.members if each != killed]
    orders = [[killed, *others], [others[0], others[1], killed], [others[1], others[0], killed]]
    assignments = [orders[index % 3] for index in range(_FAILOVER_PARTITIONS)]
    cluster.create("failover", assignments)
    lost = max(index for index, replicas in enumerate(assignments) if replicas[0] == killed)
    watcher, client = Peer(cluster.members[others[1]].bootstrap_servers), None
    metadata = MetadataRequest([MetadataRequestTopic("failover")])
    produce = raw.produce_request("failover", raw.record_batch(_SMALL_BYTES), _ALL, [lost])
    figures: Figures = {}
    with _registrations(cluster) as is_registered:
        cluster.members[killed].kill()
        client = raw.connect(cluster.members[others[0]].bootstrap_servers)
        while is_registered(killed):
            time.sleep(0.001)
        start = time.perf_counter()
        end = start + _TIMEOUT_S
        while len(figures) < 2:
            if "failover_record_ms" not in figures:
                client.sendall(produce)
                if not raw.produce_error(raw.receive(client), "failover"):
                    figures["failover_record_ms"] = (time.perf_counter() - start) * 1e3
            if "failover_led_ms" not in figures:
                (topic,) = watcher.ask(metadata, 8).topics
                if all(each.leader_id not in (killed, -1) for each in topic.partitions):
                    figures["failover_led_ms"] = (time.perf_counter() - start) * 1e3
            if time.perf_counter() > end:
                raise RuntimeError("the partitions are not led again")
            time.sleep(0.005)
    client.close()
    watcher.close()
    return figures


async def _controller(pool: Pool) -> int:
    return (await pool.metadata([])).controller_id


@contextmanager
def _registrations(cluster: Cluster) -> Iterator[Callable[[int], bool]]:
    """Look into ZooKeeper which brokers have a session."""
    client = KazooClient(cluster.zookeeper_connect)
    client.start(timeout=30)
    try:
        yield lambda broker_id: client.exists(f"/brokers/ids/{broker_id}") is not None
    finally:
        client.stop()
        client.close()


def brokers_on_two_cores(cluster: Cluster) -> Load:
    """A hundred connections, shared by the brokers; a topic without a copy on each, acks=1; a client for each."""
    count = len(cluster.members)
    commands = []
    for broker_id, member in cluster.members.items():
        cluster.create(f"alone-{broker_id}", [[broker_id]], **{"min.insync.replicas": "1"})
        command = [sys.executable, "-m", "benchmarks.load.raw", "flood", member.bootstrap_servers]
        command += [f"alone-{broker_id}", str(30_000 // count), str(_SMALL_BYTES), str(_FLOOD_CONNECTIONS // count)]
        commands.append(command)

    def load() -> Figures:
        before = cluster.cpu()
        with ExitStack() as stack:
            clients = [
                stack.enter_context(
                    subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
                )
                for command in commands
            ]
            answers = [client.communicate(timeout=_TIMEOUT_S)[0] for client in clients]
        used = (cluster.cpu() - before) / (30_000 // count * count) * 1e6
        return {
            "alone_requests_per_s": sum(json.loads(answer)["requests_per_s"] for answer in answers),
            "alone_cpu": used,
        }

    return Load(load, "alone_cpu")
