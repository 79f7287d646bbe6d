"""Builds the replication of this broker: fetchers, ISR changes and channels to other brokers.

    followed ─► fetchers ─────────────────────► their leaders
    led ──────► changes of in-sync replicas ──► the controller, or before 2.7-IV2 the registry

Source: semantics, replication; `inter.broker.protocol.version`.
"""

from barnabas.broker.cluster.image import ClusterView, ImageChange
from barnabas.broker.interbroker.channels import ISR_LANE, BrokerChannels
from barnabas.broker.interbroker.versions import NOT_USED, version_of
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.altered_isr import AlteredIsr
from barnabas.broker.replicas.fetching.manager import Fetchers
from barnabas.broker.replicas.isr_changes import IsrChanges
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.broker.replicas.written_isr import WrittenIsr
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.pending import Pending, Spawner
from barnabas.core.timers import Timers
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.alter_isr import AlterIsrRequest, AlterIsrResponse
from barnabas.wire.registry.store import Registry


class Replication:
    """Serves one broker's `ReplicaManager`. Owned by the event loop.

    Attributes:
        fetchers: Fetch the partitions that this broker follows.
    """

    def __init__(
        self,
        config: BrokerConfig,
        broker_id: int,
        registry: Registry,
        view: ClusterView,
        replicas: ReplicaManager,
        channels: BrokerChannels,
        controller_channels: BrokerChannels,
        quota: ReplicationQuota,
        clock: Clock,
        timers: Timers,
        spawner: Spawner,
    ) -> None:
        """Args:
        registry: One that waits for a connection.
        channels: To leaders.
        controller_channels: To the controller, which may listen for that elsewhere.
        quota: The quota of throttled partitions.
        """
        self._view = view
        self._controller_channels = controller_channels
        self._controller = (-1, 0)
        self._version = version_of(ApiKey.ALTER_ISR, config.inter_broker_protocol_version)
        self._timeout_ms = config.controller_socket_timeout_ms
        self._altered: AlteredIsr | None = None
        changes: IsrChanges
        if self._version == NOT_USED:
            changes = WrittenIsr(registry, clock, timers, spawner)
        else:
            changes = self._altered = AlteredIsr(broker_id, lambda: view.broker_epoch, self._alter_isr, timers)
        replicas.leading.changes = changes
        self.fetchers = replicas.fetchers = Fetchers(broker_id, config, channels, quota, timers, clock)
        view.on_change(self._on_image)

    def _alter_isr(self, request: AlterIsrRequest) -> Pending[AlterIsrResponse]:
        controller_id = self._view.image.controller_id
        return self._controller_channels.send(
            controller_id, request, self._version, AlterIsrResponse, ISR_LANE, self._timeout_ms
        )

    def _on_image(self, change: ImageChange) -> None:
        image = change.image
        controller = image.controller_id, image.controller_epoch
        if controller != self._controller and self._altered is not None:
            # The one before may never answer.
            before, self._controller = self._controller, controller
            self._altered.controller_changed()
            self._controller_channels.drop(before[0], ISR_LANE)
