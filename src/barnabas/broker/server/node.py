"""The composition root: builds the object graph of one broker, starts it in order, stops it in reverse.

Order of a start: lock and check the log directories ─► registry ─► cluster id ─► load (and recover) the logs ─►
groups ─► accept connections ─► register ─► controller ─► metadata of the cluster. A broker that fails during its start
leaves the directories unchanged, except for repairs by recovery.

Each area has a builder, which receives the parts that it needs:

    settings        dynamic_settings.py           groups, transactions    replication.py
    threads, logs   storage.py                    controller              cluster_control.py
    registry        registry_choice.py            security                access_rules.py, logins.py
    channels        node_context.py               quotas                  broker_quotas.py, quota_history.py
    replication     replication.py                handlers, connections   request_handling.py, broker_listeners.py
                                                  metrics                 http_monitoring.py
                                                  diagnostics             diagnostics_service.py,
                                                                          diagnostic_callbacks.py

Source: design page, section 2; semantics, controller.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.cluster.image import ClusterView, ImageChange
from barnabas.broker.coordination.partitioning import coordinated_partition_count
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.groups.coordinator import GroupCoordinator
from barnabas.broker.log.manager import LogManager
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.access_rules import open_access_rules
from barnabas.broker.server.broker_listeners import BrokerListeners
from barnabas.broker.server.broker_quotas import QuotaMaintenance, ReplicationThrottles, quotas_of
from barnabas.broker.server.broker_state import BrokerState
from barnabas.broker.server.cluster_control import (
    ClusterControl,
    build_cluster_control,
    build_controlled_shutdown,
)
from barnabas.broker.server.dynamic_settings import DynamicSettings, TopicSettings
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.logins import Logins
from barnabas.broker.server.node_context import NodeContext
from barnabas.broker.server.quota_history import QuotaHistory, start_quota_history
from barnabas.broker.server.registry_choice import identify, open_registry
from barnabas.broker.server.replication import (
    Replication,
    build_groups,
    build_replication,
    build_transactions,
    follow_leadership,
)
from barnabas.broker.server.request_handling import RequestHandling, accept_connections, build_request_handling
from barnabas.broker.server.storage import Executors, build_logs
from barnabas.broker.server.watchdog import Watchdog
from barnabas.broker.transactions.coordinator import TransactionCoordinator
from barnabas.core.config import BrokerConfig
from barnabas.core.config.support import startup_warnings
from barnabas.core.errors import BarnabasError, StorageError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Spawner
from barnabas.core.purgatory import Purgatory
from barnabas.wire.registry import paths
from barnabas.wire.registry.patience import PatientRegistry
from barnabas.wire.registry.store import Registry

if TYPE_CHECKING:
    from barnabas.broker.cluster.features import FinalizedFeatures
    from barnabas.broker.server.controlled_shutdown import ControlledShutdown
    from barnabas.broker.server.diagnostic_callbacks import DiagnosticCallbacks
    from barnabas.broker.server.diagnostics_service import DiagnosticsService
    from barnabas.broker.server.http_monitoring import HttpMonitoring
    from barnabas.broker.server.registry_listeners import RegistryListeners

log = logging.getLogger(__name__)

# Delays diagnostics after a start, so that clients are served first.
_DIAGNOSTICS_AFTER_MS = 1_000


class Node:
    """One broker.

    Attributes:
        address: Where clients connect, once started.
        broker_id, cluster_id: As registered, once started.
        logins: The logins of its listeners, with counts.
        failure: The error that ended the broker; None after an orderly stop.
        routes: The handlers by API and version; None before it is started.
        state: Its state.
        quotas: The quotas of clients.
        diagnostics: Diagnostic events; None: disabled.
        http_monitoring: Its HTTP server; None: disabled.
        registry_listeners: Serves the embedded registry to ZooKeeper clients; None: disabled.
    """

    def __init__(self, env: Environment, config: BrokerConfig, stop: Callable[[str], object]) -> None:
        """Args:
        env: The outside world.
        stop: Requests the process to stop, with the reason.
        """
        self.config = config
        self.address = ("", 0)
        self.broker_id = config.broker_id
        self.cluster_id = ""
        self.failure: BarnabasError | None = None
        self._env = env
        self._stop = stop
        self._spawner = Spawner(lambda error: log.error("a background task failed", exc_info=error))
        self._executors = Executors(env, config)
        self._topic_settings = TopicSettings(config, lambda topic: self._view.topic_overrides(topic))
        self.watchdog = Watchdog(env.clock, env.timers, env.limits.core_use)
        self._scheduler = Scheduler(env.loop.call_soon, env.clock.monotonic_ns)
        # Waiting fetches, groups and transactional ids may each take as much memory as received requests.
        self._most_bytes = env.limits.receive_memory_bytes(config.queued_max_request_bytes)
        self._fetches = Purgatory(env.timers, self._scheduler.add_check, self._most_bytes)
        self._listeners = BrokerListeners(config, env, self._executors.log)
        self.logins = Logins(config, env)
        self.quotas = quotas_of(config)
        self._quota_maintenance = QuotaMaintenance(self.quotas, env.clock, env.timers)
        self._throttles = ReplicationThrottles(config)
        most_diagnostic_bytes = config.barnabas_facts_max_bytes
        self.diagnostics = DiagnosticStore(most_diagnostic_bytes, env.clock.now_ms()) if most_diagnostic_bytes else None
        self.routes: RouteTable | None = None
        self.state = BrokerState.NOT_RUNNING
        self.http_monitoring: HttpMonitoring | None = None
        self.registry_listeners: RegistryListeners | None = None
        self._logs: LogManager | None = None
        self._registry: Registry | None = None
        self._replication: Replication | None = None
        self._groups: GroupCoordinator | None = None
        self._transactions: TransactionCoordinator | None = None
        self._control: ClusterControl | None = None
        self._quota_history: QuotaHistory | None = None
        self._diagnostics_service: DiagnosticsService | None = None
        self._controlled_shutdown: ControlledShutdown | None = None

    def address_of(self, listener_name: str) -> tuple[str, int]:
        """Host and port of a listener, once started."""
        return self._listeners.address_of(listener_name)

    @property
    def is_recovering(self) -> bool:
        """Return whether threads open or recover the logs."""
        return self._executors.is_recovering

    async def start(self) -> None:
        """Start; once this returns clients can connect.

        Raises:
            BarnabasError: The broker cannot start; one line with the reason.
        """
        env, config = self._env, self.config
        for warning in startup_warnings(config):
            log.warning("%s", warning)
        self.state = BrokerState.STARTING
        self._open_observation()
        # Before the recovery, so that a port in use fails the start at once.
        self._listeners.bind()
        logs = self._logs = build_logs(
            env=env,
            config=config,
            executors=self._executors,
            topic_config=self._topic_settings.of,
            on_failure=self._on_storage_failure,
            on_loop=self.watchdog.note,
        )
        await logs.lock()
        context = await self._open_registry(logs)
        settings = await self._follow_settings(context, logs)
        features = await self._follow_features(context.registry)
        # Before the recovery, so that unusable logins or keys fail the start at once. After the settings in the
        # registry, which may change logins and keys, and the listeners to bind.
        self.logins.check()
        self._listeners.bind()
        self._listeners.prepare()
        self.state = BrokerState.RECOVERING
        count_state_partitions = partial(coordinated_partition_count, context.registry, TRANSACTION_STATE_TOPIC, 0)
        await logs.load(self.cluster_id, self.broker_id, count_state_partitions)
        self._executors.close_recovery()
        replication = self._build_replication(context, logs, settings)
        producer_ids = ProducerIds(context.registry, self.broker_id)
        groups, transactions = await self._start_coordinators(context, replication, producer_ids)
        control = self._build_cluster_control(context, replication, groups, settings)
        await self.logins.open(context.registry, self._spawner, self._executors.log)
        notes = self._build_diagnostic_callbacks()
        on_denied = None if notes is None else notes.denial
        access = await open_access_rules(
            config, context.registry, env.clock, env.timers, self._spawner, env.dice, on_denied
        )
        handling = build_request_handling(
            context,
            logs=logs,
            replicas=replication.replicas,
            fetches=self._fetches,
            groups=groups,
            transactions=transactions,
            producer_ids=producer_ids,
            control=control,
            settings=settings,
            access=access,
            quotas=self.quotas,
            leader_quota=self._throttles.leader,
            diagnostics=self.diagnostics,
            features=features,
        )
        self.routes, services = handling.routes, handling.services
        if notes is not None:
            notes.connect(services, handling.routes, logs, self._listeners, self.watchdog)
        self._quota_history = await start_quota_history(config, env, self._executors.log, services)
        self.logins.expire_tokens(self._spawner, lambda: services.topics.is_controller)
        await self.logins.prepare()
        memory = accept_connections(context, handling=handling, registry_listeners=self.registry_listeners, notes=notes)
        await self._join(control, settings)
        control.requests.registered()
        await control.controller.start()
        if not control.controller.is_active:
            # Imported here, because a single broker is its own controller and does not need it.
            from barnabas.broker.cluster.missing_metadata import wait_for_metadata

            await wait_for_metadata(context.view, context.registry)
        services.cluster_known.set()
        self._controlled_shutdown = build_controlled_shutdown(context)
        # Kafka's defaults need three brokers; with fewer, clients only see that they must wait.
        services.topics.warn_of_too_few_brokers(GROUP_OFFSETS_TOPIC)
        services.topics.warn_of_too_few_brokers(TRANSACTION_STATE_TOPIC)
        transactions.begin_markers()
        self.state = BrokerState.RUNNING
        if self.http_monitoring is not None:
            channels = replication.channels, replication.controller_channels, control.channels
            fetchers, controller, members = replication.fetchers, control.controller, control.membership
            self.http_monitoring.begin(
                services, handling.routes, logs, fetchers, controller, channels, memory, self.logins, members
            )
        self.watchdog.start()
        if self.diagnostics is not None:
            env.timers.call_later(_DIAGNOSTICS_AFTER_MS, self._start_diagnostics, self.diagnostics, handling, memory)

    async def stop(self) -> None:
        """Stop in order: move leaderships, accept no more connections, answer waiting requests, write the state to
        disk.
        """
        if self._controlled_shutdown is not None and self.failure is None:
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            await self._controlled_shutdown.ask()
        self.state = BrokerState.SHUTTING_DOWN
        self._quota_maintenance.stop()
        self._listeners.stop_accepting()
        self._fetches.expire_all()
        if self._groups is not None:
            self._groups.close()
        if self._transactions is not None:
            self._transactions.close()
        if self._replication is not None:
            self._replication.fetchers.close()
            self._replication.channels.close()
            self._replication.controller_channels.close()
            self._replication.replicas.stop_appends()
        self._scheduler.finish()
        self._listeners.close()
        if self._control is not None:
            await self._control.controller.close()
            self._control.channels.close()
        await self._spawner.close()
        if self._quota_history is not None:
            await self._quota_history.close()
        if self._diagnostics_service is not None:
            await self._diagnostics_service.close()
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
            if self.http_monitoring is not None:
                self.http_monitoring.close()

    # --- start, step by step

    def _open_observation(self) -> None:
        if self.config.barnabas_http_listeners:
            # Imported here, because a broker without metrics does not need it.
            from barnabas.broker.server.http_monitoring import HttpMonitoring

            self.http_monitoring = HttpMonitoring(
                self._env, self.config, self.watchdog, self._listeners, lambda: self.state
            )
            self.http_monitoring.open()

    def _build_diagnostic_callbacks(self) -> "DiagnosticCallbacks | None":
        if self.diagnostics is None:
            return None
        # Imported here, because a broker without diagnostic events does not need it.
        from barnabas.broker.server.diagnostic_callbacks import DiagnosticCallbacks

        return DiagnosticCallbacks(self.diagnostics, self._env.clock)

    async def _open_registry(self, logs: LogManager) -> NodeContext:
        """Open the registry, and determine this broker's identity in it."""
        env, config, executors = self._env, self.config, self._executors
        session = await open_registry(env, config, logs, executors.registry)
        registry = self._registry = PatientRegistry(session, env.timers)
        if config.barnabas_registry_listeners or config.barnabas_registry_ssl_listeners:
            # Imported here, because most brokers do not need it.
            from barnabas.broker.server.registry_listeners import RegistryListeners

            self.registry_listeners = RegistryListeners(env, config, session)
        self.cluster_id, self.broker_id = await identify(env, config, registry, logs)
        view = self._view = ClusterView(self.cluster_id)
        listeners, spawner, scheduler, logins = self._listeners, self._spawner, self._scheduler, self.logins
        local = env, config, executors, listeners, spawner, scheduler, logins
        return NodeContext(*local, session, registry, view, self.broker_id)

    async def _follow_settings(self, context: NodeContext, logs: LogManager) -> DynamicSettings:
        """Apply the settings in the registry, now and whenever they change."""
        settings = DynamicSettings(context, logs=logs, topics=self._topic_settings)
        settings.configs.subscribe(paths.USERS, self.logins.users.on_user_config)
        self._quota_maintenance.start(settings.configs, settings.live, self.config)
        self._throttles.start(settings.configs, settings.live)
        await settings.start()
        return settings

    async def _follow_features(self, registry: Registry) -> "FinalizedFeatures | None":
        """Watch the epoch of finalized features, if the cluster's state is in ZooKeeper."""
        if not self.config.zookeeper_connect:
            return None
        # Imported here, because a broker with an embedded registry does not need it.
        from barnabas.broker.cluster.features import FinalizedFeatures

        features = FinalizedFeatures(registry, self._spawner)
        await features.read()
        return features

    def _build_replication(self, context: NodeContext, logs: LogManager, settings: DynamicSettings) -> Replication:
        topic_config, quota = self._topic_settings.of, self._throttles.follower
        replication = self._replication = settings.replication = build_replication(
            context, logs=logs, topic_config=topic_config, fetches=self._fetches, quota=quota
        )
        self._throttles.on_follower_change = replication.fetchers.go_on
        return replication

    async def _start_coordinators(
        self, context: NodeContext, replication: Replication, producer_ids: ProducerIds
    ) -> tuple[GroupCoordinator, TransactionCoordinator]:
        most_bytes, diagnostics, replicas = self._most_bytes, self.diagnostics, replication.replicas
        groups = self._groups = await build_groups(
            context, replicas=replicas, most_bytes=most_bytes, diagnostics=diagnostics
        )
        groups.start()
        transactions = self._transactions = await build_transactions(
            context, replication=replication, producer_ids=producer_ids, most_bytes=most_bytes, diagnostics=diagnostics
        )
        transactions.start()
        follow_leadership(replicas=replicas, groups=groups, transactions=transactions)
        return groups, transactions

    def _build_cluster_control(
        self, context: NodeContext, replication: Replication, groups: GroupCoordinator, settings: DynamicSettings
    ) -> ClusterControl:
        def on_image(change: ImageChange) -> None:
            settings.forget_deleted_topics(change)
            for topic in change.deleted_topics:
                self._throttles.forget(topic)
            if change.deleted_topics:
                groups.on_topics_deleted(change.deleted_topics)

        context.view.on_change(on_image)
        # Again, because settings may have changed during the recovery. Open listeners keep their keys.
        self._listeners.prepare(self._listeners.bind())
        self.address = self._listeners.address
        control = self._control = build_cluster_control(
            context, replicas=replication.replicas, load_topic_settings=settings.load_topics
        )
        settings.membership, settings.controller = control.membership, control.controller
        return control

    async def _join(self, control: ClusterControl, settings: DynamicSettings) -> None:
        """Register in the cluster: from now on the controller sends requests to this broker."""
        registered = self.config.endpoints, self.config.advertised_endpoints
        await control.membership.join()
        if registered != (self.config.endpoints, self.config.advertised_endpoints):
            settings.update_listeners()

    def _start_diagnostics(
        self, diagnostics: DiagnosticStore, handling: RequestHandling, memory: ReceiveMemory
    ) -> None:
        if self.state is not BrokerState.RUNNING:
            return
        # Imported here, because a broker serves clients before it needs this.
        from barnabas.broker.server.diagnostics_service import DiagnosticsService

        services, env = handling.services, self._env

        def limits() -> list[tuple[str, int, int]]:
            connection_count = sum(count for _, count, _ in self._listeners.counts())
            return [
                ("max.connections", connection_count, self.config.max_connections),
                ("queued.max.request.bytes", memory.used_bytes, memory.limit_bytes),
                ("partitions", services.replicas.partition_count, env.limits.most_partitions()),
                ("bytes of groups", services.groups.kept_bytes, self._most_bytes),
                ("bytes of transactional ids", services.transactions.kept_bytes, self._most_bytes),
            ]

        routes, executor = handling.routes, self._executors.log
        self._diagnostics_service = DiagnosticsService(
            diagnostics, services, routes, self.watchdog, limits, env, executor
        )
        self._diagnostics_service.start()

    def _on_storage_failure(self, error: BaseException) -> None:
        """Stop the broker after a disk failed."""
        if self.failure is None:
            self.failure = StorageError(f"the disk failed: {error}")
            self._stop(str(self.failure))
