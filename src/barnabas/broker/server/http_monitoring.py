"""A broker's HTTP server: builds the pages and opens the addresses of `barnabas.http.listeners`.

The addresses are open from the beginning of a start to the end of a stop, so that a client sees that a recovering
broker is alive, and why it is not ready.

Source: design page, section 2.
"""

from collections.abc import Callable, Iterator, Sequence

from barnabas import __version__
from barnabas.broker.controller.controller import Controller
from barnabas.broker.interbroker.channels import BrokerChannels
from barnabas.broker.log.manager import LogManager
from barnabas.broker.metrics.collector import Sources, distributions
from barnabas.broker.metrics.health import Check, Condition, health_page, ready_page
from barnabas.broker.metrics.metrics_page import early_page, metrics_page
from barnabas.broker.metrics.pages import Pages
from barnabas.broker.metrics.recent_distributions import RecentDistributions
from barnabas.broker.metrics.registry_sessions import RegistrySessions
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.replicas.fetching.manager import Fetchers
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.broker_listeners import BrokerListeners
from barnabas.broker.server.broker_state import BrokerState
from barnabas.broker.server.cluster_control import Membership
from barnabas.broker.server.environment import Environment, HttpListeners
from barnabas.broker.server.http_pages import open_pages
from barnabas.broker.server.logins import Logins
from barnabas.broker.server.watchdog import Watchdog
from barnabas.core.config import BrokerConfig


class HttpMonitoring:
    """The HTTP side of one broker. Owned by the event loop.

    Attributes:
        services: The broker's parts; None before the broker serves clients.
    """

    def __init__(
        self,
        env: Environment,
        config: BrokerConfig,
        watchdog: Watchdog,
        listeners: BrokerListeners,
        state: Callable[[], BrokerState],
    ) -> None:
        """Args:
        state: Returns the broker's state.
        """
        self._env = env
        self._config = config
        self._watchdog = watchdog
        self._listeners = listeners
        self._state = state
        self.services: Services | None = None
        self._membership: Membership | None = None
        self._recent: RecentDistributions | None = None
        self._http: HttpListeners | None = None
        self._pages = Pages([health_page(self._condition), ready_page(self._checks), early_page()])

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of each open address."""
        return [] if self._http is None else self._http.addresses

    def open(self) -> None:
        """Serve the pages of a starting broker.

        Raises:
            StartupError: An address cannot be bound.
        """
        self._http = open_pages(self._env, self._config, self._pages)

    def begin(
        self,
        services: Services,
        routes: RouteTable,
        logs: LogManager,
        fetchers: Fetchers,
        controller: Controller,
        channels: Sequence[BrokerChannels],
        memory: ReceiveMemory,
        logins: Logins,
        membership: Membership,
    ) -> None:
        """Enable detailed counting and the metrics page, once all parts have started."""
        routes.count_requests()
        sources = Sources(
            services,
            routes,
            logs,
            fetchers,
            controller,
            channels,
            memory,
            self._watchdog,
            self._state,
            self._listeners.counts,
            lambda: logins.counts,
            RegistrySessions(services.registry.on_session),
            __version__,
        )
        self._recent = RecentDistributions(
            self._env.clock,
            self._env.timers,
            lambda: distributions(sources),
            lambda: self._env.limits.core_use().computing_ms,
        )
        self._recent.start()
        self._pages.add(metrics_page(sources, self._recent, self._env.http.process))
        self.services = services
        self._membership = membership

    def close(self) -> None:
        """Stop serving."""
        if self._recent is not None:
            self._recent.stop()
        if self._http is not None:
            self._http.close()

    def _condition(self) -> Condition:
        return Condition(self._state().name.lower().replace("_", " "), self._watchdog.stalls.longest_ms)

    def _checks(self) -> Iterator[Check]:
        state, services = self._state(), self.services
        is_stopping = state in (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN)
        yield Check("running", not is_stopping, "the broker is stopping")
        yield Check("logs", services is not None, f"the broker is {state.name.lower()}: its logs are not all read yet")
        is_registered = self._membership is not None and self._membership.is_registered
        yield Check("registered", is_registered, "the broker is not registered")
        is_controlled = services is not None and services.cluster.image.controller_id >= 0
        yield Check("controller", is_controlled, "the broker does not know the controller")
        closed = self._listeners.closed()
        yield Check("listeners", not closed, f"listeners that are not open: {', '.join(closed)}")
