"""A broker with a listener on which users log in, beside one without; Kafka 2.7.2 or Barnabas, with the same settings.

alice / alice-secret, bob / bob-secret      PLAIN
what a test adds                            SCRAM-SHA-256, SCRAM-SHA-512
any unsigned token                          OAUTHBEARER
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import pbkdf2_hmac
from pathlib import Path

from barnabas.wire.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from barnabas.wire.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramClient
from tests.compat.conftest import TARGET
from tests.compat.raw import Peer, ask
from tests.patience import PATIENCE_S
from tools.kafka.server import ONE_BROKER, QuickKafkaServer, free_port

MODULES = "org.apache.kafka.common.security"
_PREFIX = "listener.name.users"
JAAS = {
    f"{_PREFIX}.plain.sasl.jaas.config": (
        f'{MODULES}.plain.PlainLoginModule required user_alice="alice-secret" user_bob="bob-secret" user_admin="a";'
    ),
    f"{_PREFIX}.scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    f"{_PREFIX}.scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    f"{_PREFIX}.oauthbearer.sasl.jaas.config": (
        f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="admin" '
        'unsecuredValidatorAllowableClockSkewMs="3000";'
    ),
}
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
SCRAM = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}


class SaslBroker:
    """Where it listens.

    Attributes:
        plaintext, sasl: `host:port` of the listener without logins, and of the one with them.
        zookeeper: `host:port` of its ZooKeeper, or of what speaks as one.
    """

    def __init__(self, plaintext: str, sasl: str, zookeeper: str) -> None:
        self.plaintext = plaintext
        self.sasl = sasl
        self.zookeeper = zookeeper

    def add_scram(
        self, user: str, password: str, mechanism: str = "SCRAM-SHA-256", iterations: int = 4096, salt: bytes = b"salt"
    ) -> None:
        """Give a user a credential, which holds when this returns."""
        code, hash_name = SCRAM[mechanism]
        salted = pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
        request = AlterUserScramCredentialsRequest(
            upsertions=[ScramCredentialUpsertion(user, code, iterations, salt, salted)]
        )
        answer = ask(self.plaintext, request, 0)
        assert [each.error_code for each in answer.results] == [0]
        known = self.knows_scram if TARGET == "barnabas" else self.comes_to_know
        assert known(user, password, mechanism)

    def comes_to_know(self, user: str, password: str, mechanism: str) -> bool:
        """Whether a user can log in so, now or soon: Kafka answers a change before it goes by it itself."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.knows_scram(user, password, mechanism):
            if time.monotonic() > deadline:
                return False
        return True

    def knows_scram(self, user: str, password: str, mechanism: str) -> bool:
        """Whether a user can log in so."""
        client = ScramClient(SCRAM_MECHANISMS[mechanism], user, password, "nonce")
        with self.connect() as wire:
            answer = wire.log_in_by(client, mechanism)
        return answer is not None and answer.error_code == 0

    def connect(self) -> "Wire":
        return Wire(self.sasl)


class Wire(Peer):
    """A connection to the listener with logins, request by request."""

    def shake(self, mechanism, version=1):
        return self.ask(SaslHandshakeRequest(mechanism), version)

    def prove(self, token, version=2):
        return self.ask(SaslAuthenticateRequest(token), version)

    def log_in(self, user="alice", password="alice-secret"):
        assert self.shake("PLAIN").error_code == 0
        return self.prove(f"\0{user}\0{password}".encode())

    def log_in_by(self, client, mechanism):
        """Log in by a client's side of ours; the last answer, None where the connection closed."""
        assert self.shake(mechanism).error_code == 0
        answer = self.prove(client.first())
        while answer is not None and answer.error_code == 0 and not client.is_complete:
            token = client.answer(bytes(answer.auth_bytes))
            if not client.is_complete:
                answer = self.prove(token)
        return answer


@contextmanager
def sasl_broker(config: Mapping[str, str] | None = None) -> Iterator[SaslBroker]:
    """Run one; `config` wins over the usual settings."""
    plaintext, sasl = free_port(), free_port()
    settings = {
        **ONE_BROKER,
        "listeners": f"PLAINTEXT://127.0.0.1:{plaintext},USERS://127.0.0.1:{sasl}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": MECHANISMS,
        **JAAS,
        **(config or {}),
    }
    addresses = f"127.0.0.1:{plaintext}", f"127.0.0.1:{sasl}"
    if TARGET == "kafka":
        with QuickKafkaServer(config=settings, port=plaintext) as server:
            yield SaslBroker(*addresses, server.zookeeper_connect)
        return
    settings["barnabas.registry.listeners"] = zookeeper = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="sasl-broker-") as directory:
        path = Path(directory, "server.properties")
        settings.setdefault("log.dirs", f"{directory}/data")
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="latin-1")
        with run_barnabas(path):
            yield SaslBroker(*addresses, zookeeper)


@contextmanager
def run_barnabas(properties: Path) -> Iterator[None]:
    """A broker of ours with a settings file, from when it is ready to its end."""
    ready, ready_child = os.pipe()
    log = properties.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "barnabas.broker.server.main", properties, "--ready-fd", str(ready_child)],
            pass_fds=[ready_child],
            stdout=output,
            stderr=output,
        )
    os.close(ready_child)
    try:
        with open(ready, "rb") as file:
            if not file.readline():
                raise AssertionError(f"the broker did not start: {log.read_text()[-2000:]}")
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
