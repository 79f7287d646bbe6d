"""TLS and logins through Spark's connector, the JVM's admin client and the runner's own connections.

`BARNABAS_COMPAT_TARGET=kafka` runs the same against Kafka 2.7.2.
"""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import Job, TableOutput, TopicInput
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.quota import READ
from barnabas.pipeline.runner.quota_client import QuotaClient
from barnabas.testing.certificates import Authority
from tests.compat.sasl_broker import MODULES, SaslBroker, sasl_broker
from tests.pipeline.site import Site
from tests.pipeline.test_runner import view
from tests.spark import shared_session
from tools.kafka.server import free_port

USER, PASSWORD, CLIENT_ID = "alice", "alice-secret", "logins"
LIMIT = 5_000_000.0
_STORE_PASSWORD = "of the store"

JOB = Job(
    "logins",
    "keeps views",
    (TopicInput("views", EVENT_TYPES["page_view"]),),
    (TableOutput("facts"),),
    lambda inputs, parameters: {"facts": inputs["views"].select("id", "_topic", "_partition", "_offset")},
)


class Secured:
    """A broker with a listener for each way in: PLAINTEXT, SASL_PLAINTEXT, SSL, SASL_SSL."""

    def __init__(self, directory: Path, broker: SaslBroker, tls: str, both: str) -> None:
        self.broker = broker
        self.addresses = {"SASL_PLAINTEXT": broker.sasl, "SSL": tls, "SASL_SSL": both}
        self._ca = str(directory / "ca.pem")

    def options(self, protocol: str, mechanism: str) -> dict[str, str]:
        """What a client sets, in Kafka's own words."""
        found = {"client.id": CLIENT_ID, "security.protocol": protocol}
        if protocol.endswith("SSL"):
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self._ca}
        if protocol.startswith("SASL"):
            module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
            entry = f'{MODULES}.{module} required username="{USER}" password="{PASSWORD}";'
            found |= {"sasl.mechanism": mechanism, "sasl.jaas.config": entry}
        return found

    def limit(self, user: str) -> None:
        async def set_limit() -> None:
            async with Pool(self.broker.plaintext) as pool:
                await QuotaStateAdmin(pool).alter_limits(Limited(user, None), {"consumer_byte_rate": LIMIT})

        asyncio.run(set_limit())


def _settings(directory: Path, addresses: Mapping[str, str]) -> dict[str, Any]:
    authority = Authority()
    keys, ca = directory / "broker.p12", directory / "ca.pem"
    keys.write_bytes(authority.issue("broker", hosts=("localhost", "127.0.0.1")).pkcs12(_STORE_PASSWORD))
    ca.write_bytes(authority.certificate_pem)
    names = {"PLAINTEXT": "PLAINTEXT", "USERS": "SASL_PLAINTEXT", "TLS": "SSL", "BOTH": "SASL_SSL"}
    plain = f'{MODULES}.plain.PlainLoginModule required user_alice="alice-secret";'
    return {
        "listeners": ",".join(f"{name}://{address}" for name, address in addresses.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in names.items()),
        "listener.name.both.plain.sasl.jaas.config": plain,
        "listener.name.both.scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
        "listener.name.both.scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
        "listener.name.both.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(keys),
        "ssl.keystore.password": _STORE_PASSWORD,
        "ssl.key.password": _STORE_PASSWORD,
    }


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("logins")
    addresses = {name: f"127.0.0.1:{free_port()}" for name in ("PLAINTEXT", "USERS", "TLS", "BOTH")}
    with sasl_broker(_settings(directory, addresses)) as broker:
        running = SaslBroker(addresses["PLAINTEXT"], addresses["USERS"], broker.zookeeper)
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            running.add_scram(USER, PASSWORD, mechanism)
        found = Secured(directory, running, addresses["TLS"], addresses["BOTH"])
        found.limit(USER)
        found.limit("ANONYMOUS")
        yield found


WAYS = [
    pytest.param("SASL_PLAINTEXT", "PLAIN", marks=pytest.mark.whole),
    pytest.param("SASL_PLAINTEXT", "SCRAM-SHA-256", marks=pytest.mark.whole),
    ("SASL_SSL", "SCRAM-SHA-512"),
    ("SSL", ""),
]


@pytest.mark.parametrize(("protocol", "mechanism"), WAYS)
def test_a_run_logs_in_and_is_told_its_own_quota(
    secured: Secured, name: str, tmp_path: Path, protocol: str, mechanism: str
) -> None:
    with Site(shared_session(), lambda: secured.broker.plaintext, name, tmp_path) as site:
        site.create(site.topic("page_view"), 2)
        site.send_events("page_view", [view(number) for number in range(20)])
        kafka = KafkaOptions(secured.addresses[protocol], secured.options(protocol, mechanism))
        done = site.run(JOB, kafka=kafka, table_format="parquet")
        assert (done.figures.record_count, done.figures.lag_count) == (20, 0)
        assert len(site.rows(JOB, "facts", table_format="parquet")) == 20
        assert site.warnings == []
    with QuotaClient(kafka, site.warnings.append) as quotas:
        quotas.ask()
        user = USER if mechanism else "ANONYMOUS"
        assert f"5,000,000 B/s of user '{user}'" in str(quotas.of(READ)[0])
    assert site.warnings == []


def test_a_wrong_password_is_told(secured: Secured) -> None:
    warnings: list[str] = []
    options = secured.options("SASL_SSL", "PLAIN")
    options["sasl.jaas.config"] = options["sasl.jaas.config"].replace(PASSWORD, "wrong")
    with QuotaClient(KafkaOptions(secured.addresses["SASL_SSL"], options), warnings.append) as quotas:
        quotas.ask()
        assert quotas.of(READ) == []
    (warning,) = warnings
    assert "refuses the login" in warning
    assert "wrong" not in warning
