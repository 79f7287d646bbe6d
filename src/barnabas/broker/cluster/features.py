"""The epoch of the cluster's finalized features for ApiVersions: the version of /feature while features are enabled.

Source: zookeeper.md, cluster and brokers; KIP-584; Kafka 2.7.2, FinalizedFeatureChangeListener.
"""

from contextlib import suppress
from typing import Final

from barnabas.core.pending import Spawner
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry, RegistryClosedError, WatchEvent
from barnabas.wire.registry.znodes.cluster import decode_features

NO_EPOCH: Final = -1


class FinalizedFeatures:
    """Reads the znode, and reads it again after every change. Owned by the event loop.

    Attributes:
        epoch: The znode's version; NO_EPOCH while features are disabled, or the znode does not exist.
    """

    def __init__(self, registry: Registry, spawner: Spawner) -> None:
        """Args:
        registry: A registry whose calls wait for a connection.
        """
        self.epoch = NO_EPOCH
        self._registry = registry
        self._spawner = spawner

    async def read(self) -> None:
        """Read the znode now, and begin to watch it."""
        # If the znode does not exist, the watch of `exists` reports its creation.
        if await self._registry.exists(paths.FEATURES, self._on_change) is None:
            self.epoch = NO_EPOCH
            return
        try:
            data, stat = await self._registry.get(paths.FEATURES)
        except NoNodeError:
            self.epoch = NO_EPOCH
            return
        self.epoch = stat.version if decode_features(data).is_enabled else NO_EPOCH

    def _on_change(self, event: WatchEvent) -> None:
        self._spawner.spawn(self._read_again())

    async def _read_again(self) -> None:
        # Ignored while the broker stops.
        with suppress(RegistryClosedError):
            await self.read()
