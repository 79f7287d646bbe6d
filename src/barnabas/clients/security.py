"""Security of a client's connections to brokers (TLS and logins), from Kafka's client settings.

    security.protocol    PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
    ssl.*                truststore and own certificate; host names are verified unless disabled
    sasl.mechanism       PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER
    sasl.jaas.config     the credentials

Invariant: no repr and no error contains a secret.

Source: security page; producer, consumer and admin configs of Kafka 2.7.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.core.errors import ConfigError

if TYPE_CHECKING:
    import ssl

    from barnabas.wire.security.jaas import JaasEntry
    from barnabas.wire.security.sasl.mechanism import SaslClient
    from barnabas.wire.security.tls.settings import TlsSettings

PLAINTEXT = "PLAINTEXT"
PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PREFIXES = ("ssl.", "barnabas.ssl.", "sasl.")


@dataclass(slots=True)
class ClientSecurity:
    """The security settings that all connections of a client share.

    Attributes:
        tls: None: no TLS.
        mechanism, login: The mechanism and credentials of the login; empty, None: no login.
    """

    tls: "TlsSettings | None" = None
    mechanism: str = ""
    login: "JaasEntry | None" = field(default=None, repr=False)
    _context: "ssl.SSLContext | None" = field(default=None, repr=False)

    def context(self) -> "ssl.SSLContext | None":
        """Return the TLS context, created on first use; None: no TLS.

        Raises:
            ConfigError: A store cannot be used.
        """
        if self.tls is not None and self._context is None:
            from barnabas.wire.security.tls.contexts import client_context

            self._context = client_context(self.tls)
        return self._context

    def new_login(self, random_bytes: Callable[[int], bytes], now_ms: int) -> "SaslClient | None":
        """Return the client's side of one login; None: no login. Raises ConfigError."""
        if self.login is None:
            return None
        from barnabas.wire.security.sasl.client import new_client

        return new_client(self.mechanism, self.login, random_bytes, now_ms)


def trimmed(values: Mapping[str, str]) -> dict[str, str]:
    """Return a client's settings without white space around the values, which Kafka's clients ignore."""
    return {name: text.strip() for name, text in values.items()}


def is_security_setting(name: str) -> bool:
    """Return whether a client setting concerns connection security."""
    return name == "security.protocol" or name.startswith(_PREFIXES)


def client_security(values: Mapping[str, str]) -> ClientSecurity | None:
    """Build the security settings from a client's settings.

    Args:
        values: By Kafka's names; other settings are ignored.

    Returns:
        None: neither TLS nor a login.

    Raises:
        ConfigError: A setting is invalid; the error names it, and contains no secret.
    """
    protocol = values.get("security.protocol", PLAINTEXT).upper()
    if protocol not in PROTOCOLS:
        raise ConfigError(f"security.protocol={protocol} is not supported: use {', '.join(PROTOCOLS)}")
    if protocol == PLAINTEXT:
        return None
    security = ClientSecurity()
    if protocol.endswith("SSL"):
        from barnabas.wire.security.tls.settings import client_settings

        security.tls = client_settings(values)
    if protocol.startswith("SASL_"):
        _set_login(security, values)
    return security


def _set_login(security: ClientSecurity, values: Mapping[str, str]) -> None:
    from barnabas.wire.security.jaas import parse_jaas
    from barnabas.wire.security.sasl.mechanism import MECHANISMS

    mechanism = values.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        raise ConfigError(f"sasl.mechanism={mechanism} is not supported: use one of {', '.join(MECHANISMS)}")
    if "sasl.jaas.config" not in values:
        raise ConfigError("sasl.jaas.config is missing: it must contain the credentials")
    try:
        security.login = parse_jaas(values["sasl.jaas.config"], mechanism)
    except ConfigError as error:
        raise ConfigError(f"sasl.jaas.config: {error}") from None
    security.mechanism = mechanism
