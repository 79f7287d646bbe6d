"""Logins and permissions: ZooKeeper 3.5.9 and a broker's registry answer alike, and our clients log in there."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from barnabas.clients.zookeeper.registry import AccessDeniedError, ZooKeeperRegistry
from barnabas.clients.zookeeper.settings import zookeeper_options
from barnabas.testing import Broker
from barnabas.wire.registry import paths
from tests import zookeeper_client as zk
from tests.integration.test_registry_logins import ADMIN
from tests.zookeeper_client import RawClient
from tools.kafka.server import free_port
from tools.kafka.zookeeper import ZooKeeper

SASL = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """One that knows a super user, and user kafka by SASL."""
    directory = tmp_path_factory.mktemp("zookeeper")
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    (directory / "jaas").write_text(f'Server {{ {module} required user_kafka="word"; }};\n')
    digest = ADMIN.removeprefix("digest:")
    options = [
        f"-Djava.security.auth.login.config={directory / 'jaas'}",
        f"-Dzookeeper.DigestAuthenticationProvider.superDigest={digest}",
        "-Dzookeeper.authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider",
    ]
    with ZooKeeper(directory, [f"authProvider.1={SASL}"], options) as server:
        yield server


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    # Open but for its super user, as a ZooKeeper is: what stands below /consumers.
    config = {"barnabas.registry.listeners": f":{port}", "barnabas.registry.super.users": ADMIN}
    with Broker(config=config, data_dir=tmp_path_factory.mktemp("own")):
        yield port


def story(port: int) -> list[object]:
    """What is answered to two users, a super user and a stranger, one after the other."""
    heard: list[object] = []

    def say(client: RawClient, operation: int, body: bytes) -> None:
        answer = client.ask(operation, body)
        shown = zk.decoded(operation, answer)
        # Of what is read only the list: transactions and times are others.
        heard.append((answer.error, shown[0] if operation == zk.GET_ACL and isinstance(shown, tuple) else None))

    def log_in(client: RawClient, scheme: str, proof: bytes) -> None:
        heard.append(client.ask(zk.AUTH, zk.integer(0) + zk.text(scheme) + zk.buffer(proof), xid=-4).error)

    def setting_acl(path: str, *acls: zk.Acl) -> bytes:
        return zk.text(path) + zk.acls(list(acls)) + zk.integer(-1)

    path, mine = "/consumers/logins", "/consumers/logins/mine"
    with RawClient.connected(port) as stranger, RawClient.connected(port) as me, RawClient.connected(port) as admin:
        say(stranger, zk.CREATE, zk.creation("/consumers"))
        say(stranger, zk.CREATE, zk.creation(path))
        say(me, zk.CREATE, zk.creation(mine, acl=[(31, "auth", "")]))
        log_in(me, "digest", b"me:word")
        log_in(me, "digest", b"me:other")
        say(me, zk.CREATE, zk.creation(mine, b"x", acl=[(31, "auth", ""), (1, "x509", "CN=reader")]))
        say(me, zk.GET_ACL, zk.text(mine))
        for client in (stranger, me):
            say(client, zk.GET_DATA, zk.watching(mine))
            say(client, zk.SET_DATA, zk.setting(mine, b"y"))
            say(client, zk.GET_ACL, zk.text(mine))
        for acl in ((31, "x509", "nobody"), (31, "super", ""), (31, "digest", "x"), (31, "nobody", "x")):
            say(me, zk.SET_ACL, setting_acl(mine, acl))
        log_in(admin, "digest", b"admin:secret")
        say(admin, zk.GET_DATA, zk.watching(mine))
        say(admin, zk.SET_ACL, setting_acl(mine, (31, "auth", "")))
        say(admin, zk.GET_ACL, zk.text(mine))
        say(me, zk.GET_DATA, zk.watching(mine))
        say(admin, zk.DELETE, zk.versioned(mine))
        log_in(stranger, "x509", b"")
    return heard


def test_both_give_the_same_answers(zookeeper: ZooKeeper, own: int) -> None:
    expected, found = story(zookeeper.port), story(own)
    # In a broker's registry /consumers is there from the beginning.
    assert found[1:] == expected[1:]


def test_a_broker_logs_in_by_digest(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    config = {
        "zookeeper.connect": f"{zookeeper.connect}/digest",
        "zookeeper.set.acl": "true",
        "barnabas.zookeeper.digest": "kafka:word",
    }
    with Broker(config=config, data_dir=tmp_path), RawClient.connected(zookeeper.port) as stranger:
        assert stranger.ask(zk.GET_DATA, zk.watching(f"/digest{paths.CONFIG_USERS}")).error == -102
        assert stranger.ask(zk.GET_DATA, zk.watching(f"/digest{paths.CONFIG_TOPICS}")).error == 0
        assert stranger.ask(zk.SET_DATA, zk.setting(f"/digest{paths.CONFIG_TOPICS}", b"")).error == -102


@pytest.mark.parametrize("name", ["barnabas.zookeeper.digest", "barnabas.zookeeper.sasl"])
def test_our_clients_log_in_at_a_zookeeper(zookeeper: ZooKeeper, name: str) -> None:
    async def run() -> None:
        # Below what holds credentials nobody but the creator reads.
        path = f"{paths.CONFIG_USERS}/{name}"
        options = replace(zookeeper_options(zookeeper.connect, {name: "kafka:word"}, Random(1)), sets_acl=True)
        known, stranger = await ZooKeeperRegistry.open(options), await ZooKeeperRegistry.open(zookeeper.connect)
        try:
            for each in paths.ancestors(path):
                if await stranger.exists(each) is None:
                    await stranger.create(each)
            await known.create(path, b"x")
            assert (await known.get(path))[0] == b"x"
            with pytest.raises(AccessDeniedError):
                await stranger.get(path)
        finally:
            await known.close()
            await stranger.close()

    asyncio.run(run())
