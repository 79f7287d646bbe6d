"""What followers copy, and who is in sync, in figures: two brokers in the simulated world."""

from prometheus_client.parser import text_string_to_metric_families

from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.testing.simulation.world import PORT, BrokerHost
from tests.simulated_cluster import Cluster, play

RECORD_BYTES = 1_000


async def figures(host: BrokerHost) -> dict[str, float]:
    """All figures but those of other partitions than `t-0`, by name."""
    text = (await host.http.get("/metrics")).body.decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {each.name: each.value for each in samples if each.labels.get("topic", "t") == "t"}


def test_both_ends_of_a_copy_count_the_same_bytes_and_a_follower_that_lags_is_told_of() -> None:
    async def story(cluster: Cluster) -> None:
        leader, follower = cluster.hosts

        async def write(acks: int) -> None:
            async with (
                Pool(f"b1:{PORT}", env=cluster.simulation.client("writer")) as pool,
                Producer(pool, acks=acks) as producer,
            ):
                await (await producer.send("t", bytes(RECORD_BYTES), partition=0))

        await write(acks=-1)
        led, followed = await figures(leader), await figures(follower)
        replicated = led["kafka_server_brokertopicmetrics_replicationbytesout_total"]
        assert RECORD_BYTES < replicated == followed["kafka_server_brokertopicmetrics_replicationbytesin_total"]
        assert led["kafka_server_brokertopicmetrics_bytesout_total"] == 0
        assert followed["kafka_server_fetcherstats_bytes_total"] == replicated
        assert followed["kafka_server_fetcherstats_requests_total"] > 0
        assert followed["kafka_server_fetcherlagmetrics_consumerlag"] == 0
        assert followed["kafka_server_replicafetchermanager_maxlag"] == 0
        assert followed["kafka_server_replicafetchermanager_failedpartitionscount"] == 0
        assert "kafka_server_fetcherstats_requests_total" not in led

        cluster.simulation.network.part([leader.name], [follower.name])
        await write(acks=1)
        await cluster.until(lambda: cluster.partition(0)["isr"] == [1])
        await cluster.settle()
        led = await figures(leader)
        assert led["kafka_server_replicamanager_isrshrinks_total"] == 1
        assert led["kafka_server_replicamanager_underreplicatedpartitions"] == 1
        cluster.simulation.network.heal()
        await cluster.until(lambda: cluster.partition(0)["isr"] == [1, 2])
        await cluster.settle()
        assert (await figures(leader))["kafka_server_replicamanager_isrexpands_total"] == 1

    play(story, count=2, partitions=1)
