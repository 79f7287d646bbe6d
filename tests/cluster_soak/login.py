"""Brokers of Kafka and of ours that meet over TLS, and log in there; clients have a listener in the clear."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.testing import Broker
from barnabas.testing.certificates import Authority
from barnabas.testing.cluster import member_config
from tests.clusters import kafka_member
from tests.meeting import PASSWORD, PLAIN, SCRAM, USER, Meeting
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool
from tools.kafka.server import QuickKafkaServer, free_port

CERTIFICATES = "certificates"
_PASSWORD = "of the store"


class Login:
    """An authority, and the brokers' user, which is in ZooKeeper before the first of them comes.

    Args:
        directory: Where each broker's keys are kept.
        zookeeper_connect: With a tree of the cluster's own.
        mechanism: PLAIN or one of SCRAM; or `CERTIFICATES`, where each side asks for the other one's.
    """

    def __init__(self, directory: Path, zookeeper_connect: str, mechanism: str = "SCRAM-SHA-512") -> None:
        self._directory, self._zookeeper_connect, self._mechanism = directory, zookeeper_connect, mechanism
        self._authority = Authority()
        self._ca = directory / "ca.pem"
        self._ca.write_bytes(self._authority.certificate_pem)
        if not mechanism.startswith("SCRAM"):
            return
        credential = f"{mechanism}=[password={PASSWORD}]"
        whom = ("--zookeeper", zookeeper_connect, "--entity-type", "users", "--entity-name", USER)
        made = run_tool("kafka.admin.ConfigCommand", *whom, "--alter", "--add-config", credential)
        assert made.returncode == 0, made.stdout + made.stderr

    def new_member(
        self,
        kind: str,
        room: Path,
        broker_id: int,
        config: Mapping[str, str],
        host: str = "127.0.0.1",
        prefix: Sequence[str] = (),
    ) -> Broker | QuickKafkaServer:
        """Return a broker that is not started."""
        keys = self._directory / f"broker-{broker_id}.p12"
        keys.touch(mode=0o600)
        keys.write_bytes(self._authority.issue(f"broker-{broker_id}", hosts=[host]).pkcs12(_PASSWORD))
        store = {
            "keystore.type": "PKCS12",
            "keystore.location": str(keys),
            "keystore.password": _PASSWORD,
            "key.password": _PASSWORD,
            "truststore.type": "PEM",
            "truststore.location": str(self._ca),
        }
        settings = {**config, **{f"listener.name.brokers.ssl.{name}": value for name, value in store.items()}}
        mechanism = self._mechanism
        if mechanism == CERTIFICATES:
            protocol = "SSL"
            settings["listener.name.brokers.ssl.client.auth"] = "required"
        else:
            protocol = "SASL_SSL"
            jaas = PLAIN if mechanism == "PLAIN" else SCRAM
            settings[f"listener.name.brokers.{mechanism.lower()}.sasl.jaas.config"] = jaas
            settings["sasl.enabled.mechanisms"] = mechanism
            settings["sasl.mechanism.inter.broker.protocol"] = mechanism
        if kind == "kafka":
            port = free_port()
            settings |= {
                "listeners": f"CLIENTS://{host}:{port},BROKERS://{host}:{free_port()}",
                "listener.security.protocol.map": f"CLIENTS:PLAINTEXT,BROKERS:{protocol}",
                "inter.broker.listener.name": "BROKERS",
            }
            return kafka_member(room, self._zookeeper_connect, broker_id, settings, host, prefix, port)
        return Meeting(
            protocol,
            config={**member_config(broker_id, self._zookeeper_connect), **settings},
            host=host,
            data_dir=room,
            start_timeout_s=PATIENCE_S,
            prefix=prefix,
        )
