"""A broker's quotas and replication throttles: built from its settings and the registry, and kept up to date.

Source: semantics, quotas; KIP-73; Kafka 2.7.2, QuotaFactory, UserConfigHandler, ClientIdConfigHandler,
TopicConfigHandler, BrokerConfigHandler.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final

from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Quotas
from barnabas.broker.quotas.replication import ReplicationQuota, throttled_partitions
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.timers import Timer, Timers
from barnabas.wire.quotas.entities import Entity, entity_of_path
from barnabas.wire.quotas.limits import MOST_LIMIT
from barnabas.wire.registry import paths

log = logging.getLogger(__name__)

# Kafka's interval between checks for clients that were idle for an hour.
_MAINTENANCE_MS = 30_000

_LEADER_RATE: Final = "leader.replication.throttled.rate"
_FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
_LISTS: Final = frozenset(("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"))


def quotas_of(config: BrokerConfig) -> Quotas:
    """Return the quotas of a broker's settings, without those of the registry."""
    mutation_window_ms = config.controller_quota_window_size_seconds * 1_000
    quotas = Quotas(
        Windows(config.quota_window_num, config.quota_window_size_seconds * 1_000),
        _static(config.quota_producer_default),
        _static(config.quota_consumer_default),
        mutation_windows=Windows(config.controller_quota_window_num, mutation_window_ms),
    )
    quotas.thread_count = _thread_count(config)
    return quotas


class QuotaMaintenance:
    """Applies quotas of the registry, and drops clients after an idle hour. Owned by the event loop."""

    def __init__(self, quotas: Quotas, clock: Clock, timers: Timers) -> None:
        self._quotas = quotas
        self._clock = clock
        self._timers = timers
        self._timer: Timer | None = None
        # The last reported problems of each entity's settings.
        self._reported: dict[Entity, list[str]] = {}

    def start(self, configs: ConfigWatcher, live: LiveConfig, config: BrokerConfig) -> None:
        """Apply the settings of users and client ids; must be called before they are first read."""
        for entity_type in (paths.CLIENTS, paths.USERS):
            configs.subscribe(entity_type, self._taker(entity_type), is_watched=True)

        def take_thread_count() -> None:
            self._quotas.thread_count = _thread_count(config)

        live.subscribe(("num.io.threads", "num.network.threads"), take_thread_count)
        self._timer = self._timers.call_later(_MAINTENANCE_MS, self._tend)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _taker(self, entity_type: str) -> Callable[[str, Mapping[str, str]], None]:
        return lambda name, settings: self._take(entity_of_path(f"{entity_type}/{name}"), settings)

    def _take(self, entity: Entity | None, settings: Mapping[str, str]) -> None:
        if entity is None:
            # A node below a user that is not a client id.
            return
        problems = self._quotas.set_settings(entity, settings)
        if problems != self._reported.pop(entity, []):
            for problem in problems:
                log.warning("a quota of %s was not changed: %s", entity, problem)
        if problems:
            self._reported[entity] = problems

    def _tend(self) -> None:
        self._quotas.drop_unused(self._clock.monotonic_ms())
        self._timer = self._timers.call_later(_MAINTENANCE_MS, self._tend)


class ReplicationThrottles:
    """Applies replication throttles of the registry to both quotas. Owned by the event loop.

    Attributes:
        leader, follower: The quotas for sending to followers, and for fetching as a follower.
        on_follower_change: Called when the rate or the throttled partitions of `follower` have changed.
    """

    def __init__(self, config: BrokerConfig) -> None:
        """Args:
        config: Its broker.id must be set before the first topic is applied.
        """
        windows = Windows(config.replication_quota_window_num, config.replication_quota_window_size_seconds * 1_000)
        self.leader = ReplicationQuota(windows)
        self.follower = ReplicationQuota(windows)
        self.on_follower_change: Callable[[], object] = lambda: None
        self._config = config

    def start(self, configs: ConfigWatcher, live: LiveConfig) -> None:
        """Apply the settings of topics and of this broker; must be called before they are first read."""
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
            # Without invalid overrides, which `TopicSettings` reports.
            config, _ = TopicConfig.from_broker(self._config).with_possible(overrides)
            led = throttled_partitions(config.leader_replication_throttled_replicas, self._config.broker_id)
            followed = throttled_partitions(config.follower_replication_throttled_replicas, self._config.broker_id)
        self.leader.set_partitions(topic, led)
        if self.follower.set_partitions(topic, followed):
            self.on_follower_change()


def _static(limit: int) -> float | None:
    return None if limit >= MOST_LIMIT else float(limit)


def _thread_count(config: BrokerConfig) -> int:
    return config.num_io_threads + config.num_network_threads
