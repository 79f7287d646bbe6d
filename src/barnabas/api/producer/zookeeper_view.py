"""Brokers and topics as registered in ZooKeeper, kept up to date by watches, on a thread with an event loop.

    /brokers/ids             children: the registered brokers
    /brokers/ids/<id>        data: a broker's addresses
    /brokers/topics/<topic>  data: partitions of each requested topic, existing or not

Invariants:

- After a watch fires or is lost with its connection, its node is read and watched again.
- Queries are answered from memory, except for the first query of a topic.

Source: design document of 0.7, "Automatic producer load balancing"; zookeeper.md, cluster and brokers.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial

from barnabas.api.errors import ApiError
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.clients.zookeeper.registry import ZooKeeperRegistry
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry, RegistryError, SessionState, Watch, WatchEvent
from barnabas.wire.registry.znodes.brokers import BrokerRegistration, decode_registration
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import decode_assignment


class NoBrokersError(ApiError):
    """No broker is registered in ZooKeeper."""


class ZooKeeperView:
    """The brokers and topics of a cluster, from ZooKeeper."""

    def __init__(self, options: ZooKeeperOptions, protocol: str, read_retries: int, sync_time_s: float) -> None:
        """Connect, and read the brokers.

        Args:
            protocol: The protocol of connections to brokers: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL.
            read_retries: zk.read.num.retries.
            sync_time_s: zookeeper.sync.time.ms in seconds.

        Raises:
            StartupError: No server answers at that address.
            NoBrokersError: No broker is registered, even after `read_retries` more reads.
        """
        self._options = options
        self._protocol = protocol
        self._timeout_s = options.session_timeout_ms / 1000
        self._changed = threading.Condition()
        self._brokers: dict[int, str] = {}
        self._partition_counts: dict[str, int] = {}
        self._topic_watches: dict[str, Watch] = {}
        self._change_count = 0
        self._registry: Registry | None = None
        self._work: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="barnabas-producer-zookeeper", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
            self._await_brokers(read_retries, sync_time_s)
        except BaseException:
            self.close()
            raise

    def servers(self) -> str:
        with self._changed:
            return ",".join(self._brokers[broker_id] for broker_id in sorted(self._brokers))

    def partition_count(self, topic: str) -> int:
        with self._changed:
            count = self._partition_counts.get(topic)
        if count is not None:
            return count
        read = asyncio.run_coroutine_threadsafe(self._read_topic(topic), self._loop)
        try:
            read.result(self._timeout_s)
        except (RegistryError, FutureTimeoutError):
            # ZooKeeper is not reachable: the brokers' answer must suffice.
            return 0
        with self._changed:
            return self._partition_counts.get(topic, 0)

    def change_count(self) -> int:
        with self._changed:
            return self._change_count

    def close(self) -> None:
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _await_brokers(self, read_retries: int, wait_s: float) -> None:
        for _ in range(read_retries):
            with self._changed:
                if self._changed.wait_for(lambda: self._brokers, wait_s):
                    return
            asyncio.run_coroutine_threadsafe(self._read_brokers(), self._loop).result()
        if not self.servers():
            raise NoBrokersError(
                f"ZooKeeper at {self._options.connect} knows no broker that speaks {self._protocol}, also when read "
                f"{read_retries} times again"
            )

    async def _open(self) -> None:
        self._registry = await ZooKeeperRegistry.open(self._options)
        self._registry.on_session(self._note_session)
        await self._read_brokers()

    async def _close(self) -> None:
        for task in list(self._work):
            task.cancel()
        if self._work:
            await asyncio.wait(self._work)
        if self._registry is not None:
            await self._registry.close()

    def _note_session(self, state: SessionState) -> None:
        """Read everything again after an interruption, which loses the watches."""
        if state is SessionState.CONNECTED:
            self._begin(self._read_brokers)
            for topic in list(self._partition_counts):
                self._begin(partial(self._read_topic, topic))

    def _begin(self, read: Callable[[], Awaitable[None]]) -> None:
        """Read a node again on the loop, and watch it."""

        async def quietly() -> None:
            try:
                await read()
            except RegistryError:
                # The connection is lost again; everything is read after a reconnect.
                pass

        task = self._loop.create_task(quietly())
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _brokers_changed(self, event: WatchEvent) -> None:
        self._begin(self._read_brokers)

    async def _read_brokers(self) -> None:
        changed = self._brokers_changed
        assert self._registry is not None
        ids = None
        while ids is None:
            try:
                ids = await self._registry.children(paths.BROKER_IDS, changed)
            except NoNodeError:
                # No broker has registered yet: the first client creates the node, or has just created it.
                if await self._registry.exists(paths.BROKER_IDS, changed) is None:
                    ids = []
        nodes = [f"{paths.BROKER_IDS}/{broker_id}" for broker_id in ids if broker_id.isdecimal()]
        found = await self._registry.get_many(nodes, lambda _path: changed)
        brokers = {}
        for path, node in zip(nodes, found, strict=True):
            if node is None:
                continue
            broker = decode_registration(int(path.rpartition("/")[2]), node[0])
            address = self._address(broker)
            if address is not None:
                brokers[broker.broker_id] = address
        with self._changed:
            if brokers != self._brokers:
                self._brokers = brokers
                self._change_count += 1
                self._changed.notify_all()

    def _address(self, broker: BrokerRegistration) -> str | None:
        for endpoint in broker.endpoints:
            if endpoint.security_protocol == self._protocol:
                host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
                return f"{host}:{endpoint.port}"
        return None

    async def _read_topic(self, topic: str) -> None:
        # The same object for each read, so that a watch set twice is called once.
        changed = self._topic_watches.setdefault(topic, lambda _event: self._begin(partial(self._read_topic, topic)))
        assert self._registry is not None
        path = paths.topic(topic)
        # `exists` also watches a missing node, which `get` does not.
        if await self._registry.exists(path, changed) is None:
            count = 0
        else:
            try:
                count = len(decode_assignment((await self._registry.get(path))[0]).replicas)
            except (NoNodeError, MalformedError):
                count = 0
        with self._changed:
            if self._partition_counts.get(topic) != count:
                self._partition_counts[topic] = count
                self._change_count += 1
                self._changed.notify_all()
