"""ApiVersions tells the epoch of finalized features: two brokers in the simulated world."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from barnabas.broker.cluster.features import FinalizedFeatures
from barnabas.clients.pool import Pool
from barnabas.core.pending import Pending, Spawner
from barnabas.testing.simulation.world import PORT
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.cluster import FeatureNode, encode_features
from tests.simulated_cluster import Cluster, play

T = TypeVar("T")


@pytest.mark.played(by=play, count=2, partitions=1)
async def test_each_broker_tells_the_version_of_the_node_as_it_is_now(cluster: Cluster, /) -> None:
    async def told(cluster: Cluster, number: int) -> int:
        async with Pool(f"b{number}:{PORT}", env=cluster.simulation.client("reader")) as pool:
            channel = await pool.any_broker()
            return (await channel.send(ApiVersionsRequest("name", "1.0"), ApiVersionsResponse)).finalized_features_epoch

    assert [await told(cluster, number) for number in (1, 2)] == [0, 0]
    node = cluster.hosts[0].node
    services = node and node.http_monitoring and node.http_monitoring.services
    assert services
    for is_enabled, epoch in ((True, 1), (False, -1), (True, 3)):
        await services.registry.set(paths.FEATURES, encode_features(FeatureNode(is_enabled, {})))
        await cluster.settle()
        assert [await told(cluster, number) for number in (1, 2)] == [epoch, epoch]


@pytest.mark.played(by=play, count=1, partitions=1)
async def test_a_broker_that_stops_as_the_node_changes_says_nothing_of_it(cluster: Cluster, /) -> None:
    begun: list[Coroutine[Any, Any, object]] = []

    class Kept(Spawner):
        def spawn(
            self, coroutine: Coroutine[Any, Any, T], on_failure: Callable[[BaseException], T] | None = None
        ) -> Pending[T]:
            begun.append(coroutine)
            return Pending()

    node = cluster.hosts[0].node
    services = node and node.http_monitoring and node.http_monitoring.services
    assert services
    await FinalizedFeatures(services.registry, Kept(print)).read()
    await services.registry.set(paths.FEATURES, encode_features(FeatureNode(is_enabled=True, features={})))
    await cluster.settle()
    await cluster.stop(cluster.hosts[0])
    (again,) = begun
    await again
