"""The settings that change while a broker runs: its own dynamic settings, and the settings of topics.

Each invalid override of a topic is logged once.

Source: broker configs; topic configs.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from barnabas.broker.administration.live_config import LiveConfig
from barnabas.broker.cluster.image import ImageChange
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.controller.controller import Controller
from barnabas.broker.log.manager import LogManager
from barnabas.broker.security.passwords import reencode_passwords
from barnabas.broker.server.broker_listeners import CONNECTION_LIMITS, LISTENER_SETTINGS, TLS_SETTINGS
from barnabas.broker.server.cluster_control import Membership
from barnabas.broker.server.logins import check_logins
from barnabas.broker.server.node_context import NodeContext
from barnabas.broker.server.replication import Replication
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.config.dynamic import Layer
from barnabas.core.config.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from barnabas.wire.registry import paths
from barnabas.wire.registry.configs import update_config

log = logging.getLogger(__name__)

_TOPIC_DEFAULTS = frozenset(setting.extra for setting in TOPIC_SETTINGS.values())
_UNCLEAN = "unclean.leader.election.enable"
_CLEANER_SETTINGS = frozenset(name for name in BROKER_SETTINGS if name.startswith("log.cleaner."))


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
        # The last reported problems of each topic's settings.
        self._left_out: dict[str, list[str]] = {}

    def of(self, topic: str) -> TopicConfig:
        """Return the settings in force for a topic."""
        config, reasons = TopicConfig.from_broker(self._config).with_possible(self._overrides_of(topic))
        if reasons != self._left_out.get(topic, []):
            # Reported once, not for each partition.
            self._left_out[topic] = reasons
            for reason in reasons:
                # differs from Kafka (impossible-topic-setting): in Kafka the partition fails.
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


class DynamicSettings:
    """Applies the settings in the registry to the parts of a broker. Owned by the event loop.

    Attributes:
        configs: Reads the settings in the registry.
        live: The broker's dynamic settings.
        replication, controller, membership: Set when they are built; earlier changes do not affect them.
    """

    def __init__(self, context: NodeContext, *, logs: LogManager, topics: TopicSettings) -> None:
        env, config, executors, listeners = context.env, context.config, context.executors, context.listeners
        self._config = config
        self._registry = context.registry
        self._dice = env.dice
        self._view = context.view
        self._listeners = listeners
        self._topics = topics
        self._spawner = context.spawner
        self.replication: Replication | None = None
        self.controller: Controller | None = None
        self.membership: Membership | None = None
        self.configs = ConfigWatcher(context.registry, env.clock, env.timers, context.spawner)
        self.configs.subscribe(paths.TOPICS, self._on_topic_config)
        self.configs.subscribe(paths.BROKERS, self._on_broker_config)
        live = self.live = LiveConfig(config)
        live.subscribe(["background.threads"], lambda: executors.log.resize(config.background_threads))
        live.subscribe(["log.cleaner.threads"], lambda: executors.cleaner.resize(config.log_cleaner_threads))
        live.subscribe(_CLEANER_SETTINGS, logs.cleaner_settings_changed)
        live.subscribe(_TOPIC_DEFAULTS, self._on_topic_defaults)
        live.subscribe(["num.replica.fetchers"], self._on_fetchers)
        live.subscribe([_UNCLEAN], self._on_unclean)
        live.subscribe(LISTENER_SETTINGS, self.update_listeners)
        live.subscribe(CONNECTION_LIMITS, listeners.limits_changed)
        live.subscribe(TLS_SETTINGS, listeners.tls_changed)
        live.subscribe_check(listeners.check)
        # Listeners read them when they open, so a wrong one would prevent the next start.
        live.subscribe_check(partial(check_logins, env))

    async def start(self) -> None:
        """Read and apply all settings, then watch them; the other subscribers must subscribe before."""
        config = self._config
        if config.password_encoder_old_secret:
            # So that the old secret is needed for one start only.
            await update_config(
                self._registry,
                f"{paths.BROKERS}/{config.broker_id}",
                lambda stored: reencode_passwords(config, stored, self._dice.randbytes),
            )
        await self.configs.start()
        self.live.is_serving = True

    async def load_topics(self, topics: Iterable[str]) -> None:
        """Read and apply the settings of topics."""
        await self.configs.load(f"{paths.TOPICS}/{topic}" for topic in topics)

    def forget_deleted_topics(self, change: ImageChange) -> None:
        """Forget the settings of topics that a change of the metadata deletes."""
        for topic in change.deleted_topics:
            self.configs.forget(f"{paths.TOPICS}/{topic}")
            self._topics.forget(topic)

    def update_listeners(self) -> None:
        """Open new listeners, register them, and close removed ones, if the broker is registered.

        An earlier change is part of the first registration.
        """
        if self.membership is not None and self._view.broker_epoch >= 0:
            self._spawner.spawn(self._register_listeners(self.membership, self._listeners.open_new()))

    async def _register_listeners(self, membership: Membership, close_old: Callable[[], None]) -> None:
        await membership.update()
        close_old()

    def _on_topic_config(self, topic: str, overrides: Mapping[str, str]) -> None:
        is_changed = overrides != self._view.topic_overrides(topic)
        self._view.set_topic_overrides(topic, overrides)
        if is_changed and self.replication is not None:
            self.replication.replicas.update_topic_config(topic)
        if is_changed and self.controller is not None and overrides.get(_UNCLEAN, "").lower() == "true":
            self.controller.allow_unclean_leaders(topic)

    def _on_broker_config(self, broker: str, overrides: Mapping[str, str]) -> None:
        if broker == paths.DEFAULT_ENTITY:
            self.live.set_overrides(Layer.ALL_BROKERS, overrides)
        elif broker == str(self._config.broker_id):
            self.live.set_overrides(Layer.THIS_BROKER, overrides)

    def _on_topic_defaults(self) -> None:
        if self.replication is not None:
            self._spawner.spawn(self.replication.replicas.update_all_configs())

    def _on_fetchers(self) -> None:
        if self.replication is not None:
            self.replication.fetchers.resize()

    def _on_unclean(self) -> None:
        if self.controller is not None and self._config.unclean_leader_election_enable:
            self.controller.allow_unclean_leaders()
