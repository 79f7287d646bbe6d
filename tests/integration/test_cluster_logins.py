"""Brokers meet on a listener of their own: over TLS with certificates of both sides, or logged in over TLS.

Clients have another listener, in the clear, so that what is seen here is the brokers' way to each other alone.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.clients.admin_configs import ConfigAdmin, ConfigChange, ConfigOperation, ConfigResource, ResourceType
from barnabas.clients.admin_users import NewCredential, UserAdmin
from barnabas.clients.pool import Pool
from barnabas.testing import Broker
from barnabas.testing.certificates import Authority, Certified
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS
from tests.clusters import SOON_STOPPED, create_topic, servers_of, wait_for_in_sync, wait_for_members
from tests.meeting import PASSWORD, PLAIN, SCRAM, USER, Meeting
from tests.patience import PATIENCE_S, until
from tools.kafka.server import free_port


class Place:
    """A registry, an authority, and brokers that meet by one of the logins."""

    def __init__(self, stack: ExitStack, directory: Path, mechanism: str) -> None:
        self.authority = Authority()
        self.mechanism = mechanism
        self._stack, self._directory, self._registry_port = stack, directory, free_port()
        self.members: dict[int, Broker] = {}
        (directory / "ca.pem").write_bytes(self.authority.certificate_pem)
        (directory / "revoked.pem").write_bytes(self.authority.revocations([]))
        stack.enter_context(Broker(config={"barnabas.registry.listeners": f":{self._registry_port}"}))

    def keystore(self, broker_id: int) -> Path:
        return self._directory / f"{broker_id}.pem"

    def issue(self, broker_id: int, valid_days: tuple[int, int] = (-1, 365)) -> Certified:
        """Put a new certificate in place of a broker's."""
        certified = self.authority.issue(f"broker-{broker_id}", valid_days=valid_days)
        new = self.keystore(broker_id).with_suffix(".new")
        new.touch(mode=0o600)
        new.write_bytes(certified.pem())
        new.rename(self.keystore(broker_id))
        return certified

    def revoke(self, certified: Certified) -> None:
        """Put a list with this certificate in place of that which all brokers look at."""
        new = self._directory / "revoked.new"
        new.write_bytes(self.authority.revocations([certified]))
        new.rename(self._directory / "revoked.pem")

    def start(self, broker_id: int) -> None:
        settings = {
            "broker.id": str(broker_id),
            "zookeeper.connect": f"127.0.0.1:{self._registry_port}/meeting",
            "listener.name.brokers.ssl.keystore.type": "PEM",
            "listener.name.brokers.ssl.keystore.location": str(self.keystore(broker_id)),
            "listener.name.brokers.ssl.truststore.type": "PEM",
            "listener.name.brokers.ssl.truststore.location": str(self._directory / "ca.pem"),
            "barnabas.ssl.crl.location": str(self._directory / "revoked.pem"),
            "replica.lag.time.max.ms": "3000",
            # One that was killed starts again when its session has ended.
            "zookeeper.session.timeout.ms": "3000",
            **SOON_STOPPED,
        }
        if self.mechanism == "certificates":
            settings["listener.name.brokers.ssl.client.auth"] = "required"
        else:
            jaas = PLAIN if self.mechanism == "PLAIN" else SCRAM
            settings["password.encoder.secret"] = "encoder"
            settings["sasl.enabled.mechanisms"] = self.mechanism
            settings["sasl.mechanism.inter.broker.protocol"] = self.mechanism
            settings[f"listener.name.brokers.{self.mechanism.lower()}.sasl.jaas.config"] = jaas
        broker = Meeting(
            "SSL" if self.mechanism == "certificates" else "SASL_SSL",
            config=settings,
            data_dir=self._directory / f"data-{broker_id}",
            start_timeout_s=PATIENCE_S,
        )
        self.members[broker_id] = self._stack.enter_context(broker)

    def know_user(self, password: str = PASSWORD) -> None:
        """Give the brokers' user its credential, where one is kept."""
        mechanism = SCRAM_MECHANISMS.get(self.mechanism)
        if mechanism is not None:
            asyncio.run(self._set(NewCredential.make(mechanism, password, 4_096, b"salt")))

    def log_in_by(self, jaas: str) -> None:
        """Have the brokers that run log in at each other by another line."""

        async def alter() -> None:
            change = ConfigChange(
                f"listener.name.brokers.{self.mechanism.lower()}.sasl.jaas.config", ConfigOperation.SET, jaas
            )
            changes = {ConfigResource(ResourceType.BROKER, str(each)): [change] for each in self.members}
            async with Pool(servers_of(self.members), "judge") as pool:
                await ConfigAdmin(pool).alter_configs(changes)

        asyncio.run(alter())

    async def _set(self, credential: NewCredential) -> None:
        async with Pool(self.members[1].bootstrap_servers, "judge") as pool:
            await UserAdmin(pool).set(USER, [credential])


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(stack, tmp_path, request.param)


MECHANISMS = [
    "certificates",
    *(pytest.param(each, marks=pytest.mark.whole) for each in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
]


@pytest.mark.parametrize("place", MECHANISMS, indirect=True)
def test_brokers_meet_and_go_on_with_new_certificates(place: Place) -> None:
    place.issue(1)
    place.issue(2)
    place.start(1)
    place.know_user()
    place.start(2)
    wait_for_members(place.members)
    create_topic(place.members, "t", 2)
    wait_for_in_sync(place.members, "t")
    for broker_id, broker in place.members.items():
        place.issue(broker_id)
        until(lambda broker=broker: "listener BROKERS has new keys or certificates" in broker.log_text())
    # All connections are new ones.
    place.members[2].restart()
    wait_for_members(place.members)
    wait_for_in_sync(place.members, "t")
    assert "cannot log in" not in "".join(broker.log_text() for broker in place.members.values())


@pytest.mark.parametrize("place", ["SCRAM-SHA-256"], indirect=True)
def test_brokers_log_in_by_a_new_password_without_a_restart(place: Place) -> None:
    place.issue(1)
    place.issue(2)
    place.start(1)
    place.know_user()
    place.start(2)
    wait_for_members(place.members)
    place.know_user("new")
    # It still has the old one: what it had open goes on, and a new connection is refused.
    place.members[2].kill()
    restart = threading.Thread(target=place.members[2].restart)
    restart.start()
    until(lambda: "cannot log in to broker 2" in place.members[1].log_text())
    place.log_in_by(SCRAM.replace(PASSWORD, "new"))
    restart.join()
    wait_for_members(place.members)
    create_topic(place.members, "t", 2)
    wait_for_in_sync(place.members, "t")
    (line,) = (line for line in place.members[1].log_text().splitlines() if "cannot log in to broker 2" in line)
    assert "secret" not in line


@pytest.mark.parametrize(
    "told", ["certificate has expired", pytest.param("certificate revoked", marks=pytest.mark.whole)]
)
@pytest.mark.parametrize("place", ["certificates"], indirect=True)
def test_a_certificate_that_ended_is_told_in_one_line_and_mended_without_a_restart(place: Place, told: str) -> None:
    place.issue(1)
    certified = place.issue(2)
    place.start(1)
    place.start(2)
    wait_for_members(place.members)
    create_topic(place.members, "t", 2)
    wait_for_in_sync(place.members, "t")
    if told == "certificate revoked":
        noticing = place.members[1]
        place.revoke(certified)
    else:
        noticing = place.members[2]
        place.issue(2, (-2, -1))
    until(lambda: "listener BROKERS has new keys or certificates" in noticing.log_text())
    place.members[2].kill()
    # It is not told of the cluster, by a controller that can't reach it.
    restart = threading.Thread(target=place.members[2].restart)
    restart.start()
    until(lambda: told in place.members[1].log_text())
    (line,) = {line for line in place.members[1].log_text().splitlines() if told in line}
    assert "cannot connect to broker 2: 127.0.0.1:" in line
    place.issue(2)
    restart.join()
    wait_for_members(place.members)
    wait_for_in_sync(place.members, "t")
