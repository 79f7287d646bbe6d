"""Opens the addresses of `barnabas.http.listeners`, for a broker or a standalone registry.

A standalone registry serves `/health` and `/ready`; its metrics are those of ZooKeeper's four-letter word mntr.

Source: docs/monitoring.md.
"""

import logging
from collections.abc import Iterator

from barnabas.broker.metrics.health import Check, Condition, health_page, ready_page
from barnabas.broker.metrics.pages import Pages
from barnabas.broker.server.environment import Environment, HttpListeners
from barnabas.broker.server.watchdog import Watchdog
from barnabas.core.config import BrokerConfig
from barnabas.core.config.listeners import parse_addresses

log = logging.getLogger(__name__)

_LOOPBACK = ("127.", "::1")


def open_pages(env: Environment, config: BrokerConfig, pages: Pages) -> HttpListeners:
    """Serve pages, including those added later.

    Raises:
        StartupError: An address cannot be bound.
    """
    http = env.http.open(parse_addresses(config.barnabas_http_listeners, "127.0.0.1:9644"), pages)
    for host, port in http.addresses:
        log.info("metrics and health: http://%s:%d/", f"[{host}]" if ":" in host else host, port)
        if not host.startswith(_LOOPBACK):
            log.warning("barnabas.http.listeners: everyone who can reach %s port %d can read the metrics", host, port)
    return http


class RegistryHealth:
    """Serves both pages from its construction until `close`. Owned by the event loop.

    Attributes:
        is_serving: Whether clients can connect.
    """

    def __init__(self, env: Environment, config: BrokerConfig) -> None:
        """Raises StartupError: an address cannot be bound."""
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
