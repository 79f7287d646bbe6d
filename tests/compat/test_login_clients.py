"""Real clients log in: by each mechanism, with a wrong password, and again when their session ends."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest
from confluent_kafka import KafkaError, Producer
from kafka import KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider

from barnabas.wire.protocol.messages.list_groups import ListGroupsRequest
from barnabas.wire.security.sasl.client import unsecured_token
from tests.compat.clients.java import JavaClient, JavaClientError
from tests.compat.clients.model import Message
from tests.compat.sasl_broker import MODULES, SaslBroker, sasl_broker
from tests.patience import PATIENCE_S
from tools.kafka.jars import CLIENTS_4, KAFKA

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
USER, PASSWORD = "alice", "alice-secret"
SESSION_MS = 5_000

Send = Callable[[str], int]
"""Sends a record to a topic and gives its offset; fails where that does."""


@pytest.fixture(scope="module")
def broker() -> Iterator[SaslBroker]:
    with sasl_broker() as running:
        for mechanism in MECHANISMS[1:3]:
            running.add_scram(USER, PASSWORD, mechanism)
        yield running


class SecuredJava(JavaClient):
    """The Java client with a login, which may change from one producer to the next."""

    def __init__(self, jar_set: str) -> None:
        # Each handle says which broker it is for.
        super().__init__("unused:1", jar_set)
        self.security: dict[str, str] = {}

    def handle(self, kind: str, **settings: object) -> str:
        handle = f"{kind}-{time.monotonic_ns()}"
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.call(kind, handle, *(f"{name}={value}" for name, value in {**named, **self.security}.items()))
        return handle


def jaas(mechanism: str, password: str) -> str:
    if mechanism == "OAUTHBEARER":
        return f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}";'
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f'{MODULES}.{module} required username="{USER}" password="{password}";'


_javas: dict[str, SecuredJava] = {}


@pytest.fixture(scope="module", autouse=True)
def end_javas() -> Iterator[None]:
    """End the JVMs of this file, one for each version."""
    yield
    while _javas:
        _javas.popitem()[1].close()


@contextmanager
def java(jar_set: str, servers: str, mechanism: str, password: str) -> Iterator[Send]:
    if jar_set not in _javas:
        _javas[jar_set] = SecuredJava(jar_set)
    client = _javas[jar_set]
    client.security = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas(mechanism, password),
    }
    with closing(client.producer()) as producer:
        yield lambda topic: producer.write(topic, [Message(value=b"x")])[0][1]


@contextmanager
def librdkafka(servers: str, mechanism: str, password: str) -> Iterator[Send]:
    failures: list[KafkaError] = []
    settings = {
        "bootstrap.servers": servers,
        "log_level": 3,
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": mechanism,
        "error_cb": failures.append,
    }
    if mechanism == "OAUTHBEARER":
        settings |= {"enable.sasl.oauthbearer.unsecure.jwt": True, "sasl.oauthbearer.config": f"principal={USER}"}
    else:
        settings |= {"sasl.username": USER, "sasl.password": password}
    producer = Producer(settings)

    def send(topic: str) -> int:
        offsets: list[int] = []
        producer.produce(topic, b"x", on_delivery=lambda error, message: offsets.append(message.offset()))
        deadline = time.monotonic() + PATIENCE_S
        while not offsets and time.monotonic() < deadline:
            producer.poll(0.1)
            for failure in failures:
                if failure.code() == KafkaError._AUTHENTICATION:
                    raise PermissionError(failure.str())
        return offsets[0]

    try:
        yield send
    finally:
        producer.purge()
        producer.flush(1)


class Tokens(AbstractTokenProvider):
    def token(self) -> str:
        return unsecured_token({"unsecuredLoginStringClaim_sub": USER}, int(time.time() * 1000))


@contextmanager
def kafka_python(servers: str, mechanism: str, password: str) -> Iterator[Send]:
    login = (
        {"sasl_oauth_token_provider": Tokens()}
        if mechanism == "OAUTHBEARER"
        else {"sasl_plain_username": USER, "sasl_plain_password": password}
    )
    producer = KafkaProducer(
        bootstrap_servers=servers, security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, **login
    )
    try:
        yield lambda topic: producer.send(topic, b"x").get(PATIENCE_S).offset
    finally:
        producer.close()


CLIENTS = {
    "java-2.7.2": lambda *login: java(KAFKA, *login),
    "java-4": lambda *login: java(CLIENTS_4, *login),
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
}


@pytest.mark.parametrize("client", list(CLIENTS))
def test_each_client_logs_in_by_each_mechanism(broker: SaslBroker, client: str, name: str) -> None:
    # That of Java 4 wants a JSON library for tokens, which is not among our jars.
    for mechanism in MECHANISMS[: 3 if client == "java-4" else 4]:
        with CLIENTS[client](broker.sasl, mechanism, PASSWORD) as send:
            assert send(f"{name}-{mechanism}") == 0, mechanism


@pytest.mark.parametrize("client", ["java-2.7.2", "java-4", "librdkafka"])
def test_a_wrong_password_is_told_as_one(broker: SaslBroker, client: str, name: str) -> None:
    for mechanism in MECHANISMS[:3]:
        with CLIENTS[client](broker.sasl, mechanism, "wrong") as send:
            with pytest.raises((JavaClientError, PermissionError)) as failure:
                send(name)
            assert "Authentication failed" in str(failure.value), mechanism


def test_sessions_end_and_clients_log_in_again(name: str) -> None:
    with ExitStack() as stack:
        broker = stack.enter_context(sasl_broker({"connections.max.reauth.ms": str(SESSION_MS)}))
        broker.add_scram(USER, PASSWORD, "SCRAM-SHA-512")
        senders = [
            stack.enter_context(CLIENTS[client](broker.sasl, mechanism, PASSWORD))
            for client, mechanism in (("java-4", "SCRAM-SHA-512"), ("librdkafka", "PLAIN"))
        ]
        # Who does not log in again is closed at the end of his session.
        idle = stack.enter_context(broker.connect())
        assert idle.log_in().session_lifetime_ms == SESSION_MS
        end = time.monotonic() + 2 * SESSION_MS / 1000
        count = 0
        while time.monotonic() < end:
            for index, send in enumerate(senders):
                assert send(f"{name}-{index}") == count
            count += 1
        assert idle.ask(ListGroupsRequest(), 0) is None
