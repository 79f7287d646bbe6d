"""This broker's place in the cluster: its registration, the requests of the controller, and its own controller.

The registration is renewed in every session with the registry.

Invariants:

- A broker registers before it takes part in controller elections, and again in every session, each time with a new
  broker epoch.
- It registers once it can answer requests, because the controller sends requests from then on.

Source: zookeeper.md, broker registration; replication.md, failover and controlled shutdown;
 design page, a single broker is a cluster of one.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.controller.controller import Controller
from barnabas.broker.controller.local_channel import LocalChannel
from barnabas.broker.controller.sender import BrokerLink, Sender
from barnabas.broker.interbroker.channels import AddressOf, BrokerChannels
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.server.node_context import NodeContext
from barnabas.core.clock import Clock
from barnabas.core.errors import StartupError, StorageError
from barnabas.core.pending import Pending
from barnabas.core.timers import Timers
from barnabas.wire.registry import bootstrap, paths
from barnabas.wire.registry.store import NoNodeError, Registry, RegistryClosedError, RegistryError, SessionState
from barnabas.wire.registry.znodes.brokers import BrokerRegistration
from barnabas.wire.registry.znodes.notifications import encode_log_dir_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from barnabas.broker.server.controlled_shutdown import ControlledShutdown

log = logging.getLogger(__name__)

LOOK_AGAIN_MS = 250
_GRACE_MS = 3_000


class Membership:
    """Registers one broker. Owned by the event loop."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        timers: Timers,
        view: ClusterView,
        registration: Callable[[], BrokerRegistration],
        session_timeout_ms: int,
        registers: Callable[[], object],
    ) -> None:
        """Args:
        registry: A registry that waits for a connection.
        view: Receives the broker epoch.
        registration: Returns the current registration.
        session_timeout_ms: The time after which the registration of a killed broker expires.
        registers: Called at the start before each attempt to register.
        """
        self._registry = registry
        self._clock = clock
        self._timers = timers
        self._view = view
        self._registration = registration
        self._session_timeout_ms = session_timeout_ms
        self._registers = registers
        self._broker_id = registration().broker_id
        # The session that it is registered in; 0: none yet.
        self._session_id = 0
        # When the connection was lost, so that the session may have expired; None: connected.
        self._suspended_ms: int | None = None

    @property
    def is_registered(self) -> bool:
        """Return whether this broker is registered, as far as it knows: sessions without a connection expire."""
        is_lost = (
            self._suspended_ms is not None
            and self._clock.monotonic_ms() - self._suspended_ms >= self._session_timeout_ms
        )
        return self._session_id == self._registry.session_id and not is_lost

    async def join(self) -> None:
        """Register at the start; wait for the session of a killed predecessor to expire.

        Raises:
            StartupError: Another broker has registered with this broker's id.
        """
        self._registry.on_session(self._on_session)
        deadline_ms = self._clock.monotonic_ms() + self._session_timeout_ms + _GRACE_MS
        was_reported = False
        while True:
            self._registers()
            try:
                await self.ensure()
                return
            except bootstrap.BrokerIdTakenError as error:
                conflict = str(error)
            # differs from Kafka (killed-broker): Kafka does not start while its earlier registration exists.
            if self._clock.monotonic_ms() >= deadline_ms:
                raise StartupError(conflict)
            if not was_reported:
                was_reported = True
                log.info("%s; waiting for its session to expire, in case that broker was killed", conflict)
            await self._pause()

    async def ensure(self) -> None:
        """Register, unless the registration of this session exists.

        Raises:
            BrokerIdTakenError: Another session has registered this id.
        """
        session_id = self._registry.session_id
        if session_id == self._session_id:
            stat = await self._registry.exists(paths.broker(self._broker_id))
            if stat is not None and stat.ephemeral_owner == session_id:
                return
            if self._registry.session_id == session_id:
                log.warning("the registration of broker %d was deleted: registering again", self._broker_id)
        epoch = await bootstrap.register_broker(self._registry, self._registration(), self._session_id)
        if self._session_id:
            log.info("broker %d is registered again, with epoch %d", self._broker_id, epoch)
        self._view.broker_epoch = epoch
        # The current session: a new one may have begun while this waited for a connection.
        self._session_id = self._registry.session_id

    async def update(self) -> None:
        """Write the current registration."""
        try:
            await bootstrap.update_registration(self._registry, self._registration())
        except NoNodeError:
            log.debug("the session expired: what is so now is announced with the next registration")

    async def report_failed_directory(self) -> None:
        """Notify the controller of a failed log directory, so that it asks for the offline replicas.

        Tries until the registry accepts the notification: its disk may be full, too.
        """
        event, was_logged = encode_log_dir_event(self._broker_id), False
        while True:
            try:
                await self._registry.create(paths.LOG_DIR_EVENT_PREFIX, event, sequence=True)
                return
            except RegistryClosedError:
                return
            except (RegistryError, StorageError) as error:
                if not was_logged:
                    was_logged = True
                    log.error("cannot notify the controller of a failed log directory, trying again: %s", error)
            await self._pause()

    async def _pause(self) -> None:
        over: Pending[None] = Pending()
        self._timers.call_later(LOOK_AGAIN_MS, over.complete, None)
        await over.future()

    def _on_session(self, state: SessionState) -> None:
        match state:
            case SessionState.SUSPENDED:
                self._suspended_ms = self._clock.monotonic_ms()
                log.warning(
                    "the connection to ZooKeeper is lost: clients still produce and consume, administration waits"
                )
            case SessionState.EXPIRED:
                log.warning("ZooKeeper session expired: registering broker %d again", self._broker_id)
            case SessionState.CONNECTED:
                self._suspended_ms = None
                log.info("connected to ZooKeeper again")


@dataclass(frozen=True, slots=True)
class ClusterControl:
    """Attributes:
    requests: Applies the requests of the controller to the replicas.
    channels: The channels from this broker's controller to other brokers.
    """

    requests: ControlRequests
    membership: Membership
    controller: Controller
    channels: BrokerChannels


def build_cluster_control(
    context: NodeContext, *, replicas: ReplicaManager, load_topic_settings: "Callable[[Iterable[str]], Awaitable[None]]"
) -> ClusterControl:
    """Build the membership and the controller; the broker is not registered yet."""
    env, config, broker_id, spawner = context.env, context.config, context.broker_id, context.spawner

    def registration() -> BrokerRegistration:
        endpoints, now_ms = context.listeners.advertised(), env.clock.now_ms()
        return BrokerRegistration(broker_id, endpoints, config.broker_rack, timestamp_ms=now_ms)

    requests = ControlRequests(replicas, context.view, load_topic_settings, spawner)
    membership = Membership(
        context.registry,
        env.clock,
        env.timers,
        context.view,
        registration,
        config.zookeeper_session_timeout_ms,
        requests.registers,
    )
    replicas.on_failed_directory = lambda: spawner.spawn(membership.report_failed_directory())
    local = LocalChannel(requests)
    channels = context.build_channels(
        config.control_plane_listener,
        str(broker_id),
        lambda: config.controller_socket_timeout_ms,
        lambda other_id: controller.address_of(other_id, config.control_plane_listener),
    )

    def link_to(other_id: int) -> BrokerLink:
        if other_id == broker_id:
            return local
        # Imported here, because a single broker does not need it.
        from barnabas.broker.controller.remote_channel import RemoteChannel

        return RemoteChannel(other_id, channels, lambda: config.inter_broker_protocol_version)

    controller = Controller(
        broker_id,
        context.session,
        env.clock,
        env.timers,
        Sender(env.timers, env.clock, link_to),
        config.inter_broker_listener,
        config,
        membership.ensure,
        # If the tree is this broker's own, a Kafka that takes it over writes the features itself.
        keeps_features=bool(config.zookeeper_connect),
    )
    return ClusterControl(requests, membership, controller, channels)


def build_controlled_shutdown(context: NodeContext) -> "ControlledShutdown | None":
    """Build the controlled shutdown, if it is enabled and there may be other brokers."""
    config = context.config
    if not (config.controlled_shutdown_enable and config.zookeeper_connect):
        return None
    # Imported here, because a broker with an embedded registry is alone and does not need it.
    from barnabas.broker.server.controlled_shutdown import ControlledShutdown

    def new_channels(address_of: AddressOf) -> BrokerChannels:
        return context.build_channels(
            config.inter_broker_listener,
            str(context.broker_id),
            lambda: config.controller_socket_timeout_ms,
            address_of,
        )

    return ControlledShutdown(config, context.session, context.view, new_channels, context.env.timers)
