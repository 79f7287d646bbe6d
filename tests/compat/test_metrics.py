"""What a broker counts of the same work: Kafka 2.7.2 by JMX, Barnabas by /metrics, by names that follow from Kafka's.

`BARNABAS_COMPAT_TARGET=kafka` holds Kafka itself against the same numbers.
"""

import http.client
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.metrics.definitions import Kind, name_of
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.builder import BatchBuilder
from tests.compat.conftest import TARGET
from tests.compat.raw import ask, create_topic
from tests.compat.raw_groups import Group
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER, QuickKafkaServer, free_port

Read = Callable[[], dict[str, float]]
MOST_BYTES = 2_000
PRODUCE_VERSION, FETCH_VERSION = 7, 4

# Bean, attribute in JMX, and the same here: the kind and labels of the metric.
TOPICS = "kafka.server:type=BrokerTopicMetrics,name="
REQUESTS = "kafka.network:type=RequestMetrics,name="


def counter(bean: str, **labels: str) -> tuple[str, str, str, dict[str, str]]:
    tags = "".join(f",{name}={value}" for name, value in labels.items())
    return bean + tags, "Count", name_of(bean, Kind.COUNTER), labels


def gauge(bean: str, **labels: str) -> tuple[str, str, str, dict[str, str]]:
    tags = "".join(f",{name}={value}" for name, value in labels.items())
    return bean + tags, "Value", name_of(bean, Kind.GAUGE), labels


def count_of(bean: str, **labels: str) -> tuple[str, str, str, dict[str, str]]:
    tags = "".join(f",{name}={value}" for name, value in labels.items())
    return bean + tags, "Count", name_of(bean, Kind.SUMMARY) + "_count", labels


def total(bean: str, attribute: str) -> tuple[str, str, str, dict[str, str]]:
    return bean, attribute, name_of(f"{bean}#{attribute}", Kind.COUNTER), {}


OF_TOPIC = ("BytesIn", "BytesOut", "MessagesIn", "TotalProduceRequests", "TotalFetchRequests", "BytesRejected")
WATCHED = {
    **{name: counter(f"{TOPICS}{name}PerSec", topic="t") for name in OF_TOPIC},
    "rejected, all": counter(f"{TOPICS}BytesRejectedPerSec"),
    "wrong CRC": counter(f"{TOPICS}InvalidMessageCrcRecordsPerSec"),
    "produced": counter(f"{REQUESTS}RequestsPerSec", request="Produce", version=str(PRODUCE_VERSION)),
    "fetched": counter(f"{REQUESTS}RequestsPerSec", request="Fetch", version=str(FETCH_VERSION)),
    "produce times": count_of(f"{REQUESTS}TotalTimeMs", request="Produce"),
    "fetch times": count_of(f"{REQUESTS}RemoteTimeMs", request="Fetch"),
    "produce sizes": count_of(f"{REQUESTS}RequestBytes", request="Produce"),
    **{
        f"{request} {error}": counter(f"{REQUESTS}ErrorsPerSec", request=request, error=error)
        for request, errors in {
            "Produce": ("NONE", "UNKNOWN_TOPIC_OR_PARTITION", "CORRUPT_MESSAGE", "MESSAGE_TOO_LARGE"),
            "Fetch": ("NONE", "OFFSET_OUT_OF_RANGE"),
            "OffsetCommit": ("NONE", "UNKNOWN_MEMBER_ID"),
        }.items()
        for error in errors
    },
    "expired fetches": counter("kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec", fetcherType="consumer"),
    "size": gauge("kafka.log:type=Log,name=Size", topic="t", partition="0"),
    "end": gauge("kafka.log:type=Log,name=LogEndOffset", topic="t", partition="0"),
    "segments": gauge("kafka.log:type=Log,name=NumLogSegments", topic="t", partition="0"),
    "in sync": gauge("kafka.cluster:type=Partition,name=InSyncReplicasCount", topic="t", partition="0"),
    "at minimum": gauge("kafka.cluster:type=Partition,name=AtMinIsr", topic="t", partition="0"),
    "under-replicated": gauge("kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions"),
    "partitions": gauge("kafka.server:type=ReplicaManager,name=PartitionCount"),
    "controllers": gauge("kafka.controller:type=KafkaController,name=ActiveControllerCount"),
    "topics": gauge("kafka.controller:type=KafkaController,name=GlobalTopicCount"),
    "state": gauge("kafka.server:type=KafkaServer,name=BrokerState"),
    "groups": gauge("kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups"),
    "empty groups": gauge("kafka.coordinator.group:type=GroupMetadataManager,name=NumGroupsEmpty"),
    "offsets": gauge("kafka.coordinator.group:type=GroupMetadataManager,name=NumOffsets"),
    "commits": total("kafka.server:type=group-coordinator-metrics", "offset-commit-count"),
}


def by_jmx(port: int) -> dict[str, float]:
    """What is watched, from a JVM."""
    options = [option for bean, *_ in WATCHED.values() for option in ("--object-name", bean)]
    url = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi"
    ended = run_tool(
        "kafka.tools.JmxTool", "--jmx-url", url, "--one-time", "true", *options, "--report-format", "properties"
    )
    found = {}
    for line in ended.stdout.splitlines():
        # The attribute's name is behind the last colon, and no value has an equals sign.
        place, _, value = line.rpartition("=")
        bean, _, attribute = place.rpartition(":")
        found[bean, attribute] = value
    return {
        name: float(found[bean, attribute])
        for name, (bean, attribute, *_) in WATCHED.items()
        if (bean, attribute) in found
    }


def by_http(port: int) -> dict[str, float]:
    """What is watched, from a broker's /metrics."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/metrics")
    families = text_string_to_metric_families(connection.getresponse().read().decode())
    connection.close()
    found = {
        (each.name, tuple(sorted(each.labels.items()))): each.value for family in families for each in family.samples
    }
    keys = {name: (metric, tuple(sorted(labels.items()))) for name, (_, _, metric, labels) in WATCHED.items()}
    return {name: found[key] for name, key in keys.items() if key in found}


@pytest.fixture
def watched() -> Iterator[tuple[Any, Read]]:
    """A fresh broker, and what reads its figures."""
    port = free_port()
    with ExitStack() as stack:
        if TARGET == "kafka":
            jmx = "com.sun.management.jmxremote"
            options = {"port": port, "rmi.port": port, "authenticate": "false", "ssl": "false", "local.only": "true"}
            jvm_options = [f"-D{jmx}", *(f"-D{jmx}.{name}={value}" for name, value in options.items())]
            jvm_options.append("-Djava.rmi.server.hostname=127.0.0.1")
            server = QuickKafkaServer(jvm_options=jvm_options, config={"offsets.topic.num.partitions": "1"})
            yield stack.enter_context(server), lambda: by_jmx(port)
        else:
            config = {**ONE_BROKER, "offsets.topic.num.partitions": "1", "barnabas.http.listeners": str(port)}
            yield stack.enter_context(Broker(config=config)), lambda: by_http(port)


def batch(count: int, value_bytes: int) -> bytearray:
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(1_600_000_000_000, None, bytes(value_bytes))
    return builder.build()


def produce(topic: str, records: bytearray, acks: int = 1) -> ProduceRequest:
    data = TopicProduceData(topic, [PartitionProduceData(0, memoryview(records))])
    return ProduceRequest(None, acks, 10_000, [data])


def fetch(offset: int, wait_ms: int = 0) -> FetchRequest:
    partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, topics=[FetchTopic("t", [partition])])


def test_the_same_work_is_counted_as_kafka_counts_it(watched: tuple[Any, Read]) -> None:
    broker, read = watched
    servers = broker.bootstrap_servers
    create_topic(servers, "t", max_message_bytes=str(MOST_BYTES))
    asked = MetadataRequest([MetadataRequestTopic("t")])
    while (answer := ask(servers, asked, 4).topics[0]).error_code or answer.partitions[0].error_code:
        continue
    small, several, large = batch(1, 10), batch(10, 100), batch(1, 3_000)
    damaged = batch(1, 50)
    damaged[-1] ^= 1
    sizes = len(small), len(several), len(large)
    for request, error_code in [
        (produce("t", small), 0),
        (produce("t", several), 0),
        (produce("t", several, acks=-1), 0),
        (produce("nobody", small), 3),
        (produce("t", damaged), 2),
        (produce("t", large), 10),
    ]:
        answer = ask(servers, request, PRODUCE_VERSION)
        assert answer.responses[0].partition_responses[0].error_code == error_code
    for fetched, error_code in [(fetch(0), 0), (fetch(1), 0), (fetch(99), 1), (fetch(21, wait_ms=100), 0)]:
        answer = ask(servers, fetched, FETCH_VERSION)
        assert answer.responses[0].partitions[0].error_code == error_code
    with ThreadPoolExecutor(1) as executor:
        group = Group(broker, "g", executor)
        assert group.commit("t", 5) == [0]
        assert group.commit("t", 6) == [0]
        assert group.commit("t", 7, member_id="nobody", generation=1) == [25]

    in_log = sizes[0] + 2 * sizes[1]
    expected = {
        "BytesIn": in_log,
        "MessagesIn": 21,
        "BytesOut": in_log + 2 * sizes[1],
        "TotalProduceRequests": 5,
        "TotalFetchRequests": 4,
        "BytesRejected": sizes[2],
        "rejected, all": sizes[2],
        "wrong CRC": 1,
        "produced": 6,
        "fetched": 4,
        "produce times": 6,
        "fetch times": 4,
        "produce sizes": 6,
        "Produce NONE": 3,
        "Produce UNKNOWN_TOPIC_OR_PARTITION": 1,
        "Produce CORRUPT_MESSAGE": 1,
        "Produce MESSAGE_TOO_LARGE": 1,
        "Fetch NONE": 3,
        "Fetch OFFSET_OUT_OF_RANGE": 1,
        "OffsetCommit NONE": 2,
        "OffsetCommit UNKNOWN_MEMBER_ID": 1,
        "expired fetches": 1,
        "size": in_log,
        "end": 21,
        "segments": 1,
        "in sync": 1,
        "at minimum": 1,
        "under-replicated": 0,
        "partitions": 2,
        "controllers": 1,
        "topics": 2,
        "state": 3,
        "groups": 1,
        "empty groups": 1,
        "offsets": 1,
        "commits": 2,
    }
    assert expected.keys() == WATCHED.keys()
    assert read() == expected
