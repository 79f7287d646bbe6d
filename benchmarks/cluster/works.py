"""Loads of clients on a cluster; each work has its own topics."""

import json
import subprocess
import sys
import time
from contextlib import ExitStack

from benchmarks.cluster.clusters import Cluster
from benchmarks.cluster.rounds import Load
from benchmarks.load import lines, raw
from benchmarks.load.lines import Figures
from tools.kafka.java import die_with_parent

_ALL = -1
_SMALL_COUNT, _SMALL_BYTES = 2_000, 100
_END_TO_END_COUNT = 1_000
_FLOOD_COUNT, _FLOOD_CONNECTIONS = 10_000, 100
_LARGE_COUNT, _LARGE_BYTES = 100_000, 1_024
_LED_BY_EACH = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
_TIMEOUT_S = 300


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


def end_to_end(cluster: Cluster) -> Load:
    """From a Produce of 100 bytes with acks=all to the response of a waiting fetch."""
    cluster.create("end-to-end", [[1, 2, 3]])
    address = cluster.members[1].bootstrap_servers

    def load() -> Figures:
        before = cluster.cpu()
        times = raw.end_to_end(address, "end-to-end", _END_TO_END_COUNT, _SMALL_BYTES, _ALL)
        used = (cluster.cpu() - before) / _END_TO_END_COUNT * 1e6
        return {"end_to_end_p50_us": times["p50_us"], "end_to_end_p99_us": times["p99_us"], "end_to_end_cpu": used}

    return Load(load, "end_to_end_cpu")


def three_leaders(cluster: Cluster) -> Load:
    """One Produce of 100 bytes with acks=all in flight, to each broker's partition in turn."""
    cluster.create("mixed", _LED_BY_EACH)
    connections = [raw.connect(member.bootstrap_servers) for member in cluster.members.values()]
    batch = raw.record_batch(_SMALL_BYTES)
    requests = [raw.produce_request("mixed", batch, _ALL, [index]) for index in range(len(connections))]

    def load() -> Figures:
        times_s, before = [], cluster.cpu()
        for number in range(_SMALL_COUNT):
            connection, request = connections[number % len(connections)], requests[number % len(requests)]
            start = time.perf_counter()
            connection.sendall(request)
            answer = raw.receive(connection)
            times_s.append(time.perf_counter() - start)
            if error := raw.produce_error(answer, "mixed"):
                raise RuntimeError(f"produce: error {error}")
        used = (cluster.cpu() - before) / _SMALL_COUNT * 1e6
        times = raw.summary(times_s)
        return {"mixed_p50_us": times["p50_us"], "mixed_p99_us": times["p99_us"], "mixed_cpu": used}

    return Load(load, "mixed_cpu")


def java(cluster: Cluster) -> Load:
    """100,000 records of a kilobyte by Kafka's ProducerPerformance: the client's defaults, acks=all."""
    cluster.create("java", _LED_BY_EACH)

    def load() -> Figures:
        before = cluster.cpu()
        mb_per_s = lines.java_mb_per_s(cluster.bootstrap_servers, "java", _LARGE_COUNT, "acks=all")
        used = (cluster.cpu() - before) / (_LARGE_COUNT * _LARGE_BYTES / 1e9)
        return {"java_mb_per_s": mb_per_s, "java_cpu_per_gb": used}

    return Load(load, "java_cpu_per_gb")


def librdkafka(cluster: Cluster) -> Load:
    """100,000 records of a kilobyte by librdkafka (linger.ms=5, acks=all), led by all three brokers."""
    cluster.create("librdkafka", _LED_BY_EACH)
    command = [sys.executable, "-m", "benchmarks.load.librdkafka", cluster.bootstrap_servers, "librdkafka"]
    command += [str(_LARGE_COUNT), str(_LARGE_BYTES), "linger.ms=5", "acks=all"]
    size_gb = _LARGE_COUNT * _LARGE_BYTES / 1e9

    def load() -> Figures:
        before = cluster.cpu()
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True, preexec_fn=die_with_parent
        )
        used = (cluster.cpu() - before) / size_gb
        return {"librdkafka_mb_per_s": json.loads(result.stdout)["mb_per_s"], "librdkafka_cpu_per_gb": used}

    return Load(load, "librdkafka_cpu_per_gb")


def brokers_on_two_cores(cluster: Cluster) -> Load:
    """A hundred connections over all brokers; each broker has an unreplicated topic (acks=1) and its own client."""
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
