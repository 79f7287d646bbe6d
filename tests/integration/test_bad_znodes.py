"""What somebody may have written into the cluster's tree: bad nodes are named and passed over, nothing else fails."""

import asyncio
import itertools
import logging
from pathlib import Path

import pytest

from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, DeleteOp, Op, SetOp
from tests import zookeeper_client as zk
from tests.compat.raw import ask
from tests.integration.live_broker import Running, play
from tests.integration.test_registry_listeners import ANY_PORT, port_of
from tests.zookeeper_client import RawClient

SETTINGS = {
    **ANY_PORT,
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "delegation.token.master.key": "key",
    "log.cleaner.enable": "false",
}
DIGITS = "9" * 5_000
# What no number is, or none that fits, and one that looks like another one.
NAMES = ("x", "-1", "00000000004", "7", "2147483648", DIGITS, "\u0664", "a b", "\u00fc", "x" * 300, "%FF", "%ZZ", "...")
JUNK: tuple[bytes | None, ...] = (
    None,
    b"",
    b"\xff\xfe",
    b"5",
    b'"text"',
    b"[]",
    b"{}",
    b"[" * 50_000,
    b'{"version":' + DIGITS.encode() + b"}",
    b'{"version":2,"entity_path":5}',
    b'{"version":2,"entity_path":"topics/../x"}',
    b'{"version":2,"entity_path":"brokers/' + DIGITS.encode() + b'"}',
    b'{"version":1,"config":[]}',
    b'{"version":1,"config":{"SCRAM-SHA-256":"x","producer_byte_rate":"1e999","retention.ms":"-","listeners":"x"}}',
    b'{"version":1,"config":{"producer_byte_rate":{}}}',
    b'{"version":1,"acls":{}}',
    b'{"version":1,"acls":[{"principal":5}]}',
    b'{"version":1,"tokenId":"x","owner":5}',
    b"TOPIC:../x",
    b"NOPE:x",
    b'{"version":1,"resourceType":"TOPIC","name":"../x","patternType":"PREFIXED"}',
)
ASSIGNMENTS = (
    b'{"partitions":[]}',
    b'{"partitions":{"0":"x"}}',
    b'{"partitions":{"0":[true]}}',
    b'{"partitions":{"0":[1.5]}}',
    b'{"partitions":{"0":[2147483648]}}',
    b'{"partitions":{"0":[-1]}}',
    b'{"partitions":{"0":[]}}',
    b'{"partitions":{"-1":[0]}}',
    b'{"partitions":{"\xd9\xa4":[0]}}',
    b'{"partitions":{"2147483648":[0]}}',
    b'{"partitions":{"' + DIGITS.encode() + b'":[0]}}',
    b'{"partitions":{"1":[0]}}',
    b'{"partitions":{"0":[0]},"adding_replicas":{"0":[7]},"removing_replicas":{"x":[]}}',
)
STATES = (
    b"\xff",
    b'{"leader":"0","leader_epoch":0,"isr":[0],"controller_epoch":1}',
    b'{"leader":0,"leader_epoch":-7,"isr":[0],"controller_epoch":1}',
    b'{"leader":7,"leader_epoch":2147483647,"isr":[7],"controller_epoch":1}',
    b'{"leader":99999999999,"leader_epoch":0,"isr":[0],"controller_epoch":1}',
    b'{"leader":0,"leader_epoch":0,"isr":[99999999999],"controller_epoch":1}',
    b'{"leader":0,"leader_epoch":0,"isr":[],"controller_epoch":99999999999}',
)
NO_AUTH, EPHEMERAL, SEQUENCE = -102, 1, 2
ONE_PARTITION = b'{"version":1,"partitions":{"0":[0]}}'
PARENTS = (
    paths.BROKER_IDS,
    paths.BROKER_TOPICS,
    paths.DELETE_TOPICS,
    paths.CONFIG_TOPICS,
    paths.CONFIG_BROKERS,
    paths.CONFIG_CLIENTS,
    paths.CONFIG_USERS,
    f"{paths.CONFIG_USERS}/u/clients",
    paths.CONFIG_CHANGES,
    f"{paths.ACLS}/Topic",
    f"{paths.PREFIXED_ACLS}/Group",
    paths.ACLS,
    paths.ACL_CHANGES,
    paths.PREFIXED_ACL_CHANGES,
    paths.DELEGATION_TOKENS,
    paths.DELEGATION_TOKEN_CHANGES,
    paths.ISR_CHANGES,
    paths.LOG_DIR_EVENTS,
    paths.CONSUMERS,
)
PREFIXES = {
    paths.CONFIG_CHANGES: paths.CONFIG_CHANGE_PREFIX,
    paths.ACL_CHANGES: paths.ACL_CHANGE_PREFIX,
    paths.PREFIXED_ACL_CHANGES: paths.ACL_CHANGE_PREFIX,
    paths.DELEGATION_TOKEN_CHANGES: paths.DELEGATION_TOKEN_CHANGE_PREFIX,
}


def bad_nodes() -> list[tuple[str, bytes | None]]:
    """Paths, parents first, and what is there."""
    junk = itertools.cycle(JUNK)
    found: list[tuple[str, bytes | None]] = []
    for parent in PARENTS:
        found += [(f"{parent}/{name}", next(junk)) for name in NAMES]
        found += [(f"{parent}/junk-{number}", each) for number, each in enumerate(JUNK)]
        found += [(f"{parent}/with-children/child", None), (f"{parent}/no-topic/child/child", b"x")]
    for parent, prefix in PREFIXES.items():
        # Numbers that no counter gave, which must not hide those that it will give.
        numbers = ("", "x", "5", "9999999999", "2147483646", "99999999999999999999", DIGITS, "\u0664" * 10)
        found += [(f"{parent}/{prefix}{number}", next(junk)) for number in numbers]
        found += [(f"{parent}/{prefix}{number:010d}/child", each) for number, each in enumerate(JUNK)]
    for number, data in enumerate(ASSIGNMENTS):
        found.append((paths.topic(f"assigned-{number}"), data))
    for number, data in enumerate(STATES):
        found.append((paths.topic(f"led-{number}"), ONE_PARTITION))
        found.append((paths.partition_state(f"led-{number}", 0), data))
    found += [(paths.topic("busy"), ONE_PARTITION), (f"{paths.topic('busy')}/partitions/x/y", None)]
    asked = b'{"partitions":[{"topic":"busy","partition":99999999999,"replicas":[-1]}]}'
    for path in (paths.PREFERRED_ELECTION, paths.REASSIGNMENT):
        found += [(path, asked), (f"{path}/child", None)]
    return found


async def put_bad_nodes(running: Running) -> None:
    """Write them all, many at a time, as one who may write everything."""
    known: set[str] = set()
    ops: list[Op] = []
    for path, data in bad_nodes():
        for each in (*paths.ancestors(path), path):
            if each not in known and await running.registry.exists(each) is None:
                ops.append(CreateOp(each, data if each == path else None))
            known.add(each)
    # What asks for something is gone a moment later, with what is below it.
    for start in range(0, len(ops) - 4, 100):
        await running.registry.multi(ops[start : min(start + 100, len(ops) - 4)])
    await running.registry.multi(ops[-4:-2])
    await running.registry.multi(ops[-2:])


async def check_that_all_works(running: Running, name: str) -> None:
    """Create a topic with settings, delete it, change settings and rules, take a producer id."""
    creation = CreateTopicsRequest([CreatableTopic(name, 1, 1, [], [CreatableTopicConfig("max.message.bytes", "77")])])
    creation.timeout_ms = 5_000
    created = await asyncio.to_thread(ask, running.servers, creation, 5)
    assert [(each.error_code, each.error_message) for each in created.topics] == [(0, None)]
    found = await asyncio.to_thread(ask, running.servers, MetadataRequest(None), 8)
    assert [each.partitions[0].leader_id for each in found.topics if each.name == name] == [0]
    await running.change(f"topics/{name}", {"max.message.bytes": "78"})
    await running.until_largest(name, ("78", 1))
    rule = AclCreation(2, name, 3, "User:a", "*", 3, 3)
    ruled = await asyncio.to_thread(ask, running.servers, CreateAclsRequest([rule]), 2)
    assert [each.error_code for each in ruled.results] == [0]
    deleted = await asyncio.to_thread(ask, running.servers, DeleteTopicsRequest([name], 5_000), 3)
    assert [each.error_code for each in deleted.responses] == [0]
    producer = await asyncio.to_thread(ask, running.servers, InitProducerIdRequest(None, 60_000), 1)
    assert (producer.error_code, producer.producer_id >= 0) == (0, True)


def check_that_it_was_told_once(caplog: pytest.LogCaptureFixture) -> None:
    assert [record.message for record in caplog.records if record.exc_info] == []
    told = [record.message for record in caplog.records if "skipped" in record.message or "ids/" in record.message]
    assert len(told) == len(set(told)) > len(ASSIGNMENTS) + len(NAMES)


def test_bad_nodes_are_passed_over_while_it_runs_and_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def written(running: Running) -> None:
        await put_bad_nodes(running)
        await check_that_all_works(running, "first")

    async def again(running: Running) -> None:
        await check_that_all_works(running, "second")

    play(tmp_path, written, SETTINGS)
    check_that_it_was_told_once(caplog)
    caplog.clear()
    play(tmp_path, again, SETTINGS)
    check_that_it_was_told_once(caplog)


def test_clients_of_the_registry_take_nothing_from_the_broker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ephemeral nodes where persistent ones belong, deleted parents, the broker's own nodes."""
    own = (paths.CONTROLLER, paths.broker(0), paths.CONTROLLER_EPOCH, paths.CLUSTER_ID, paths.PRODUCER_ID_BLOCK)
    kept = (*own, *paths.PERSISTENT, *paths.WITH_RULES, *paths.WITH_TOKENS, "/config", "/brokers", "/kafka-acl/Topic")

    def attack(client: RawClient) -> None:
        assert {client.ask(zk.SET_DATA, zk.setting(path, b"\xff")).error for path in own} == {NO_AUTH}
        assert {client.ask(zk.DELETE, zk.versioned(path)).error for path in kept} == {NO_AUTH}
        assert client.ask(zk.CREATE, zk.creation(paths.BARNABAS)).error == NO_AUTH
        for parent in PARENTS:
            client.ask(zk.CREATE, zk.creation(parent, flags=EPHEMERAL))
            for name in NAMES:
                client.ask(zk.CREATE, zk.creation(f"{parent}/e-{name}", ONE_PARTITION, EPHEMERAL))
        for parent, prefix in PREFIXES.items():
            assert client.ask(zk.CREATE, zk.creation(f"{parent}/{prefix}", b"\xff", EPHEMERAL | SEQUENCE)).error == 0
        half = zk.creation(paths.topic("half"), ONE_PARTITION), zk.creation(paths.partitions("half"), b"", EPHEMERAL)
        assert client.ask(zk.MULTI, zk.multi((zk.CREATE, half[0]), (zk.CREATE, half[1]))).error == 0

    async def story(running: Running) -> None:
        with await asyncio.to_thread(RawClient.connected, port_of(running), 60_000) as client:
            await asyncio.to_thread(attack, client)
            await check_that_all_works(running, "first")
            await asyncio.to_thread(client.ask, zk.CLOSE_SESSION)
        await check_that_all_works(running, "second")

    caplog.set_level(logging.INFO)
    play(tmp_path, story, SETTINGS)
    assert [record.message for record in caplog.records if record.exc_info] == []
    assert sum("topics/e-7 is malformed (its node is ephemeral" in record.message for record in caplog.records) == 1


def test_a_controller_that_no_session_is_and_an_epoch_that_is_none_are_passed_over(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        bad: list[Op] = [
            DeleteOp(paths.CONTROLLER),
            CreateOp(paths.CONTROLLER, b'{"version":1,"brokerid":7}'),
            SetOp(paths.CONTROLLER_EPOCH, b"\xff"),
        ]
        await running.registry.multi(bad)
        stat = await running.registry.exists(paths.CONTROLLER)
        while stat is None or not stat.ephemeral_owner:
            await asyncio.sleep(0)
            stat = await running.registry.exists(paths.CONTROLLER)
        await check_that_all_works(running, "t")

    play(tmp_path, story, SETTINGS)
