"""Who may do what by the registry's listeners, with kazoo as the client: logins by digest or certificate, rights."""

import asyncio
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, InvalidACLError, NoAuthError
from kazoo.security import ACL, Id, Permissions, make_digest_acl, make_digest_acl_credential

from barnabas.broker.server.environment import machine_environment
from barnabas.broker.server.node import Node
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError, StartupError
from barnabas.testing.certificates import Authority
from barnabas.wire.registry import paths
from tests import zookeeper_client as zk
from tests.integration.live_broker import LISTENERS, Running, play
from tests.zookeeper_client import RawClient, kazoo_client

ADMIN = "digest:" + make_digest_acl_credential("admin", "secret")
HIDDEN = (paths.CONFIG_USERS, f"{paths.CONFIG_USERS}/alice", paths.CONFIG_BROKERS, paths.DELEGATION_TOKENS)
READABLE = (paths.BROKER_IDS, paths.BROKER_TOPICS, paths.CONFIG_TOPICS, paths.CONFIG_CHANGES, paths.ACLS)
SECURED = {
    "barnabas.registry.listeners": ":0",
    "barnabas.registry.super.users": ADMIN,
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "delegation.token.master.key": "key",
}


def client(port: int, **more: object) -> AbstractContextManager[KazooClient]:
    return kazoo_client(f"127.0.0.1:{port}", **more)


def attend(directory: Path, settings: Mapping[str, str], story: Callable[..., None]) -> None:
    """Run a story of clients, which gets the ports of the registry's listeners, beside a broker."""

    async def run(running: Running) -> None:
        await running.change("users/alice", {"producer_byte_rate": "1"})
        listeners = running.node.registry_listeners
        assert listeners is not None
        await asyncio.to_thread(story, *(port for _, port in listeners.addresses))

    play(directory, run, settings)


def begin(directory: Path, settings: Mapping[str, str]) -> None:
    """Start a broker, which does not come to serve anybody."""

    async def run() -> None:
        config = BrokerConfig.single_broker({**LISTENERS, **settings, "log.dirs": str(directory)})
        node = Node(machine_environment(asyncio.get_running_loop()), config, lambda reason: None)
        try:
            await node.start()
        finally:
            await node.stop()

    asyncio.run(run())


def test_a_stranger_reads_what_is_no_secret_and_changes_nothing(tmp_path: Path) -> None:
    def story(port: int) -> None:
        with client(port) as stranger:
            for path in READABLE:
                stranger.get(path)
                stranger.get_children(path)
            for path in HIDDEN:
                for ask in (stranger.get, stranger.get_children, stranger.get_acls):
                    with pytest.raises(NoAuthError):
                        ask(path)
            for path in ("/mine", f"{paths.BROKER_TOPICS}/t", f"{paths.CONFIG_USERS}/eve", f"{paths.ACLS}/Topic/t"):
                with pytest.raises(NoAuthError):
                    stranger.create(path)
            for path in (paths.ACL_CHANGES, paths.PREFIXED_ACL_CHANGES, paths.DELEGATION_TOKEN_CHANGES):
                with pytest.raises(NoAuthError):
                    stranger.create(f"{path}/x_", sequence=True)
            for path in (f"{paths.CONFIG_USERS}/alice", paths.BROKER_TOPICS):
                with pytest.raises(NoAuthError):
                    stranger.set(path, b"")
                with pytest.raises(NoAuthError):
                    stranger.set_acls(path, [ACL(Permissions.ALL, Id("world", "anyone"))])
            with pytest.raises(NoAuthError):
                stranger.delete(f"{paths.CONFIG_USERS}/alice")
            # Old consumers keep their groups there.
            stranger.create(f"{paths.CONSUMERS}/g/offsets/t/0", b"5", makepath=True)
            assert stranger.get_acls(paths.BROKER_TOPICS)[0] == [
                ACL(Permissions.READ, Id("world", "anyone")),
                ACL(Permissions.ALL, Id("super", "")),
            ]

    attend(tmp_path, SECURED, story)


def test_who_logs_in_as_a_super_user_may_do_everything(tmp_path: Path) -> None:
    def story(port: int) -> None:
        with client(port, auth_data=[("digest", "admin:wrong")]) as wrong, pytest.raises(NoAuthError):
            wrong.get(f"{paths.CONFIG_USERS}/alice")
        with client(port, auth_data=[("digest", "admin:secret")]) as admin:
            assert b"producer_byte_rate" in admin.get(f"{paths.CONFIG_USERS}/alice")[0]
            admin.create("/apps", acl=[make_digest_acl("app", "word", all=True)])
            admin.create(f"{paths.CONFIG_USERS}/bob", b'{"version":1,"config":{}}')
            admin.delete(f"{paths.CONFIG_USERS}/bob")
        with client(port, auth_data=[("digest", "app:word")]) as app:
            app.create("/apps/1", acl=[ACL(Permissions.ALL, Id("auth", ""))])
        with client(port) as stranger:
            for path in ("/apps", "/apps/1"):
                with pytest.raises(NoAuthError):
                    stranger.get(path)

    attend(tmp_path, SECURED, story)


def test_a_digest_is_made_as_the_docs_say() -> None:
    line = "printf %s admin:secret | openssl dgst -sha1 -binary | base64"
    assert line in (Path(__file__).parents[2] / "docs" / "zookeeper-clients.md").read_text()
    made = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
    assert f"digest:admin:{made.strip()}" == ADMIN


def test_set_acl_secures_the_tree_and_without_either_it_is_open(tmp_path: Path) -> None:
    def secured(port: int) -> None:
        with client(port) as stranger, pytest.raises(NoAuthError):
            stranger.get(paths.CONFIG_USERS)

    def opened(port: int) -> None:
        with client(port) as anybody:
            anybody.create("/mine")
            assert b"producer_byte_rate" in anybody.get(f"{paths.CONFIG_USERS}/alice")[0]

    attend(tmp_path, {"barnabas.registry.listeners": ":0", "zookeeper.set.acl": "true"}, secured)
    attend(tmp_path, {"barnabas.registry.listeners": ":0"}, opened)


def test_logins_of_one_connection_are_bounded(tmp_path: Path) -> None:
    def log_in(raw: RawClient, proof: bytes) -> int:
        return raw.ask(zk.AUTH, zk.integer(0) + zk.text("digest") + zk.buffer(proof), xid=-4).error

    def story(port: int) -> None:
        with RawClient.connected(port) as raw:
            errors = [log_in(raw, b"u%d:p" % number) for number in range(16)]
            assert errors == [0] * 15 + [AuthFailedError.code]
            assert raw.rest() == b""
        with RawClient.connected(port) as raw:
            assert log_in(raw, b"u" * 10_000) == AuthFailedError.code

    attend(tmp_path, SECURED, story)


class Stores:
    """The files of a broker and its clients."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._authority = directory, Authority()
        directory.mkdir()
        self.ca = self.write("ca.pem", self._authority.certificate_pem)
        self.broker = self.write("broker.pem", self._authority.issue("broker").pem())

    def write(self, name: str, data: bytes) -> str:
        path = self._directory / name
        path.write_bytes(data)
        return str(path)

    def settings(self, **more: str) -> dict[str, str]:
        prefix = "listener.name.registry.ssl"
        return {
            "barnabas.registry.ssl.listeners": ":0",
            f"{prefix}.keystore.type": "PEM",
            f"{prefix}.keystore.location": self.broker,
            f"{prefix}.truststore.type": "PEM",
            f"{prefix}.truststore.location": self.ca,
            f"{prefix}.client.auth": "requested",
            **more,
        }

    def pkcs12(self, name: str, password: str) -> str:
        """A client's key and certificate, as keytool writes them."""
        return self.write(f"{name}.p12", self._authority.issue(name).pkcs12(password))

    def client(self, name: str | None = None) -> dict[str, object]:
        """What kazoo is told to come with a certificate, or without one."""
        options: dict[str, object] = {"use_ssl": True, "ca": self.ca}
        if name is not None:
            path = self.write(f"{name}.pem", self._authority.issue(name).pem())
            options |= {"certfile": path, "keyfile": path}
        return options


def test_who_comes_by_tls_is_whom_his_certificate_names(tmp_path: Path) -> None:
    stores = Stores(tmp_path / "stores")
    names: list[str] = []

    def first(port: int) -> None:
        with client(port, **stores.client("admin")) as somebody:
            # With `auth` the list is that of who he is.
            somebody.create("/x", acl=[ACL(Permissions.ALL, Id("auth", ""))])
            ((acl,), _) = somebody.get_acls("/x")
            assert acl.id.scheme == "x509"
            names.append(acl.id.id)

    def second(port: int) -> None:
        with client(port, **stores.client("admin")) as admin:
            assert admin.add_auth("x509", "") is True
            admin.get(f"{paths.CONFIG_USERS}/alice")
        with client(port, **stores.client("other")) as other, pytest.raises(NoAuthError):
            other.get("/x")
        with client(port, **stores.client()) as nobody:
            nobody.get(paths.BROKER_TOPICS)
            with pytest.raises(NoAuthError):
                nobody.get(paths.CONFIG_USERS)
            with pytest.raises(InvalidACLError):
                nobody.create(f"{paths.CONSUMERS}/x", acl=[ACL(Permissions.ALL, Id("x509", "nobody"))])
            with pytest.raises(AuthFailedError):
                nobody.add_auth("x509", "")

    attend(tmp_path / "data", stores.settings(), first)
    attend(tmp_path / "data", stores.settings(**{"barnabas.registry.super.users": f"x509:{names[0]}"}), second)


def test_who_does_not_speak_tls_gets_nowhere_and_keys_that_cannot_be_used_end_the_start(tmp_path: Path) -> None:
    stores = Stores(tmp_path / "stores")

    def story(plain: int, secret: int) -> None:
        with client(plain):
            pass
        with RawClient(secret) as raw:
            raw.send(b"ruok" + bytes(16))
            assert b"imok" not in raw.rest()

    attend(tmp_path / "data", {**stores.settings(), "barnabas.registry.listeners": ":0"}, story)
    with pytest.raises(StartupError, match="listener REGISTRY: "):
        begin(tmp_path / "data", {**stores.settings(), "listener.name.registry.ssl.keystore.location": "no"})


@pytest.mark.parametrize("text", ["admin:secret", "digest:admin:secret", "x509:admin", "ip:127.0.0.1", ADMIN + ";x"])
def test_a_super_user_that_is_none_ends_the_start_and_his_password_is_not_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"barnabas\.registry\.super\.users: number \d is neither") as raised:
        begin(tmp_path, {**SECURED, "barnabas.registry.super.users": text})
    assert "secret" not in str(raised.value)
