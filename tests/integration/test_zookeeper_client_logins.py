"""Our own clients of ZooKeeper log in: commands by a file that the environment names, programs by their settings."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from barnabas.api.connector import ConsumerConnector
from barnabas.api.producer import Producer
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.clients.zookeeper.settings import zookeeper_options
from barnabas.core.errors import ConfigError
from barnabas.testing import Broker
from tests import commands
from tests.integration.test_registry_logins import ADMIN, Stores
from tests.patience import PATIENCE_S
from tools.kafka.server import free_port


class Site:
    """A broker whose registry asks for logins: in the clear, and by TLS for those with a certificate."""

    def __init__(self, directory: Path, plain: int, secret: int) -> None:
        self.directory = directory
        self.stores = Stores(directory / "stores")
        self.plain, self.secret = f"127.0.0.1:{plain}", f"127.0.0.1:{secret}"
        self.settings = self.stores.settings(
            **{
                "barnabas.registry.listeners": self.plain,
                "barnabas.registry.ssl.listeners": self.secret,
                "barnabas.registry.super.users": f"{ADMIN};x509:CN=admin",
                "listener.name.registry.ssl.client.auth": "required",
                "auto.create.topics.enable": "true",
            }
        )

    def tls(self, name: str) -> dict[str, str]:
        """What a client comes by TLS with."""
        return {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
            "zookeeper.ssl.keystore.location": self.stores.pkcs12(name, "word"),
            "zookeeper.ssl.keystore.password": "word",
            "zookeeper.ssl.truststore.location": self.stores.ca,
        }

    def run(self, zookeeper: str, *arguments: str, **settings: str) -> str:
        """What a command says, with its settings in a file."""
        file = self.directory / "zookeeper.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        with patch.dict(os.environ, BARNABAS_ZOOKEEPER_CONFIG=str(file) if settings else ""):
            result = commands.run(*arguments, "--zookeeper", zookeeper)
        return result.stdout + result.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    found = Site(directory, free_port(), free_port())
    with Broker(config=found.settings, data_dir=directory / "data"):
        yield found


def test_commands_log_in_by_digest(site: Site) -> None:
    write = ("registry", "set", "/config/users/alice", '{"version":1,"config":{"x":"alices"}}')
    assert "AccessDenied" in site.run(site.plain, *write)
    site.run(site.plain, *write, **{"barnabas.zookeeper.digest": "admin:secret"})
    read = ("registry", "get", "/config/users/alice")
    assert "alices" not in site.run(site.plain, *read)
    assert "alices" not in site.run(site.plain, *read, **{"barnabas.zookeeper.digest": "admin:wrong"})
    assert "alices" in site.run(site.plain, *read, **{"barnabas.zookeeper.digest": "admin:secret"})


def test_commands_come_by_tls_with_a_certificate(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    read = ("registry", "get", "/config/users")
    with monkeypatch.context() as brief:
        # Nobody answers in the clear: that is waited for.
        brief.setattr(
            "barnabas.migration.zookeeper_login.ZooKeeperOptions",
            lambda connect: ZooKeeperOptions(connect, 1_000, 1_000),
        )
        assert "no ZooKeeper answers" in site.run(site.secret, *read)
    assert "no ZooKeeper answers" not in site.run(site.secret, *read, **site.tls("admin"))
    assert "AccessDenied" in site.run(site.secret, *read, **site.tls("other"))
    # Groups are open to whoever has a certificate, and there are some only once the test of programs ran.
    assert site.run(site.secret, "groups", "--list", **site.tls("other")) in ("ZooKeeper has no groups.\n", "g\n")


def test_programs_produce_and_consume_by_a_registry_that_asks_for_certificates(site: Site) -> None:
    settings: dict[str, object] = {"zookeeper.connect": site.secret, **site.tls("program")}
    with Producer({**settings, "request.required.acks": 1}) as producer:
        producer.send("t", None, [b"value"])
    consumer = ConsumerConnector(
        {**settings, "group.id": "g", "auto.offset.reset": "smallest", "consumer.timeout.ms": PATIENCE_S * 1000}
    )
    try:
        ((stream,),) = consumer.create_message_streams({"t": 1}).values()
        assert next(stream).message == b"value"
    finally:
        consumer.shutdown()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"barnabas.zookeeper.digest": "secret"}, "barnabas.zookeeper.digest: must be user:password"),
        ({"barnabas.zookeeper.sasl": "secret:"}, "barnabas.zookeeper.sasl: must be user:password"),
        ({"zookeeper.ssl.client.enable": "secret"}, "zookeeper.ssl.client.enable: must be true or false"),
        (
            {"zookeeper.ssl.client.enable": "true", "zookeeper.ssl.keystore.location": "none.pem"},
            "zookeeper.ssl.client.enable=true: none.pem is unusable",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused_and_no_secret_is_told(values: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as raised:
        zookeeper_options("localhost", values, Random(1))
    assert "secret" not in str(raised.value)
    assert "hidden" not in repr(zookeeper_options("localhost", {"barnabas.zookeeper.digest": "me:hidden"}, Random(1)))
