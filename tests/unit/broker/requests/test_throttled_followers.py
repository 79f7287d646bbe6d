"""What a leader gives followers of throttled partitions: nothing, while it gave too much, to those not in sync."""

import pytest

from barnabas.broker.quotas.replication import ALL_PARTITIONS
from barnabas.broker.requests.handlers import fetch
from barnabas.core.pending import Pending
from tests.unit.broker.requests.conftest import BROKER_ID, batch

IN_SYNC, LAGGING, CONSUMER = 2, 3, -1


@pytest.fixture
def path(data_path):
    for topic in ("t", "u"):
        data_path.create(topic)
        data_path.leadership(topic, BROKER_ID, [BROKER_ID, IN_SYNC, LAGGING], [BROKER_ID, IN_SYNC])
        data_path.produce(topic, batch(value=bytes(5_000)))
    data_path.services.leader_quota.set_limit(1_000)
    data_path.services.leader_quota.set_partitions("t", ALL_PARTITIONS)
    return data_path


def given(path, topic: str, replica: int) -> bool:
    """Whether a replica is given records."""
    request = path.fetch_request(topic)
    request.replica_id = replica
    partition = path.fetched(path.begin(fetch.HANDLER, 11, request))
    assert partition.error_code == 0
    return bool(partition.records)


def test_what_one_answer_brings_may_be_more_than_the_rate_and_is_made_up_for(path):
    assert given(path, "t", LAGGING)
    assert path.services.leader_quota.rate_per_s(path.clock.monotonic_ms()) > 5_000
    assert not given(path, "t", LAGGING)
    path.clock.advance(4_900)
    assert not given(path, "t", LAGGING)
    path.clock.advance(300)
    assert given(path, "t", LAGGING)


def test_who_is_in_sync_is_counted_and_never_held(path):
    assert given(path, "t", IN_SYNC)
    assert given(path, "t", IN_SYNC)
    assert not given(path, "t", LAGGING)


def test_neither_other_topics_nor_consumers_are_throttled_or_counted(path):
    for _ in range(3):
        assert given(path, "u", LAGGING)
    assert given(path, "t", LAGGING)
    assert given(path, "u", LAGGING)
    path.partition("t").set_high_watermark(path.log("t").log_end_offset)
    assert given(path, "t", CONSUMER)


def test_without_a_throttle_nothing_is_counted(path):
    path.services.leader_quota.set_partitions("t", ())
    assert given(path, "t", LAGGING)
    assert given(path, "t", LAGGING)
    assert path.services.leader_quota.rate_per_s(path.clock.monotonic_ms()) == 0


def test_a_follower_that_is_held_waits_and_is_given_records_when_the_rate_lets_it(path):
    assert given(path, "t", LAGGING)
    request = path.fetch_request("t", wait_ms=30_000)
    request.replica_id = LAGGING
    waiting = path.begin(fetch.HANDLER, 11, request)
    assert isinstance(waiting, Pending)
    path.produce("t", batch(value=bytes(10)))
    path.run_due()
    assert not waiting.is_done
    path.clock.advance(4_900)
    path.run_due()
    assert not waiting.is_done
    path.clock.advance(300)
    path.run_due()
    assert path.fetched(waiting).records


def test_how_far_a_follower_is_that_is_held_is_taken_down(path):
    assert given(path, "t", LAGGING)
    path.produce("t", batch(value=bytes(10)))
    request = path.fetch_request("t", 1)
    request.replica_id = LAGGING
    assert not path.fetched(path.begin(fetch.HANDLER, 11, request)).records
    assert path.partition("t").followers.followers[LAGGING].end_offset == 1
