"""The broker's cost of TLS: CPU per GB that clients send and receive, and per handshake.

The clients are librdkafka's, in this process; their CPU is not measured. Records of 1 KB, no compression, acks=1; reads
come from the page cache. The same load in plaintext shows which part is TLS.
"""

import socket
import ssl
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.testing import Broker
from barnabas.testing.certificates import Authority
from benchmarks.load.lines import Line
from benchmarks.load.process import CPU, CPU_MILLI, cpu
from tools.kafka.server import KafkaServer, free_port

Figures = dict[str, float]

_RECORD_BYTES, _COUNT, _WARMUP_COUNT = 1_000, 1_000_000, 300_000
_HANDSHAKE_COUNT = 1_000
_PASSWORD = "benchmark"

LINES = (
    Line("tls_produce_cpu", f"produce over TLS: {CPU} per GB", 2, 0.6),
    Line("tls_consume_cpu", f"consume over TLS: {CPU} per GB", 2, 0.6),
    Line("clear_produce_cpu", f"the same in the clear: {CPU} per GB", 2),
    Line("clear_consume_cpu", f"the same in the clear: {CPU} per GB", 2),
    Line("tls_handshake_cpu", f"a handshake (TLS 1.3, RSA 2048): {CPU_MILLI}", 2),
)


def cost_of_tls(is_kafka: bool) -> Figures:
    """Measure one broker of a kind, with a listener of each protocol."""
    with TemporaryDirectory(prefix="barnabas-tls-") as name, ExitStack() as stack:
        directory = Path(name)
        authority = Authority()
        (directory / "ca.pem").write_bytes(authority.certificate_pem)
        (directory / "broker.p12").write_bytes(authority.issue("broker", is_rsa=True).pkcs12(_PASSWORD))
        keys = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(directory / "broker.p12"),
            "ssl.keystore.password": _PASSWORD,
            "ssl.key.password": _PASSWORD,
        }
        figures: Figures = {}
        tls = {"security.protocol": "SSL", "ssl.ca.location": str(directory / "ca.pem")}
        if is_kafka:
            plain, secure = free_port(), free_port()
            listeners = f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{secure}"
            kafka = stack.enter_context(KafkaServer(config={"listeners": listeners, **keys}, port=plain))
            addresses = {"clear": (kafka.bootstrap_servers, kafka.pid), "tls": (f"127.0.0.1:{secure}", kafka.pid)}
        else:
            clear = stack.enter_context(Broker())
            broker = stack.enter_context(Broker(security_protocol="SSL", config=keys))
            addresses = {
                "clear": (clear.bootstrap_servers, clear.pid),
                "tls": (broker.bootstrap_servers, broker.pid),
            }
        for kind, (address, pid) in addresses.items():
            settings = {"bootstrap.servers": address, **(tls if kind == "tls" else {})}
            _produce(settings, f"warm-{kind}", _WARMUP_COUNT)
            _consume(settings, f"warm-{kind}", _WARMUP_COUNT)
            gb = _COUNT * _RECORD_BYTES / 1e9
            before_s = cpu(pid)
            _produce(settings, kind, _COUNT)
            between_s = cpu(pid)
            _consume(settings, kind, _COUNT)
            figures[f"{kind}_produce_cpu"] = (between_s - before_s) / gb
            figures[f"{kind}_consume_cpu"] = (cpu(pid) - between_s) / gb
        address, pid = addresses["tls"]
        context = ssl.create_default_context(cafile=str(directory / "ca.pem"))
        _shake_hands(address, context, _HANDSHAKE_COUNT)
        before_s = cpu(pid)
        _shake_hands(address, context, _HANDSHAKE_COUNT)
        figures["tls_handshake_cpu"] = (cpu(pid) - before_s) / _HANDSHAKE_COUNT * 1_000
    return figures


def _produce(settings: dict[str, str], topic: str, count: int) -> None:
    producer = Producer({**settings, "acks": "1", "linger.ms": 5, "batch.size": 1_000_000})
    value = bytes(_RECORD_BYTES)
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=0)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(240):
        raise RuntimeError("not all records were acknowledged")


def _consume(settings: dict[str, str], topic: str, count: int) -> None:
    consumer = Consumer({**settings, "group.id": topic, "enable.auto.commit": False, "fetch.queue.backoff.ms": 5})
    consumer.assign([TopicPartition(topic, 0, 0)])
    got = 0
    try:
        while got < count:
            messages = consumer.consume(10_000, 60)
            if not messages:
                raise RuntimeError("no records came")
            for message in messages:
                if (error := message.error()) is not None:
                    raise RuntimeError(error.str())
            got += len(messages)
    finally:
        consumer.close()


def _shake_hands(address: str, context: ssl.SSLContext, count: int) -> None:
    host, _, port = address.rpartition(":")
    for _ in range(count):
        with socket.create_connection((host, int(port)), 60) as sock, context.wrap_socket(sock, server_hostname=host):
            pass
