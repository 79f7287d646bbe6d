"""The settings of topics: overrides on top of the broker's defaults; logs each invalid override once.

Source: broker configs; topic configs.
"""

import logging
from collections.abc import Callable, Mapping

from barnabas.core.config import BrokerConfig, TopicConfig

log = logging.getLogger(__name__)


class TopicSettings:
    """Builds the settings of topics. Owned by the event loop."""

    def __init__(self, config: BrokerConfig, overrides_of: Callable[[str], Mapping[str, str]]) -> None:
        """Args:
        config: The broker's current settings, the defaults of topics.
        overrides_of: Returns a topic's overrides in the registry.
        """
        self._config = config
        self._overrides_of = overrides_of
        self._warned_topics: set[str] = set()
        # What is wrong with the settings of a topic, as it was told last.
        self._left_out: dict[str, list[str]] = {}

    def of(self, topic: str) -> TopicConfig:
        """Return the settings in force for a topic."""
        config, reasons = TopicConfig.from_broker(self._config).with_possible(self._overrides_of(topic))
        if reasons != self._left_out.get(topic, []):
            # Not for each partition again.
            self._left_out[topic] = reasons
            for reason in reasons:
                # differs from Kafka (impossible-topic-setting): there the partition fails.
                log.warning("a setting of topic %s is ignored: %s", topic, reason)
        if config.ignored_format is not None and topic not in self._warned_topics:
            self._warned_topics.add(topic)
            log.warning(
                "message.format.version=%s of topic %s is ignored: inter.broker.protocol.version is %s",
                config.ignored_format,
                topic,
                self._config.inter_broker_protocol_version,
            )
        return config.for_logs()

    def forget(self, topic: str) -> None:
        """Forget a deleted topic."""
        self._left_out.pop(topic, None)
