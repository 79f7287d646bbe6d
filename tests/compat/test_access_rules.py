"""Who logs in does what the rules allow, and no more: Kafka's own clients on Kafka and on Barnabas.

The rules are made with the Java admin client by who came without a login, who is a super user here.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.compat.clients.java import JavaClient, JavaClientError
from tests.compat.clients.model import Message
from tests.compat.sasl_broker import SaslBroker, sasl_broker
from tests.patience import until
from tools.kafka.jars import KAFKA

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
CONFIG = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "auto.create.topics.enable": "true",
}
ANYWHERE = "*"


@pytest.fixture(scope="module")
def broker() -> Iterator[SaslBroker]:
    with sasl_broker(CONFIG) as running:
        yield running


@pytest.fixture(scope="module")
def java(broker: SaslBroker) -> Iterator[JavaClient]:
    client = JavaClient(broker.plaintext, KAFKA)
    yield client
    client.close()


@pytest.fixture
def handle(java: JavaClient, broker: SaslBroker) -> Callable[..., str]:
    """A client of some kind that logs in as alice or bob."""

    def make(kind: str, user: str, **settings: object) -> str:
        return java.handle(
            kind,
            bootstrap_servers=broker.sasl,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_jaas_config=f'{LOGIN} username="{user}" password="{user}-secret";',
            max_block_ms=5_000,
            request_timeout_ms=10_000,
            default_api_timeout_ms=20_000,
            **settings,
        )

    return make


class Rules:
    """The rules of the broker, by the Java admin client of a super user."""

    def __init__(self, java: JavaClient) -> None:
        self._java = java

    def allow(self, kind: str, name: str, operation: str, user: str = "alice", pattern: str = "LITERAL") -> None:
        self._add(kind, name, operation, user, pattern, "ALLOW")

    def deny(self, kind: str, name: str, operation: str, user: str = "alice", pattern: str = "LITERAL") -> None:
        self._add(kind, name, operation, user, pattern, "DENY")

    def _add(self, kind: str, name: str, operation: str, user: str, pattern: str, permission: str) -> None:
        self._java.call(
            "create-acl", self._java.admin, kind, name, pattern, f"User:{user}", ANYWHERE, operation, permission
        )

    def shown(self, kind: str, name: str, pattern: str = "LITERAL") -> list[str]:
        return [each for each in self._java.call("acls", self._java.admin, kind, name, pattern) if each]

    def delete(self, kind: str, name: str, pattern: str = "LITERAL") -> list[str]:
        return [each for each in self._java.call("delete-acls", self._java.admin, kind, name, pattern) if each]


@pytest.fixture
def rules(java: JavaClient) -> Rules:
    return Rules(java)


def send(java: JavaClient, producer: str, topic: str) -> None:
    java.call("send", producer, topic, "-", "-", "-", ".eA==", "")
    java.call("flush", producer)


def test_the_admin_client_makes_shows_and_deletes_rules(rules: Rules, name: str) -> None:
    rules.allow("TOPIC", name, "READ")
    rules.allow("TOPIC", name, "READ")
    rules.deny("TOPIC", name[:5], "ALL", "*", "PREFIXED")
    about = [f"TOPIC {name} LITERAL User:alice * READ ALLOW", f"TOPIC {name[:5]} PREFIXED User:* * ALL DENY"]
    assert rules.shown("TOPIC", name) == about[:1]
    assert sorted(rules.shown("TOPIC", name, "MATCH")) == sorted(about)
    assert rules.delete("TOPIC", name[:5], "PREFIXED") == about[1:]
    assert rules.delete("TOPIC", name) == about[:1]
    assert rules.shown("TOPIC", name, "MATCH") == []


def test_a_producer_writes_what_it_may(java: JavaClient, rules: Rules, handle: Callable[..., str], name: str) -> None:
    java.create_topic(name, 1, {})

    def send_anew(**settings: object) -> None:
        # A producer of its own each time: it remembers what failed.
        send(java, handle("producer", "alice", **settings), name)

    with pytest.raises(JavaClientError, match="TopicAuthorizationException"):
        send_anew()
    rules.allow("TOPIC", name[:-1], "WRITE", pattern="PREFIXED")
    send_anew()
    rules.deny("TOPIC", name, "WRITE")
    with pytest.raises(JavaClientError, match="TopicAuthorizationException"):
        send_anew()
    rules.delete("TOPIC", name)
    with pytest.raises(JavaClientError, match="ClusterAuthorizationException"):
        send_anew(enable_idempotence="true")
    rules.allow("CLUSTER", "kafka-cluster", "IDEMPOTENT_WRITE")
    send_anew(enable_idempotence="true")
    rules.delete("CLUSTER", "kafka-cluster")


def test_a_consumer_reads_what_it_may(java: JavaClient, rules: Rules, handle: Callable[..., str], name: str) -> None:
    java.create_topic(name, 1, {})
    java.produce(name, [Message(None, b"x")])
    rules.allow("TOPIC", name, "READ", "bob")

    def poll(consumer: str) -> list[str]:
        return [each for each in java.call("poll", consumer, 500) if each]

    def subscribed() -> str:
        consumer = handle("consumer", "bob", group_id=name, auto_offset_reset="earliest")
        java.call("subscribe", consumer, name)
        return consumer

    with pytest.raises(JavaClientError, match="GroupAuthorizationException"):
        poll(subscribed())
    rules.allow("GROUP", name, "READ", "bob")
    consumer = subscribed()
    until(lambda: poll(consumer) != [])
    java.call("commit", consumer)
    rules.delete("TOPIC", name)
    with pytest.raises(JavaClientError, match="TopicAuthorizationException"):
        java.call("commit", consumer)
    with pytest.raises(JavaClientError, match="TopicAuthorizationException"):
        until(lambda: poll(consumer) != [])


def test_a_topic_that_may_not_be_described_is_not_there(
    java: JavaClient, rules: Rules, handle: Callable[..., str], name: str
) -> None:
    java.create_topic(name, 1, {})
    admin = handle("admin", "alice")
    assert name not in java.call("list-topics", admin)
    for asked in (name, f"{name}-missing"):
        with pytest.raises(JavaClientError, match="TopicAuthorizationException"):
            java.call("topic-rights", admin, asked)
    assert java.call("cluster-rights", admin) == ["[]"]
    rules.allow("TOPIC", name, "ALTER_CONFIGS")
    rules.allow("TOPIC", name, "DELETE")
    rules.allow("CLUSTER", "kafka-cluster", "DESCRIBE")
    assert name in java.call("list-topics", admin)
    assert java.call("topic-rights", admin, name) == ["[ALTER_CONFIGS, DELETE, DESCRIBE, DESCRIBE_CONFIGS]"]
    assert java.call("cluster-rights", admin) == ["[DESCRIBE]"]
    with pytest.raises(JavaClientError, match="TopicAuthorizationException"):
        java.call("create-partitions", admin, name, 2)
    java.call("delete-topic", admin, name)
    with pytest.raises(JavaClientError, match="TopicAuthorizationException"):
        java.call("create-topic", admin, name, 1)
    with pytest.raises(JavaClientError, match="ClusterAuthorizationException"):
        java.call("create-acl", admin, "TOPIC", name, "LITERAL", "User:alice", ANYWHERE, "ALL", "ALLOW")
    rules.delete("CLUSTER", "kafka-cluster")
