"""Connections to the brokers registered in the group's ZooKeeper, refreshed when brokers change.

Source: zookeeper.md, cluster and brokers; design document, distribution (a consumer knows the brokers from ZooKeeper).
"""

from collections.abc import Callable

from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry
from barnabas.wire.registry.znodes.brokers import decode_registration


class Cluster:
    """The brokers of one registry."""

    def __init__(self, registry: Registry, new_pool: Callable[[str], Pool], security_protocol: str) -> None:
        """Args:
        new_pool: Returns a pool for bootstrap addresses `host:port,...`.
        security_protocol: The protocol whose endpoints are used.
        """
        self._registry = registry
        self._new_pool = new_pool
        self._security_protocol = security_protocol
        self._pool: Pool | None = None

    @property
    def pool(self) -> Pool:
        """Return the connections to the brokers. Raises KafkaError if no broker is registered yet."""
        if self._pool is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "no broker is registered")
        return self._pool

    async def refresh(self) -> None:
        """Read the registered brokers again. Raises RegistryError."""
        try:
            broker_ids = await self._registry.children(paths.BROKER_IDS)
        except NoNodeError:
            return
        servers = []
        for broker_id, node in zip(
            broker_ids, await self._registry.get_many([paths.broker(int(each)) for each in broker_ids]), strict=True
        ):
            if node is None:
                continue
            for endpoint in decode_registration(int(broker_id), node[0]).endpoints:
                if endpoint.security_protocol == self._security_protocol:
                    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
                    servers.append(f"{host}:{endpoint.port}")
        if not servers:
            return
        if self._pool is None:
            self._pool = self._new_pool(",".join(servers))
        else:
            self._pool.use_bootstrap_servers(",".join(servers))

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            await self._pool.close()
