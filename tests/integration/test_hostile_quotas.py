"""Who does not keep to a quota gains nothing: what docs/quotas.md promises, against a broker and by sockets.

`python -m benchmarks.attacks.quotas` measures the same, beside Kafka.
"""

import socket
from collections.abc import Iterator
from itertools import count

import pytest

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from benchmarks.attacks.quotas import (
    LIMIT,
    VALUE_BYTES,
    answer_of,
    ask,
    fetched_as_replica,
    in_all,
    produce_frame,
    set_limit,
)
from tests.patience import PATIENCE_S

NUMBERS = count()
SECONDS = 1.0
# Ten seconds' worth are free, and who goes beyond that is held for it.
MOST = 2 * VALUE_BYTES


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(start_timeout_s=PATIENCE_S) as broker:
        yield broker


@pytest.fixture
def address(broker: Broker) -> tuple[str, int]:
    return broker.host, broker.port


@pytest.fixture
def topic(address) -> str:
    """A topic that nobody has written to: who was held in one test may go on in the next one."""
    name = f"t{next(NUMBERS)}"
    ask(address, CreateTopicsRequest([CreatableTopic(name, 1, 1)], 30_000, False), 4)
    return name


@pytest.mark.parametrize(("acks", "attackers"), [(1, 1), (0, 1), (1, 20)])
def test_who_comes_again_waits(address, topic, acks, attackers) -> None:
    set_limit(address, "client-id", topic, "producer_byte_rate", LIMIT)
    assert in_all(address, topic, SECONDS, attackers, topic, acks) * SECONDS <= MOST


def test_who_comes_by_another_name_waits_for_his_users_quota(address, topic) -> None:
    set_limit(address, "user", "ANONYMOUS", "producer_byte_rate", LIMIT)
    rate = in_all(address, topic, SECONDS, 1, "id-*")
    set_limit(address, "user", "ANONYMOUS", "producer_byte_rate", None)
    assert rate * SECONDS <= MOST


def test_who_calls_himself_a_broker_has_a_consumers_quota(address, topic) -> None:
    with socket.create_connection(address, timeout=PATIENCE_S) as sock:
        sock.sendall(produce_frame(topic, "writer"))
        assert answer_of(sock)
    set_limit(address, "client-id", "replica", "consumer_byte_rate", LIMIT)
    assert fetched_as_replica(address, topic, SECONDS) * SECONDS <= MOST


def test_nobody_else_waits_for_those_who_are_held(address, topic) -> None:
    # Longer than anybody here waits.
    set_limit(address, "client-id", "held", "producer_byte_rate", 1_000)
    held = []
    for _ in range(60):
        sock = socket.create_connection(address, timeout=PATIENCE_S)
        # What of it is not received waits in the peer's system.
        sock.setblocking(False)
        sock.send(produce_frame(topic, "held"))
        held.append(sock)
    with socket.create_connection(address, timeout=PATIENCE_S) as sock:
        for _ in range(3):
            sock.sendall(produce_frame(topic, "somebody"))
            assert answer_of(sock)
    for each in held:
        each.close()
