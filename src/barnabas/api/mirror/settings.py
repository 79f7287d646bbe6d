"""The files of settings that kafka-mirror-maker takes, as librdkafka wants them.

What both know is passed on, under the other's name and in the other's unit; what is Java's alone (classes, metrics) has
no effect and is named to the person; what nobody knows is refused with the nearest name.

| Kafka's | librdkafka's |
| --- | --- |
| `buffer.memory` (bytes) | `queue.buffering.max.kbytes` |
| `max.request.size` | `message.max.bytes`; unset: what the source took, the target's `max.message.bytes` decides |
| `delivery.timeout.ms` | `message.timeout.ms`; unset: for ever, as kafka-mirror-maker |
| `fetch.max.wait.ms` | `fetch.wait.max.ms` |
| `send.buffer.bytes`, `receive.buffer.bytes` | `socket.send.buffer.bytes`, `socket.receive.buffer.bytes` |
| `partition.assignment.strategy`, class names | `range`, `roundrobin`, `cooperative-sticky` |

Invariants: a stream's memory is bounded by what these settings say; messages of one key keep their order (one request
in flight per broker, unless the file says otherwise); nothing commits offsets by itself.

Source: producer and consumer configs of Kafka 2.7; kafka-mirror-maker's defaults; librdkafka's CONFIGURATION.md.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from barnabas.clients.librdkafka import PASSED_ON, librdkafka_options
from barnabas.clients.security import is_security_setting
from barnabas.core.errors import ConfigError

Options = dict[str, str | int | bool]


class ReadSettings(NamedTuple):
    """One file's settings.

    Attributes:
        options: librdkafka's. Some are secrets.
        ignored: Names of settings without effect here.
    """

    options: Options
    ignored: list[str]


_SAME_IN_BOTH: Final = (*PASSED_ON, "client.rack", "retry.backoff.ms", "client.dns.lookup")
_SOCKETS: Final = {
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "socket.connection.setup.timeout.ms": "socket.connection.setup.timeout.ms",
}
_CONSUMER: Final = {
    **_SOCKETS,
    **{
        name: name
        for name in (
            *("group.id", "group.instance.id", "auto.offset.reset", "session.timeout.ms", "heartbeat.interval.ms"),
            *("max.poll.interval.ms", "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes"),
            *("isolation.level", "check.crcs"),
        )
    },
    "fetch.max.wait.ms": "fetch.wait.max.ms",
}
_PRODUCER: Final = {
    **_SOCKETS,
    **{name: name for name in ("acks", "enable.idempotence", "max.in.flight.requests.per.connection", "retries")},
    "max.request.size": "message.max.bytes",
    "delivery.timeout.ms": "message.timeout.ms",
}
# Java's alone, or decided by the mirror.
_JAVA: Final = (
    *("interceptor.classes", "metric.reporters", "metrics.num.samples", "metrics.recording.level"),
    *("metrics.sample.window.ms", "security.providers", "default.api.timeout.ms", "retry.backoff.max.ms"),
    *("socket.connection.setup.timeout.max.ms", "metadata.max.idle.ms", "zookeeper.connect"),
)
_JAVA_CONSUMER: Final = (
    *(*_JAVA, "key.deserializer", "value.deserializer", "max.poll.records", "enable.auto.commit"),
    *("auto.commit.interval.ms", "exclude.internal.topics", "allow.auto.create.topics"),
)
_JAVA_PRODUCER: Final = (
    *(*_JAVA, "key.serializer", "value.serializer", "partitioner.class", "max.block.ms", "transactional.id"),
)
_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_OFFSET_RESETS: Final = ("earliest", "latest", "none")
_LARGEST_MESSAGE_BYTES: Final = 100_000_000
_COMMON: Final[Options] = {
    # What matters is raised, or handed to whoever mirrors.
    "log_level": 2,
    "reconnect.backoff.max.ms": 1_000,
}
_CONSUMER_DEFAULTS: Final[Options] = {
    **_COMMON,
    "client.id": "barnabas-mirror",
    # A mirror that begins at a new topic's end loses what was written before it saw the topic.
    # differs from Kafka (mirror-offset-reset): kafka-mirror-maker leaves it at latest.
    "auto.offset.reset": "earliest",
    "queued.max.messages.kbytes": 16_384,
}
_CONSUMER_FIXED: Final[Options] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": False,
    "allow.auto.create.topics": False,
}
_CONNECTOR_DEFAULTS: Final[Options] = {
    # As `auto.offset.reset` above.
    "auto.offset.reset": "smallest",
}
_CONNECTOR_FIXED: Final[Options] = {
    "auto.commit.enable": False,
    # How long a stream waits before it looks whether it is to stop.
    "consumer.timeout.ms": 200,
}
_PRODUCER_DEFAULTS: Final[Options] = {
    **_COMMON,
    "client.id": "barnabas-mirror",
    "acks": "all",
    "max.in.flight.requests.per.connection": 1,
    "message.timeout.ms": 0,
    "message.max.bytes": _LARGEST_MESSAGE_BYTES,
    "queue.buffering.max.kbytes": 32_768,
    "batch.size": 1_000_000,
    "linger.ms": 20,
    # A key is where Java's producers put it.
    "partitioner": "murmur2_random",
}


def consumer_settings(values: Mapping[str, str]) -> ReadSettings:
    """A source's settings, where its group is Kafka's.

    Args:
        values: What --consumer-config holds.

    Raises:
        ConfigError: One is missing (bootstrap.servers, group.id), unknown, or can't be; it names the setting.
    """
    if not values.get("group.id"):
        raise ConfigError("group.id is missing: it is the group in which the mirror keeps its offsets")
    options, ignored = _read(values, _CONSUMER, (*_JAVA_CONSUMER, "partition.assignment.strategy"))
    reset = options.get("auto.offset.reset")
    if reset is not None and reset not in _OFFSET_RESETS:
        raise ConfigError(f"auto.offset.reset={reset}: there are {', '.join(_OFFSET_RESETS)}")
    if reset == "none":
        options["auto.offset.reset"] = "error"
    if strategies := values.get("partition.assignment.strategy"):
        options["partition.assignment.strategy"] = ",".join(_assignor(each) for each in strategies.split(","))
        ignored.remove("partition.assignment.strategy")
    options = _CONSUMER_DEFAULTS | options | _CONSUMER_FIXED
    fetched_bytes = _number("fetch.max.bytes", options.get("fetch.max.bytes", 0))
    options["receive.message.max.bytes"] = max(_LARGEST_MESSAGE_BYTES, fetched_bytes + 1_024)
    return ReadSettings(options, ignored)


def connector_settings(values: Mapping[str, str]) -> ReadSettings:
    """A source's settings, where its group lives in ZooKeeper.

    Args:
        values: What --consumer-config holds: a ConsumerConnector's settings, by the names of 0.7 or 0.8.

    Raises:
        ConfigError: One is missing (zookeeper.connect, group.id), unknown, or can't be; it names the setting.
    """
    from barnabas.api.connector.settings import TABLE

    settings = TABLE.read(values)
    if not settings.text("group.id"):
        raise ConfigError("group.id is missing: it is the group in which the mirror keeps its offsets")
    aliases = {alias: declared.name for declared in TABLE.settings for alias in declared.aliases}
    options: Options = {aliases.get(name, name): text for name, text in values.items()}
    ignored = [name for name in values if aliases.get(name, name) in _CONNECTOR_FIXED]
    return ReadSettings(_CONNECTOR_DEFAULTS | options | _CONNECTOR_FIXED, ignored)


def source_settings(values: Mapping[str, str]) -> ReadSettings:
    """A source's settings, of whichever kind. Raises ConfigError."""
    if "bootstrap.servers" in values:
        return consumer_settings(values)
    if "zookeeper.connect" in values or "zk.connect" in values:
        return connector_settings(values)
    raise ConfigError("say where: bootstrap.servers, or zookeeper.connect for a group that lives in ZooKeeper")


def is_in_zookeeper(options: Options) -> bool:
    """Return whether options are those of `connector_settings`."""
    return "bootstrap.servers" not in options


def source_name(options: Options) -> str:
    """Return a name of a source's cluster for people."""
    return str(options["zookeeper.connect" if is_in_zookeeper(options) else "bootstrap.servers"])


def producer_settings(values: Mapping[str, str]) -> ReadSettings:
    """The target's settings.

    Args:
        values: What --producer-config holds.

    Raises:
        ConfigError: bootstrap.servers is missing, one is unknown or can't be; it names the setting.
    """
    options, ignored = _read(values, _PRODUCER, (*_JAVA_PRODUCER, "buffer.memory"))
    if "buffer.memory" in values:
        ignored.remove("buffer.memory")
        options["queue.buffering.max.kbytes"] = max(_number("buffer.memory", values["buffer.memory"]) // 1024, 1)
    options = _PRODUCER_DEFAULTS | options
    if str(options.get("enable.idempotence", "")).lower() == "true" and "max.in.flight.requests.per.connection" not in (
        values
    ):
        # Their order is kept then.
        options["max.in.flight.requests.per.connection"] = 5
    # A message larger than the buffer could never be sent.
    if _number("max.request.size", options["message.max.bytes"]) > 1024 * int(options["queue.buffering.max.kbytes"]):
        options["message.max.bytes"] = 1024 * int(options["queue.buffering.max.kbytes"])
    return ReadSettings(options, ignored)


def _read(values: Mapping[str, str], names: Mapping[str, str], ignored: Collection[str]) -> tuple[Options, list[str]]:
    servers = values.get("bootstrap.servers", "").strip()
    if not servers:
        raise ConfigError("bootstrap.servers is missing: the brokers of the cluster, as host:port,...")
    known = {*names, *_SAME_IN_BOTH, *ignored, "bootstrap.servers"}
    for name in values:
        if name not in known and not is_security_setting(name):
            near = get_close_matches(name, known, n=1)
            raise ConfigError(f"{name}: there is no such setting" + (f"; did you mean {near[0]}?" if near else ""))
    options: Options = {}
    options |= librdkafka_options(servers, values)
    options |= {name: values[name].strip() for name in _SAME_IN_BOTH if name in values}
    options |= {names[name]: text.strip() for name, text in values.items() if name in names}
    return options, [name for name in values if name in ignored]


def _assignor(text: str) -> str:
    name = text.strip().rpartition(".")[2]
    if name in _ASSIGNORS.values():
        return name
    if name not in _ASSIGNORS:
        raise ConfigError(f"partition.assignment.strategy={text.strip()}: there are {', '.join(_ASSIGNORS)}")
    return _ASSIGNORS[name]


def _number(name: str, value: str | int | bool) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigError(f"{name}={value} must be a number") from None
