"""The broker's settings as they are now: what its file says, with what is set while it runs over it.

    set for this broker  >  set for all brokers  >  the file  >  the default

`LiveConfig` keeps one `BrokerConfig` up to date in place: whoever reads `config.x` when it needs it reads what is so
now, and who made something of it before is told.

What is set is taken over as a whole, or not at all where the settings can't be together or a thread pool would grow or
shrink by more than half; it is remembered, and described, all the same, and tried again with the next change.

Invariants: only settings that Kafka calls dynamic change; a listener is told after the change, in the order in which
they came, once, and only of a change.

Source: Kafka 2.7.2, kafka.server.DynamicBrokerConfig, DynamicThreadPool, LogCleaner.validateReconfiguration;
configuration page, updating broker configs.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from enum import Enum

from barnabas.core.config.broker import LISTENER_PREFIX, BrokerConfig
from barnabas.core.config.settings import (
    BROKER_DYNAMIC_ONLY_SETTINGS,
    BROKER_SETTINGS,
    attribute_name,
    parse,
)
from barnabas.core.config.support import HONOURED, PARTLY_HONOURED, SET_AT_START_ONLY
from barnabas.core.config.tables import PRECEDENCE
from barnabas.core.errors import ConfigError

READ_ONLY = "read-only"
PER_BROKER = "per-broker"
_CHANGING = frozenset(
    name for name, setting in BROKER_SETTINGS.items() if setting.extra != READ_ONLY and name not in SET_AT_START_ONLY
)
LIVE_SETTINGS = _CHANGING & {*HONOURED, *PARTLY_HONOURED}
"""What takes effect while the broker runs."""

_THREAD_COUNTS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)

_logger = logging.getLogger(__name__)


class Layer(Enum):
    """For whom something was set while the broker runs."""

    ALL_BROKERS = "all brokers"
    THIS_BROKER = "this broker"


class LiveConfig:
    """Keeps a broker's settings up to date. Owned by the event loop.

    Attributes:
        config: What everybody reads; changed in place.
        is_serving: From now on the number of threads changes by half at the most.
    """

    __slots__ = ("_listeners", "_static", "config", "is_serving")

    def __init__(self, config: BrokerConfig) -> None:
        """Args:
        config: As the file has it.
        """
        self.config = config
        self.is_serving = False
        self._static = dict(config.explicit)
        self._listeners: list[tuple[frozenset[str], Callable[[], object]]] = []

    def subscribe(self, names: Collection[str], listener: Callable[[], object]) -> None:
        """Tell `listener` when one of some settings has changed; once, however many of them did."""
        self._listeners.append((frozenset(names), listener))

    def set_overrides(self, layer: Layer, overrides: Mapping[str, str]) -> None:
        """Take over what is set while the broker runs, instead of what was set in that layer before.

        What can't be set, or can't be, is left out with a warning.
        """
        kept = _kept(layer, overrides)
        config = self.config
        if kept == (config.default_overrides if layer is Layer.ALL_BROKERS else config.broker_overrides):
            return
        if layer is Layer.ALL_BROKERS:
            config.default_overrides = kept
        else:
            config.broker_overrides = kept
        try:
            changed = self._apply()
        except ConfigError as error:
            _logger.error("what was set for %s while the broker runs can't be applied: %s", layer.value, error)
            return
        if changed:
            _logger.info("settings changed: %s", ", ".join(f"{name}={config.text(name)}" for name in sorted(changed)))
        for names, listener in list(self._listeners):
            if not names.isdisjoint(changed):
                listener()

    def _apply(self) -> set[str]:
        """Make the settings what the layers say.

        Returns:
            Which of those that can change did.

        Raises:
            ConfigError: They can't be together; nothing was changed.
        """
        config = self.config
        texts = dict(self._static)
        for layer in (config.default_overrides, config.broker_overrides):
            for name, text in layer.items():
                if name not in BROKER_SETTINGS:
                    continue
                # Where log.retention.ms is set, Kafka describes log.retention.hours with its default.
                for synonym in PRECEDENCE.get(name, (name,)):
                    texts.pop(synonym, None)
                texts[name] = text
        wanted = BrokerConfig.from_properties(texts, source="the registry")
        if self.is_serving:
            _check_thread_counts(config, wanted)
        return config.take_over(wanted, _CHANGING)


def _kept(layer: Layer, overrides: Mapping[str, str]) -> dict[str, str]:
    """What can be set in a layer; what is not among it is told in one line."""
    kept: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    without_effect = []
    for name, text in overrides.items():
        reason = _obstacle(layer, name, text)
        if reason is not None:
            left_out.setdefault(reason, []).append(name)
            continue
        kept[name] = text
        if name not in LIVE_SETTINGS:
            without_effect.append(name)
    if without_effect:
        left_out["without effect here"] = without_effect
    if left_out:
        told = "; ".join(f"{reason}: {', '.join(sorted(names))}" for reason, names in left_out.items())
        _logger.warning("of what was set for %s while the broker runs, some is ignored: %s", layer.value, told)
    return kept


def _obstacle(layer: Layer, name: str, text: str) -> str | None:
    """Why a setting can't be set while the broker runs; None where it can, or nothing is known of it."""
    setting = BROKER_SETTINGS.get(name)
    if setting is None:
        dynamic_only = BROKER_DYNAMIC_ONLY_SETTINGS.get(name)
        is_listeners = name.startswith(LISTENER_PREFIX)
        if is_listeners and layer is Layer.ALL_BROKERS:
            return "only for one broker"
        if dynamic_only is None:
            return None
        setting = dynamic_only
    elif setting.extra == READ_ONLY:
        return "only in the file"
    elif setting.extra == PER_BROKER and layer is Layer.ALL_BROKERS:
        return "only for one broker"
    elif name in SET_AT_START_ONLY:
        # differs from Kafka (listeners-at-start): it opens and closes listeners while it runs.
        return "only in the file, here"
    # differs from Kafka (impossible-broker-setting): it says that it ignores this one, and then applies none.
    with suppress(ConfigError):
        parse(setting, text)
        return None
    return "impossible"


def _check_thread_counts(config: BrokerConfig, wanted: BrokerConfig) -> None:
    """Raises ConfigError where a pool would become less than half, or more than twice, as large."""
    for name in _THREAD_COUNTS:
        now, then = (getattr(each, attribute_name(name)) for each in (config, wanted))
        if then != now and not now // 2 <= then <= now * 2:
            raise ConfigError(f"{name}={then}: must be at least half and at most twice of what it is now ({now})")
