"""A broker's replication throttles: built from its settings and the registry, and kept up to date.

Source: semantics, quotas; KIP-73; Kafka 2.7.2, TopicConfigHandler, BrokerConfigHandler.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.replication import ReplicationQuota, throttled_partitions
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.wire.registry import paths

_LEADER_RATE: Final = "leader.replication.throttled.rate"
_FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
_LISTS: Final = frozenset(("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"))


class ReplicationThrottles:
    """Applies replication throttles of the registry to both quotas. Owned by the event loop.

    Attributes:
        leader, follower: The quotas for sending to followers, and for fetching as one.
        on_follower_change: Called when something else may be held back by the latter than before.
    """

    def __init__(self, config: BrokerConfig) -> None:
        """Args:
        config: Its broker.id is known before the first topic.
        """
        windows = Windows(config.replication_quota_window_num, config.replication_quota_window_size_seconds * 1_000)
        self.leader = ReplicationQuota(windows)
        self.follower = ReplicationQuota(windows)
        self.on_follower_change: Callable[[], object] = lambda: None
        self._config = config

    def start(self, configs: ConfigWatcher, live: LiveConfig) -> None:
        """Apply the settings of topics and of this broker from their first reading on, which is still to come."""
        configs.subscribe(paths.TOPICS, self._take_topic)
        live.subscribe([_LEADER_RATE, _FOLLOWER_RATE], self._take_rates)

    def forget(self, topic: str) -> None:
        """Forget a deleted topic: a later one of the same name counts as new."""
        self._take_topic(topic, {})

    def _take_rates(self) -> None:
        self.leader.set_limit(self._config.leader_replication_throttled_rate)
        self.follower.set_limit(self._config.follower_replication_throttled_rate)
        self.on_follower_change()

    def _take_topic(self, topic: str, overrides: Mapping[str, str]) -> None:
        led: Collection[int] = ()
        followed: Collection[int] = ()
        if not _LISTS.isdisjoint(overrides):
            # What can't be is left out: whoever puts the topic's settings together tells of it.
            config, _ = TopicConfig.from_broker(self._config).with_possible(overrides)
            led = throttled_partitions(config.leader_replication_throttled_replicas, self._config.broker_id)
            followed = throttled_partitions(config.follower_replication_throttled_replicas, self._config.broker_id)
        self.leader.set_partitions(topic, led)
        if self.follower.set_partitions(topic, followed):
            self.on_follower_change()
