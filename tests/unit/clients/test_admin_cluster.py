"""What is said of a cluster: what its partitions lack, which broker may stop, and what a Kafka tells of its release."""

import pytest

from barnabas.clients.admin_cluster import ClusterAdmin, release_of
from barnabas.clients.channel import UnreachableError
from barnabas.clients.cluster_state import Broker, Cluster, Partition, Trouble, troubles
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import APIS, ApiKey
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


def test_a_silent_cluster_is_asked_once():
    """The error names the time that was waited, so nothing waits again after it."""

    async def use(pool):
        with pytest.raises(UnreachableError):
            await ClusterAdmin(pool).cluster()
        assert broker.dial_count == 1

    broker = MemoryBroker({ApiKey.API_VERSIONS: lambda request: None})
    broker.run(use)
