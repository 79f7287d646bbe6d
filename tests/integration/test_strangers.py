"""Connections without a login, and slow or gone clients, keep nobody else out: memory, places, time, descriptors.

`python -m benchmarks.attacks half-requests` measures what honest clients feel meanwhile.
"""

import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Iterator

import pytest

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.protocol.wire import Budget
from barnabas.wire.records.builder import BatchBuilder
from tests.integration.hostile_peers import ask, frame_of, new_topics, read_answer
from tests.integration.test_hostile import API_VERSIONS_V0
from tests.patience import PATIENCE_S, until

SMALL_POOL = {"queued.max.request.bytes": "4194304", "socket.request.max.bytes": "1048576"}
LOGINS = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="broker" password="b" user_broker="b" user_alice="a";'
    ),
}
PEER_COUNT = 30
# Half of a Produce, of which a listener with SASL takes the second kind before a login.
HALVES = {"PLAINTEXT": (500_000, 300_000), "SASL_PLAINTEXT": (60_000, 40_000)}


@contextlib.contextmanager
def running(protocol: str, **settings: str) -> Iterator[Broker]:
    given = {name.replace("_", "."): text for name, text in settings.items()}
    with Broker(config={**(LOGINS if "SASL" in protocol else {}), **given}, security_protocol=protocol) as broker:
        yield broker


def dial(broker: Broker) -> socket.socket:
    return socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S)


def log_in(broker: Broker, protocol: str = "SASL_PLAINTEXT") -> socket.socket:
    """A connection of Alice's, if she has to log in."""
    sock = dial(broker)
    if protocol == "SASL_PLAINTEXT":
        sock.sendall(frame_of(SaslHandshakeRequest("PLAIN"), 1))
        assert read_answer(sock)
        sock.sendall(frame_of(SaslAuthenticateRequest(b"\0alice\0a"), 1))
        answer, _ = SaslAuthenticateResponse.decode(1, memoryview(read_answer(sock)), 4, Budget(100))
        assert answer.error_code == 0
    return sock


def produced(topic: str, size: int, acks: int) -> bytes:
    batch = BatchBuilder()
    batch.append(0, b"key", bytes(size))
    data = [TopicProduceData(topic, [PartitionProduceData(0, bytes(batch.build()))])]
    return frame_of(ProduceRequest(None, acks, 30_000, data), 7)


def assert_a_large_produce_is_answered(sock: socket.socket) -> None:
    sock.sendall(frame_of(new_topics(["t"]), 4))
    assert read_answer(sock)
    sock.sendall(produced("t", 200_000, 1))
    answer, _ = ProduceResponse.decode(7, memoryview(read_answer(sock)), 4, Budget(100))
    assert [each.error_code for each in answer.responses[0].partition_responses] == [0]


def half(frame_bytes: int, sent_bytes: int) -> bytes:
    return struct.pack(">ihhih", frame_bytes, 0, 7, 1, 4) + b"evil" + bytes(sent_bytes)


def is_closed(sock: socket.socket) -> bool:
    """Whether the broker has closed a connection on which it has nothing to say."""
    sock.setblocking(False)
    try:
        return not sock.recv(1)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("protocol", [pytest.param("PLAINTEXT", marks=pytest.mark.whole), "SASL_PLAINTEXT"])
def test_half_requests_of_strangers_hold_up_nobody(protocol):
    with running(protocol, **SMALL_POOL) as broker, contextlib.ExitStack() as stack:
        for _ in range(4 * PEER_COUNT):
            stack.enter_context(dial(broker)).sendall(half(*HALVES[protocol]))
        assert_a_large_produce_is_answered(stack.enter_context(log_in(broker, protocol)))


def test_half_requests_that_trickle_give_way_to_who_waits():
    """Of clients who have asked for something before, and so have the memory of all."""
    with running("PLAINTEXT", **SMALL_POOL) as broker, contextlib.ExitStack() as stack:
        for _ in range(PEER_COUNT):
            sock = stack.enter_context(dial(broker))
            sock.sendall(API_VERSIONS_V0)
            assert read_answer(sock)
            sock.sendall(half(*HALVES["PLAINTEXT"]))
        assert_a_large_produce_is_answered(stack.enter_context(dial(broker)))
        assert "its request comes too slowly, and others need the memory that it takes" in broker.log_text()


@pytest.mark.parametrize("protocol", [pytest.param("PLAINTEXT", marks=pytest.mark.whole), "SASL_PLAINTEXT"])
def test_silent_strangers_keep_nobody_out(protocol):
    with running(protocol, max_connections="20") as broker, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(dial(broker)) for _ in range(200)]
        assert_a_large_produce_is_answered(stack.enter_context(log_in(broker, protocol)))
        assert is_closed(silent[0])
        assert not is_closed(silent[-1])


def test_who_does_not_log_in_in_time_is_closed():
    with running("SASL_PLAINTEXT", barnabas_login_timeout_ms="1000") as broker, contextlib.ExitStack() as stack:
        known, silent, slow = (stack.enter_context(each) for each in (log_in(broker), dial(broker), dial(broker)))
        slow.sendall(half(60_000, 20_000))
        until(lambda: is_closed(silent) and is_closed(slow))
        assert broker.log_text().count("it did not log in within barnabas.login.timeout.ms=1000") == 2
        assert_a_large_produce_is_answered(known)


def test_who_says_nothing_after_the_handshake_of_tls_is_closed():
    with running("SSL", barnabas_login_timeout_ms="1000") as broker, contextlib.ExitStack() as stack:
        context = ssl.create_default_context(cafile=broker.ca_path)
        silent, known = (
            stack.enter_context(context.wrap_socket(dial(broker), server_hostname="localhost")) for _ in range(2)
        )
        known.sendall(API_VERSIONS_V0)
        assert read_answer(known)
        assert silent.recv(1) == b""
        known.sendall(API_VERSIONS_V0)
        assert read_answer(known)


def test_a_held_client_that_left_keeps_no_descriptor():
    """It wants no answers and sent more than is read ahead, so that its end is behind what nobody reads yet."""
    with running("PLAINTEXT") as broker, contextlib.ExitStack() as stack:
        ask(broker, new_topics(["t"]), 4)
        limit = AlterClientQuotasRequestEntryData(
            [EntityData("client-id", None)], [OpData("producer_byte_rate", 1_000.0, False)]
        )
        ask(broker, AlterClientQuotasRequest([limit]), 0)
        directory = f"/proc/{broker.pid}/fd"
        before = len(os.listdir(directory))
        for _ in range(10):
            with dial(broker) as sock:
                sock.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    sock.send(produced("t", 100_000, 0) * 10)
        staying = stack.enter_context(dial(broker))
        staying.sendall(produced("t", 1_000, 0))
        until(lambda: len(os.listdir(directory)) <= before + 1)
        assert not is_closed(staying)
