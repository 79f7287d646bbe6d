"""What honest producers feel while a broker is attacked: the parts that all attacks share.

    started(...) ─► a broker, Barnabas or Kafka 2.7.2, with one listener for everybody, plain or with SASL
    beside(...)  ─► an honest producer alone, then beside an attack, which runs in a process of its own ─► rows

`__main__.py` has the attacks. What one does is a function at the top of a module, so that another process can import
it; it goes on until its process is ended.
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
# What an honest producer sends in turn: requests that fit a connection's first buffer, and others.
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
# An attacker has machines of its own; here it takes what is left of the cores.
_NICE = 19
_WARMUP_COUNT = 300


class Target(NamedTuple):
    """A broker that is attacked.

    Attributes:
        protocol: What its listener speaks.
        pid: Of its process.
        stall_ms: For how long its event loop stood still at the longest since this was asked; None for Kafka.
    """

    name: str
    address: str
    protocol: str
    pid: int
    stall_ms: Callable[[], int] | None


class Attack(NamedTuple):
    """What is done to a broker.

    Attributes:
        run: Does it, given the address and the protocol of the listener, for ever.
        properties: The broker's settings for it; all of them are Kafka's.
        prepare: Makes what it needs, by an honest client, before anything is measured.
        protocols: The listeners that it is possible at.
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
    # Its own listener is for who waits until it is up.
    addresses = {name: f"127.0.0.1:{free_port()}" for name in (PLAIN, SASL)}
    if protocol == SASL:
        settings["listeners"] = ",".join(f"{name}://{address}" for name, address in addresses.items())
        del settings["sasl.mechanism.inter.broker.protocol"]
    with KafkaServer(port=int(addresses[PLAIN].rpartition(":")[2]), config=settings) as server:
        yield Target("Kafka 2.7.2", addresses[protocol], protocol, server.pid, None)


class Honest:
    """A producer with one request in flight (acks=1), which connects again when its connection is lost.

    Attributes:
        times_ms: From each request to its answer, by size; a failed one takes until the next that does not fail.
        failed_count: How often it had to connect again.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._peer: Peer | None = None
        self._frames = {size: frame(_produce(size), 7) for size in SIZES}
        self.times_ms: dict[int, list[float]] = {}
        self.failed_count = 0

    def produce(self, duration_s: float = 0.0, count: int = 0) -> None:
        """Produce for so long, or so often, and forget what was measured before."""
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
        """Send a request and have its answer; whether that went well."""
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
    """A connection that is logged in where that is asked for, from an address of its own if it is named."""
    peer = Peer(address, (source_host, 0) if source_host else None)
    peer.socket.settimeout(_PATIENCE_S)
    if protocol == SASL:
        peer.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = peer.ask(SaslAuthenticateRequest(f"\0{_USER}\0{_PASSWORD}".encode()), 1)
        if answer.error_code:
            raise RuntimeError(f"the honest client can't log in: {answer.error_message}")
    return peer


class _Memory:
    """Looks at how much memory a process holds, again and again, until the end of a `with`."""

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
    """Measure an honest producer alone and beside an attack, and print a row for each size of its requests."""
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
        # A spawned interpreter takes a second to begin.
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
