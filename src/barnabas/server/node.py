"""The composition root: builds the object graph of one broker, starts it in order, stops it in reverse.

Order of a start: lock and look at the log directories ─► registry ─► cluster id ─► load (and recover) the logs ─►
register ─► controller ─► groups ─► accept connections. A broker that fails on the way leaves the directories as they
were, but for what recovery mended.

Source: design page, section 2; semantics, controller.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from barnabas.administration.configs import ConfigAdmin
from barnabas.administration.leadership import LeadershipAdmin
from barnabas.administration.partitions import PartitionAdmin
from barnabas.administration.producer_ids import ProducerIds
from barnabas.administration.topics import TopicAdmin
from barnabas.cluster.image import ClusterView, ImageChange
from barnabas.cluster.watcher import ConfigWatcher
from barnabas.controller.controller import Controller
from barnabas.controller.local_link import LocalLink
from barnabas.controller.sender import Sender
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.config.dynamic import Layer
from barnabas.core.config.live import LiveConfig
from barnabas.core.config.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from barnabas.core.config.support import startup_warning
from barnabas.core.config.versions import kafka_version
from barnabas.core.errors import BarnabasError, StartupError, StorageError
from barnabas.core.executor import OwnedExecutor
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Spawner
from barnabas.core.purgatory import Purgatory
from barnabas.core.types import TopicPartition
from barnabas.groups.coordinator import GroupCoordinator
from barnabas.interbroker.channels import BrokerChannels
from barnabas.log.disk.cold_reads import ColdReads
from barnabas.log.manager import CLOSING_THREAD_COUNT, LogManager
from barnabas.net.connection import Connection
from barnabas.net.memory import ReceiveMemory
from barnabas.net.reactor import Reactor
from barnabas.net.turns import Turns
from barnabas.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.registry import bootstrap, paths
from barnabas.registry.store import Registry
from barnabas.registry.znodes.brokers import BrokerRegistration
from barnabas.replicas.log_dirs import ReplicaLogDirs
from barnabas.replicas.manager import ReplicaManager
from barnabas.replicas.partition import Partition
from barnabas.requests.context import ConnectionInfo
from barnabas.requests.fetches.sessions import FetchSessions
from barnabas.requests.handlers import HANDLERS
from barnabas.requests.handlers.api_versions import unsupported_version
from barnabas.requests.services import Services
from barnabas.requests.session import Session
from barnabas.requests.slices import Slices
from barnabas.requests.table import RouteTable
from barnabas.security.authorizer import AllowAll
from barnabas.server.broker_listeners import CONNECTION_LIMITS, LISTENER_SETTINGS, BrokerListeners
from barnabas.server.environment import Environment
from barnabas.server.watchdog import Watchdog
from barnabas.transactions.coordinator import TransactionCoordinator
from barnabas.transactions.loading import coordinated_transactions

log = logging.getLogger(__name__)

# differs from Kafka (registry-file): the cluster's state is in ZooKeeper.
REGISTRY_FILE = "registry.sqlite"
# As many reads as a disk gets at once for consumers that lag.
_COLD_READ_THREAD_COUNT = 4
_TOPIC_DEFAULTS = frozenset(setting.extra for setting in TOPIC_SETTINGS.values())
_CLEANER_SETTINGS = frozenset(name for name in BROKER_SETTINGS if name.startswith("log.cleaner."))
# Each may hold a batch that unpacks to 128 MiB; with two, one of those does not hold up all others.
_APPEND_THREAD_COUNT = 2


class Node:
    """One broker.

    Attributes:
        address: Where clients connect, once started.
        broker_id, cluster_id: As registered, once started.
        failure: Why the broker could not go on; None after an orderly stop.
        routes: The handlers by API and version; None before it is started.
    """

    def __init__(self, env: Environment, config: BrokerConfig, stop: Callable[[str], object]) -> None:
        """Args:
        env: The world.
        stop: Asks the process to stop, with the reason.
        """
        self.config = config
        self.address = ("", 0)
        self.broker_id = config.broker_id
        self.cluster_id = ""
        self.failure: BarnabasError | None = None
        self._env = env
        self._stop = stop
        self._clock = env.clock
        self._timers = env.timers
        self._spawner = Spawner(lambda error: log.error("a background task failed", exc_info=error))
        self._registry_executor = env.new_executor("registry", 1)
        self._log_executor = env.new_executor("log", config.background_threads)
        # Beside the others: a round takes long.
        self._cleaner_executor = env.new_executor("cleaner", config.log_cleaner_threads)
        self._cold_read_executor = env.new_executor("cold-read", _COLD_READ_THREAD_COUNT)
        self._append_executor = env.new_executor("append", _APPEND_THREAD_COUNT)
        self._codec_executor = env.new_executor("codec", 1)
        self._closing_executor = env.new_executor("closing", CLOSING_THREAD_COUNT)
        self._recovery_executors: list[OwnedExecutor] = []
        self.watchdog = Watchdog(self._clock, self._timers, env.limits.core_use)
        self._turns = Turns(env.loop.call_soon, self._clock.monotonic_ns)
        self._fetches = Purgatory(self._timers, self._turns.add_check)
        self._listeners = BrokerListeners(config, env, self._log_executor)
        self.routes: RouteTable | None = None
        self._warned_topics: set[str] = set()
        # What is wrong with the settings of a topic, as it was told last.
        self._left_out: dict[str, list[str]] = {}
        self._logs: LogManager | None = None
        self._registry: Registry | None = None
        self._controller: Controller | None = None
        self._groups: GroupCoordinator | None = None
        self._transactions: TransactionCoordinator | None = None
        self._channels: BrokerChannels | None = None
        self._replicas: ReplicaManager | None = None

    async def start(self) -> None:
        """Start; once this returns clients can connect.

        Raises:
            BarnabasError: The broker can't start; one line that says why.
        """
        self._warn_of_unsupported_settings()
        # First: a port in use must not cost a recovery.
        self._listeners.bind()
        logs = self._logs = LogManager(
            self.config,
            self._clock,
            self._timers,
            self._log_executor,
            lambda topic_partition: self._topic_config(topic_partition.topic),
            self._on_storage_failure,
            files=self._env.files,
            recovery_executor=self._new_recovery_executor,
            cleaner_executor=self._cleaner_executor,
            closing_executor=self._closing_executor,
            dice=self._env.dice,
            new_stop_signal=self._env.new_stop_signal,
            on_loop=self.watchdog.note,
            read_coordinated=coordinated_transactions,
        )
        await logs.lock()
        registry = self._registry = await self._open_registry(logs)
        self.cluster_id = await bootstrap.bootstrap(registry, self._env.dice)
        await self._write_what_kafka_reads(registry)
        self.broker_id = self.config.broker_id = await self._choose_broker_id(registry, logs)
        view = self._view = ClusterView(self.cluster_id)
        configs = self._configs = ConfigWatcher(registry, self._clock, self._timers, self._spawner)
        configs.subscribe(paths.TOPICS, self._on_topic_config)
        configs.subscribe(paths.BROKERS, self._on_broker_config)
        live = self._live = self._new_live_config()
        await configs.start()
        live.is_serving = True
        await logs.load(self.cluster_id, self.broker_id)
        self._close_recovery_executors()
        replicas = self._replicas = ReplicaManager(
            self.broker_id, logs, self._fetches, self._topic_config, self._append_executor, self._env.loop.call_soon
        )
        logs.watch_high_watermarks(replicas.high_watermarks)
        groups = self._groups = GroupCoordinator(
            self.config, self._clock, self._timers, self._log_executor, replicas, view, self._env.dice
        )
        groups.start()
        producer_ids = ProducerIds(registry, self.broker_id)
        channels = self._channels = self._new_channels(view)
        transactions = self._transactions = TransactionCoordinator(
            self.config,
            self._clock,
            self._timers,
            self._log_executor,
            replicas,
            view,
            channels,
            producer_ids,
            self._spawner,
        )
        transactions.start()
        replicas.on_leadership = self._on_leadership
        view.on_change(self._on_image)
        # As they are set in the registry, too.
        self._listeners.bind()
        self.address = self._listeners.address
        registered = self.config.endpoints, self.config.advertised_endpoints
        view.broker_epoch = await bootstrap.register_broker(registry, self._registration())
        if registered != (self.config.endpoints, self.config.advertised_endpoints):
            self._on_listeners()
        link = LocalLink(replicas, view, configs, self._spawner)
        controller = self._controller = Controller(
            self.broker_id,
            registry,
            self._clock,
            self._timers,
            Sender(self._timers, lambda broker_id: link),
            self.config.inter_broker_listener,
            self.config.delete_topic_enable,
        )
        await controller.start()

        def partition_room() -> int:
            return self._env.limits.most_partitions() - replicas.partition_count

        topics = TopicAdmin(registry, view, controller, self.config, self._timers, self._env.dice, partition_room)
        # Kafka's default asks for three brokers, and its clients only see that they have to wait.
        topics.warn_of_too_few_brokers(GROUP_OFFSETS_TOPIC)
        topics.warn_of_too_few_brokers(TRANSACTION_STATE_TOPIC)
        routes = self.routes = RouteTable(
            HANDLERS, response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version
        )
        services = Services(
            self.config,
            self._clock,
            self._timers,
            self._spawner,
            self._log_executor,
            view,
            replicas,
            self._fetches,
            groups,
            transactions,
            topics,
            PartitionAdmin(registry, view, controller, self._timers, partition_room),
            LeadershipAdmin(view, controller, self._timers),
            ReplicaLogDirs(logs, replicas),
            producer_ids,
            registry,
            AllowAll(),
            routes.offered,
            Slices(self._turns, self._clock.monotonic_ns, self._codec_executor),
            FetchSessions(self.config.max_incremental_fetch_session_cache_slots, self._clock, self._env.dice),
            ColdReads(self._cold_read_executor, self._env.page_cache),
            ConfigAdmin(registry, view, live, configs, self._env.dice),
        )
        self._accept(services, routes)
        self.watchdog.start()

    async def stop(self) -> None:
        """Stop in order: accept no more connections, answer the requests that wait, write the state to disk."""
        self._listeners.stop_accepting()
        self._fetches.expire_all()
        if self._groups is not None:
            self._groups.close()
        if self._transactions is not None:
            self._transactions.close()
        if self._channels is not None:
            self._channels.close()
        if self._replicas is not None:
            self._replicas.stop_appends()
        self._turns.finish()
        self._listeners.close()
        if self._controller is not None:
            await self._controller.close()
        await self._spawner.close()
        try:
            if self._logs is not None:
                await self._logs.close()
        finally:
            if self._registry is not None:
                await self._registry.close()
            self.watchdog.stop()
            self._registry_executor.close()
            self._log_executor.close()
            self._cleaner_executor.close()
            self._cold_read_executor.close()
            self._append_executor.close()
            self._codec_executor.close()
            self._closing_executor.close()
            self._close_recovery_executors()
            self._env.limits.close()

    # --- start, step by step

    def _warn_of_unsupported_settings(self) -> None:
        warning = startup_warning(self.config)
        if warning is not None:
            log.warning("%s", warning)

    async def _open_registry(self, logs: LogManager) -> Registry:
        path = Path(self.config.log_dirs[0]) / REGISTRY_FILE
        cluster_id, broker_id = logs.known_cluster_id, logs.known_broker_id
        # Kafka before 2.4 names only the broker.
        if (cluster_id is not None or broker_id is not None) and not self._env.registry.holds(path):
            owner = f"broker {broker_id}" if cluster_id is None else f"cluster {cluster_id}"
            raise StartupError(
                f"{self.config.log_dirs[0]} belongs to {owner}, whose state is not kept here "
                f"(no {REGISTRY_FILE}); if Kafka wrote it, `barnabas adopt {self.config.log_dirs[0]}` takes it over"
            )
        return await self._env.registry.open(path, self._clock, self._registry_executor)

    async def _write_what_kafka_reads(self, registry: Registry) -> None:
        """Write only formats that the Kafka version noted in the registry reads: the directories may go back to it."""
        noted = await bootstrap.kafka_version(registry)
        if noted is None:
            return
        version = kafka_version(noted.name)
        contradictions = self.config.write_for(version)
        log.info(
            "Kafka %s can read what is written (%s): inter.broker.protocol.version=%s, log.message.format.version=%s",
            version.short_name,
            noted.reason,
            self.config.inter_broker_protocol_version,
            self.config.log_message_format_version,
        )
        if contradictions:
            log.warning(
                "%s: writes what Kafka %s cannot read, and `barnabas release` will refuse to give it back",
                ", ".join(contradictions),
                version.short_name,
            )

    async def _choose_broker_id(self, registry: Registry, logs: LogManager) -> int:
        if self.config.broker_id >= 0:
            return self.config.broker_id
        if logs.known_broker_id is not None:
            return logs.known_broker_id
        return await bootstrap.generate_broker_id(registry, self.config.reserved_broker_max_id)

    def _registration(self) -> BrokerRegistration:
        return BrokerRegistration(
            self.broker_id, self._listeners.advertised(), self.config.broker_rack, timestamp_ms=self._clock.now_ms()
        )

    def _new_channels(self, view: ClusterView) -> BrokerChannels:
        return BrokerChannels(
            self._env.network,
            view,
            lambda: self.config.inter_broker_listener,
            f"broker-{self.broker_id}",
            self._timers,
            self._spawner,
            lambda: self.config.request_timeout_ms,
        )

    def _new_recovery_executor(self) -> OwnedExecutor:
        executor = self._env.new_executor("recovery", self.config.num_recovery_threads_per_data_dir)
        self._recovery_executors.append(executor)
        return executor

    def _close_recovery_executors(self) -> None:
        while self._recovery_executors:
            self._recovery_executors.pop().close()

    def _accept(self, services: Services, routes: RouteTable) -> None:
        # Not before everything else has what it needs: what is left is shared out.
        memory = ReceiveMemory(self._env.limits.receive_memory_bytes(self.config.queued_max_request_bytes))
        reactor = Reactor(memory, self._turns, self._clock.monotonic_ns)

        def new_session_of(name: str) -> Callable[[Connection], Session]:
            def new_session(connection: Connection) -> Session:
                info = ConnectionInfo(connection.peer_host, connection.peer_port, name)
                return Session(connection, info, services, routes, self.config.barnabas_request_max_array_elements)

            return new_session

        self._listeners.start(new_session_of, reactor)

    # --- what the parts tell each other

    def _topic_config(self, topic: str) -> TopicConfig:
        config, reasons = TopicConfig.from_broker(self.config).with_possible(self._view.topic_overrides(topic))
        if reasons != self._left_out.get(topic, []):
            # Not for each partition again.
            self._left_out[topic] = reasons
            for reason in reasons:
                # differs from Kafka (impossible-topic-setting): there the partition fails.
                log.warning("a setting of topic %s is left out: %s", topic, reason)
        if config.ignored_format is not None and topic not in self._warned_topics:
            self._warned_topics.add(topic)
            log.warning(
                "message.format.version=%s of topic %s is ignored: inter.broker.protocol.version is %s",
                config.ignored_format,
                topic,
                self.config.inter_broker_protocol_version,
            )
        return config.for_logs()

    def _on_topic_config(self, topic: str, overrides: Mapping[str, str]) -> None:
        is_changed = overrides != self._view.topic_overrides(topic)
        self._view.set_topic_overrides(topic, overrides)
        if is_changed and self._replicas is not None:
            self._replicas.update_topic_config(topic)

    def _on_broker_config(self, broker: str, overrides: Mapping[str, str]) -> None:
        if broker == paths.DEFAULT_ENTITY:
            self._live.set_overrides(Layer.ALL_BROKERS, overrides)
        elif broker == str(self.broker_id):
            self._live.set_overrides(Layer.THIS_BROKER, overrides)

    def _new_live_config(self) -> LiveConfig:
        """The settings that others may change, with those who made something of them and must make it anew."""
        config, live = self.config, LiveConfig(self.config)
        live.subscribe(["background.threads"], lambda: self._log_executor.resize(config.background_threads))
        live.subscribe(["log.cleaner.threads"], lambda: self._cleaner_executor.resize(config.log_cleaner_threads))
        live.subscribe(_CLEANER_SETTINGS, self._on_cleaner_settings)
        live.subscribe(_TOPIC_DEFAULTS, self._on_topic_defaults)
        live.subscribe(LISTENER_SETTINGS, self._on_listeners)
        live.subscribe(CONNECTION_LIMITS, self._listeners.limits_changed)
        return live

    def _on_listeners(self) -> None:
        # Before the broker is registered it takes them as they are when it is.
        if self._registry is not None and self._view.broker_epoch >= 0:
            self._spawner.spawn(self._tell_listeners(self._registry, self._listeners.open_new()))

    async def _tell_listeners(self, registry: Registry, close_old: Callable[[], None]) -> None:
        await bootstrap.update_registration(registry, self._registration())
        close_old()

    def _on_cleaner_settings(self) -> None:
        if self._logs is not None:
            self._logs.cleaner_settings_changed()

    def _on_topic_defaults(self) -> None:
        if self._replicas is not None:
            self._spawner.spawn(self._replicas.update_all_configs())

    def _on_leadership(self, led: list[Partition], resigned: list[TopicPartition]) -> None:
        coordinators = {GROUP_OFFSETS_TOPIC: self._groups, TRANSACTION_STATE_TOPIC: self._transactions}
        for partition in led:
            coordinator = coordinators.get(partition.topic_partition.topic)
            if coordinator is not None:
                coordinator.on_partition_leader(partition.topic_partition.partition, partition.leader_epoch)
        for topic_partition in resigned:
            coordinator = coordinators.get(topic_partition.topic)
            if coordinator is not None:
                coordinator.on_partition_resigned(topic_partition.partition)

    def _on_image(self, change: ImageChange) -> None:
        for topic in change.deleted_topics:
            self._configs.forget(f"{paths.TOPICS}/{topic}")
            self._left_out.pop(topic, None)
        if change.deleted_topics and self._groups is not None:
            self._groups.on_topics_deleted(change.deleted_topics)

    def _on_storage_failure(self, error: BaseException) -> None:
        """A disk failed: nothing more can be promised."""
        if self.failure is None:
            self.failure = StorageError(f"the disk failed: {error}")
            self._stop(str(self.failure))
