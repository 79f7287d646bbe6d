"""The broker's settings, from a `server.properties` file to typed attributes.

Invariant: a `BrokerConfig` is always valid: every value has its type and is within its bounds, and the values are
consistent. Attributes are named like the settings, with underscores for dots. Where several settings have one meaning,
use the `_ms` attribute (and `log_dirs`): `log_retention_ms` comes from log.retention.ms, else minutes, else hours.

Source: Apache Kafka 2.7 documentation, broker configs; schemas/configs.json.
"""

import contextlib
from collections.abc import Collection, Mapping

from barnabas.core.config import listeners as _listeners
from barnabas.core.config.classes import refuse_class
from barnabas.core.config.listeners import Endpoint, parse_addresses, parse_counts_by_host
from barnabas.core.config.properties import read_properties
from barnabas.core.config.settings import (
    AUTHORIZER_SETTINGS,
    BROKER_DYNAMIC_ONLY_SETTINGS,
    BROKER_SETTINGS,
    LISTENER_PREFIX,
    OWN_PREFIX,
    Value,
    allowed,
    attribute_name,
    find_broker_setting,
    find_file_setting,
    format_value,
    hint,
    name_for_any,
    parse,
    split_without_empty,
)
from barnabas.core.config.tables import BrokerFields
from barnabas.core.config.versions import (
    INTER_BROKER_PROTOCOL_VERSION,
    LOG_MESSAGE_FORMAT_VERSION,
    KafkaVersion,
    kafka_version,
)
from barnabas.core.errors import ConfigError, InvalidSettingsError

# The settings of Kafka's sample server.properties, but for a listener on this machine alone, and a directory below the
# working directory instead of /tmp.
SINGLE_BROKER_PROPERTIES: dict[str, str] = {
    "broker.id": "0",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "log.dirs": "./barnabas-data",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


def single_broker_properties(overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the settings, as text, of a broker started without a file."""
    properties = {**SINGLE_BROKER_PROPERTIES, **overrides}
    if overrides.get("zookeeper.connect") and "broker.id" not in overrides:
        # It may be one of several brokers: the registry assigns its id.
        del properties["broker.id"]
    return properties


class BrokerConfig(BrokerFields):
    """All settings of one broker.

    Attributes:
        explicit: The given settings, as text, by name; others have their default.
        given: The names of settings in the file or in overrides.
        default_overrides: The dynamic defaults of all brokers, as text, by name; see `LiveConfig`.
        broker_overrides: The dynamic settings of this broker.
        endpoints: The addresses to listen on.
        advertised_endpoints: The addresses for clients; an empty host means the machine's own name, and port 0 the
            port that the system chose.
        inter_broker_listener: The name of the listener for requests between brokers.
        control_plane_listener: The listener between controller and brokers; by default the same one.
    """

    __slots__ = (
        "_own",
        "advertised_endpoints",
        "broker_overrides",
        "control_plane_listener",
        "default_overrides",
        "endpoints",
        "explicit",
        "given",
        "inter_broker_listener",
    )

    explicit: dict[str, str]
    default_overrides: dict[str, str]
    broker_overrides: dict[str, str]
    given: frozenset[str]
    endpoints: list[Endpoint]
    advertised_endpoints: list[Endpoint]
    inter_broker_listener: str
    control_plane_listener: str

    def __init__(self, explicit: Mapping[str, str], own: Mapping[str, Value]) -> None:
        """Create a config; call `from_properties` instead."""
        self.explicit = dict(explicit)
        self.given = frozenset(explicit)
        self.default_overrides = {}
        self.broker_overrides = {}
        self._own = dict(own)
        for name, setting in BROKER_SETTINGS.items():
            setattr(self, attribute_name(name), own.get(name, setting.default_value))
        _settle_precedence(self, own)
        self._settle_versions()

    @property
    def leader_replication_throttled_rate(self) -> int:
        """Return the leaders' limit, bytes/s, for replicas of throttled partitions that are not in sync."""
        return self.throttle("leader.replication.throttled.rate")

    @property
    def follower_replication_throttled_rate(self) -> int:
        """Return the followers' limit, bytes/s, for replicas of throttled partitions that are not in sync."""
        return self.throttle("follower.replication.throttled.rate")

    @property
    def replica_alter_log_dirs_io_max_bytes_per_second(self) -> int:
        """Return the limit, bytes/s, for moves of logs between directories."""
        return self.throttle("replica.alter.log.dirs.io.max.bytes.per.second")

    def throttle(self, name: str) -> int:
        """Return one of `BROKER_DYNAMIC_ONLY_SETTINGS`, which can only be set while the broker runs."""
        # differs from Kafka (throttles-of-all-brokers): Kafka ignores a value for all brokers.
        setting = BROKER_DYNAMIC_ONLY_SETTINGS[name]
        value = setting.default_value
        for overrides in (self.default_overrides, self.broker_overrides):
            # Invalid values from other programs are kept, but have no effect.
            with contextlib.suppress(ConfigError):
                value = parse(setting, overrides[name]) if name in overrides else value
        assert isinstance(value, int)
        return value

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, str], lines: Mapping[str, int] | None = None, source: str = "server.properties"
    ) -> "BrokerConfig":
        """Check and combine settings; unknown ones are kept without an effect.

        Args:
            properties: Texts by name; missing settings have Kafka's default.
            lines: The line number of each setting from a file.
            source: The file's name, for errors.

        Raises:
            InvalidSettingsError: Values are invalid, or a name that begins with `barnabas.` is unknown; a line for
                each names file, line, setting and the allowed values.
        """
        problems = _Problems(properties, lines or {}, source)
        own: dict[str, Value] = {}
        for name, text in properties.items():
            setting = find_file_setting(name)
            if setting is None:
                # differs from Kafka (unknown-setting): Kafka only warns. Only Barnabas reads its own settings, so an
                # unknown one is a mistake.
                if name.startswith(OWN_PREFIX):
                    problems.add(name, f"no such setting{hint(name)}")
                continue
            try:
                value = parse(setting, text)
            except ConfigError:
                problems.add(name, f"must be {allowed(setting)}")
                continue
            refusal = refuse_class(setting.name, str(value))
            if refusal is not None:
                problems.add(name, refusal)
            own[name] = value
        config = cls(properties, own)
        _read_endpoints(config, problems)
        _check_together(config, problems)
        problems.raise_any()
        return config

    @classmethod
    def from_file(cls, path: str, overrides: Mapping[str, str] | None = None) -> "BrokerConfig":
        """Read a `server.properties` file; `overrides` win over it. Raises ConfigError."""
        properties, lines = read_properties(path)
        for name, text in (overrides or {}).items():
            properties[name] = text
            lines.pop(name, None)
        return cls.from_properties(properties, lines, path)

    @classmethod
    def single_broker(cls, overrides: Mapping[str, str] | None = None) -> "BrokerConfig":
        """Return the settings of a broker started without a file. Raises ConfigError."""
        given = dict(overrides or {})
        config = cls.from_properties(single_broker_properties(given))
        config.given = frozenset(given)
        return config

    def write_for(self, version: KafkaVersion) -> list[str]:
        """Restrict writing to the formats that a version of Kafka reads, unless settings require others.

        Returns:
            The settings that require newer formats, as `name=value`.

        Raises:
            ConfigError: The settings contradict each other now.
        """
        for name in (INTER_BROKER_PROTOCOL_VERSION, LOG_MESSAGE_FORMAT_VERSION):
            if name not in self.given:
                self._own[name] = self.explicit[name] = version.name
                setattr(self, attribute_name(name), version.name)
        self._settle_versions()
        problems = _Problems(self.explicit, {}, "")
        _check_versions(self, problems)
        problems.raise_any()
        return [
            f"{name}={self.explicit[name]}"
            for name in (INTER_BROKER_PROTOCOL_VERSION, LOG_MESSAGE_FORMAT_VERSION)
            if kafka_version(str(self.raw(name))) > version
        ]

    def _settle_versions(self) -> None:
        """Derive inter.broker.protocol.version or log.message.format.version from the other, if only one is set.

        # differs from Kafka (protocol-version-alone): Kafka does not start if only inter.broker.protocol.version is
        # set, to a version below 0.11.
        """
        protocol, message = INTER_BROKER_PROTOCOL_VERSION, LOG_MESSAGE_FORMAT_VERSION
        protocol_version, message_version = (kafka_version(str(self.raw(name))) for name in (protocol, message))
        if message_version.magic <= protocol_version.magic:
            return
        name, version = (protocol, message_version) if message in self.given else (message, protocol_version)
        if name not in self.given:
            self._own[name] = self.explicit[name] = version.name
            setattr(self, attribute_name(name), version.name)

    def take_over(self, other: "BrokerConfig", names: Collection[str]) -> set[str]:
        """Take some settings, and their sources, from another config.

        Returns:
            The settings whose effective value changed, including settings for a single listener.
        """
        changed = set()
        for name in names:
            attribute = attribute_name(name)
            value = getattr(other, attribute)
            if value != getattr(self, attribute):
                setattr(self, attribute, value)
                changed.add(name)
        self.endpoints, self.advertised_endpoints = other.endpoints, other.advertised_endpoints
        before, self._own = self._own, dict(other._own)
        of_listeners = [name for name in before.keys() | self._own.keys() if name.startswith(LISTENER_PREFIX)]
        changed.update(name for name in of_listeners if before.get(name) != self._own.get(name))
        return changed

    def of_listener(self, listener_name: str, name: str) -> Value:
        """Return a setting's value for one listener alone; None: not set."""
        return self._own.get(f"{LISTENER_PREFIX}{listener_name.lower()}.{name}")

    def everywhere(self, name: str) -> list[tuple[str, Value]]:
        """Return a setting's values for all listeners and for single ones, by name."""
        prefixed = [each for each in self._own if each.startswith(LISTENER_PREFIX) and name_for_any(each) == name]
        return [(each, self._own[each]) for each in (name, *prefixed) if each in self._own]

    def text(self, name: str) -> str | None:
        """Return the effective value, as text."""
        if name.startswith(LISTENER_PREFIX):
            return format_value(self._own.get(name))
        return format_value(getattr(self, attribute_name(name)))

    def of_authorizer(self, name: str) -> Value:
        """Return the value of one of `AUTHORIZER_SETTINGS`, given or default."""
        return self._own.get(name, AUTHORIZER_SETTINGS[name].default_value)

    def raw(self, name: str) -> Value:
        """Return the value of this one setting, given or default, even if another setting takes precedence over it."""
        return self._own[name] if name in self._own else BROKER_SETTINGS[name].default_value


class _Problems:
    """Collects problems of settings, the first of each setting."""

    __slots__ = ("_found", "_lines", "_properties", "_source")

    def __init__(self, properties: Mapping[str, str], lines: Mapping[str, int], source: str) -> None:
        self._properties = properties
        self._lines = lines
        self._source = source
        self._found: dict[str, str] = {}

    def add(self, name: str, reason: str) -> None:
        """Add the one line for a setting that is invalid."""
        where = f"{self._source}:{self._lines[name]}: " if name in self._lines else ""
        setting = find_broker_setting(name)
        is_shown = name in self._properties and not (setting is None or setting.is_sensitive)
        self._found.setdefault(name, f"{where}{name}{'=' + self._properties[name] if is_shown else ''}: {reason}")

    def raise_any(self) -> None:
        """Raise InvalidSettingsError if there are problems, in the order of the file."""
        if self._found:
            names = sorted(self._found, key=lambda name: self._lines.get(name, float("inf")))
            raise InvalidSettingsError([self._found[name] for name in names])


def _settle_precedence(config: BrokerConfig, own: Mapping[str, Value]) -> None:
    """Set the attributes that several settings decide, in Kafka's order of precedence."""

    def first(names: tuple[str, ...], scales: tuple[int, ...]) -> int:
        for name, scale in zip(names, scales, strict=True):
            value = own.get(name)
            if isinstance(value, int):
                return value * scale
        fallback = BROKER_SETTINGS[names[-1]].default
        assert isinstance(fallback, int)
        return fallback * scales[-1]

    hour_ms = 3_600_000
    retention_ms = first(("log.retention.ms", "log.retention.minutes", "log.retention.hours"), (1, 60_000, hour_ms))
    config.log_retention_ms = -1 if retention_ms < 0 else retention_ms
    config.log_roll_ms = first(("log.roll.ms", "log.roll.hours"), (1, hour_ms))
    config.log_roll_jitter_ms = first(("log.roll.jitter.ms", "log.roll.jitter.hours"), (1, hour_ms))
    config.log_flush_interval_ms = first(("log.flush.interval.ms", "log.flush.scheduler.interval.ms"), (1, 1))
    directories = own.get("log.dirs")
    config.log_dirs = split_without_empty(config.log_dir if directories is None else str(directories))


def _read_endpoints(config: BrokerConfig, problems: _Problems) -> None:
    name = "listener.security.protocol.map"
    try:
        protocols = _listeners.parse_protocol_map(config.listener_security_protocol_map)
        name = "listeners" if config.listeners is not None else "port"
        text = config.listeners if config.listeners is not None else f"PLAINTEXT://{config.host_name}:{config.port}"
        config.endpoints = _listeners.parse_listeners(text, protocols)
        _listeners.check_listeners(config.endpoints)
        name = "advertised.listeners"
        config.advertised_endpoints = _advertised(config, protocols)
        _listeners.check_advertised(config.advertised_endpoints, config.endpoints)
    except ConfigError as error:
        if name == "advertised.listeners" and config.advertised_listeners is None:
            name = "listeners" if config.listeners is not None else "host.name"
        problems.add(name, str(error))
        return
    name = "inter.broker.listener.name"
    if config.inter_broker_listener_name is None and "security.inter.broker.protocol" in config.explicit:
        name = "security.inter.broker.protocol"
    try:
        config.inter_broker_listener = _listeners.choose_inter_broker_listener(
            config.inter_broker_listener_name,
            config.security_inter_broker_protocol,
            "security.inter.broker.protocol" in config.explicit,
            protocols,
            config.advertised_endpoints,
        )
        name = "control.plane.listener.name"
        config.control_plane_listener = _listeners.choose_control_plane_listener(
            config.control_plane_listener_name,
            protocols,
            config.advertised_endpoints,
            config.inter_broker_listener,
        )
    except ConfigError as error:
        problems.add(name, str(error))


def _advertised(config: BrokerConfig, protocols: Mapping[str, str]) -> list[Endpoint]:
    if config.advertised_listeners is not None:
        return _listeners.parse_listeners(config.advertised_listeners, protocols)
    if config.advertised_host_name is not None or config.advertised_port is not None:
        host = config.advertised_host_name if config.advertised_host_name is not None else config.host_name
        port = config.advertised_port if config.advertised_port is not None else config.port
        return [Endpoint("PLAINTEXT", host, port, "PLAINTEXT")]
    return list(config.endpoints)


def _check_together(config: BrokerConfig, problems: _Problems) -> None:
    """Check combinations of settings, as Kafka does at its start."""

    def require(condition: bool, name: str, reason: str) -> None:
        if not condition:
            problems.add(name, reason)

    if config.broker_id_generation_enable:
        require(
            -1 <= config.broker_id <= config.reserved_broker_max_id,
            "broker.id",
            f"must be from -1 to reserved.broker.max.id ({config.reserved_broker_max_id})",
        )
    else:
        require(config.broker_id >= 0, "broker.id", "must be 0 or more while broker.id.generation.enable is false")
    require(
        config.log_retention_ms == -1 or config.log_retention_ms >= 1,
        next((name for name in _RETENTION if name in config.explicit), "log.retention.ms"),
        "must be -1 (no limit) or at least 1",
    )
    require(config.log_roll_ms >= 1, "log.roll.ms", "must be at least 1")
    require(config.log_roll_jitter_ms >= 0, "log.roll.jitter.ms", "must be at least 0")
    require(bool(config.log_dirs), "log.dirs", "must name a directory")
    require(config.log_cleaner_threads >= 1, "log.cleaner.threads", "must be at least 1")
    require(
        config.log_cleaner_dedupe_buffer_size // max(config.log_cleaner_threads, 1) > _LEAST_DEDUPE_BUFFER_BYTES,
        "log.cleaner.dedupe.buffer.size",
        f"must be more than 1 MB for each cleaner thread ({_LEAST_DEDUPE_BUFFER_BYTES * config.log_cleaner_threads})",
    )
    require(
        config.replica_fetch_wait_max_ms <= config.replica_lag_time_max_ms,
        "replica.fetch.wait.max.ms",
        f"must be at most replica.lag.time.max.ms ({config.replica_lag_time_max_ms})",
    )
    require(
        config.replica_socket_timeout_ms >= config.replica_fetch_wait_max_ms,
        "replica.socket.timeout.ms",
        f"must be at least replica.fetch.wait.max.ms ({config.replica_fetch_wait_max_ms})",
    )
    require(
        -1 <= config.offsets_commit_required_acks <= config.offsets_topic_replication_factor,
        "offsets.commit.required.acks",
        f"must be from -1 to offsets.topic.replication.factor ({config.offsets_topic_replication_factor})",
    )
    require(
        config.compression_type in COMPRESSION_TYPES,
        "compression.type",
        f"must be one of {', '.join(COMPRESSION_TYPES)}",
    )
    require(
        config.queued_max_request_bytes <= 0 or config.queued_max_request_bytes >= config.socket_request_max_bytes,
        "queued.max.request.bytes",
        f"must be -1 (what fits the machine) or at least socket.request.max.bytes ({config.socket_request_max_bytes})",
    )
    require(
        config.max_connections_per_ip > 0 or bool(config.max_connections_per_ip_overrides),
        "max.connections.per.ip",
        "can be set to zero only if max.connections.per.ip.overrides property is set",
    )
    try:
        parse_counts_by_host(config.max_connections_per_ip_overrides)
    except ConfigError as error:
        problems.add("max.connections.per.ip.overrides", str(error))
    for name, addresses, example in (
        ("barnabas.http.listeners", config.barnabas_http_listeners, "127.0.0.1:9644"),
        ("barnabas.registry.listeners", config.barnabas_registry_listeners, "127.0.0.1:2181"),
        ("barnabas.registry.ssl.listeners", config.barnabas_registry_ssl_listeners, "127.0.0.1:2182"),
    ):
        try:
            parse_addresses(addresses, example)
        except ConfigError as error:
            problems.add(name, str(error))
    require(
        config.connection_failed_authentication_delay_ms < config.connections_max_idle_ms,
        "connection.failed.authentication.delay.ms",
        f"must be less than connections.max.idle.ms ({config.connections_max_idle_ms})",
    )
    _check_versions(config, problems)


def _check_versions(config: BrokerConfig, problems: _Problems) -> None:
    protocol = kafka_version(config.inter_broker_protocol_version)
    if kafka_version(config.log_message_format_version).magic > protocol.magic:
        problems.add(
            LOG_MESSAGE_FORMAT_VERSION, f"needs a newer {INTER_BROKER_PROTOCOL_VERSION} than {protocol.short_name}"
        )
    # differs from Kafka (zstd-offsets-codec): Kafka starts with zstd and an older protocol (1.1), and then rejects
    # every offset commit.
    if config.offsets_topic_compression_codec == _ZSTD and not protocol.has_zstd:
        problems.add(
            "offsets.topic.compression.codec",
            f"needs an {INTER_BROKER_PROTOCOL_VERSION} of 2.1 or newer, not {protocol.short_name}",
        )


_ZSTD = 4
_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_LEAST_DEDUPE_BUFFER_BYTES = 1 << 20
COMPRESSION_TYPES = ("uncompressed", "gzip", "snappy", "lz4", "zstd", "producer")
