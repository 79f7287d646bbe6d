"""`/metrics` of a broker that works: the figures are those of what was done to it, and all of the table are there."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.metrics.definitions import CHANNELS, FOLLOWED, LOGINS, METRICS, QUOTAS
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.clients.security import client_security
from barnabas.core.errors import KafkaError
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.quotas.entities import Entity
from barnabas.wire.quotas.limits import QuotaKind
from tests.compat.raw import ask
from tests.integration.live_broker import Running, play
from tests.integration.test_http import get
from tools.kafka.server import free_port

SETTINGS = {"barnabas.http.listeners": "127.0.0.1:0"}
TOPIC = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_"


class Figures:
    """What a broker tells at one moment."""

    def __init__(self, text: str) -> None:
        self.samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def __call__(self, name: str, **labels: str) -> float:
        """The value with just these labels."""
        (found,) = [each.value for each in self.samples if each.name == name and each.labels == labels]
        return found

    def names(self) -> set[str]:
        return {each.name for each in self.samples}

    def values(self, name: str, label: str) -> set[str]:
        return {each.labels[label] for each in self.samples if each.name == name and label in each.labels}


async def figures(running: Running) -> Figures:
    http_monitoring = running.node.http_monitoring
    assert http_monitoring is not None
    status, body = await asyncio.to_thread(get, http_monitoring.addresses[0], "/metrics")
    assert status == 200
    return Figures(body.decode())


async def work(running: Running) -> None:
    """Ten records of 100 bytes into topic `t`, read once."""
    await running.create_topic("t", {})
    async with Producer(running.pool, acks=1) as producer:
        for _ in range(10):
            await (await producer.send("t", bytes(100)))
    await running.count("t")


def test_figures_are_those_of_what_was_done(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        await work(running)
        await asyncio.to_thread(ask, running.servers, no_batch(), 7)
        found = await figures(running)
        for labels in ({}, {"topic": "t"}):
            assert found(f"{TOPIC}messagesin_total", **labels) == 10
            assert found(f"{TOPIC}totalproducerequests_total", **labels) == 11
            assert found(f"{TOPIC}failedproducerequests_total", **labels) == 0
            assert found(f"{TOPIC}bytesin_total", **labels) == found(f"{TOPIC}bytesout_total", **labels) > 1000
        size = found("kafka_log_log_size", topic="t", partition="0")
        assert size == found(f"{TOPIC}bytesin_total", topic="t")
        assert found("kafka_log_log_logendoffset", topic="t", partition="0") == 10
        produced = found(f"{REQUESTS}totaltimems_count", request="Produce")
        assert produced == 11
        assert found(f"{REQUESTS}errors_total", request="Produce", error="NONE") == 10
        assert found(f"{REQUESTS}errors_total", request="Produce", error="CORRUPT_MESSAGE") == 1
        assert found(f"{TOPIC}invalidmessagecrcrecords_total") == 1
        assert found(f"{REQUESTS}totaltimems", request="Produce", quantile="0.99") > 0
        # Both kinds of fetches, and each.
        fetched = found(f"{REQUESTS}totaltimems_count", request="Fetch")
        assert fetched == found(f"{REQUESTS}totaltimems_count", request="FetchConsumer") > 0
        assert "FetchFollower" not in found.values(f"{REQUESTS}totaltimems_count", "request")
        assert found("kafka_controller_controllerstats_topicchangerateandtimems_count") >= 1
        assert found("kafka_controller_controllereventmanager_eventqueuetimems_count") >= 1
        assert found("kafka_controller_controllerchannelmanager_requestrateandqueuetimems_count", brokerId="0") >= 1
        stages = ("requestqueue", "local", "remote", "responsequeue", "responsesend")
        sums = sum(found(f"{REQUESTS}{stage}timems_sum", request="Produce") for stage in stages)
        assert abs(sums - found(f"{REQUESTS}totaltimems_sum", request="Produce")) < 0.001
        assert found("kafka_server_kafkaserver_brokerstate") == 3
        assert found("kafka_controller_kafkacontroller_activecontrollercount") == 1
        assert found("kafka_server_replicamanager_leadercount") == found("kafka_server_replicamanager_partitioncount")
        assert found("barnabas_metrics_left_out", entity="topics") == 0

    play(tmp_path, story, SETTINGS)


def no_batch() -> ProduceRequest:
    """Bytes that are no batch."""
    data = PartitionProduceData(0, memoryview(bytes(100)))
    return ProduceRequest(None, 1, 1000, [TopicProduceData("t", [data])])


def test_all_metrics_of_the_table_are_there_and_no_others(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        await work(running)
        found = await figures(running)
        # The cleaner is loaded a while after the start.
        while "kafka_log_logcleaner_cleaner_recopy_percent" not in found.names():
            await asyncio.sleep(0)
            found = await figures(running)
        suffixes = ("_count", "_sum")
        known = {family.name + suffix for family in METRICS for suffix in ("", *suffixes)}
        assert found.names() <= known
        # These are there with quotas, with logins, and with brokers to follow and to speak to.
        others = {family.name for family in (*QUOTAS, *LOGINS, *FOLLOWED, *CHANNELS)}
        assert {family.name for family in METRICS} - others <= found.names()

    play(tmp_path, story, SETTINGS)


def test_more_topics_and_partitions_than_are_listed_are_told_of(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        for name in ("a", "b", "c", "d", "e"):
            await running.create_topic(name, {})
        found = await figures(running)
        assert len(found.values(f"{TOPIC}bytesin_total", "topic")) == 2
        assert len(found.values("kafka_log_log_size", "topic")) == 2
        assert found("barnabas_metrics_left_out", entity="topics") == 3
        assert found("barnabas_metrics_left_out", entity="partitions") == 3
        assert found("kafka_server_replicamanager_partitioncount") == 5

    play(tmp_path, story, {**SETTINGS, "barnabas.metrics.max.entities": "2"})


def test_what_a_deleted_topic_counted_stays_in_the_sums(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        await work(running)
        before = await figures(running)
        await Admin(running.pool).delete_topic("t")
        found = await figures(running)
        while "t" in found.values(f"{TOPIC}bytesin_total", "topic"):
            await asyncio.sleep(0)
            found = await figures(running)
        assert found(f"{TOPIC}bytesin_total") == before(f"{TOPIC}bytesin_total")
        assert found("kafka_server_replicamanager_partitioncount") == 0

    play(tmp_path, story, SETTINGS)


def test_who_is_held_is_told_with_the_limit_that_holds_him(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        await running.create_topic("t", {})
        assert running.node.http_monitoring.services is not None
        quotas = running.node.http_monitoring.services.quotas
        quotas.set_override(Entity(None, "test"), QuotaKind.PRODUCE, 2000)
        producer = {"resource": "Produce", "clientId": "test"}
        async with Producer(running.pool, acks=1) as sender:
            found = await figures(running)
            while "test" not in found.values("kafka_server_quota_byte_rate", "clientId"):
                await (await sender.send("t", bytes(1000)))
                found = await figures(running)
            while not found("kafka_server_quota_throttle_time", **producer):
                await (await sender.send("t", bytes(4000)))
                found = await figures(running)
        assert found("kafka_server_quota_byte_rate", **producer) > 0
        client = {"user": "ANONYMOUS", "clientId": "test"}
        assert found("barnabas_client_throttled_ms_total", **client) > 0
        assert found("barnabas_client_produced_bytes_total", **client) > 4000
        assert found(f"{REQUESTS}throttletimems_sum", request="Produce") > 0

    play(tmp_path, story, SETTINGS)


def test_clients_without_quotas_are_told_of_as_far_as_they_are_listed(tmp_path: Path) -> None:
    async def story(running: Running) -> None:
        await work(running)
        found = await figures(running)
        client = {"user": "ANONYMOUS", "clientId": "test"}
        assert found("barnabas_client_produced_bytes_total", **client) > 1000
        assert found("barnabas_client_fetched_bytes_total", **client) > 1000
        assert found("barnabas_client_request_ms_total", **client) > 0
        assert found("barnabas_metrics_left_out", entity="clients") == 0
        assert "kafka_server_quota_byte_rate" not in found.names()

    play(tmp_path, story, SETTINGS)


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS = f'{PLAIN} username="admin" password="secret0" user_admin="secret0" user_alice="secret1";'


def test_logins_are_counted_by_listener_and_clients_by_user(tmp_path: Path) -> None:
    port = free_port()
    config = {
        "barnabas.http.listeners": str(port),
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
    }

    async def log_in(broker: Broker, password: str) -> None:
        settings = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{PLAIN} username="alice" password="{password}";',
        }
        async with Pool(broker.bootstrap_servers, "test", security=client_security(settings)) as pool:
            await Admin(pool).create_topic(NewTopic("t", 1, 1))

    with Broker(security_protocol="SASL_PLAINTEXT", config=config, data_dir=tmp_path) as broker:
        asyncio.run(log_in(broker, "secret1"))
        with pytest.raises(KafkaError):
            asyncio.run(log_in(broker, "wrong-one"))
        text = get(("127.0.0.1", port), "/metrics")[1].decode()
    found = Figures(text)
    sockets, listener = "kafka_server_socket_server_metrics_", {"listener": "SASL_PLAINTEXT"}
    assert found(f"{sockets}successful_authentication_total", **listener) >= 1
    assert found(f"{sockets}failed_authentication_total", **listener) >= 1
    assert ("alice", "test") in {(each.labels.get("user"), each.labels.get("clientId")) for each in found.samples}
    assert "secret" not in text
    assert "wrong-one" not in text
