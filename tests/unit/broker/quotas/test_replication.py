"""Throttles of replication: which partitions are listed, and when they are held back."""

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.replication import NO_LIMIT, ReplicationQuota, named_in_vain, throttled_partitions
from barnabas.core.types import TopicPartition

WINDOWS = Windows(11, 1_000)


@pytest.mark.parametrize(
    ("replicas", "of_broker_1"),
    [
        ([], []),
        ([""], []),
        (["*"], [0, 1, 2, 3]),
        (["0:1", "1:2", "3:1"], [0, 3]),
        # As it stands after something was added to an empty list.
        (["", "2:1"], [2]),
        (["0:2", "9:3"], []),
    ],
)
def test_who_is_named_by_a_list(replicas, of_broker_1):
    found = throttled_partitions(replicas, 1)
    assert [partition for partition in range(4) if partition in found] == of_broker_1


def test_only_what_is_listed_is_throttled():
    quota = ReplicationQuota(WINDOWS)
    assert not quota.is_any
    assert quota.set_partitions("t", frozenset({1}))
    assert quota.is_any
    assert [quota.is_throttled(TopicPartition("t", each)) for each in (0, 1)] == [False, True]
    assert not quota.is_throttled(TopicPartition("u", 1))
    quota.set_partitions("t", throttled_partitions(["*"], 1))
    assert quota.is_throttled(TopicPartition("t", 0))
    assert quota.set_partitions("t", frozenset())
    assert not quota.set_partitions("t", frozenset())
    assert not quota.is_any


def test_a_quota_holds_when_more_was_counted_than_its_limit():
    quota = ReplicationQuota(WINDOWS)
    quota.record(0, 1 << 40)
    assert (quota.limit, quota.wait_ms(0)) == (NO_LIMIT, 0)
    quota.set_limit(1_000)
    quota.record(10, 1_500)
    assert (quota.wait_ms(10), quota.wait_ms(1_510)) == (1_500, 0)
    assert quota.rate_per_s(1_510) == 1_000


@pytest.mark.parametrize("changed", [500, 2_000])
def test_another_limit_counts_at_once(changed):
    quota = ReplicationQuota(WINDOWS)
    quota.set_limit(1_000)
    for second in range(11):
        quota.record(second * 1_000, 1_000)
    quota.set_limit(1_000)
    assert quota.rate_per_s(10_000) > 1_000
    quota.set_limit(changed)
    assert quota.wait_ms(10_000) == 0
    quota.record(10_000, 2 * changed)
    assert quota.wait_ms(10_000) == 2_000


def test_a_limit_of_nothing_holds_what_is_not_in_sync_as_long_as_anything_is_remembered():
    quota = ReplicationQuota(WINDOWS)
    quota.set_limit(0)
    assert quota.wait_ms(0) == 0
    quota.record(0, 1)
    assert quota.wait_ms(0) == 11_000
    assert quota.wait_ms(11_000) == 0


def test_who_is_named_in_vain():
    named = ["0:1", "", "2:1", "1:9", "0:3"]
    assert named_in_vain(named, {0: ..., 1: ...}, {1, 3}) == ["2:1", "1:9"]
    assert named_in_vain(["*"], {}, {}) == []
