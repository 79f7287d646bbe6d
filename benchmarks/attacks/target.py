"""The broker under attack: Barnabas, or Kafka 2.7.2 with the same settings."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from barnabas.testing import Broker
from tools.kafka.server import KafkaServer, free_port

AUTHORIZED = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Access rules are enforced; until a resource has rules, everyone may use it, and so create the first ones."""


class Target(NamedTuple):
    """A running broker that listens on `[::]`."""

    port: int
    pid: int


@contextlib.contextmanager
def target(is_kafka: bool, config: Mapping[str, str]) -> Iterator[Target]:
    """Run a broker with these settings until the end of a `with`."""
    if is_kafka:
        port = free_port()
        listeners = {
            "listeners": f"PLAINTEXT://[::]:{port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        }
        with KafkaServer(config={**listeners, **config}, port=port) as kafka:
            yield Target(port, kafka.pid)
    else:
        with Broker(config=config, host="::") as broker:
            yield Target(broker.port, broker.pid)
