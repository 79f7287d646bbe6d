"""ApiVersions tells the epoch of finalized features: two brokers in the simulated world."""

from barnabas.clients.pool import Pool
from barnabas.testing.simulation.world import PORT
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.features import FeatureNode, encode_features
from tests.simulated_cluster import Cluster, play


def test_each_broker_tells_the_version_of_the_node_as_it_is_now() -> None:
    async def told(cluster: Cluster, number: int) -> int:
        async with Pool(f"b{number}:{PORT}", env=cluster.simulation.client("reader")) as pool:
            channel = await pool.any_broker()
            return (await channel.send(ApiVersionsRequest("name", "1.0"), ApiVersionsResponse)).finalized_features_epoch

    async def story(cluster: Cluster) -> None:
        assert [await told(cluster, number) for number in (1, 2)] == [0, 0]
        node = cluster.hosts[0].node
        services = node and node.observation and node.observation.services
        assert services
        for is_enabled, epoch in ((True, 1), (False, -1), (True, 3)):
            await services.registry.set(paths.FEATURES, encode_features(FeatureNode(is_enabled, {})))
            await cluster.settle()
            assert [await told(cluster, number) for number in (1, 2)] == [epoch, epoch]

    play(story, count=2, partitions=1)
