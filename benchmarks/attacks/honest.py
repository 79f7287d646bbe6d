"""The latency of honest producers while a broker is attacked: code shared by all attacks.

    started(...) ─► a broker, Barnabas or Kafka 2.7.2, with one listener, plain or with SASL
    beside(...)  ─► an honest producer alone, then during an attack, which runs in its own process ─► rows

`__main__.py` has the list of attacks. Each attack is a module-level function, so that another process can import it. It
runs until its process is killed.
"""

import contextlib
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.records.builder import BatchBuilder
from benchmarks.load.process import resident_mb
from benchmarks.whole.wire import Peer, decoded, frame
from tools.kafka.server import KafkaServer, free_port

PLAIN, SASL = "PLAINTEXT", "SASL_PLAINTEXT"
# Request sizes of an honest producer, in turn: requests that fit a connection's first buffer, and larger ones.
SIZES = (1_000, 100_000)
HEADER = (
    "| attack | broker | listener | honest request | p50 alone, ms | p99 alone | p50 attacked | p99 attacked | longest "
    "| failed | loop's longest stall, ms | MB before | MB at most | MB after |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)
_USER, _PASSWORD, _TOPIC = "honest", "honest-secret", "honest"
_LOGINS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="broker" password="broker-secret" user_broker="broker-secret" user_{_USER}="{_PASSWORD}";'
    ),
}
_PAUSE_S = 0.005
_PATIENCE_S = 30.0
_SETTLED_S = 3.0
# An attacker would use its own machines; here it gets only idle CPU time.
_NICE = 19
_WARMUP_COUNT = 300


class Target(NamedTuple):
    """A broker that is attacked.

    Attributes:
        protocol: The listener's protocol.
        pid: Its process id.
        stall_ms: Returns the longest stall of its event loop since the last call; None for Kafka.
    """

    name: str
    address: str
    protocol: str
    pid: int
    stall_ms: Callable[[], int] | None


class Attack(NamedTuple):
    """An attack on a broker.

    Attributes:
        run: Attacks the listener with this address and protocol, forever.
        properties: The broker's settings for the attack; all of them are Kafka's.
        prepare: Creates what the attack needs, with an honest client, before the measurement.
        protocols: The protocols of listeners that it can attack.
    """

    name: str
    run: Callable[[str, str], object]
    properties: Mapping[str, str] = {}
    prepare: Callable[[Peer], object] = lambda _: None
    protocols: Sequence[str] = (PLAIN, SASL)


@contextlib.contextmanager
def started(protocol: str, properties: Mapping[str, str], *, is_kafka: bool = False) -> Iterator[Target]:
    """Start a broker with these settings."""
    settings = {**(_LOGINS if protocol == SASL else {}), **properties}
    if not is_kafka:
        with Broker(config=settings, security_protocol=protocol) as broker:
            address, pid = broker.bootstrap_servers, broker.pid
            yield Target("Barnabas", address, protocol, pid, lambda: broker.stalls_of_late_ms()[0])
        return
    # The other listener is used to wait until the broker is up.
    addresses = {name: f"127.0.0.1:{free_port()}" for name in (PLAIN, SASL)}
    if protocol == SASL:
        settings["listeners"] = ",".join(f"{name}://{address}" for name, address in addresses.items())
        del settings["sasl.mechanism.inter.broker.protocol"]
    with KafkaServer(port=int(addresses[PLAIN].rpartition(":")[2]), config=settings) as server:
        yield Target("Kafka 2.7.2", addresses[protocol], protocol, server.pid, None)


class Honest:
    """A producer with one request in flight (acks=1), which reconnects when its connection is lost.

    Attributes:
        times_ms: Latencies by request size; a failed request lasts until the next success.
        failed_count: Number of reconnections.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._peer: Peer | None = None
        self._frames = {size: frame(_produce(size), 7) for size in SIZES}
        self.times_ms: dict[int, list[float]] = {}
        self.failed_count = 0

    def produce(self, duration_s: float = 0.0, count: int = 0) -> None:
        """Produce for a duration, or a number of requests; discard earlier measurements."""
        self.times_ms, self.failed_count = {size: [] for size in SIZES}, 0
        end = time.perf_counter() + duration_s
        while time.perf_counter() < end or len(self.times_ms[SIZES[-1]]) < count:
            for size, request in self._frames.items():
                start = time.perf_counter()
                while not self._sends(request):
                    self.failed_count += 1
                    if self.failed_count > 1_000 or time.perf_counter() > max(end, start) + _PATIENCE_S:
                        break
                self.times_ms[size].append((time.perf_counter() - start) * 1_000)
                time.sleep(_PAUSE_S)

    def _sends(self, request: bytes) -> bool:
        """Send a request and receive its answer; return whether that succeeded."""
        try:
            if self._peer is None:
                self._peer = connected(self._target.address, self._target.protocol)
            self._peer.send(request)
            answer = decoded(ProduceRequest.API_KEY, 7, self._peer.receive())
            return not answer.responses[0].partition_responses[0].error_code
        except OSError:
            if self._peer is not None:
                self._peer.close()
                self._peer = None
            time.sleep(_PAUSE_S)
            return False


def connected(address: str, protocol: str, source_host: str = "") -> Peer:
    """Return a connection, logged in if the protocol is SASL, from `source_host` if given."""
    peer = Peer(address, (source_host, 0) if source_host else None)
    peer.socket.settimeout(_PATIENCE_S)
    if protocol == SASL:
        peer.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = peer.ask(SaslAuthenticateRequest(f"\0{_USER}\0{_PASSWORD}".encode()), 1)
        if answer.error_code:
            raise RuntimeError(f"the honest client can't log in: {answer.error_message}")
    return peer


class _Memory:
    """Samples a process's resident memory until the end of a `with`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.most_mb = 0.0

    def _look(self) -> None:
        while not self._is_over.wait(0.05):
            self.most_mb = max(self.most_mb, resident_mb(self._pid))

    def __enter__(self) -> "_Memory":
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_over.set()
        self._thread.join()


def beside(target: Target, attack: Attack, duration_s: float) -> None:
    """Measure an honest producer alone and during an attack; print a row for each request size."""
    peer = connected(target.address, target.protocol)
    peer.ask(CreateTopicsRequest([CreatableTopic(_TOPIC, 1, 1)], 30_000), 4)
    attack.prepare(peer)
    peer.close()
    honest = Honest(target)
    honest.produce(count=_WARMUP_COUNT)
    honest.produce(duration_s=max(duration_s / 3, 2.0))
    alone = honest.times_ms
    before_mb = resident_mb(target.pid)
    if target.stall_ms is not None:
        target.stall_ms()
    attacker = multiprocessing.get_context("spawn").Process(
        target=_attack, args=(attack.run, target.address, target.protocol)
    )
    attacker.start()
    try:
        # A spawned interpreter takes a second to start.
        with _Memory(target.pid) as memory:
            honest.produce(duration_s=duration_s + 1.0)
        stall = "" if target.stall_ms is None else str(target.stall_ms())
    finally:
        attacker.kill()
        attacker.join()
    time.sleep(_SETTLED_S)
    sizes_mb = f"{before_mb:.0f} | {memory.most_mb:.0f} | {resident_mb(target.pid):.0f}"
    for size in SIZES:
        times = honest.times_ms[size]
        figures = [_part(alone[size], 0.5), _part(alone[size], 0.99), _part(times, 0.5), _part(times, 0.99), max(times)]
        shown = " | ".join(f"{each:.2f}" for each in figures)
        row = f"| {attack.name} | {target.name} | {target.protocol} | {size:,} bytes | {shown} "
        print(f"{row}| {honest.failed_count} | {stall} | {sizes_mb} |", flush=True)


def _attack(run: Callable[[str, str], object], address: str, protocol: str) -> None:
    os.nice(_NICE)
    run(address, protocol)


def _produce(size: int) -> ProduceRequest:
    batch = BatchBuilder()
    batch.append(0, b"key", bytes(size))
    data = [PartitionProduceData(0, bytes(batch.build()))]
    return ProduceRequest(None, 1, 30_000, [TopicProduceData(_TOPIC, data)])


def _part(times_ms: Sequence[float], part: float) -> float:
    ordered = sorted(times_ms)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]
