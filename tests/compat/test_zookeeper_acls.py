"""Access rules in a real ZooKeeper: Kafka's tool writes them there itself, and so does whoever writes a node."""

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.compat.commands import Commands
from tests.compat.raw import ask
from tests.patience import until
from tests.zookeeper_client import kazoo_client
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER
from tools.kafka.zookeeper import ZooKeeper

CONFIG = {
    **ONE_BROKER,
    "authorizer.class.name": "kafka.security.auth.SimpleAclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
RULE = b'{"version":1,"acls":[{"principal":"User:ANONYMOUS","permissionType":"%s","operation":"Describe","host":"*"}]}'
TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC = 29, 3


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeper) -> Iterator[Broker]:
    with Broker(config={**CONFIG, "zookeeper.connect": zookeeper.connect}) as running:
        yield running


@pytest.fixture
def tree(zookeeper: ZooKeeper) -> Iterator[KazooClient]:
    with kazoo_client(zookeeper.connect) as client:
        yield client


def answer_about(broker: Broker, topic: str) -> int:
    request = MetadataRequest([MetadataRequestTopic(topic)], False)
    code: int = ask(broker.bootstrap_servers, request, 5).topics[0].error_code
    return code


def test_kafkas_tool_writes_to_zookeeper_and_the_broker_goes_by_it(
    broker: Broker, zookeeper: ZooKeeper, tree: KazooClient, name: str
) -> None:
    where = ("--authorizer-properties", f"zookeeper.connect={zookeeper.connect}")

    def acl_command(*arguments: str) -> str:
        done = run_tool("kafka.admin.AclCommand", *where, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert answer_about(broker, f"{name}-x") == UNKNOWN_TOPIC
    prefixed = ("--topic", name, "--resource-pattern-type", "prefixed")
    acl_command("--add", "--allow-principal", "User:alice", "--operation", "Read", *prefixed)
    until(lambda: answer_about(broker, f"{name}-x") == TOPIC_AUTHORIZATION_FAILED)
    # What our command does its tool reads there, and in Kafka's form.
    Commands(broker.bootstrap_servers).run(
        "acls", "--add", "--topic", name, "--deny-principal", "User:bob", "--operation", "Write"
    )
    assert tree.get(f"/kafka-acl/Topic/{name}")[0] == (
        b'{"version":1,"acls":[{"principal":"User:bob","permissionType":"Deny","operation":"Write","host":"*"}]}'
    )
    assert "(principal=User:bob, host=*, operation=WRITE, permissionType=DENY)" in acl_command(
        "--list", "--topic", name
    )
    acl_command("--remove", "--force", "--topic", name)
    acl_command("--remove", "--force", *prefixed)
    until(lambda: answer_about(broker, f"{name}-x") == UNKNOWN_TOPIC)
    assert not tree.exists(f"/kafka-acl/Topic/{name}")


def test_a_node_written_by_hand_counts_and_one_that_makes_no_sense_changes_nothing(
    broker: Broker, tree: KazooClient, name: str
) -> None:
    def write(data: bytes) -> None:
        path = f"/kafka-acl/Topic/{name}"
        if tree.exists(path):
            tree.set(path, data)
        else:
            tree.create(path, data)
        tree.create("/kafka-acl-changes/acl_changes_", f"TOPIC:{name}".encode(), sequence=True)

    write(RULE % b"Deny")
    until(lambda: answer_about(broker, name) == TOPIC_AUTHORIZATION_FAILED)
    for data in (b"{", b"[]", b'{"version":7}', RULE % b"Perhaps", b"\xff\x00", b"[" * 50_000):
        write(data)
    until(lambda: broker.log_text().count("cannot read the ACLs") >= 1)
    assert answer_about(broker, name) == TOPIC_AUTHORIZATION_FAILED
    write(RULE % b"Allow")
    until(lambda: answer_about(broker, name) == UNKNOWN_TOPIC)
    # As unreadable as it may be at a start: nobody gets at it, and everything else goes on.
    write(b"{")
    until(lambda: "(no JSON" in broker.log_text())
    broker.restart()
    assert answer_about(broker, name) == TOPIC_AUTHORIZATION_FAILED
    assert answer_about(broker, f"{name}-other") == UNKNOWN_TOPIC
    write(RULE % b"Allow")
    until(lambda: answer_about(broker, name) == UNKNOWN_TOPIC)
