"""Which replica a consumer is sent to: what Kafka 2.7.2's RackAwareReplicaSelector says, of those in sync."""

import pytest

from barnabas.broker.replicas.isr import ReplicaSet
from barnabas.broker.replicas.preferred_read_replica import NO_REPLICA, preferred_read_replica

RACKS = {1: "one", 2: "two", 3: "two", 4: "three", 5: "one"}


def led(ends: dict[int, int], isr: tuple[int, ...] = (1, 2, 3, 4, 5), log_start_offset: int = 0) -> ReplicaSet:
    """Broker 1 leads, and its followers have fetched up to these offsets, one millisecond after the other."""
    replicas = ReplicaSet(1)
    replicas.lead((1, 2, 3, 4, 5), isr, 0, 0, 0, 0, was_leader=False)
    for now_ms, (broker_id, end_offset) in enumerate(ends.items(), 1):
        replicas.note_fetch(broker_id, end_offset, log_start_offset, 100, now_ms)
    return replicas


@pytest.mark.parametrize(
    ("rack", "ends", "chosen"),
    [
        pytest.param("one", {2: 100, 5: 100}, NO_REPLICA, id="the leader is in the rack"),
        pytest.param("nowhere", {2: 100, 3: 100, 4: 100}, NO_REPLICA, id="nobody is"),
        pytest.param("two", {}, NO_REPLICA, id="nobody there has fetched"),
        pytest.param("two", {2: 49, 3: 49, 4: 100}, NO_REPLICA, id="nobody there has the offset"),
        pytest.param("two", {2: 50, 3: 49}, 2, id="one has it, and nothing more"),
        pytest.param("two", {2: 60, 3: 70}, 3, id="the one that has most"),
        pytest.param("two", {2: 100, 3: 100}, 3, id="the one that was there last"),
        pytest.param("three", {2: 100, 3: 100, 4: 80}, 4, id="the only one there"),
    ],
)
def test_a_follower_in_the_rack(rack: str, ends: dict[int, int], chosen: int) -> None:
    assert preferred_read_replica(led(ends), 50, rack, RACKS.get) == chosen


def test_only_those_in_sync() -> None:
    assert preferred_read_replica(led({2: 100, 3: 90}, isr=(1, 3)), 50, "two", RACKS.get) == 3


def test_only_those_that_still_have_the_offset() -> None:
    assert preferred_read_replica(led({4: 100}, log_start_offset=51), 50, "three", RACKS.get) == NO_REPLICA
