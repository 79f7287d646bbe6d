"""Builds the `ListenerLogins` of each listener from the settings, the registry's users and the environment.

A listener reads its settings when it is opened, as in Kafka; SCRAM credentials are read from the registry at login.
Modules that only listeners with SASL need are imported only for those.

Source: security page, SASL; broker configs sasl.enabled.mechanisms, sasl.jaas.config, connections.max.reauth.ms.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.net.connection import Connection, FrameHandler
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.requests.services import Services
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.security.scram_users import ScramUsers
from barnabas.broker.server.environment import Environment
from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.errors import ConfigError
from barnabas.core.executor import Executor, OwnedExecutor
from barnabas.core.pending import Spawner
from barnabas.core.timers import Timer
from barnabas.wire.registry.bootstrap import ensure_login_secret
from barnabas.wire.registry.store import Registry

if TYPE_CHECKING:
    from barnabas.broker.administration.scram import ScramAdmin
    from barnabas.broker.security.logins import Checks, ListenerLogins, LoginCounts, NewServer
    from barnabas.broker.security.oauth.jwks import KeyRefresher
    from barnabas.broker.security.tokens.manager import TokenManager
    from barnabas.wire.security.jaas import JaasEntry
    from barnabas.wire.security.sasl.oauthbearer import Judge
    from barnabas.wire.security.sasl.scram import KnownUser, ScramMechanism

log = logging.getLogger(__name__)

_URL_TIMEOUT_S = 10.0
MAX_DOCUMENT_BYTES = 1024 * 1024

Step = Callable[[Connection, ConnectionInfo, FrameHandler], FrameHandler]
"""Returns the handler of a connection's first frames, which precedes the given session."""


def check_logins(env: Environment, config: BrokerConfig) -> None:
    """Refuse settings that make all logins on a listener fail. Raises ConfigError."""
    logins = Logins(config, env, reads_keys=False)
    try:
        for endpoint in config.endpoints:
            logins.check_listener(endpoint)
    finally:
        logins.close()


class Logins:
    """The logins of a broker's listeners. Owned by the event loop.

    Attributes:
        users: The users with SCRAM credentials.
        counts: Counts of logins, by listener.
        tokens: The delegation tokens; None: disabled.
    """

    def __init__(self, config: BrokerConfig, env: Environment, *, reads_keys: bool = True) -> None:
        """Args:
        reads_keys: Whether to read the keys of sasl.oauthbearer.jwks.endpoint.url.
        """
        self._config = config
        self._reads_keys = reads_keys
        self._env = env
        self._clock = env.clock
        self._dice = env.dice
        self.users = ScramUsers()
        self.counts: dict[str, LoginCounts] = {}
        self.tokens: TokenManager | None = None
        self._secret = b""
        self._token_timer: Timer | None = None
        self._executors: list[OwnedExecutor] = []
        self._checks: Checks | None = None
        self._refresher: KeyRefresher | None = None
        # Built when the settings are checked, used when the listeners are opened.
        self._checked: dict[str, ListenerLogins] = {}

    def new_scram_admin(self, registry: Registry, watcher: ConfigWatcher) -> "Callable[[], ScramAdmin]":
        """Return a function that returns the administration of SCRAM credentials, created at its first call."""
        made: list[ScramAdmin] = []

        def scram_admin() -> "ScramAdmin":
            if not made:
                from barnabas.broker.administration.scram import ScramAdmin

                made.append(ScramAdmin(registry, watcher, self.users))
            return made[0]

        return scram_admin

    async def open(self, registry: Registry, spawner: Spawner, executor: Executor) -> None:
        """Read the cluster's secret and the delegation tokens, if tokens are enabled.

        Args:
            executor: Computes the credentials of tokens.
        """
        config = self._config
        self._secret = await ensure_login_secret(registry, self._dice)
        if not config.delegation_token_master_key:
            return
        from barnabas.broker.security.decoy_credentials import DecoyCredentials
        from barnabas.broker.security.tokens.manager import TokenManager
        from barnabas.broker.security.tokens.token import TokenLimits

        limits = TokenLimits(config.delegation_token_max_lifetime_ms, config.delegation_token_expiry_time_ms)
        self.tokens = TokenManager(
            registry,
            config.delegation_token_master_key,
            limits,
            self._clock,
            self._env.timers,
            spawner,
            executor,
            self._dice,
            DecoyCredentials(self._secret).token_salt,
        )
        await self.tokens.start()

    def expire_tokens(self, spawner: Spawner, is_controller: Callable[[], bool]) -> None:
        """Remove expired delegation tokens, now and periodically, while this broker is the controller."""
        if self.tokens is None:
            return
        if is_controller():
            spawner.spawn(self.tokens.remove_expired())
        self._token_timer = self._env.timers.call_later(
            self._config.delegation_token_expiry_check_interval_ms, self.expire_tokens, spawner, is_controller
        )

    def check(self) -> None:
        """Refuse settings that make all logins fail.

        Raises:
            ConfigError: One line that names the setting.
        """
        config = self._config
        for endpoint in config.endpoints:
            self.check_listener(endpoint)
        if config.sasl_jaas_config is not None:
            log.warning("sasl.jaas.config is ignored: it must have the prefix listener.name.<listener>.<mechanism>.")

    def check_listener(self, endpoint: Endpoint) -> None:
        """Refuse settings that make all logins on a listener fail. Raises ConfigError."""
        config, name = self._config, endpoint.listener_name
        if _is_sasl(endpoint.security_protocol):
            self._checked[name] = self._logins_of(name)
            if name in (config.inter_broker_listener, config.control_plane_listener):
                self._check_inter_broker(name)

    def step_of(
        self, listener_name: str, security_protocol: str, services: Services, routes: RouteTable
    ) -> Step | None:
        """Return the first frame handler for a listener's connections; None if it has no logins.

        Raises:
            ConfigError: With the listener's settings no client could log in.
        """
        if not _is_sasl(security_protocol):
            return None
        from barnabas.broker.requests.authentication import Authentication

        logins = self._checked.pop(listener_name, None) or self._logins_of(listener_name)
        # A listener that is opened again continues its counts.
        logins.counts = self.counts.setdefault(listener_name, logins.counts)
        return lambda connection, info, session: Authentication(connection, info, session, services, routes, logins)

    def _check_inter_broker(self, listener_name: str) -> None:
        config = self._config
        own = config.of_listener(listener_name, "sasl.mechanism.inter.broker.protocol")
        mechanism = config.sasl_mechanism_inter_broker_protocol if own is None else own
        if mechanism not in self._enabled(listener_name):
            raise ConfigError(
                "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used "
                "for inter-broker communication"
            )

    def _enabled(self, listener_name: str) -> list[str]:
        own = self._config.of_listener(listener_name, "sasl.enabled.mechanisms")
        return own if isinstance(own, list) else self._config.sasl_enabled_mechanisms

    def _logins_of(self, listener_name: str) -> "ListenerLogins":
        from barnabas.broker.security.logins import Checks, ListenerLogins
        from barnabas.wire.security.sasl.mechanism import GSSAPI, MECHANISMS

        servers: dict[str, NewServer] = {}
        max_reauth_ms = {}
        for mechanism in self._enabled(listener_name):
            # differs from Kafka (gssapi): Kafka supports it, and enables only this mechanism by default.
            if mechanism == GSSAPI:
                raise ConfigError(
                    f"listener {listener_name}: sasl.enabled.mechanisms={GSSAPI} (the default) is not there: "
                    f"name one or more of {', '.join(MECHANISMS)}"
                )
            if mechanism not in MECHANISMS:
                raise ConfigError(
                    f"listener {listener_name}: sasl.enabled.mechanisms: {mechanism} is not one of "
                    f"{', '.join(MECHANISMS)}"
                )
            servers[mechanism] = self._new_server_of(listener_name, mechanism)
            max_reauth_ms[mechanism] = self._max_reauth_ms(listener_name, mechanism)
        if self._checks is None:
            self._checks = Checks(self._new_executor("logins"))
        return ListenerLogins(
            servers,
            max_reauth_ms,
            lambda: self._config.connection_failed_authentication_delay_ms,
            self._checks,
            self._env.timers,
        )

    def _new_executor(self, name: str) -> OwnedExecutor:
        self._executors.append(self._env.new_executor(name, 1))
        return self._executors[-1]

    def _max_reauth_ms(self, listener_name: str, mechanism: str) -> int:
        config, name = self._config, "connections.max.reauth.ms"
        for own in (f"{mechanism.lower()}.{name}", name):
            value = config.of_listener(listener_name, own)
            if isinstance(value, int):
                return value
        return config.connections_max_reauth_ms

    def _new_server_of(self, listener_name: str, mechanism: str) -> "NewServer":
        from barnabas.broker.server.jaas_settings import listener_entry, listener_setting
        from barnabas.wire.security.sasl.mechanism import OAUTHBEARER, PLAIN
        from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramServer, new_nonce

        entry = listener_entry(self._config, listener_name, mechanism)
        if mechanism == PLAIN:
            from barnabas.wire.security.sasl.plain import PlainServer, verifier

            if entry is None:
                raise ConfigError(
                    f"listener {listener_name}: PLAIN needs users: set {listener_setting(listener_name, mechanism)}"
                )
            verify = verifier(entry.users)
            return lambda: PlainServer(verify)
        if mechanism == OAUTHBEARER:
            from barnabas.wire.security.sasl.oauthbearer import OAuthBearerServer

            judge = self._token_judge(listener_name, entry)
            return lambda: OAuthBearerServer(judge)
        scram = SCRAM_MECHANISMS[mechanism]
        find = self._finder(scram)
        return lambda: ScramServer(scram, find, new_nonce(self._dice.randbytes))

    def _token_judge(self, listener_name: str, entry: "JaasEntry | None") -> "Judge":
        """Return the function that validates OAUTHBEARER tokens."""
        config, now_ms = self._config, self._clock.now_ms
        url = config.sasl_oauthbearer_jwks_endpoint_url
        if url:
            from barnabas.broker.security.oauth.signed import SignedTokens

            refresher = self._key_refresher(url)
            tokens = SignedTokens(
                now_ms,
                config.sasl_oauthbearer_sub_claim_name,
                config.sasl_oauthbearer_expected_audience or (),
                config.sasl_oauthbearer_expected_issuer,
                config.sasl_oauthbearer_clock_skew_seconds * 1000,
                refresher.want,
            )
            refresher.serve(tokens)
            return tokens.judge
        from barnabas.broker.security.oauth.unsecured import UnsecuredTokens, is_asked_for

        name = f"listener.name.{listener_name.lower()}.oauthbearer.sasl.jaas.config"
        # differs from Kafka (unsecured-tokens): Kafka accepts them if nothing else is set.
        if entry is None or not is_asked_for(entry.options):
            raise ConfigError(
                f"listener {listener_name}: OAUTHBEARER needs sasl.oauthbearer.jwks.endpoint.url, or, for tests, "
                f"unsecured tokens: an option unsecuredValidator... in {name}"
            )
        log.warning(
            "listener %s accepts unsigned OAUTHBEARER tokens: every client can log in as any user", listener_name
        )
        try:
            return UnsecuredTokens(entry.options, now_ms).identify
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None

    def _key_refresher(self, url: str) -> "KeyRefresher":
        """Return the key refresher that all listeners share; it starts to read the keys when it is created."""
        if self._refresher is None:
            from barnabas.broker.security.oauth.jwks import KeyRefresher

            config = self._config
            self._refresher = KeyRefresher(
                url,
                read_url,
                self._new_executor("jwks"),
                self._clock,
                self._env.timers,
                config.sasl_oauthbearer_jwks_endpoint_refresh_ms,
                (
                    config.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms,
                    config.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms,
                ),
            )
            if self._reads_keys:
                self._refresher.refresh()
        return self._refresher

    async def prepare(self) -> None:
        """Load data that the first logins need; failures are retried later."""
        if self._refresher is not None:
            await self._refresher.wait()

    def close(self) -> None:
        """Stop reading keys and expiring tokens."""
        if self._token_timer is not None:
            self._token_timer.cancel()
        if self._refresher is not None:
            self._refresher.close()
        for executor in self._executors:
            executor.close()

    def _finder(self, mechanism: "ScramMechanism") -> "Callable[[str, bool], KnownUser]":
        from barnabas.broker.security.decoy_credentials import DecoyCredentials
        from barnabas.wire.security.sasl.mechanism import Identity
        from barnabas.wire.security.sasl.scram import KnownUser

        def find(name: str, is_token: bool) -> KnownUser:
            decoys = DecoyCredentials(self._secret)
            # Computed in any case, so that the time does not reveal whether the user exists.
            if is_token:
                nobody = decoys.token(mechanism, name)
                return (self.tokens and self.tokens.find(mechanism.name, name)) or nobody
            nobody = decoys.user(mechanism, name, self.users.usual_iterations(mechanism.name))
            credential = self.users.find(mechanism.name, name)
            return nobody if credential is None else KnownUser(credential, Identity(name))

        return find


def _is_sasl(security_protocol: str) -> bool:
    return security_protocol.startswith("SASL_")


def read_url(url: str) -> bytes:
    """Return the document at a URL with `https`, `http` or `file`; blocks, so call it in an executor.

    Raises:
        OSError: The document cannot be read, or is larger than 1 MiB.
        ValueError: The URL is invalid, or has another scheme.
    """
    # Imported here, because only brokers with public keys need it.
    from urllib.request import urlopen

    if url.partition(":")[0] not in ("https", "http", "file"):
        raise ValueError("a URL with https, http or file is wanted")
    with urlopen(url, timeout=_URL_TIMEOUT_S) as response:
        document: bytes = response.read(MAX_DOCUMENT_BYTES + 1)
    if len(document) > MAX_DOCUMENT_BYTES:
        raise OSError("it is larger than 1 MiB")
    return document
