"""Listeners of a broker, and the addresses that it advertises to clients.

`listeners` is a list of `NAME://host:port`; a name is a security protocol, or a name that
`listener.security.protocol.map` maps to one. An empty host means every interface; port 0 lets the system choose.
`advertised.listeners` has the same form; it must name existing listeners and must not contain 0.0.0.0. The older
`host.name` and `port` apply if `listeners` is not set, `advertised.host.name` and `advertised.port` if
`advertised.listeners` is not set.

Brokers connect to each other on the listener that `inter.broker.listener.name` names, or else on the one named like
`security.inter.broker.protocol`; it must be advertised. Requests between controller and brokers use the listener that
`control.plane.listener.name` names, if it is set.

Source: Apache Kafka 2.7 documentation, broker configs `listeners` and `advertised.listeners`.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.core.config.settings import split_without_empty
from barnabas.core.errors import ConfigError

_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]+")
_PLAIN_ADDRESS = re.compile(r"(?:(?:\[([0-9a-fA-F:.%]+)\]|([0-9a-zA-Z\-._]*)):)?([0-9]{1,5})")
_COUNT = re.compile(r"-?[0-9]{1,9}")
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class Endpoint(NamedTuple):
    """One address of a broker; an empty `host` means every interface (advertised: the machine's own name)."""

    listener_name: str
    host: str
    port: int
    security_protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"


def parse_protocol_map(text: str) -> dict[str, str]:
    """Parse `listener.security.protocol.map`: listener name (upper case) to security protocol."""
    protocols: dict[str, str] = {}
    for item in split_without_empty(text):
        name, colon, protocol = item.rpartition(":")
        if not colon or protocol not in SECURITY_PROTOCOLS:
            raise ConfigError(f"{item!r} must be NAME:PROTOCOL with a protocol of {', '.join(SECURITY_PROTOCOLS)}")
        if name.upper() in protocols:
            raise ConfigError(f"maps the listener name {name.upper()} twice")
        protocols[name.upper()] = protocol
    return protocols


def parse_listeners(text: str, protocols: Mapping[str, str]) -> list[Endpoint]:
    """Parse a list of listeners.

    Raises:
        ConfigError: The text has another form, or a listener's name is not mapped to a protocol.
    """
    endpoints = []
    for item in split_without_empty(text):
        match = _LISTENER.fullmatch(item)
        if match is None or not -1 <= int(match[3]) <= 65535:
            raise ConfigError(f"{item!r} must be NAME://host:port, for example PLAINTEXT://127.0.0.1:9092")
        name = match[1].upper()
        if name not in protocols:
            raise ConfigError(f"listener {name} has no security protocol: add it to listener.security.protocol.map")
        protocol = protocols[name]
        endpoints.append(Endpoint(name, match[2], int(match[3]), protocol))
    return endpoints


def parse_addresses(items: list[str], example: str) -> list[tuple[str, int]]:
    """Parse addresses such as `barnabas.http.listeners`: `host:port`, or a port alone, which means this machine only.

    Args:
        example: An example for the error text.
    """
    addresses: list[tuple[str, int]] = []
    for item in items:
        match = _PLAIN_ADDRESS.fullmatch(item)
        if match is None or int(match[3]) > 65535:
            raise ConfigError(f"{item!r} must be host:port or a port, for example {example}")
        addresses.append((match[1] or match[2] or "127.0.0.1", int(match[3])))
    fixed = [address for address in addresses if address[1]]
    if len(set(fixed)) != len(fixed):
        raise ConfigError("names an address twice")
    return addresses


def parse_counts_by_host(text: str) -> dict[str, int]:
    """Parse `max.connections.per.ip.overrides`: the maximum number of connections by host."""
    counts: dict[str, int] = {}
    for item in split_without_empty(text):
        host, _, count = item.rpartition(":")
        if not _HOST.fullmatch(host) or not _COUNT.fullmatch(count):
            raise ConfigError(f"{item!r} must be host:count, for example 127.0.0.1:100")
        counts[host] = int(count)
    return counts


def check_listeners(endpoints: list[Endpoint]) -> None:
    """Check that each name and each port (except 0) occurs once."""
    names = [endpoint.listener_name for endpoint in endpoints]
    ports = [endpoint.port for endpoint in endpoints if endpoint.port != 0]
    if not endpoints:
        raise ConfigError("names no listener: give one, for example PLAINTEXT://127.0.0.1:9092")
    if len(set(names)) != len(names):
        raise ConfigError("each listener must have a different name")
    if len(set(ports)) != len(ports):
        raise ConfigError("each listener must have a different port")


def check_advertised(advertised: list[Endpoint], endpoints: list[Endpoint]) -> None:
    """Check that advertised listeners exist and have addresses to which clients can connect."""
    names = {endpoint.listener_name for endpoint in endpoints}
    for endpoint in advertised:
        if endpoint.listener_name not in names:
            raise ConfigError(f"names listener {endpoint.listener_name}, which listeners does not have")
        if endpoint.host == "0.0.0.0":
            raise ConfigError("clients cannot connect to 0.0.0.0: name an address that they can reach")


def choose_inter_broker_listener(
    name: str | None,
    security_protocol: str,
    is_protocol_given: bool,
    protocols: Mapping[str, str],
    advertised: list[Endpoint],
) -> str:
    """Return the name of the inter-broker listener, by Kafka's rules and with its error texts.

    Args:
        name: inter.broker.listener.name, if it is set.
        security_protocol: security.inter.broker.protocol.
        is_protocol_given: Whether `security_protocol` was set explicitly.
        protocols: listener.security.protocol.map.

    Raises:
        ConfigError: No such listener is advertised.
    """
    if name is not None and is_protocol_given:
        raise ConfigError("Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.")
    chosen = (security_protocol if name is None else name).upper()
    if name is None and chosen not in SECURITY_PROTOCOLS:
        raise ConfigError(f"must be one of {', '.join(SECURITY_PROTOCOLS)}")
    if name is not None and chosen not in protocols:
        raise ConfigError(
            f"Listener with name {chosen} defined in inter.broker.listener.name not found in "
            "listener.security.protocol.map."
        )
    _check_is_advertised(chosen, advertised)
    return chosen


def choose_control_plane_listener(
    name: str | None, protocols: Mapping[str, str], advertised: list[Endpoint], inter_broker_listener: str
) -> str:
    """Return the name of the control plane listener, by Kafka's rules and with its error texts.

    Args:
        name: control.plane.listener.name, if it is set.
        protocols: listener.security.protocol.map.
        inter_broker_listener: The inter-broker listener, which must differ; used if no name is set.

    Raises:
        ConfigError: No such listener is advertised, or it is the inter-broker listener.
    """
    if name is None:
        return inter_broker_listener
    chosen = name.upper()
    if chosen not in protocols:
        raise ConfigError(
            f"Listener with {chosen} defined in control.plane.listener.name not found in "
            "listener.security.protocol.map."
        )
    _check_is_advertised(chosen, advertised)
    if chosen == inter_broker_listener:
        raise ConfigError(
            "when defined, should have a different value from the inter broker listener name. Currently they both have "
            f"the value {chosen}"
        )
    # differs from Kafka (control-plane): Kafka also gives this listener its own thread.
    return chosen


def _check_is_advertised(name: str, advertised: list[Endpoint]) -> None:
    names = [endpoint.listener_name for endpoint in advertised]
    if name not in names:
        raise ConfigError(
            "must be a listener name defined in advertised.listeners. The valid options based on currently "
            f"configured listeners are {','.join(names)}"
        )
