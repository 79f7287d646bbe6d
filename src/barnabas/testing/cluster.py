"""A cluster for tests: several brokers, each in a process of its own, and their shared registry.

Like a single broker, it leaves nothing behind after the test.
"""

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.clients.pool import Pool
from barnabas.core.errors import StartupError
from barnabas.core.internal_topics import cluster_settings
from barnabas.testing.broker import Broker, ConfigValue
from barnabas.testing.registry import Registry

_LOOK_EVERY_S = 0.02


def member_config(broker_id: int, zookeeper_connect: str, broker_count: int = 3) -> dict[str, str]:
    """Return a broker's settings: in a cluster of three, topics have three replicas, and acks=all needs two."""
    return {
        **cluster_settings(broker_count),
        "default.replication.factor": str(min(3, broker_count)),
        "min.insync.replicas": str(min(2, broker_count)),
        # Few partitions of internal topics, because each is several files on each broker.
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "broker.id": str(broker_id),
        "zookeeper.connect": zookeeper_connect,
        "zookeeper.connection.timeout.ms": "60000",
        # Detect a killed broker soon.
        "zookeeper.session.timeout.ms": "3000",
        # The last broker to stop finds no other leaders, and tries three times.
        "controlled.shutdown.retry.backoff.ms": "100",
    }


class Cluster:
    """Several brokers, from `start` (or the start of a `with` or `async with`) to `close` (or its end).

    Attributes:
        brokers: Started brokers by id, from 0 on.
        registry: The cluster's own registry; None if the caller's ZooKeeper is used.
    """

    def __init__(
        self,
        broker_count: int = 3,
        *,
        config: Mapping[str, ConfigValue] | None = None,
        zookeeper_connect: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        log_level: str = "info",
        start_timeout_s: float = 30.0,
    ) -> None:
        """Args:
        broker_count: Number of brokers at the start.
        config: Kafka settings of all brokers, as for `Broker`; they override `member_config`.
        zookeeper_connect: A ZooKeeper and a chroot. Without it the cluster has a registry of its own.
        data_dir: Parent of the brokers' directories, which is kept when the cluster is closed; by default a temporary
            one.
        log_level: debug, info, warning or error.
        start_timeout_s: Time limit of each broker's start.
        """
        self.brokers: dict[int, Broker] = {}
        self.registry: Registry | None = None
        self._broker_count = broker_count
        self._config = dict(config or {})
        self._zookeeper_connect = zookeeper_connect
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._log_level = log_level
        self._start_timeout_s = start_timeout_s

    @property
    def bootstrap_servers(self) -> str:
        """Return the addresses of all brokers, for a client's bootstrap.servers."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    @property
    def zookeeper_connect(self) -> str:
        """Return the address of the cluster's state, for the setting `zookeeper.connect`.

        Raises:
            RuntimeError: The cluster has a registry of its own, and was never started.
        """
        if self._zookeeper_connect is None:
            raise RuntimeError("the cluster has no registry before it is started")
        return self._zookeeper_connect

    def start(self) -> Self:
        """Start all brokers, and wait until each one knows all others.

        Returns:
            The cluster itself, for `cluster = Cluster().start()`.

        Raises:
            StartupError: A broker did not start; with the last line of its log.
            RuntimeError: The cluster was started before.
        """
        if self.brokers:
            raise RuntimeError("the cluster was started before")
        try:
            if self._zookeeper_connect is None:
                self.registry = Registry(data_dir=self._data_dir_of("registry"), start_timeout_s=self._start_timeout_s)
                self._zookeeper_connect = self.registry.start().connect
            self.brokers = {broker_id: self._new_broker(broker_id) for broker_id in range(self._broker_count)}
            # In threads without an event loop, because the caller may run one.
            with ThreadPoolExecutor(self._broker_count) as threads:
                list(threads.map(Broker.start, self.brokers.values()))
                list(threads.map(self._wait_until_it_knows_all, self.brokers.values()))
        except BaseException:
            self.close()
            raise
        return self

    def add(self) -> Broker:
        """Start one more broker, with the next id."""
        broker_id = max(self.brokers, default=-1) + 1
        broker = self.brokers[broker_id] = self._new_broker(broker_id)
        return broker.start()

    def kill(self, broker_id: int) -> None:
        """Kill a broker like `kill -9`: after its session of 3 s, other brokers lead its partitions."""
        self.brokers[broker_id].kill()

    def pause(self, broker_id: int) -> None:
        """Pause a broker until `resume`; if its session expires meanwhile, the cluster counts it as dead."""
        self.brokers[broker_id].pause()

    def resume(self, broker_id: int) -> None:
        """Resume a paused broker."""
        self.brokers[broker_id].resume()

    def restart(self, broker_id: int) -> None:
        """Restart a broker, also a stopped one, with the same data; a killed one first waits for its session's end."""
        self.brokers[broker_id].restart()

    def close(self) -> None:
        """Stop all brokers, the registry last, and delete their files, except the caller's own `data_dir`."""
        for broker in reversed(self.brokers.values()):
            broker.close()
        if self.registry is not None:
            self.registry.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _new_broker(self, broker_id: int) -> Broker:
        return Broker(
            config={**member_config(broker_id, self.zookeeper_connect, self._broker_count), **self._config},
            data_dir=self._data_dir_of(f"broker-{broker_id}"),
            log_level=self._log_level,
            start_timeout_s=self._start_timeout_s,
        )

    def _data_dir_of(self, name: str) -> Path | None:
        return None if self._data_dir is None else self._data_dir / name

    def _wait_until_it_knows_all(self, broker: Broker) -> None:
        async def wait() -> None:
            async with asyncio.timeout(self._start_timeout_s), Pool(broker.bootstrap_servers, "kit") as pool:
                while not self.brokers.keys() <= (await pool.metadata([])).brokers.keys():  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_EVERY_S)

        try:
            asyncio.run(wait())
        except TimeoutError:
            raise StartupError(f"{broker.bootstrap_servers} does not know all other brokers") from None
