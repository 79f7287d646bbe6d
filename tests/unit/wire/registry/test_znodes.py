"""Payloads as read on a live Kafka 2.7.2 (zookeeper.md), and the older versions that must be understood."""

import json

import pytest

from barnabas.core.config import Endpoint
from barnabas.wire.registry.znodes import brokers, cluster, configs, topics
from barnabas.wire.registry.znodes.payload import load

BROKER_V5 = (
    b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
    b'"endpoints":["PLAINTEXT://127.0.0.1:9092"],"jmx_port":-1,"port":9092,"host":"127.0.0.1","version":5,'
    b'"timestamp":"1795218488166"}'
)


def test_a_broker_registers_as_kafka_does() -> None:
    endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT")
    broker = brokers.BrokerRegistration(0, (endpoint,), timestamp_ms=1795218488166)
    assert brokers.encode_registration(broker) == BROKER_V5
    assert brokers.decode_registration(0, BROKER_V5) == broker


def test_a_broker_without_plaintext_has_no_host_and_keeps_its_rack() -> None:
    broker = brokers.BrokerRegistration(3, (Endpoint("EXTERNAL", "::1", 9093, "SSL"),), "r1", 9999, 5)
    data = brokers.encode_registration(broker)
    payload = json.loads(data)
    assert (payload["host"], payload["port"], payload["rack"]) == (None, -1, "r1")
    assert payload["endpoints"] == ["EXTERNAL://[::1]:9093"]
    assert brokers.decode_registration(3, data) == broker


@pytest.mark.parametrize(
    ("data", "endpoints"),
    [
        (b'{"version":1,"host":"h","port":9092,"jmx_port":9999,"timestamp":"2233345666"}', [("PLAINTEXT", "h", 9092)]),
        (
            b'{"version":2,"host":"h","port":9092,"jmx_port":-1,"timestamp":"1",'
            b'"endpoints":["PLAINTEXT://h:9092","SSL://h:9093"]}',
            [("PLAINTEXT", "h", 9092), ("SSL", "h", 9093)],
        ),
        (b"", []),
        (b"[1]", []),
        (b"{broken", []),
        (b'{"endpoints":["nonsense","A://b:c"]}', []),
    ],
)
def test_older_and_broken_registrations_are_read(data: bytes, endpoints: list[tuple[str, str, int]]) -> None:
    found = brokers.decode_registration(1, data).endpoints
    assert [(each.listener_name, each.host, each.port) for each in found] == endpoints
    assert all(each.security_protocol == each.listener_name for each in found)


def test_topic_assignments() -> None:
    data = b'{"version":2,"partitions":{"0":[1,2],"1":[2,3]},"adding_replicas":{},"removing_replicas":{}}'
    topic = topics.TopicAssignment({0: [1, 2], 1: [2, 3]})
    assert topics.encode_assignment(topic) == data
    assert topics.decode_assignment(data) == topic
    assert topics.decode_assignment(b'{"version":1,"partitions":{"10":[2],"9":[1]}}').replicas == {9: [1], 10: [2]}
    assert topics.decode_assignment(None).replicas == {}


def test_partition_states() -> None:
    data = b'{"version":1,"leader":0,"leader_epoch":0,"controller_epoch":1,"isr":[0]}'
    state = topics.PartitionStateNode(0, 0, (0,), 1)
    assert topics.encode_partition_state(state) == data
    assert topics.decode_partition_state(data) == state


def test_cluster_nodes() -> None:
    assert cluster.encode_cluster_id("abc") == b'{"version":"1","id":"abc"}'
    assert cluster.decode_cluster_id(cluster.encode_cluster_id("abc")) == "abc"
    assert cluster.decode_cluster_id(None) is None
    controller = b'{"version":1,"brokerid":0,"timestamp":"1795218488346"}'
    assert cluster.encode_controller(0, 1795218488346) == controller
    assert cluster.decode_controller(controller) == 0
    assert cluster.decode_controller_epoch(cluster.encode_controller_epoch(7)) == 7


def test_producer_id_blocks() -> None:
    data = b'{"version":1,"broker":0,"block_start":"0","block_end":"999"}'
    block = cluster.ProducerIdBlock(0, 0, 999)
    assert cluster.encode_producer_id_block(block) == data
    assert cluster.decode_producer_id_block(data) == block
    assert cluster.decode_producer_id_block(None) is None


def test_configs_and_their_notifications() -> None:
    data = b'{"version":1,"config":{"cleanup.policy":"compact"}}'
    assert configs.encode_config({"cleanup.policy": "compact"}) == data
    assert configs.decode_config(data) == {"cleanup.policy": "compact"}
    assert configs.decode_config(None) == {}
    assert configs.encode_change("topics/t") == b'{"version":2,"entity_path":"topics/t"}'
    assert configs.decode_change(configs.encode_change("topics/t")) == "topics/t"
    assert configs.decode_change(b'{"version":1,"entity_type":"topics","entity_name":"t"}') == "topics/t"
    assert configs.decode_change(b'"t"') is None


def test_anything_decodes_to_an_object() -> None:
    assert load(b"\xff") == {}
    assert load(b"null") == {}


@pytest.mark.parametrize(
    "data",
    [
        b'{"version":1,"entity_type":"users","entity_name":"u"}',
        b'{"version":1,"entity_type":"topics"}',
        b'{"version":2,"entity_path":"topics"}',
        b'{"version":2,"entity_path":"topics/"}',
        b'{"version":2,"entity_path":"topics/../x"}',
        b'{"version":2,"entity_path":7}',
        b'{"version":3,"entity_path":"topics/t"}',
        b"",
    ],
)
def test_a_notification_that_names_nothing_is_none(data: bytes) -> None:
    assert configs.decode_change(data) is None
