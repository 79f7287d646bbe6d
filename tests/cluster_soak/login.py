"""Brokers of Kafka and of ours that meet over TLS and log in by SCRAM; clients have a listener in the clear."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.testing import Broker
from barnabas.testing.certificates import Authority
from barnabas.testing.cluster import member_config
from tests.clusters import kafka_member
from tests.meeting import SCRAM, USER, Meeting
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool
from tools.kafka.server import QuickKafkaServer, free_port

_MECHANISM = "SCRAM-SHA-512"
_PASSWORD = "of the store"


class Login:
    """An authority, and the brokers' user, which is in ZooKeeper before the first of them comes."""

    def __init__(self, directory: Path, zookeeper_connect: str) -> None:
        self._directory, self._zookeeper_connect = directory, zookeeper_connect
        self._authority = Authority()
        self._ca = directory / "ca.pem"
        self._ca.write_bytes(self._authority.certificate_pem)
        credential = f"{_MECHANISM}=[password=secret]"
        whom = ("--zookeeper", zookeeper_connect, "--entity-type", "users", "--entity-name", USER)
        made = run_tool("kafka.admin.ConfigCommand", *whom, "--alter", "--add-config", credential)
        assert made.returncode == 0, made.stdout + made.stderr

    def new_member(
        self, kind: str, room: Path, broker_id: int, config: Mapping[str, str], host: str, prefix: Sequence[str]
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
        settings = {
            **config,
            **{f"listener.name.brokers.ssl.{name}": value for name, value in store.items()},
            f"listener.name.brokers.{_MECHANISM.lower()}.sasl.jaas.config": SCRAM,
            "sasl.enabled.mechanisms": _MECHANISM,
            "sasl.mechanism.inter.broker.protocol": _MECHANISM,
        }
        if kind == "kafka":
            port = free_port()
            settings |= {
                "listeners": f"CLIENTS://{host}:{port},BROKERS://{host}:{free_port()}",
                "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:SASL_SSL",
                "inter.broker.listener.name": "BROKERS",
            }
            return kafka_member(room, self._zookeeper_connect, broker_id, settings, host, prefix, port)
        return Meeting(
            "SASL_SSL",
            config={**member_config(broker_id, self._zookeeper_connect), **settings},
            host=host,
            data_dir=room,
            start_timeout_s=PATIENCE_S,
            prefix=prefix,
        )
