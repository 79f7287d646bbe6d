"""Throttles of replication go by what is set for topics and for this broker."""

import pytest

from barnabas.broker.server.broker_quotas import ReplicationThrottles
from barnabas.core.config import BrokerConfig
from barnabas.core.types import TopicPartition

LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class Registry:
    """Tells of settings, as `ConfigWatcher` and `LiveConfig` do."""

    def __init__(self) -> None:
        self.config = BrokerConfig.from_properties({"broker.id": "1"}, None, "test")
        self.throttles = ReplicationThrottles(self.config)
        self.changes = 0
        self.throttles.on_follower_change = self._changed
        # Structurally the same, as far as they are asked.
        self.throttles.start(self, self)  # type: ignore[arg-type]

    def subscribe(self, what, listener) -> None:
        if isinstance(what, str):
            self.tell = listener
        else:
            self.tell_rates = listener

    def _changed(self) -> None:
        self.changes += 1

    def rate(self, role: str, rate: int) -> None:
        self.config.broker_overrides = {f"{role}.replication.throttled.rate": str(rate)}
        self.tell_rates()

    def listed(self) -> tuple[list[int], list[int]]:
        quotas = self.throttles.leader, self.throttles.follower
        led, followed = (
            [each for each in range(4) if quota.is_throttled(TopicPartition("t", each))] for quota in quotas
        )
        return led, followed


def test_a_topics_lists_name_the_partitions_of_this_broker() -> None:
    registry = Registry()
    registry.tell("t", {LEADERS: "0:1,1:2", FOLLOWERS: "*", "retention.ms": "5"})
    assert registry.listed() == ([0], [0, 1, 2, 3])
    registry.tell("t", {"retention.ms": "5"})
    assert registry.listed() == ([], [])
    assert not registry.throttles.leader.is_any


@pytest.mark.parametrize("malformed", ["0", "0:1:2", "a:b", "0:-1", "0:1;1:1"])
def test_a_list_that_is_malformed_throttles_nobody(malformed: str) -> None:
    registry = Registry()
    registry.tell("t", {LEADERS: malformed, FOLLOWERS: "2:1"})
    assert registry.listed() == ([], [2])


def test_a_topic_that_is_deleted_is_throttled_no_more() -> None:
    registry = Registry()
    registry.tell("t", {FOLLOWERS: "*"})
    registry.throttles.forget("t")
    assert registry.listed() == ([], [])


def test_fetchers_go_on_when_something_else_is_throttled() -> None:
    registry = Registry()
    registry.tell("t", {})
    registry.tell("t", {LEADERS: "*"})
    assert registry.changes == 0
    registry.tell("t", {FOLLOWERS: "*"})
    assert registry.changes == 1
    registry.rate("follower", 5)
    assert (registry.changes, registry.throttles.follower.limit) == (2, 5)
    registry.rate("leader", 7)
    assert (registry.throttles.leader.limit, registry.throttles.follower.limit) == (7, (1 << 63) - 1)
