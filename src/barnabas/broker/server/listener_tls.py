"""The keys and certificates of the listeners with TLS, replaced while the broker runs.

    settings changed   ─┐
    a file changed     ─┴─► read and checked, in an executor ─► new connections use the new keys

Open connections keep their keys. Unusable keys are logged once, and the previous ones stay in use. Files are checked
every two seconds by their time, size and inode number: replacing a certificate needs no change of a setting.

Source: KIP-226, KIP-651; Kafka 2.7.2, SslFactory, SslPrincipalMapper; configuration page, updating SSL keystore.
"""

import logging
import os
import ssl
from collections.abc import Callable, Iterable, Sequence

from barnabas.broker.net.channel import Acceptor, Channel
from barnabas.broker.net.connection import Connection, FrameHandler
from barnabas.broker.net.tls_channel import TlsAcceptor, TlsChannel, TlsLoop
from barnabas.broker.requests.client_certificate import ClientCertificate
from barnabas.broker.requests.context import ConnectionInfo
from barnabas.broker.server.environment import Environment
from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.config.settings import format_value
from barnabas.core.errors import ConfigError, StartupError
from barnabas.wire.security.tls.contexts import client_context, server_context
from barnabas.wire.security.tls.principal_mapping import PrincipalMapping
from barnabas.wire.security.tls.settings import TlsSettings, read_settings

log = logging.getLogger(__name__)

WITH_TLS = ("SSL", "SASL_SSL")

# differs from Kafka (keystore-files): Kafka reads replaced files when their setting is set again.
_LOOK_AGAIN_MS = 2_000

_Marks = tuple[tuple[int, int, int] | None, ...]


class _Keys:
    """The TLS context and settings for a listener's new connections; without a context before the first read.

    Attributes:
        links: The TLS context for connections to other brokers' listeners of this name; None: no such connections.
        refused: The last unusable settings and marks, which were logged.
    """

    __slots__ = ("context", "links", "mapping", "marks", "refused", "settings")

    def __init__(self) -> None:
        self.refused: tuple[TlsSettings, _Marks] | None = None
        self.context: ssl.SSLContext | None = None
        self.links: ssl.SSLContext | None = None
        self.settings = TlsSettings()
        self.marks: _Marks = ()
        self.mapping = PrincipalMapping()


class ListenerTls:
    """The keys of all listeners with TLS. Owned by the event loop.

    Attributes:
        on_refused: Called with the listener, the host and the reason of a failed handshake.
    """

    def __init__(
        self, config: BrokerConfig, env: Environment, endpoints: Callable[[], Sequence[Endpoint]] | None = None
    ) -> None:
        """Args:
        endpoints: Returns the current endpoints; None: the endpoints for Kafka clients in the settings.
        """
        self._config = config
        self._env = env
        self._endpoints = endpoints or (lambda: config.endpoints)
        self._executor = env.new_executor("tls", 1)
        # Separate from the executor of clients' handshakes, so that reading files does not wait for those.
        self._files_executor = env.new_executor("tls-files", 1)
        self._loop = TlsLoop(self._executor, env.timers, env.loop.call_soon, env.clock.monotonic_ns)
        self.on_refused: Callable[[str, str, str], object] = lambda listener_name, host, reason: None
        self._keys: dict[str, _Keys] = {}
        self._is_looking = self._is_closed = False
        self._timer = env.timers.call_later(_LOOK_AGAIN_MS, self._look)

    def acceptor(self, inner: Acceptor, endpoint: Endpoint) -> TlsAcceptor:
        """Wrap a listener's connections in TLS; its keys are available after `prepare`."""
        keys = self._keys.setdefault(endpoint.listener_name, _Keys())

        def context() -> ssl.SSLContext:
            assert keys.context is not None, "prepared before it listens"
            return keys.context

        def refused(host: str, reason: str) -> None:
            self.on_refused(endpoint.listener_name, host, reason)

        return TlsAcceptor(inner, context, self._loop, lambda: self._config.barnabas_ssl_handshake_timeout_ms, refused)

    def prepare(self, endpoint: Endpoint) -> None:
        """Read the keys of a listener that is about to be opened.

        Raises:
            StartupError: The keys are unusable.
        """
        name = endpoint.listener_name
        try:
            settings = listener_settings(self._config, endpoint)
            found = _read(name, settings, None, has_links=name in self._linked())
            if found.context is None:
                raise ConfigError(found.reason)
            self._take(found)
        except ConfigError as error:
            raise StartupError(f"listener {name}: {error}") from None

    def check(self, config: BrokerConfig) -> None:
        """Refuse settings with unusable keys.

        Raises:
            ConfigError: The first listener's reason.
        """
        for endpoint in with_tls(config.endpoints):
            self.check_listener(config, endpoint)

    def check_listener(self, config: BrokerConfig, endpoint: Endpoint) -> None:
        """Refuse settings if a listener's keys are unusable. Raises ConfigError."""
        known = self._keys.get(endpoint.listener_name)
        try:
            settings = listener_settings(config, endpoint)
            if known is None or settings != known.settings:
                server_context(settings)
            PrincipalMapping(_rules(config, endpoint.listener_name))
        except ConfigError as error:
            raise ConfigError(f"listener {endpoint.listener_name}: {error}") from None

    def wrap_link(self, channel: Channel, listener_name: str, host: str) -> Channel:
        """Return a connection to another broker's listener of this name."""
        keys = self._keys.get(listener_name)
        if keys is None or keys.links is None:
            return channel
        return TlsChannel(channel, keys.links, self._loop, self._config.barnabas_ssl_handshake_timeout_ms, host)

    def settings_changed(self) -> None:
        """Apply the current settings."""
        self._look_at(is_forced=True)

    def identify(self, connection: Connection, info: ConnectionInfo, handler: FrameHandler) -> FrameHandler:
        """Return a handler that determines the principal of a client certificate before another handler."""
        return ClientCertificate(connection, info, self._keys[info.listener_name].mapping, handler)

    def close(self) -> None:
        """Stop watching the files; handshakes in progress end with their connections."""
        self._is_closed = True
        self._timer.cancel()
        self._files_executor.close()
        self._executor.close()

    # differs from Kafka (keystore-names): Kafka compares the names in the old and the new certificate.
    def _take(self, found: "_Found") -> None:
        keys = self._keys.setdefault(found.listener_name, _Keys())
        keys.mapping = PrincipalMapping(_rules(self._config, found.listener_name))
        keys.settings, keys.marks, keys.refused = found.settings, found.marks, None
        keys.context, keys.links = found.context, found.links

    def _look(self) -> None:
        self._timer = self._env.timers.call_later(_LOOK_AGAIN_MS, self._look)
        if not self._is_looking:
            self._look_at(is_forced=False)

    def _look_at(self, is_forced: bool) -> None:
        """Check whether files or settings changed, and read those that did in an executor."""
        wanted: list[tuple[str, TlsSettings, _Marks | None]] = []
        for endpoint in with_tls(self._endpoints()):
            keys = self._keys.get(endpoint.listener_name)
            if keys is None or keys.context is None:
                continue
            try:
                settings = listener_settings(self._config, endpoint)
            except ConfigError as error:
                if is_forced:
                    log.error("listener %s keeps its old keys: %s", endpoint.listener_name, error)
                continue
            marks: _Marks | None = keys.marks if settings == keys.settings else None
            if keys.refused is not None and keys.refused[0] == settings:
                marks = keys.refused[1]
            wanted.append((endpoint.listener_name, settings, marks))
        if not wanted:
            return
        self._is_looking = True
        linked = self._linked()

        def read() -> list[_Found]:
            return [_read(name, settings, known, has_links=name in linked) for name, settings, known in wanted]

        self._files_executor.run(read, self._looked, self._failed)

    def _linked(self) -> tuple[str, ...]:
        """Return the listeners on which this broker connects to others."""
        return self._config.inter_broker_listener, self._config.control_plane_listener

    def _looked(self, found: list["_Found"]) -> None:
        self._is_looking = False
        if self._is_closed:
            return
        for each in found:
            keys = self._keys.get(each.listener_name)
            if keys is None or each.is_known:
                continue
            if each.context is None:
                keys.refused = each.settings, each.marks
                log.error("listener %s keeps its old keys: %s", each.listener_name, each.reason)
                continue
            self._take(each)
            log.info("listener %s has new keys or certificates", each.listener_name)

    def _failed(self, error: BaseException) -> None:
        self._is_looking = False
        log.error("cannot check the key files for changes", exc_info=error)


class _Found:
    """The result of reading a listener's keys.

    Attributes:
        is_known: Whether settings and files are unchanged.
        context: The new TLS context; None: unchanged, or unusable for `reason`.
    """

    __slots__ = ("context", "is_known", "links", "listener_name", "marks", "reason", "settings")

    def __init__(self, listener_name: str, settings: TlsSettings, marks: _Marks) -> None:
        self.listener_name = listener_name
        self.settings = settings
        self.marks = marks
        self.context: ssl.SSLContext | None = None
        self.links: ssl.SSLContext | None = None
        self.reason = ""
        self.is_known = False


def _read(name: str, settings: TlsSettings, known: _Marks | None, has_links: bool) -> _Found:
    """Read the files, unless they are unchanged; in an executor."""
    found = _Found(name, settings, _marks(settings))
    found.is_known = found.marks == known
    if not found.is_known:
        try:
            found.links = client_context(settings) if has_links else None
            found.context = server_context(settings)
        except ConfigError as error:
            found.reason = str(error)
        except Exception as error:
            # One listener's unforeseen store must not keep the others from their new keys.
            log.exception("cannot read the keys of listener %s", name)
            found.reason = f"{type(error).__name__}: {error}"
    return found


def listener_settings(config: BrokerConfig, endpoint: Endpoint) -> TlsSettings:
    """Return a listener's TLS settings: its own ones override the general ones.

    Raises:
        ConfigError: The settings contradict each other.
    """

    def text(name: str) -> str | None:
        if name == "ssl.client.auth" and endpoint.security_protocol == "SASL_SSL":
            # As in Kafka up to 2.7, SASL clients are not asked for a certificate.
            return "none"
        return setting_of(config, endpoint.listener_name, name)

    return read_settings(text)


def setting_of(config: BrokerConfig, listener_name: str, name: str) -> str | None:
    """Return the text of a listener's setting."""
    own = format_value(config.of_listener(listener_name, name))
    return config.text(name) if own is None else own


def _rules(config: BrokerConfig, listener_name: str) -> str:
    return setting_of(config, listener_name, "ssl.principal.mapping.rules") or ""


def with_tls(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """Return the listeners that speak TLS."""
    return [each for each in endpoints if each.security_protocol in WITH_TLS]


def _marks(settings: TlsSettings) -> _Marks:
    """Return the marks that change when a file is replaced."""
    return tuple(_mark(path) for path in settings.files)


def _mark(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
