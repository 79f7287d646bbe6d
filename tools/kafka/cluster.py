"""Several Kafka brokers on one ZooKeeper, or three: each can be killed, stopped, paused and started again.

The heaps are small: three brokers and their ZooKeeper take about a gigabyte. They start and are compiled as
`QuickKafkaServer`'s are, and are none to be measured.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.kafka.server import QuickKafkaServer

REPLICATED = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    # Few partitions of what the brokers keep for themselves: each is a file or four, on each broker.
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
"""What makes three brokers of any kind a cluster that loses nothing with one of them."""

SESSION_TIMEOUT_MS = 3_000
_JVM_OPTIONS = ("-Xmx256m",)


class KafkaCluster:
    """Brokers of Kafka 2.7.2 with the ids 1, 2, ...

    Attributes:
        brokers: By id; each can be stopped, killed, paused and restarted by itself.

    Args:
        directory: Where each has a directory of its own; the caller's, and left behind.
        zookeeper_connect: Where the cluster's state is; the tree may be missing.
        broker_count: How many.
        config: Settings of all of them, above `REPLICATED`.
    """

    def __init__(
        self,
        directory: Path,
        zookeeper_connect: str,
        broker_count: int = 3,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self.brokers = {
            broker_id: kafka_member(directory / f"broker-{broker_id}", zookeeper_connect, broker_id, config or {})
            for broker_id in range(1, broker_count + 1)
        }

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    def start(self) -> None:
        """Start all brokers, and return when each knows all others."""
        for broker in self.brokers.values():
            broker.start_broker()
        for broker in self.brokers.values():
            broker.wait(len(self.brokers))

    def close(self) -> None:
        """End all brokers; their data stays."""
        for broker in self.brokers.values():
            broker.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def kafka_member(
    directory: Path,
    zookeeper_connect: str,
    broker_id: int,
    config: Mapping[str, str],
    host: str = "127.0.0.1",
    prefix: Sequence[str] = (),
    port: int = 0,
) -> QuickKafkaServer:
    """Return a broker of Kafka 2.7.2 that is to be one of several; it is not started."""
    settings = {
        **REPLICATED,
        "broker.id": str(broker_id),
        # A killed one is found dead soon.
        "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
        **config,
    }
    return QuickKafkaServer(
        directory,
        settings,
        _JVM_OPTIONS,
        port=port,
        zookeeper_connect=zookeeper_connect,
        host=host,
        prefix=prefix,
    )
