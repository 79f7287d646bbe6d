"""Brokers that end: one is killed, each is stopped in its turn, and the controller is killed."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from confluent_kafka import KafkaError, Message, Producer
from kazoo.client import KazooClient

from barnabas.clients.pool import Pool
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from benchmarks.cluster.clusters import Cluster
from benchmarks.load import raw
from benchmarks.load.lines import Figures
from benchmarks.load.process import cpu, resident_mb
from benchmarks.whole.wire import Peer

_ALL = -1
_SMALL_BYTES = 100
_FAILOVER_PARTITIONS = 2_000
_STOP_PARTITIONS = 6
_SEND_EVERY_S, _AFTER_S = 0.001, 2.0
_MANY_TOPICS = 10
_REST_S, _IDLE_S = 10.0, 30.0
_LOOK_EVERY_S = 0.005
_TIMEOUT_S = 300


def failover(cluster: Cluster) -> Figures:
    """Kill one of three brokers, not the controller; each led a third of 2,000 partitions."""
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
            time.sleep(_LOOK_EVERY_S)
    client.close()
    watcher.close()
    return figures


class _Sender:
    """librdkafka's producer (acks=all), with the times of acknowledgements."""

    def __init__(self, bootstrap_servers: str) -> None:
        # Do not log failed connections to a stopped broker.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "acks": "all", "linger.ms": 0, "log_level": 0}
        )
        self._last_s: dict[int, float] = {}
        self.longest_gap_s, self.sent_count, self.acknowledged_count = 0.0, 0, 0

    def send_until(self, is_over: Callable[[], bool]) -> None:
        """Send to the partitions in turn; record the longest time without an acknowledgement from a partition."""
        while not is_over():
            self._producer.produce(
                "stop", b"x" * _SMALL_BYTES, partition=self.sent_count % _STOP_PARTITIONS, on_delivery=self._delivered
            )
            self.sent_count += 1
            self._producer.poll(_SEND_EVERY_S)

    def send_for(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        self.send_until(lambda: time.perf_counter() > end)

    def flush(self) -> None:
        self._producer.flush(_TIMEOUT_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, now = message.partition(), time.perf_counter()
        if error is not None or partition is None:
            return
        self.acknowledged_count += 1
        self.longest_gap_s = max(self.longest_gap_s, now - self._last_s.get(partition, now))
        self._last_s[partition] = now


def stop(cluster: Cluster) -> Figures:
    """Restart the brokers one after the other (SIGTERM), while a producer sends to six partitions."""
    cluster.create("stop", [[1, 2, 3], [2, 3, 1], [3, 1, 2]] * (_STOP_PARTITIONS // 3))
    sender = _Sender(cluster.bootstrap_servers)
    sender.send_for(_AFTER_S)
    sender.longest_gap_s = 0.0
    with ThreadPoolExecutor(1) as beside:

        def wait_until_in_sync() -> None:
            cluster.wait_for_members()
            cluster.wait_for("stop", lambda found: len(found.isr) == 3, _STOP_PARTITIONS)

        for member in cluster.members.values():
            sender.send_until(beside.submit(member.stop).done)
            sender.send_for(_AFTER_S)
            # Not in the other thread, because a broker ends with the thread that started it.
            member.start_broker()
            sender.send_until(beside.submit(wait_until_in_sync).done)
    sender.flush()
    return {
        "stop_gap_ms": sender.longest_gap_s * 1e3,
        "stop_acknowledged": 100 * sender.acknowledged_count / sender.sent_count,
    }


def many(cluster: Cluster, partition_count: int) -> Figures:
    """Very many partitions with three replicas each: idle, then the controller is killed."""
    topics = [f"many-{number}" for number in range(_MANY_TOPICS)]
    orders = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    for topic in topics:
        cluster.create(topic, [orders[index % 3] for index in range(partition_count // _MANY_TOPICS)])
    time.sleep(_REST_S)
    before = cluster.cpu()
    time.sleep(_IDLE_S)
    figures = {
        "idle_cpu_per_s": (cluster.cpu() - before) / _IDLE_S * 1e3,
        "idle_mb": sum(resident_mb(member.pid) for member in cluster.members.values()),
    }
    return figures | _controller_killed(cluster, topics)


def _controller_killed(cluster: Cluster, topics: list[str]) -> Figures:
    """Kill the controller; measure the time from the end of its session until it leads no partition and is in no ISR.

    All other brokers must report this for all partitions.
    """
    killed = cluster.ask(_controller)
    standing = {broker_id: member for broker_id, member in cluster.members.items() if broker_id != killed}
    peers = {broker_id: Peer(member.bootstrap_servers) for broker_id, member in standing.items()}
    # Topics that are done are not requested again, because the responses are large.
    untold = [(broker_id, topic) for topic in topics for broker_id in standing]
    with _registrations(cluster) as is_registered:
        cluster.members[killed].kill()
        while is_registered(killed):
            time.sleep(0.001)
        start, before = time.perf_counter(), sum(cpu(member.pid) for member in standing.values())
        while untold:
            broker_id, topic = untold[-1]
            (found,) = peers[broker_id].ask(MetadataRequest([MetadataRequestTopic(topic)]), 8).topics
            if all(each.leader_id not in (killed, -1) and killed not in each.isr_nodes for each in found.partitions):
                untold.pop()
                continue
            if time.perf_counter() > start + _TIMEOUT_S:
                raise RuntimeError("the brokers are not told who leads")
            time.sleep(_LOOK_EVERY_S)
        elapsed_s = time.perf_counter() - start
        used = sum(cpu(member.pid) for member in standing.values()) - before
    for peer in peers.values():
        peer.close()
    return {"controller_ms": elapsed_s * 1e3, "controller_cpu": used * 1e3}


async def _controller(pool: Pool) -> int:
    return (await pool.metadata([])).controller_id


@contextmanager
def _registrations(cluster: Cluster) -> Iterator[Callable[[int], bool]]:
    """Yield a function that returns whether a broker is registered in ZooKeeper."""
    client = KazooClient(cluster.zookeeper_connect)
    client.start(timeout=30)
    try:
        yield lambda broker_id: client.exists(f"/brokers/ids/{broker_id}") is not None
    finally:
        client.stop()
        client.close()
