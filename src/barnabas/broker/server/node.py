"""The composition root: builds the object graph of one broker, starts it in order, stops it in reverse.

Order of a start: lock and check the log directories ─► registry ─► cluster id ─► load (and recover) the logs ─►
groups ─► accept connections ─► register ─► controller ─► metadata of the cluster. A broker that fails on the way leaves
the directories unchanged, except for what recovery repaired.

Source: design page, section 2; semantics, controller.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.administration.configs import ConfigAdmin
from barnabas.broker.administration.leadership import LeadershipAdmin
from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.administration.partitions import PartitionAdmin
from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.administration.topics import TopicAdmin
from barnabas.broker.cluster.image import ClusterView, ImageChange
from barnabas.broker.cluster.untold import untold_partitions
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.controller.controller import Controller
from barnabas.broker.controller.links import RemoteLink
from barnabas.broker.controller.local_link import LocalLink
from barnabas.broker.controller.sender import BrokerLink, Sender
from barnabas.broker.coordination.partitioning import coordinated_partition_count
from barnabas.broker.diagnostics.store import Facts
from barnabas.broker.groups.coordinator import GroupCoordinator
from barnabas.broker.interbroker.channels import AddressOf, BrokerChannels
from barnabas.broker.log.disk.cold_reads import ColdReads
from barnabas.broker.log.manager import LogManager
from barnabas.broker.net.connection import Connection, FrameHandler
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.memory_watch import watch
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.replicas.control import ControlRequests
from barnabas.broker.replicas.leading import Leading
from barnabas.broker.replicas.log_dirs import ReplicaLogDirs
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.conversions import Conversions
from barnabas.broker.requests.fetches.sessions import FetchSessions
from barnabas.broker.requests.handlers import HANDLERS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.session import Session
from barnabas.broker.requests.slices import Slices
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.access_rules import open_access_rules
from barnabas.broker.server.broker_listeners import CONNECTION_LIMITS, LISTENER_SETTINGS, TLS_SETTINGS, BrokerListeners
from barnabas.broker.server.broker_quotas import QuotaUpkeep, quotas_of
from barnabas.broker.server.broker_state import BrokerState
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.executors import Executors
from barnabas.broker.server.link_security import ListenerLinks
from barnabas.broker.server.logins import Logins
from barnabas.broker.server.membership import Membership
from barnabas.broker.server.quota_history import QuotaHistory, start_quota_history
from barnabas.broker.server.registry_choice import open_registry
from barnabas.broker.server.replication import Replication
from barnabas.broker.server.replication_throttles import ReplicationThrottles
from barnabas.broker.server.topic_settings import TopicSettings
from barnabas.broker.server.watchdog import Watchdog
from barnabas.broker.transactions.coordinator import TransactionCoordinator
from barnabas.broker.transactions.loading import coordinated_transactions
from barnabas.core.config import BrokerConfig
from barnabas.core.config.dynamic import Layer
from barnabas.core.config.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from barnabas.core.config.support import startup_warnings
from barnabas.core.config.versions import kafka_version
from barnabas.core.errors import BarnabasError, StorageError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Spawner
from barnabas.core.purgatory import Purgatory
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.registry import bootstrap, paths
from barnabas.wire.registry.patience import PatientRegistry
from barnabas.wire.registry.store import Registry
from barnabas.wire.registry.znodes.brokers import BrokerRegistration

if TYPE_CHECKING:
    from barnabas.broker.cluster.features import FinalizedFeatures
    from barnabas.broker.server.controlled_shutdown import ControlledShutdown
    from barnabas.broker.server.fact_keeping import FactKeeping
    from barnabas.broker.server.fact_notes import FactNotes
    from barnabas.broker.server.observation import Observation
    from barnabas.broker.server.registry_listeners import RegistryListeners

log = logging.getLogger(__name__)

_CONTROLLER_PATIENCE_MS = 30_000
# Clients come first.
_FACTS_AFTER_MS = 1_000
_TOPIC_DEFAULTS = frozenset(setting.extra for setting in TOPIC_SETTINGS.values())
_UNCLEAN = "unclean.leader.election.enable"
_CLEANER_SETTINGS = frozenset(name for name in BROKER_SETTINGS if name.startswith("log.cleaner."))


class Node:
    """One broker.

    Attributes:
        address: Where clients connect, once started.
        broker_id, cluster_id: As registered, once started.
        logins: The logins of its listeners, with counts.
        failure: The error that ended the broker; None after an orderly stop.
        routes: The handlers by API and version; None before it is started.
        state: Its state.
        quotas: How much clients may ask of it.
        facts: Diagnostic events; None: disabled.
        observation: Its HTTP server; None if disabled.
        registry_listeners: Where ZooKeeper's clients find the cluster's state; None where they don't.
    """

    def __init__(self, env: Environment, config: BrokerConfig, stop: Callable[[str], object]) -> None:
        """Args:
        env: The world.
        stop: Requests the process to stop, with the reason.
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
        self._executors = Executors(env, config)
        self._topic_settings = TopicSettings(config, lambda topic: self._view.topic_overrides(topic))
        self.watchdog = Watchdog(self._clock, self._timers, env.limits.core_use)
        self._scheduler = Scheduler(env.loop.call_soon, self._clock.monotonic_ns)
        # Fetches that wait, groups and transactional ids may each take as much as what is received.
        self._most_bytes = env.limits.receive_memory_bytes(config.queued_max_request_bytes)
        self._fetches = Purgatory(self._timers, self._scheduler.add_check, self._most_bytes)
        self._listeners = BrokerListeners(config, env, self._executors.log)
        self.logins = Logins(config, env)
        self.quotas = quotas_of(config)
        self._quota_upkeep = QuotaUpkeep(self.quotas, self._clock, self._timers)
        self._throttles = ReplicationThrottles(config)
        most_fact_bytes = config.barnabas_facts_max_bytes
        self.facts = Facts(most_fact_bytes, self._clock.now_ms()) if most_fact_bytes else None
        self.routes: RouteTable | None = None
        self.state = BrokerState.NOT_RUNNING
        self.observation: Observation | None = None
        self.registry_listeners: RegistryListeners | None = None
        self._logs: LogManager | None = None
        self._registry: Registry | None = None
        self._membership: Membership | None = None
        self._controller: Controller | None = None
        self._groups: GroupCoordinator | None = None
        self._transactions: TransactionCoordinator | None = None
        self._channels: BrokerChannels | None = None
        self._controller_channels: BrokerChannels | None = None
        self._control_channels: BrokerChannels | None = None
        self._replicas: ReplicaManager | None = None
        self._replication: Replication | None = None
        self._quota_history: QuotaHistory | None = None
        self._fact_keeping: FactKeeping | None = None
        self._controlled_shutdown: ControlledShutdown | None = None

    def address_of(self, listener_name: str) -> tuple[str, int]:
        """Host and port of a listener, once started."""
        return self._listeners.address_of(listener_name)

    async def start(self) -> None:
        """Start; once this returns clients can connect.

        Raises:
            BarnabasError: The broker can't start; one line that says why.
        """
        self._warn_of_unsupported_settings()
        self.logins.check()
        self.state = BrokerState.STARTING
        self._open_observation()
        # First: a port in use must not cost a recovery.
        self._listeners.bind()
        logs = self._logs = self._new_logs()
        await logs.lock()
        session = await open_registry(self._env, self.config, logs, self._executors.registry)
        registry = self._registry = PatientRegistry(session, self._timers)
        self._open_registry_listeners(session)
        await self._identify(registry, logs)
        await self._follow_settings(registry)
        features = await self._follow_features(registry)
        # Before logs are recovered: keys that can't be used must not cost that.
        self._listeners.prepare()
        await self._recover(logs)
        replicas = self._open_replicas(logs)
        producer_ids = ProducerIds(registry, self.broker_id)
        groups = await self._start_groups(registry, replicas)
        transactions = await self._start_transactions(registry, replicas, producer_ids)
        replicas.on_leadership = self._on_leadership
        assert self._channels is not None
        controller_channels = self._controller_channels = self._new_channels(
            self.config.control_plane_listener, f"broker-{self.broker_id}", lambda: self.config.request_timeout_ms
        )
        self._replication = Replication(
            self.config,
            self.broker_id,
            registry,
            self._view,
            replicas,
            self._channels,
            controller_channels,
            self._throttles.follower,
            self._clock,
            self._timers,
            self._spawner,
        )
        self._throttles.on_follower_change = self._replication.fetchers.go_on
        control = ControlRequests(replicas, self._view, self._load_topic_settings, self._spawner)
        membership = self._new_membership(registry, control)
        replicas.on_failed_directory = lambda: self._spawner.spawn(membership.tell_failed_directory())
        controller = self._new_controller(session, control, membership)
        topics = self._new_topic_admin(registry, controller)
        await self.logins.open(registry, self._spawner, self._executors.log)
        notes = self._new_fact_notes()
        access = await open_access_rules(
            self.config,
            registry,
            self._clock,
            self._timers,
            self._spawner,
            self._env.dice,
            None if notes is None else notes.denial,
        )
        routes = self.routes = RouteTable(
            HANDLERS, response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version
        )
        services = Services(
            self.config,
            self._clock,
            self._timers,
            self._spawner,
            self._executors.log,
            self._view,
            replicas,
            control,
            self._fetches,
            groups,
            transactions,
            topics,
            PartitionAdmin(registry, self._view, controller, self._timers, self._partition_room),
            LeadershipAdmin(self._view, controller, self._timers),
            ReplicaLogDirs(logs, replicas),
            producer_ids,
            registry,
            access.authorizer,
            routes.offered,
            Slices(self._scheduler, self._clock.monotonic_ns, self._executors.codec),
            Conversions(self._executors.conversion, self._executors.large_conversion, self._env.dice),
            FetchSessions(self.config.max_incremental_fetch_session_cache_slots, self._clock, self._env.dice),
            ColdReads(self._executors.cold_read, self._env.page_cache),
            ConfigAdmin(registry, self._view, self._live, self._configs, self._env.dice),
            acls=access.admin,
            scram_admin=self.logins.new_scram_admin(registry, self._configs),
            tokens=self.logins.tokens,
            quotas=self.quotas,
            facts=self.facts,
            leader_quota=self._throttles.leader,
            controller=controller,
            cluster_known=asyncio.Event(),
            finalized_features=features,
        )
        if notes is not None:
            self._tell(notes, services, routes, logs)
        self._quota_history = await start_quota_history(self.config, self._env, self._executors.log, services)
        self.logins.expire_tokens(self._spawner, lambda: topics.is_controller)
        await self.logins.prepare()
        memory = self._accept(services, routes, notes)
        await self._join(membership)
        control.registered()
        await controller.start()
        if not controller.is_active:
            await self._know_the_cluster(registry)
        services.cluster_known.set()
        if self.config.controlled_shutdown_enable and self.config.zookeeper_connect:
            self._controlled_shutdown = self._new_controlled_shutdown(session)
        # Kafka's default asks for three brokers, and its clients only see that they have to wait.
        topics.warn_of_too_few_brokers(GROUP_OFFSETS_TOPIC)
        topics.warn_of_too_few_brokers(TRANSACTION_STATE_TOPIC)
        transactions.begin_markers()
        self.state = BrokerState.RUNNING
        if self.observation is not None:
            fetchers = self._replication.fetchers
            assert self._control_channels is not None
            channels = self._channels, controller_channels, self._control_channels
            self.observation.begin(
                services, routes, logs, fetchers, controller, channels, memory, self.logins, membership
            )
        self.watchdog.start()
        if self.facts is not None:
            self._timers.call_later(_FACTS_AFTER_MS, self._keep_facts, self.facts, services, routes, memory)

    async def stop(self) -> None:
        """Stop in order: move leaderships, accept no more connections, answer waiting requests, write the state to
        disk.
        """
        if self._controlled_shutdown is not None and self.failure is None:
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            await self._controlled_shutdown.ask()
        self.state = BrokerState.SHUTTING_DOWN
        self._quota_upkeep.stop()
        self._listeners.stop_accepting()
        self._fetches.expire_all()
        if self._groups is not None:
            self._groups.close()
        if self._transactions is not None:
            self._transactions.close()
        if self._replication is not None:
            self._replication.fetchers.close()
        for channels in (self._channels, self._controller_channels):
            if channels is not None:
                channels.close()
        if self._replicas is not None:
            self._replicas.stop_appends()
        self._scheduler.finish()
        self._listeners.close()
        if self._controller is not None:
            await self._controller.close()
        if self._control_channels is not None:
            self._control_channels.close()
        await self._spawner.close()
        if self._quota_history is not None:
            await self._quota_history.close()
        if self._fact_keeping is not None:
            await self._fact_keeping.close()
        try:
            if self._logs is not None:
                await self._logs.close()
        finally:
            if self.registry_listeners is not None:
                self.registry_listeners.close()
            if self._registry is not None:
                await self._registry.close()
            self.watchdog.stop()
            self.logins.close()
            self._executors.close()
            self._env.limits.close()
            if self.observation is not None:
                self.observation.close()

    # --- start, step by step

    def _new_logs(self) -> LogManager:
        return LogManager(
            self.config,
            self._clock,
            self._timers,
            self._executors.log,
            lambda topic_partition: self._topic_settings.of(topic_partition.topic),
            self._on_storage_failure,
            files=self._env.files,
            recovery_executor=self._executors.new_recovery,
            cleaner_executor=self._executors.cleaner,
            closing_executor=self._executors.closing,
            dice=self._env.dice,
            new_stop_signal=self._env.new_stop_signal,
            on_loop=self.watchdog.note,
            read_coordinated=coordinated_transactions,
        )

    async def _identify(self, registry: Registry, logs: LogManager) -> None:
        """Determine the cluster, the formats that may be written, and this broker's id."""
        self.cluster_id = await bootstrap.bootstrap(registry, self._env.dice)
        await self._write_what_kafka_reads(registry)
        self.broker_id = self.config.broker_id = await self._choose_broker_id(registry, logs)
        self._view = ClusterView(self.cluster_id)

    async def _follow_settings(self, registry: Registry) -> None:
        """Go by the settings in the registry, now and whenever they change."""
        configs = self._configs = ConfigWatcher(registry, self._clock, self._timers, self._spawner)
        configs.subscribe(paths.TOPICS, self._on_topic_config)
        configs.subscribe(paths.BROKERS, self._on_broker_config)
        configs.subscribe(paths.USERS, self.logins.users.on_user_config)
        self._live = self._new_live_config()
        self._quota_upkeep.start(configs, self._live, self.config)
        self._throttles.start(configs, self._live)
        await configs.start()
        self._live.is_serving = True

    async def _follow_features(self, registry: Registry) -> "FinalizedFeatures | None":
        """Watch the epoch of finalized features, if the tree has it."""
        if not self.config.zookeeper_connect:
            return None
        # Not at the top: a broker that keeps its state itself does without it.
        from barnabas.broker.cluster.features import FinalizedFeatures

        features = FinalizedFeatures(registry, self._spawner)
        await features.read()
        return features

    async def _recover(self, logs: LogManager) -> None:
        self.state = BrokerState.RECOVERING
        await logs.load(self.cluster_id, self.broker_id)
        self._executors.close_recovery()

    def _open_replicas(self, logs: LogManager) -> ReplicaManager:
        replicas = self._replicas = ReplicaManager(
            self.broker_id,
            logs,
            self._fetches,
            self._topic_settings.of,
            self._executors.append,
            self._env.loop.call_soon,
            Leading(
                self.broker_id,
                self._clock,
                self._timers,
                self._fetches,
                lambda: self.config.replica_lag_time_max_ms,
                lambda broker_id: broker_id in self._view.image.brokers,
            ),
        )
        logs.watch_high_watermarks(replicas.high_watermarks)
        return replicas

    async def _start_groups(self, registry: Registry, replicas: ReplicaManager) -> GroupCoordinator:
        groups = self._groups = GroupCoordinator(
            self.config,
            self._clock,
            self._timers,
            self._executors.log,
            replicas,
            await coordinated_partition_count(registry, GROUP_OFFSETS_TOPIC, self.config.offsets_topic_num_partitions),
            self._env.dice,
            self._most_bytes,
            None if self.facts is None else self.facts.rebalances,
        )
        groups.start()
        return groups

    async def _start_transactions(
        self, registry: Registry, replicas: ReplicaManager, producer_ids: ProducerIds
    ) -> TransactionCoordinator:
        channels = self._channels = self._new_channels(
            self.config.inter_broker_listener, f"broker-{self.broker_id}", lambda: self.config.request_timeout_ms
        )
        transactions = self._transactions = TransactionCoordinator(
            self.config,
            self._clock,
            self._timers,
            self._executors.log,
            replicas,
            await coordinated_partition_count(
                registry, TRANSACTION_STATE_TOPIC, self.config.transaction_state_log_num_partitions
            ),
            self._view,
            channels,
            producer_ids,
            self._spawner,
            self._most_bytes,
            None if self.facts is None else self.facts.aborts,
        )
        transactions.start()
        return transactions

    def _new_membership(self, registry: Registry, control: ControlRequests) -> Membership:
        self._view.on_change(self._on_image)
        # As they are set in the registry, too.
        self._listeners.bind()
        self.address = self._listeners.address
        membership = self._membership = Membership(
            registry,
            self._clock,
            self._timers,
            self._view,
            self._registration,
            self.config.zookeeper_session_timeout_ms,
            control.registers,
        )
        return membership

    async def _join(self, membership: Membership) -> None:
        """Register in the cluster: from now on the controller speaks to this broker."""
        registered = self.config.endpoints, self.config.advertised_endpoints
        await membership.join()
        if registered != (self.config.endpoints, self.config.advertised_endpoints):
            self._on_listeners()

    async def _know_the_cluster(self, registry: Registry) -> None:
        """Wait for the controller's metadata, so that the first clients get complete metadata."""
        view, changed = self._view, asyncio.Event()
        forget = view.on_change(lambda _: changed.set())
        try:
            async with asyncio.timeout(_CONTROLLER_PATIENCE_MS / 1000):
                if not view.image.brokers:
                    await changed.wait()
                untold = await untold_partitions(registry, view.image)
                while untold := [each for each in untold if view.image.partition(*each) is None]:
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            log.warning("no complete metadata from a controller yet: the broker starts and serves it when it arrives")
        finally:
            forget()

    def _new_controller(self, session: Registry, control: ControlRequests, membership: Membership) -> Controller:
        local = LocalLink(control)
        channels = self._control_channels = self._new_channels(
            self.config.control_plane_listener,
            str(self.broker_id),
            lambda: self.config.controller_socket_timeout_ms,
            lambda broker_id: controller.address_of(broker_id, self.config.control_plane_listener),
        )

        def link_to(broker_id: int) -> BrokerLink:
            if broker_id == self.broker_id:
                return local
            return RemoteLink(broker_id, channels, lambda: self.config.inter_broker_protocol_version)

        controller = self._controller = Controller(
            self.broker_id,
            session,
            self._clock,
            self._timers,
            Sender(self._timers, self._clock, link_to),
            self.config.inter_broker_listener,
            self.config,
            membership.ensure,
            # Where the tree is this broker's own a Kafka that takes it over writes it itself.
            keeps_features=bool(self.config.zookeeper_connect),
        )
        return controller

    def _new_controlled_shutdown(self, session: Registry) -> "ControlledShutdown":
        # Not at the top: a broker that keeps its state itself has no others, and does without it.
        from barnabas.broker.server.controlled_shutdown import ControlledShutdown

        def new_channels(address_of: AddressOf) -> BrokerChannels:
            return self._new_channels(
                self.config.inter_broker_listener,
                str(self.broker_id),
                lambda: self.config.controller_socket_timeout_ms,
                address_of,
            )

        return ControlledShutdown(self.config, session, self._view, new_channels, self._timers)

    async def _load_topic_settings(self, topics: Iterable[str]) -> None:
        await self._configs.load(f"{paths.TOPICS}/{topic}" for topic in topics)

    def _partition_room(self) -> int:
        assert self._replicas is not None
        return self._env.limits.most_partitions() - self._replicas.partition_count

    def _new_topic_admin(self, registry: Registry, controller: Controller) -> TopicAdmin:
        return TopicAdmin(
            registry, self._view, controller, self.config, self._timers, self._env.dice, self._partition_room
        )

    def _open_observation(self) -> None:
        if self.config.barnabas_http_listeners:
            # Not at the top: a broker that nobody looks at starts without it.
            from barnabas.broker.server.observation import Observation

            self.observation = Observation(self._env, self.config, self.watchdog, self._listeners, lambda: self.state)
            self.observation.open()

    def _new_fact_notes(self) -> "FactNotes | None":
        if self.facts is None:
            return None
        # Not at the top: where nothing is kept nobody is told.
        from barnabas.broker.server.fact_notes import FactNotes

        return FactNotes(self.facts, self._clock)

    def _tell(self, notes: "FactNotes", services: Services, routes: RouteTable, logs: LogManager) -> None:
        """Connect the parts of the broker to the diagnostic events."""
        routes.keep_slow_requests()
        services.throttled.on_hold = notes.hold
        services.replicas.on_change = notes.partition
        services.replicas.leading.on_isr = notes.isr
        logs.on_removed = notes.removal
        self._listeners.tell_refusals(notes.limit, notes.handshake)
        self.watchdog.on_stall = notes.stall

    def _keep_facts(self, facts: Facts, services: Services, routes: RouteTable, memory: ReceiveMemory) -> None:
        if self.state is not BrokerState.RUNNING:
            return
        # Not at the top: a broker serves before it needs this.
        from barnabas.broker.server.fact_keeping import FactKeeping

        def limits() -> list[tuple[str, int, int]]:
            connection_count = sum(count for _, count, _ in self._listeners.counts())
            return [
                ("max.connections", connection_count, self.config.max_connections),
                ("queued.max.request.bytes", memory.used_bytes, memory.limit_bytes),
                ("partitions", services.replicas.partition_count, self._env.limits.most_partitions()),
                ("bytes of groups", services.groups.kept_bytes, self._most_bytes),
                ("bytes of transactional ids", services.transactions.kept_bytes, self._most_bytes),
            ]

        self._fact_keeping = FactKeeping(facts, services, routes, self.watchdog, limits, self._env, self._executors.log)
        self._fact_keeping.start()

    def _open_registry_listeners(self, registry: Registry) -> None:
        if self.config.barnabas_registry_listeners or self.config.barnabas_registry_ssl_listeners:
            # Not at the top: most brokers do without it.
            from barnabas.broker.server.registry_listeners import RegistryListeners

            self.registry_listeners = RegistryListeners(self._env, self.config, registry)

    def _warn_of_unsupported_settings(self) -> None:
        for warning in startup_warnings(self.config):
            log.warning("%s", warning)

    async def _write_what_kafka_reads(self, registry: Registry) -> None:
        """Write only formats that the Kafka version noted in the registry reads: the directories may go back to it."""
        noted = await bootstrap.kafka_version(registry)
        if noted is None:
            return
        version = kafka_version(noted.name)
        contradictions = self.config.write_for(version)
        log.info(
            "writing formats that Kafka %s can read (%s): inter.broker.protocol.version=%s, "
            "log.message.format.version=%s",
            version.short_name,
            noted.reason,
            self.config.inter_broker_protocol_version,
            self.config.log_message_format_version,
        )
        if contradictions:
            log.warning(
                "%s: writes formats that Kafka %s cannot read, so `barnabas release` will fail",
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

    def _new_channels(
        self, listener_name: str, client_id: str, timeout_ms: Callable[[], int], address_of: AddressOf | None = None
    ) -> BrokerChannels:
        """Return channels to a listener of all brokers; `address_of`, or the metadata, gives their addresses."""

        def told_address(broker_id: int) -> tuple[str, int] | None:
            broker = self._view.image.brokers.get(broker_id)
            return None if broker is None else broker.endpoints.get(listener_name)

        return BrokerChannels(
            self._env.network,
            address_of or told_address,
            client_id,
            self._timers,
            self._spawner,
            timeout_ms,
            ListenerLinks(self.config, self._env, self._listeners, listener_name),
        )

    def _accept(self, services: Services, routes: RouteTable, notes: "FactNotes | None") -> ReceiveMemory:
        # Not before everything else has what it needs: what is left is shared out.
        memory = ReceiveMemory(self._env.limits.receive_memory_bytes(self.config.queued_max_request_bytes))
        reactor = Reactor(memory, self._scheduler, self._clock.monotonic_ns)
        if notes is not None:
            reactor.on_waited = notes.waited
        for each in (memory, reactor.unauthenticated_memory):
            watch(each, self._timers, self._clock.monotonic_ns)

        def new_session_of(name: str) -> Callable[[Connection], FrameHandler]:
            protocol = next(each.security_protocol for each in self.config.endpoints if each.listener_name == name)
            login = self.logins.step_of(name, protocol, services, routes)
            most_elements = self.config.barnabas_request_max_array_elements

            def new_session(connection: Connection) -> FrameHandler:
                info = ConnectionInfo(connection.peer_host, connection.peer_port, name, security_protocol=protocol)
                session = Session(connection, info, services, routes, most_elements)
                handler = session if login is None else login(connection, info, session)
                return self._listeners.identify(connection, info, handler)

            return new_session

        self._listeners.start(new_session_of, reactor)
        if self.registry_listeners is not None:
            self.registry_listeners.start(reactor)
        return memory

    # --- what the parts tell each other

    def _on_topic_config(self, topic: str, overrides: Mapping[str, str]) -> None:
        is_changed = overrides != self._view.topic_overrides(topic)
        self._view.set_topic_overrides(topic, overrides)
        if is_changed and self._replicas is not None:
            self._replicas.update_topic_config(topic)
        if is_changed and self._controller is not None and overrides.get(_UNCLEAN, "").lower() == "true":
            self._controller.allow_unclean_leaders(topic)

    def _on_unclean(self) -> None:
        if self._controller is not None and self.config.unclean_leader_election_enable:
            self._controller.allow_unclean_leaders()

    def _on_broker_config(self, broker: str, overrides: Mapping[str, str]) -> None:
        if broker == paths.DEFAULT_ENTITY:
            self._live.set_overrides(Layer.ALL_BROKERS, overrides)
        elif broker == str(self.broker_id):
            self._live.set_overrides(Layer.THIS_BROKER, overrides)

    def _new_live_config(self) -> LiveConfig:
        """Return the dynamic settings, with the parts of the broker that apply their changes."""
        config, live = self.config, LiveConfig(self.config)
        live.subscribe(["background.threads"], lambda: self._executors.log.resize(config.background_threads))
        live.subscribe(["log.cleaner.threads"], lambda: self._executors.cleaner.resize(config.log_cleaner_threads))
        live.subscribe(_CLEANER_SETTINGS, self._on_cleaner_settings)
        live.subscribe(_TOPIC_DEFAULTS, self._on_topic_defaults)
        live.subscribe(["num.replica.fetchers"], self._on_fetchers)
        live.subscribe([_UNCLEAN], self._on_unclean)
        live.subscribe(LISTENER_SETTINGS, self._on_listeners)
        live.subscribe(CONNECTION_LIMITS, self._listeners.limits_changed)
        live.subscribe(TLS_SETTINGS, self._listeners.tls_changed)
        live.subscribe_check(self._listeners.check)
        return live

    def _on_listeners(self) -> None:
        # Before the broker is registered it takes them as they are when it is.
        if self._membership is not None and self._view.broker_epoch >= 0:
            self._spawner.spawn(self._tell_listeners(self._membership, self._listeners.open_new()))

    async def _tell_listeners(self, membership: Membership, close_old: Callable[[], None]) -> None:
        await membership.update()
        close_old()

    def _on_cleaner_settings(self) -> None:
        if self._logs is not None:
            self._logs.cleaner_settings_changed()

    def _on_topic_defaults(self) -> None:
        if self._replicas is not None:
            self._spawner.spawn(self._replicas.update_all_configs())

    def _on_fetchers(self) -> None:
        if self._replication is not None:
            self._replication.fetchers.resize()

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
            self._topic_settings.forget(topic)
            self._throttles.forget(topic)
        if change.deleted_topics and self._groups is not None:
            self._groups.on_topics_deleted(change.deleted_topics)

    def _on_storage_failure(self, error: BaseException) -> None:
        """Stop the broker after a disk failed."""
        if self.failure is None:
            self.failure = StorageError(f"the disk failed: {error}")
            self._stop(str(self.failure))
