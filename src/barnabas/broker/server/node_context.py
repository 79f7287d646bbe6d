"""The parts that most areas of a broker share, and connections to other brokers.

A connection uses TLS and logs in as the target listener requires. The settings are that listener's own:
`listener.name.<listener>.ssl.*` (a broker shows its own certificate there, too), `sasl.mechanism.inter.broker.protocol`
and the JAAS line of that mechanism, whose username and password log in.

Source: security page, inter-broker communication; Kafka 2.7.2, ChannelBuilders.clientChannelBuilder.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.interbroker.channels import AddressOf, BrokerChannels
from barnabas.broker.net.channel import Channel
from barnabas.broker.net.scheduler import Scheduler
from barnabas.broker.server.broker_listeners import BrokerListeners
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.logins import Logins
from barnabas.broker.server.storage import Executors
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError
from barnabas.core.pending import Spawner
from barnabas.wire.registry.store import Registry

if TYPE_CHECKING:
    from barnabas.clients.login import Login


class ListenerLinks:
    """See `interbroker.channels.LinkSecurity`."""

    __slots__ = ("_config", "_env", "_listener_name", "_listeners")

    def __init__(self, config: BrokerConfig, env: Environment, listeners: BrokerListeners, listener_name: str) -> None:
        """Args:
        listener_name: The other brokers' listener to connect to, with the security of this broker's own one.
        """
        self._config = config
        self._env = env
        self._listener_name = listener_name
        self._listeners = listeners

    def wrap(self, channel: Channel, host: str) -> Channel:
        return self._listeners.wrap_link(channel, self._listener_name, host)

    def new_login(self, where: str) -> "Login | None":
        config = self._config
        listener_name = self._listener_name
        protocol = next(each.security_protocol for each in config.endpoints if each.listener_name == listener_name)
        if not protocol.startswith("SASL_"):
            return None
        # Imported here, because most brokers do not log in to others.
        from barnabas.broker.server.jaas_settings import listener_entry, listener_setting
        from barnabas.clients.login import Login
        from barnabas.clients.security import ClientSecurity

        own = config.of_listener(listener_name, "sasl.mechanism.inter.broker.protocol")
        mechanism = str(config.sasl_mechanism_inter_broker_protocol if own is None else own)
        entry = listener_entry(config, listener_name, mechanism)
        if entry is None:
            raise ConfigError(f"{listener_setting(listener_name, mechanism)} is missing: brokers log in with it")
        security = ClientSecurity(mechanism=mechanism, login=entry)
        return Login(security, self._env.dice, self._env.clock, where)


@dataclass(frozen=True, slots=True)
class NodeContext:
    """The parts that most areas of a broker need, once the broker knows its cluster.

    Attributes:
        session: The registry; calls fail without a connection.
        registry: The registry; calls wait for a connection.
    """

    env: Environment
    config: BrokerConfig
    executors: Executors
    listeners: BrokerListeners
    spawner: Spawner
    scheduler: Scheduler
    logins: Logins
    session: Registry
    registry: Registry
    view: ClusterView
    broker_id: int

    def build_channels(
        self, listener_name: str, client_id: str, timeout_ms: Callable[[], int], address_of: AddressOf | None = None
    ) -> BrokerChannels:
        """Return channels to a listener of all brokers; addresses come from `address_of`, or else the metadata."""

        def address_in_metadata(broker_id: int) -> tuple[str, int] | None:
            broker = self.view.image.brokers.get(broker_id)
            return None if broker is None else broker.endpoints.get(listener_name)

        security = ListenerLinks(self.config, self.env, self.listeners, listener_name)
        find_address, timers = address_of or address_in_metadata, self.env.timers
        return BrokerChannels(self.env.network, find_address, client_id, timers, self.spawner, timeout_ms, security)
