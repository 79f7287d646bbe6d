"""Translates Kafka's client settings to librdkafka's.

| Kafka | librdkafka |
| --- | --- |
| `security.protocol`, `sasl.mechanism` | the same |
| `sasl.jaas.config` | `sasl.username`, `sasl.password` (PLAIN and SCRAM) |
| `ssl.truststore.*` | `ssl.ca.pem`; without a truststore: the system's authorities |
| `ssl.keystore.*`, `ssl.key.password` | `ssl.certificate.pem`, `ssl.key.pem`, `ssl.key.password` |
| `ssl.endpoint.identification.algorithm` | the same; empty is `none` |
| `barnabas.ssl.crl.location` | `ssl.crl.location` |
| `client.id`, `client.rack`, `client.dns.lookup`, `metadata.max.age.ms` | the same |
| `retry.backoff.*`, `reconnect.backoff.*`, `connections.max.idle.ms` | the same |
| `socket.connection.setup.timeout.ms` | the same |
| `request.timeout.ms` | `socket.timeout.ms` |
| `send.buffer.bytes`, `receive.buffer.bytes` | `socket.send.buffer.bytes`, `socket.receive.buffer.bytes`; -1 is 0 |

| Kafka, consumers | librdkafka |
| --- | --- |
| `isolation.level`, `group.id`, `check.crcs` | the same |
| `fetch.min.bytes`, `fetch.max.bytes`, `max.partition.fetch.bytes` | the same |
| `fetch.max.wait.ms` | `fetch.wait.max.ms` |

| Kafka, producers | librdkafka |
| --- | --- |
| `acks`, `linger.ms`, `batch.size`, `compression.type`, `enable.idempotence` | the same |
| `max.in.flight.requests.per.connection`, `retries`, `delivery.timeout.ms` | the same |
| `max.request.size` | `message.max.bytes` |
| `buffer.memory` | `queue.buffering.max.kbytes` |

Other settings have no equivalent (`ignored_settings`).

Producers use Kafka's default partitioner (`murmur2_random`), so a key has the same partition as with Java's clients.
They are idempotent unless their `acks` exclude it.

Source: Kafka's producer and consumer configs; librdkafka's CONFIGURATION.md.
"""

from collections.abc import Mapping

from barnabas.clients.security import client_security, is_security_setting
from barnabas.core.errors import ConfigError

_COMMON = {
    "client.id": "client.id",
    "client.rack": "client.rack",
    "client.dns.lookup": "client.dns.lookup",
    "metadata.max.age.ms": "metadata.max.age.ms",
    "retry.backoff.ms": "retry.backoff.ms",
    "retry.backoff.max.ms": "retry.backoff.max.ms",
    "reconnect.backoff.ms": "reconnect.backoff.ms",
    "reconnect.backoff.max.ms": "reconnect.backoff.max.ms",
    "connections.max.idle.ms": "connections.max.idle.ms",
    "socket.connection.setup.timeout.ms": "socket.connection.setup.timeout.ms",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
}
_CONSUMER = {
    "isolation.level": "isolation.level",
    "group.id": "group.id",
    "check.crcs": "check.crcs",
    "fetch.min.bytes": "fetch.min.bytes",
    "fetch.max.bytes": "fetch.max.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
}
_PRODUCER = {
    "acks": "acks",
    "linger.ms": "linger.ms",
    "batch.size": "batch.size",
    "compression.type": "compression.type",
    "enable.idempotence": "enable.idempotence",
    "max.in.flight.requests.per.connection": "max.in.flight.requests.per.connection",
    "retries": "retries",
    "delivery.timeout.ms": "delivery.timeout.ms",
    "max.request.size": "message.max.bytes",
    "buffer.memory": "queue.buffering.max.kbytes",
}
# Limits of librdkafka, in bytes.
_LEAST_MESSAGE, _DEFAULT_MESSAGE, _DEFAULT_ANSWER, _ANSWER_OVERHEAD = 1_000, 1_000_000, 100_000_000, 512


def librdkafka_options(bootstrap_servers: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings for the same addresses, TLS and login.

    Args:
        bootstrap_servers: `host:port,...`
        values: By Kafka's names; only security settings are used. Arguments and result contain secrets.

    Raises:
        ConfigError: A setting is invalid, or librdkafka does not support it; the error names it and contains no secret.
    """
    options = {"bootstrap.servers": bootstrap_servers}
    _refuse_mechanism(values)
    security = client_security(values)
    if security is None:
        return options
    options["security.protocol"] = values["security.protocol"]
    if security.tls is not None:
        from barnabas.wire.security.tls.contexts import certificates_of, key_pair_of

        options["ssl.endpoint.identification.algorithm"] = "https" if security.tls.checks_host else "none"
        if certificates := certificates_of(security.tls):
            options["ssl.ca.pem"] = certificates
        if security.tls.crl_location:
            options["ssl.crl.location"] = security.tls.crl_location
        pair = key_pair_of(security.tls)
        if pair is not None:
            options["ssl.certificate.pem"] = options["ssl.key.pem"] = pair.pem.decode()
            if pair.password is not None:
                options["ssl.key.password"] = pair.password
    if security.login is not None:
        login = security.login.options
        if login.get("tokenauth") == "true":
            raise ConfigError(
                "sasl.jaas.config: tokenauth=true is not supported: librdkafka cannot send SCRAM's extension for "
                "delegation tokens; log in as a user, by PLAIN or SCRAM, or by a TLS certificate"
            )
        if not {"username", "password"} <= set(login):
            raise ConfigError(f"sasl.jaas.config: {security.mechanism} needs a username and a password")
        options["sasl.mechanism"] = security.mechanism
        options["sasl.username"] = login["username"]
        options["sasl.password"] = login["password"]
    return options


def _refuse_mechanism(values: Mapping[str, str]) -> None:
    mechanism = values.get("sasl.mechanism", "GSSAPI")
    if values.get("security.protocol", "").upper().startswith("SASL_") and mechanism in ("GSSAPI", "OAUTHBEARER"):
        what = "Kerberos" if mechanism == "GSSAPI" else "a JAAS login module"
        raise ConfigError(
            f"sasl.mechanism={mechanism} is not supported: librdkafka cannot log in by {what}; set sasl.mechanism to "
            "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or security.protocol to SSL with a certificate"
        )


def client_options(bootstrap_servers: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings for an admin client with Kafka's settings `values`. Raises ConfigError."""
    return {**librdkafka_options(bootstrap_servers, values), **_translated(values, _COMMON)}


def consumer_options(bootstrap_servers: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings for a consumer with Kafka's settings `values`. Raises ConfigError."""
    options = {**client_options(bootstrap_servers, values), **_translated(values, _CONSUMER)}
    if "fetch.max.bytes" in options:
        # librdkafka rejects a limit below the limit of one message, or above the limit of one response.
        fetch_bytes = max(_LEAST_MESSAGE, _integer("fetch.max.bytes", options["fetch.max.bytes"]))
        options["fetch.max.bytes"] = str(fetch_bytes)
        options["message.max.bytes"] = str(min(_DEFAULT_MESSAGE, fetch_bytes))
        options["receive.message.max.bytes"] = str(max(_DEFAULT_ANSWER, fetch_bytes + _ANSWER_OVERHEAD))
    return options


def producer_options(bootstrap_servers: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings for a producer with Kafka's settings `values`. Raises ConfigError."""
    options = {
        **client_options(bootstrap_servers, values),
        "partitioner": "murmur2_random",
        "enable.idempotence": str(values.get("acks", "all") in ("all", "-1")).lower(),
        **_translated(values, _PRODUCER),
    }
    if "queue.buffering.max.kbytes" in options:
        buffer_bytes = _integer("buffer.memory", options["queue.buffering.max.kbytes"])
        options["queue.buffering.max.kbytes"] = str(max(1, buffer_bytes // 1024))
    return options


def ignored_settings(values: Mapping[str, str]) -> list[str]:
    """Return the names of Kafka's settings, in order, that have no equivalent in librdkafka."""
    known = _COMMON.keys() | _CONSUMER.keys() | _PRODUCER.keys()
    return sorted(name for name in values if name not in known and not is_security_setting(name))


def _translated(values: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    options = {names[name]: value for name, value in values.items() if name in names}
    for name in ("socket.send.buffer.bytes", "socket.receive.buffer.bytes"):
        if options.get(name) == "-1":
            options[name] = "0"
    return options


def _integer(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigError(f"{name}={value} is invalid: it must be an integer") from None
