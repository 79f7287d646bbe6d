"""`/health` and `/ready` of a standalone registry, at `barnabas.http.listeners`.

Its metrics are those of ZooKeeper's four-letter word mntr.

Source: docs/monitoring.md.
"""

from collections.abc import Iterator

from barnabas.broker.metrics.health import Check, Condition, health_page, ready_page
from barnabas.broker.metrics.pages import Pages
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.http_pages import open_pages
from barnabas.broker.server.watchdog import Watchdog
from barnabas.core.config import BrokerConfig


class RegistryHealth:
    """Serves both pages from its making until `close`. Owned by the event loop.

    Attributes:
        is_serving: Whether clients can connect.
    """

    def __init__(self, env: Environment, config: BrokerConfig) -> None:
        """Raises StartupError: an address can't be had."""
        self.is_serving = False
        self._watchdog = Watchdog(env.clock, env.timers, env.limits.core_use)
        self._http = open_pages(env, config, Pages([health_page(self._condition), ready_page(self._checks)]))
        self._watchdog.start()

    def close(self) -> None:
        """Stop serving."""
        self._watchdog.stop()
        self._http.close()

    def _condition(self) -> Condition:
        return Condition("running" if self.is_serving else "starting or stopping", self._watchdog.stalls.longest_ms)

    def _checks(self) -> Iterator[Check]:
        yield Check("listeners", self.is_serving, "the registry starts or stops")
