"""A broker's quotas: built from its settings and the registry, and kept up to date.

Source: semantics, quotas; Kafka 2.7.2, QuotaFactory, UserConfigHandler, ClientIdConfigHandler.
"""

import logging
from collections.abc import Callable, Mapping

from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Quotas
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.timers import Timer, Timers
from barnabas.wire.quotas.entities import Entity, entity_of_path
from barnabas.wire.quotas.limits import MOST_LIMIT
from barnabas.wire.registry import paths

log = logging.getLogger(__name__)

# As often as Kafka looks for what was not used for an hour.
_UPKEEP_MS = 30_000


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


class QuotaUpkeep:
    """Applies quotas of the registry, and forgets clients after an idle hour. Owned by the event loop."""

    def __init__(self, quotas: Quotas, clock: Clock, timers: Timers) -> None:
        self._quotas = quotas
        self._clock = clock
        self._timers = timers
        self._timer: Timer | None = None
        # What is wrong with an entity's settings, as it was told last.
        self._told: dict[Entity, list[str]] = {}

    def start(self, configs: ConfigWatcher, live: LiveConfig, config: BrokerConfig) -> None:
        """Apply the settings of users and client ids from their first reading on, which is still to come."""
        for entity_type in (paths.CLIENTS, paths.USERS):
            configs.subscribe(entity_type, self._taker(entity_type), is_watched=True)

        def take_thread_count() -> None:
            self._quotas.thread_count = _thread_count(config)

        live.subscribe(("num.io.threads", "num.network.threads"), take_thread_count)
        self._timer = self._timers.call_later(_UPKEEP_MS, self._tend)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _taker(self, entity_type: str) -> Callable[[str, Mapping[str, str]], None]:
        return lambda name, settings: self._take(entity_of_path(f"{entity_type}/{name}"), settings)

    def _take(self, entity: Entity | None, settings: Mapping[str, str]) -> None:
        if entity is None:
            # Below a user there is nothing else yet.
            return
        problems = self._quotas.set_settings(entity, settings)
        if problems != self._told.pop(entity, []):
            for problem in problems:
                log.warning("a quota of %s was not changed: %s", entity, problem)
        if problems:
            self._told[entity] = problems

    def _tend(self) -> None:
        self._quotas.drop_unused(self._clock.monotonic_ms())
        self._timer = self._timers.call_later(_UPKEEP_MS, self._tend)


def _static(limit: int) -> float | None:
    return None if limit >= MOST_LIMIT else float(limit)


def _thread_count(config: BrokerConfig) -> int:
    return config.num_io_threads + config.num_network_threads
