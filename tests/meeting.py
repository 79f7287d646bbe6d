"""Brokers that meet on a listener of their own, beside one for clients, which is in the clear."""

from typing import Any

from barnabas.testing import Broker

MODULES = "org.apache.kafka.common.security"
USER, PASSWORD = "broker", "secret"
SCRAM = f'{MODULES}.scram.ScramLoginModule required username="{USER}" password="{PASSWORD}";'
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'


class Meeting(Broker):
    """A broker with a listener for clients and one for brokers.

    Args:
        protocol: Of the latter: SSL or SASL_SSL.
        settings: As of `Broker`.
    """

    def __init__(self, protocol: str, **settings: Any) -> None:
        super().__init__(security_protocol="CLIENTS", **settings)
        self._protocol = protocol

    def _secure_listener(self) -> list[str]:
        settings = {
            "listeners": f"CLIENTS://{self._host}:{self._port},BROKERS://{self._host}:0",
            "listener.security.protocol.map": f"CLIENTS:PLAINTEXT,BROKERS:{self._protocol}",
            "inter.broker.listener.name": "BROKERS",
        }
        return [word for name, value in settings.items() for word in ("--override", f"{name}={value}")]
