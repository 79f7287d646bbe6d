"""What followers copy, who is in sync, and what brokers say to each other, in figures: two brokers in the simulated
world.
"""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.testing.simulation.world import PORT, BrokerHost
from tests.simulated_cluster import Cluster, play

pytestmark = pytest.mark.played(by=play, count=2, partitions=1)

RECORD_BYTES = 1_000


async def figures(host: BrokerHost) -> dict[str, float]:
    """All figures but those of other partitions than `t-0`, by name."""
    text = (await host.http.get("/metrics")).body.decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {each.name: each.value for each in samples if each.labels.get("topic", "t") == "t"}


async def test_both_ends_of_a_copy_count_the_same_bytes_and_a_follower_that_lags_is_told_of(cluster: Cluster, /):
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


@pytest.mark.played(by=play, count=3, partitions=1)
async def test_replicas_that_a_reassignment_adds_are_not_missing_and_not_preferred_yet(cluster: Cluster, /) -> None:
    leader, other, added = cluster.hosts
    async with Pool(f"b1:{PORT}", env=cluster.simulation.client("admin")) as pool:
        admin = ReplicaAdmin(pool)
        await admin.alter_reassignments({TopicPartition("t", 0): [1, 2]})
        await cluster.until(lambda: cluster.partition(0)["isr"] == [1, 2])
        await cluster.settle()
        cluster.simulation.network.part([added.name], [leader.name, other.name])
        await admin.alter_reassignments({TopicPartition("t", 0): [3, 1]})
    await cluster.settle()
    assert cluster.partition(0)["isr"] == [1, 2]
    found = await figures(leader)
    assert found["kafka_server_replicamanager_reassigningpartitions"] == 1
    assert found["kafka_server_replicamanager_underreplicatedpartitions"] == 0
    assert found["kafka_cluster_partition_underreplicated"] == 0
    assert found["kafka_cluster_partition_replicascount"] == 2
    assert found["kafka_controller_kafkacontroller_preferredreplicaimbalancecount"] == 0


async def labelled(host: BrokerHost) -> dict[str, float]:
    """All figures, by name and labels: `name label=value`."""
    text = (await host.http.get("/metrics")).body.decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {" ".join([each.name, *map("=".join, each.labels.items())]): each.value for each in samples}


async def test_followers_fetches_are_counted_apart_and_so_is_each_way_to_another_broker(cluster: Cluster, /) -> None:
    count = "kafka_network_requestmetrics_totaltimems_count request"
    leader, follower = cluster.hosts
    async with Pool(f"b1:{PORT}", env=cluster.simulation.client("writer")) as pool, Producer(pool, acks=-1) as producer:
        await (await producer.send("t", bytes(RECORD_BYTES), partition=0))
    led, followed = await labelled(leader), await labelled(follower)
    assert led[f"{count}=FetchFollower"] == led[f"{count}=Fetch"] > 0
    assert f"{count}=FetchConsumer" not in led
    assert led["kafka_server_delayedfetchmetrics_expires_total fetcherType=consumer"] == 0
    fetcher = "brokerId=1 fetcherId=0"
    metrics = "kafka_server_replica_fetcher_metrics"
    assert followed[f"{metrics}_connection_count {fetcher}"] == 1
    assert followed[f"{metrics}_request_total {fetcher}"] >= followed[f"{metrics}_response_total {fetcher}"] > 0
    assert followed[f"{metrics}_incoming_byte_total {fetcher}"] > RECORD_BYTES
    told = led["kafka_server_controller_channel_metrics_request_total brokerId=2"]
    assert led["kafka_controller_controllerchannelmanager_requestrateandqueuetimems_count brokerId=2"] == told > 0
    assert led["kafka_controller_controllerchannelmanager_totalqueuesize"] == 0
    assert led["kafka_controller_controllerstats_leaderelectionrateandtimems_count"] > 0
    assert followed["kafka_controller_controllerstats_leaderelectionrateandtimems_count"] == 0
    assert "kafka_controller_controllerchannelmanager_queuesize brokerId=1" not in followed


async def test_an_append_whose_replicas_did_not_have_it_in_time_is_told_of(cluster: Cluster, /) -> None:
    leader, follower = cluster.hosts
    async with (
        Pool(f"b1:{PORT}", env=cluster.simulation.client("writer")) as pool,
        Producer(pool, acks=-1, request_timeout_ms=1_000, delivery_timeout_ms=1_500) as producer,
    ):
        await (await producer.send("t", bytes(RECORD_BYTES), partition=0))
        cluster.simulation.network.part([leader.name], [follower.name])
        late = await producer.send("t", bytes(RECORD_BYTES), partition=0)
        with pytest.raises(KafkaError):
            await late
    assert (await labelled(leader))["kafka_server_delayedproducemetrics_expires_total"] >= 1
