"""Opens the addresses of `barnabas.http.listeners`, for a broker or a standalone registry."""

import logging

from barnabas.broker.metrics.pages import Pages
from barnabas.broker.server.environment import Environment, HttpListeners
from barnabas.core.config import BrokerConfig
from barnabas.core.config.listeners import parse_addresses

log = logging.getLogger(__name__)

_LOOPBACK = ("127.", "::1")


def open_pages(env: Environment, config: BrokerConfig, pages: Pages) -> HttpListeners:
    """Serve pages, including those added later.

    Raises:
        StartupError: An address can't be had.
    """
    http = env.http.open(parse_addresses(config.barnabas_http_listeners, "127.0.0.1:9644"), pages)
    for host, port in http.addresses:
        log.info("metrics and health: http://%s:%d/", f"[{host}]" if ":" in host else host, port)
        if not host.startswith(_LOOPBACK):
            log.warning("barnabas.http.listeners: everyone who can reach %s port %d can read the metrics", host, port)
    return http
