"""The broker's current settings: the settings of its file, overridden by dynamic settings.

    set for this broker  >  set for all brokers  >  the file  >  the default

`LiveConfig` updates one `BrokerConfig` in place. Code that reads `config.x` at each use sees the current value; code
that computes something from a setting must subscribe.

Dynamic settings are applied all together. None is applied if the combination is invalid, or if a thread pool would
shrink to less than half or grow to more than double. Settings that were not applied are still stored and described, and
are tried again with the next change.

Invariants: only settings that Kafka calls dynamic change; each change calls the listeners once, after it was made, in
the order of subscription.

Source: Kafka 2.7.2, kafka.server.DynamicBrokerConfig, DynamicThreadPool, LogCleaner.validateReconfiguration;
configuration page, updating broker configs.
"""

import logging
from collections.abc import Callable, Collection, Mapping

from barnabas.broker.security.passwords import decode_passwords
from barnabas.core.config.broker import BrokerConfig
from barnabas.core.config.dynamic import READ_ONLY, Layer, check_settable, has_known_value, is_possible, only_settable
from barnabas.core.config.settings import (
    BROKER_DYNAMIC_ONLY_SETTINGS,
    BROKER_SETTINGS,
    attribute_name,
    find_broker_setting,
    name_for_any,
)
from barnabas.core.config.support import HONOURED, PARTLY_HONOURED
from barnabas.core.config.tables import PRECEDENCE
from barnabas.core.errors import ConfigError

_CHANGING = frozenset(name for name, setting in BROKER_SETTINGS.items() if setting.extra != READ_ONLY)
LIVE_SETTINGS = (_CHANGING & {*HONOURED, *PARTLY_HONOURED}) | BROKER_DYNAMIC_ONLY_SETTINGS.keys()
"""The settings that take effect while the broker runs."""

_THREAD_COUNTS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)

_logger = logging.getLogger(__name__)


class LiveConfig:
    """Keeps a broker's settings up to date. Owned by the event loop.

    Attributes:
        config: The shared settings; changed in place.
        is_serving: Set when the broker serves clients; from then on, changes of thread counts are limited.
    """

    __slots__ = ("_checks", "_listeners", "_static", "config", "is_serving")

    def __init__(self, config: BrokerConfig) -> None:
        """Args:
        config: The settings of the file.
        """
        self.config = config
        self.is_serving = False
        self._static = dict(config.explicit)
        self._checks: list[Callable[[BrokerConfig], object]] = []
        self._listeners: list[tuple[frozenset[str], Callable[[], object]]] = []

    def subscribe(self, names: Collection[str], listener: Callable[[], object]) -> None:
        """Call `listener` once after each change of one or more of these settings."""
        self._listeners.append((frozenset(names), listener))

    def subscribe_check(self, check: Callable[[BrokerConfig], object]) -> None:
        """Add a check that runs before a request changes settings; it raises ConfigError to refuse the request."""
        self._checks.append(check)

    def set_overrides(self, layer: Layer, overrides: Mapping[str, str]) -> None:
        """Replace the dynamic settings of a layer.

        Settings that cannot be set dynamically, and invalid values, are ignored with a warning.

        Args:
            overrides: In their stored form: passwords are encrypted.
        """
        readable, unreadable = decode_passwords(self.config, overrides)
        kept = _kept(layer, readable, unreadable)
        config = self.config
        if kept == (config.default_overrides if layer is Layer.ALL_BROKERS else config.broker_overrides):
            return
        throttles = self._throttles()
        if layer is Layer.ALL_BROKERS:
            config.default_overrides = kept
        else:
            config.broker_overrides = kept
        # Throttles apply even if `_apply` fails: they are dynamic only, and cannot conflict with other settings.
        changed = {name for name, limit in self._throttles().items() if limit != throttles[name]}
        try:
            changed |= self._apply()
        except ConfigError as error:
            _logger.error("cannot apply the dynamic settings of %s: %s", layer.value, error)
        if changed:
            _logger.info("settings changed: %s", ", ".join(self._shown(name) for name in sorted(changed)))
        bases = {name_for_any(name) for name in changed}
        for names, listener in list(self._listeners):
            if not names.isdisjoint(bases):
                listener()

    def check(self, layer: Layer, overrides: Mapping[str, str]) -> None:
        """Refuse dynamic settings of a layer that could not be applied together; nothing is changed.

        Args:
            overrides: In plain form: passwords are not encrypted.

        Raises:
            ConfigError: One line, with Kafka's text if clients may depend on it.
        """
        check_settable(layer, overrides)
        config = self.config
        if layer is Layer.ALL_BROKERS:
            settled = self._settled(overrides, config.broker_overrides)
        else:
            settled = self._settled(config.default_overrides, overrides)
        for check in self._checks:
            check(settled)

    def _throttles(self) -> dict[str, int]:
        return {name: self.config.throttle(name) for name in BROKER_DYNAMIC_ONLY_SETTINGS}

    def _shown(self, name: str) -> str:
        if name in BROKER_DYNAMIC_ONLY_SETTINGS:
            return f"{name}={self.config.throttle(name)}"
        setting = find_broker_setting(name)
        is_sensitive = setting is None or setting.is_sensitive
        return f"{name}={'[hidden]' if is_sensitive else self.config.text(name)}"

    def _apply(self) -> set[str]:
        """Compute the settings from the layers.

        Returns:
            The changed settings, among the dynamic ones.

        Raises:
            ConfigError: The combination is invalid; nothing was changed.
        """
        config = self.config
        return config.take_over(self._settled(config.default_overrides, config.broker_overrides), _CHANGING)

    def _settled(self, for_all: Mapping[str, str], for_this: Mapping[str, str]) -> BrokerConfig:
        """Return the settings that result from these layers. Raises ConfigError if they are invalid together."""
        texts = dict(self._static)
        for layer in (for_all, for_this):
            for name, text in layer.items():
                # differs from Kafka (impossible-broker-setting): Kafka logs that it ignores this one, but applies none.
                if not has_known_value(name) or not is_possible(name, text):
                    continue
                # As in Kafka: if log.retention.ms is set, log.retention.hours is described with its default.
                for synonym in PRECEDENCE.get(name, (name,)):
                    texts.pop(synonym, None)
                texts[name] = text
        settled = BrokerConfig.from_properties(texts, source="the registry")
        if self.is_serving:
            _check_thread_counts(self.config, settled)
        for name, value in settled.everywhere("max.connection.creation.rate"):
            if value == 0:
                raise ConfigError(f"Invalid {name} 0")
        return settled


def _kept(layer: Layer, overrides: Mapping[str, str], unreadable: list[str]) -> dict[str, str]:
    """Return the settings of a layer that can be set and described.

    Other settings, and settings without effect, are logged in one line.
    """
    kept, left_out = only_settable(layer, overrides)
    if unreadable:
        left_out["can't be decrypted with password.encoder.secret"] = unreadable
    impossible = [name for name, text in kept.items() if not is_possible(name, text)]
    if impossible:
        left_out["impossible"] = impossible
    without_effect = [name for name in kept if name_for_any(name) not in LIVE_SETTINGS]
    if without_effect:
        left_out["without effect here"] = without_effect
    if left_out:
        told = "; ".join(f"{reason}: {', '.join(sorted(names))}" for reason, names in left_out.items())
        _logger.warning("dynamic settings of %s ignored: %s", layer.value, told)
    return kept


def _check_thread_counts(config: BrokerConfig, wanted: BrokerConfig) -> None:
    """Raise ConfigError if a thread pool would shrink to less than half, or grow to more than double."""
    for name in _THREAD_COUNTS:
        now, then = (getattr(each, attribute_name(name)) for each in (config, wanted))
        if then == now:
            continue
        what = f"Dynamic thread count update validation failed for {name}={then}"
        if then < now // 2:
            raise ConfigError(f"{what}, value should be at least half the current value {now}")
        if then > now * 2:
            raise ConfigError(f"{what}, value should not be greater than double the current value {now}")
