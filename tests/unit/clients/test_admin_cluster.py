"""What is said of a cluster: what its partitions lack, which broker may stop, and what a Kafka tells of its release."""

import pytest

from barnabas.clients.admin_cluster import ClusterAdmin, release_of
from barnabas.clients.channel import UnreachableError
from barnabas.clients.cluster_state import Broker, Cluster, Partition, Trouble, troubles
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import APIS, ApiKey
from barnabas.wire.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from barnabas.wire.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.unit.clients.memory_broker import MemoryBroker


def partition(leader_id=1, replicas=(1, 2, 3), isr=(1, 2, 3), min_isr=2, adding=(), topic="t"):
    return Partition(TopicPartition(topic, 0), leader_id, list(replicas), list(isr), min_isr, list(adding))


def cluster(*partitions, away=(), controller_id=1):
    brokers = {
        each: Broker(each, ("h", each), None if each in away else "Barnabas", None, "away" if each in away else "")
        for each in (1, 2, 3)
    }
    return Cluster("c", controller_id, brokers, list(partitions))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (partition(), []),
        (partition(isr=(1, 2)), [Trouble.UNDER_REPLICATED, Trouble.AT_MIN_ISR]),
        (partition(isr=(1,)), [Trouble.UNDER_MIN_ISR, Trouble.UNDER_REPLICATED]),
        (partition(leader_id=-1, isr=(1,), min_isr=1), [Trouble.OFFLINE, Trouble.UNDER_REPLICATED, Trouble.AT_MIN_ISR]),
        (partition(replicas=(1, 2), isr=(1, 2)), [Trouble.AT_MIN_ISR]),
        (partition(replicas=(1,), isr=(1,), min_isr=1), []),
        (partition(replicas=(1,), isr=(1,)), [Trouble.UNDER_MIN_ISR]),
        # What a reassignment adds need not have caught up yet.
        (partition(replicas=(2, 3, 1), isr=(1,), min_isr=1, adding=(2, 3)), []),
    ],
)
def test_what_a_partition_lacks(found, expected):
    assert troubles(found) == expected


@pytest.mark.parametrize(
    ("found", "away", "expected"),
    [
        (partition(), (), []),
        (partition(isr=(1, 2)), (), [Trouble.UNDER_MIN_ISR]),
        (partition(isr=(1, 2), min_isr=1), (), []),
        (partition(isr=(1,), min_isr=1), (), [Trouble.OFFLINE]),
        # Who lags behind takes nothing with it.
        (partition(leader_id=2, isr=(2,), min_isr=1), (), []),
        # One that was killed is in sync until its session has expired.
        (partition(), (3,), [Trouble.UNDER_MIN_ISR]),
        (partition(min_isr=1), (2, 3), [Trouble.OFFLINE]),
    ],
)
def test_what_would_come_of_it_if_broker_1_stopped(found, away, expected):
    assert cluster(found, away=away).if_stopped(1) == [(found, trouble) for trouble in expected]


def test_a_cluster_is_healthy_when_nothing_is_missing():
    assert cluster(partition(), partition(replicas=(1, 2), isr=(1, 2))).is_healthy
    assert not cluster(partition(isr=(1, 2), min_isr=1)).is_healthy
    assert not cluster(partition(), away=(3,)).is_healthy
    assert not cluster(partition(), controller_id=-1).is_healthy


def test_a_release_is_known_by_what_it_was_the_first_to_know():
    of_2_7 = {key: (api.min_version, api.max_version) for key, api in APIS.items()}
    assert release_of(of_2_7) == "2.7"
    of_2_3 = {key: versions for key, versions in of_2_7.items() if key <= 44} | {9: (0, 6), 1: (0, 11)}
    assert release_of(of_2_3) == "2.3"
    assert release_of(of_2_7 | {60: (0, 0)}) == "2.8 or later"
    assert release_of({18: (0, 0)}) == "before 0.11"


@pytest.mark.parametrize(
    ("refused", "code", "text"),
    [
        (
            2,
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "settings of topic t require the right DESCRIBE_CONFIGS on the topic",
        ),
        (4, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "of broker 0 require the right DESCRIBE_CONFIGS on the cluster"),
    ],
)
def test_a_missing_right_is_named(refused, code, text):
    def describe(request):
        results = [
            DescribeConfigsResult(
                code if each.resource_type == refused else 0, None, each.resource_type, each.resource_name
            )
            for each in request.resources
        ]
        return DescribeConfigsResponse(results=results)

    async def use(pool):
        with pytest.raises(KafkaError, match=text) as caught:
            await ClusterAdmin(pool).cluster()
        assert caught.value.code is code

    part = MetadataResponsePartition(0, 0, 0, 0, [0], [0], [])
    topics = [MetadataResponseTopic(0, "t", partitions=[part])]
    found = MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], "memory", 0, topics)
    broker = MemoryBroker({ApiKey.METADATA: lambda request: found, ApiKey.DESCRIBE_CONFIGS: describe})
    broker.versions[ApiKey.LIST_PARTITION_REASSIGNMENTS] = (99, 99)
    broker.run(use)


def test_a_silent_cluster_is_asked_once():
    """The error names the time that was waited, so nothing waits again after it."""

    async def use(pool):
        with pytest.raises(UnreachableError):
            await ClusterAdmin(pool).cluster()
        assert broker.dial_count == 1

    broker = MemoryBroker({ApiKey.API_VERSIONS: lambda request: None})
    broker.run(use)


def test_each_attempt_dials_a_cluster_that_is_away_once():
    async def use(pool):
        await pool.metadata([])
        await (await pool.any_broker()).close()
        broker.is_up = False
        dial_count = broker.dial_count
        with pytest.raises(KafkaError, match="refused"):
            await ClusterAdmin(pool, 1).cluster()
        assert broker.dial_count == dial_count + 1

    broker = MemoryBroker({})
    broker.run(use)
