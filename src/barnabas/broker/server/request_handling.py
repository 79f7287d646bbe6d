"""The handling of clients' requests: the handlers with the parts that they call, and the accepted connections.

Source: design page, section 2.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.administration.configs import ConfigAdmin
from barnabas.broker.administration.leadership import LeadershipAdmin
from barnabas.broker.administration.partitions import PartitionAdmin
from barnabas.broker.administration.producer_ids import ProducerIds
from barnabas.broker.administration.topics import TopicAdmin
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.groups.coordinator import GroupCoordinator
from barnabas.broker.log.disk.cold_reads import ColdReads
from barnabas.broker.log.manager import LogManager
from barnabas.broker.net.connection import Connection, FrameHandler
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.receive_memory_watch import watch
from barnabas.broker.quotas.manager import Quotas
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.log_dirs import ReplicaLogDirs
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.conversions import Conversions
from barnabas.broker.requests.fetches.sessions import FetchSessions
from barnabas.broker.requests.handlers import HANDLERS
from barnabas.broker.requests.handlers.api_versions import unsupported_version
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.session import Session
from barnabas.broker.requests.slices import Slices
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.access_rules import AccessRules
from barnabas.broker.server.cluster_control import ClusterControl
from barnabas.broker.server.dynamic_settings import DynamicSettings
from barnabas.broker.server.node_context import NodeContext
from barnabas.broker.transactions.coordinator import TransactionCoordinator
from barnabas.core.config.versions import kafka_version
from barnabas.core.purgatory import Purgatory
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class

if TYPE_CHECKING:
    from barnabas.broker.cluster.features import FinalizedFeatures
    from barnabas.broker.server.diagnostic_callbacks import DiagnosticCallbacks
    from barnabas.broker.server.registry_listeners import RegistryListeners


@dataclass(frozen=True, slots=True)
class RequestHandling:
    """Attributes:
    routes: The handlers by API and version.
    services: The parts of the broker that handlers call.
    """

    routes: RouteTable
    services: Services


def build_request_handling(
    context: NodeContext,
    *,
    logs: LogManager,
    replicas: ReplicaManager,
    fetches: Purgatory,
    groups: GroupCoordinator,
    transactions: TransactionCoordinator,
    producer_ids: ProducerIds,
    control: ClusterControl,
    settings: DynamicSettings,
    access: AccessRules,
    quotas: Quotas,
    leader_quota: ReplicationQuota,
    diagnostics: DiagnosticStore | None,
    features: "FinalizedFeatures | None",
) -> RequestHandling:
    """Build the handlers; the caller sets `cluster_known` once the metadata is complete."""
    env, config, executors, controller = context.env, context.config, context.executors, control.controller
    registry, view, timers = context.registry, context.view, env.timers

    def partition_room() -> int:
        return env.limits.most_partitions() - replicas.partition_count

    routes = RouteTable(HANDLERS, response_class, FIRST_FLEXIBLE_VERSION.__getitem__, unsupported_version)
    services = Services(
        config=config,
        clock=env.clock,
        timers=timers,
        spawner=context.spawner,
        executor=executors.log,
        cluster=view,
        replicas=replicas,
        control=control.requests,
        fetches=fetches,
        groups=groups,
        transactions=transactions,
        topics=TopicAdmin(registry, view, controller, config, timers, env.dice, partition_room),
        partitions=PartitionAdmin(registry, view, controller, timers, partition_room),
        leadership=LeadershipAdmin(view, controller, timers),
        log_dirs=ReplicaLogDirs(logs, replicas),
        producer_ids=producer_ids,
        registry=registry,
        authorizer=access.authorizer,
        offered=routes.offered_at(kafka_version(config.inter_broker_protocol_version)),
        slices=Slices(context.scheduler, env.clock.monotonic_ns, executors.codec),
        conversions=Conversions(executors.conversion, executors.large_conversion, env.dice),
        fetch_sessions=FetchSessions(config.max_incremental_fetch_session_cache_slots, env.clock, env.dice),
        cold_reads=ColdReads(executors.cold_read, env.page_cache),
        configs=ConfigAdmin(registry, view, settings.live, settings.configs, env.dice),
        acls=access.admin,
        scram_admin=context.logins.new_scram_admin(registry, settings.configs),
        tokens=context.logins.tokens,
        quotas=quotas,
        diagnostics=diagnostics,
        leader_quota=leader_quota,
        controller=controller,
        cluster_known=asyncio.Event(),
        finalized_features=features,
    )
    return RequestHandling(routes, services)


def accept_connections(
    context: NodeContext,
    *,
    handling: RequestHandling,
    registry_listeners: "RegistryListeners | None",
    notes: "DiagnosticCallbacks | None",
) -> ReceiveMemory:
    """Accept connections at all listeners; return the memory for received requests.

    Must be called after the other parts are built: the receive memory is a share of the memory that they leave.
    """
    env, config, listeners = context.env, context.config, context.listeners
    memory = ReceiveMemory(env.limits.receive_memory_bytes(config.queued_max_request_bytes))
    reactor = Reactor(memory, context.scheduler, env.clock.monotonic_ns)
    if notes is not None:
        reactor.on_waited = notes.waited
    for each in (memory, reactor.unauthenticated_memory):
        watch(each, env.timers, env.clock.monotonic_ns)

    def new_session_of(name: str) -> Callable[[Connection], FrameHandler]:
        protocol = next(each.security_protocol for each in config.endpoints if each.listener_name == name)
        login = context.logins.step_of(name, protocol, handling.services, handling.routes)
        most_elements = config.barnabas_request_max_array_elements

        def new_session(connection: Connection) -> FrameHandler:
            info = ConnectionInfo(connection.peer_host, connection.peer_port, name, security_protocol=protocol)
            session = Session(connection, info, handling.services, handling.routes, most_elements)
            handler = session if login is None else login(connection, info, session)
            return listeners.identify(connection, info, handler)

        return new_session

    listeners.start(new_session_of, reactor)
    if registry_listeners is not None:
        registry_listeners.start(reactor)
    return memory
