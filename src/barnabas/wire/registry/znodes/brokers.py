"""/brokers/ids/<id>: the addresses of each live broker.

    v1   host, port, jmx_port, timestamp (milliseconds as a string)
    v2   + endpoints ["PLAINTEXT://h:9092"]
    v3   + rack, when there is one
    v4   + listener_security_protocol_map {"CLIENT":"SSL"}; endpoints carry listener names
    v5   + features; this is what is written

Invariant: host and port are those of the first PLAINTEXT endpoint, else null and -1.

Source: zookeeper.md, broker registration.
"""

from dataclasses import dataclass

from barnabas.core.config.listeners import Endpoint
from barnabas.wire.registry.znodes.payload import dump, integer, load, strings


@dataclass(slots=True, frozen=True)
class BrokerRegistration:
    """A broker's registration.

    Attributes:
        broker_id: The element of the path.
        endpoints: One for each listener.
        rack: `broker.rack`, if set.
        jmx_port: -1: none.
        timestamp_ms: When it registered.
    """

    broker_id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    jmx_port: int = -1
    timestamp_ms: int = -1


def encode_registration(broker: BrokerRegistration) -> bytes:
    """Return the payload in version 5."""
    plaintext = next((point for point in broker.endpoints if point.security_protocol == "PLAINTEXT"), None)
    payload: dict[str, object] = {
        "features": {},
        "listener_security_protocol_map": {point.listener_name: point.security_protocol for point in broker.endpoints},
        "endpoints": [str(point) for point in broker.endpoints],
        "jmx_port": broker.jmx_port,
        "port": plaintext.port if plaintext else -1,
        "host": plaintext.host if plaintext else None,
        "version": 5,
        "timestamp": str(broker.timestamp_ms),
    }
    if broker.rack is not None:
        payload["rack"] = broker.rack
    return dump(payload)


def decode_registration(broker_id: int, data: bytes | None) -> BrokerRegistration:
    """Decode a payload of any version; missing or invalid parts are left out."""
    payload = load(data)
    protocols = strings(payload.get("listener_security_protocol_map"))
    listed = payload.get("endpoints")
    endpoints: list[Endpoint] = []
    if isinstance(listed, list):
        for text in listed:
            endpoint = _parse_endpoint(str(text), protocols)
            if endpoint is not None:
                endpoints.append(endpoint)
    elif isinstance(payload.get("host"), str):
        endpoints.append(Endpoint("PLAINTEXT", str(payload["host"]), integer(payload, "port", -1), "PLAINTEXT"))
    rack = payload.get("rack")
    return BrokerRegistration(
        broker_id,
        tuple(endpoints),
        rack if isinstance(rack, str) else None,
        integer(payload, "jmx_port", -1),
        integer(payload, "timestamp", -1),
    )


def _parse_endpoint(text: str, protocols: dict[str, str]) -> Endpoint | None:
    listener_name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon or not port.isdecimal():
        return None
    return Endpoint(listener_name, host.strip("[]"), int(port), protocols.get(listener_name, listener_name))
