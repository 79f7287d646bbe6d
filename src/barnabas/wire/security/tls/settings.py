"""Kafka's `ssl.*` settings of one side of TLS: a listener, the links between brokers, or a client.

Source: security page, encryption and authentication using SSL; broker, producer, consumer and admin configs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from barnabas.core.config.settings import split_list
from barnabas.core.errors import ConfigError
from barnabas.wire.security.tls.stores import JKS

CLIENT_AUTH = ("none", "requested", "required")
PROTOCOLS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
DEFAULT_PROTOCOLS = ("TLSv1.2", "TLSv1.3")

# The settings of a client, and whether each is a password.
CLIENT_SETTINGS = (
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "barnabas.ssl.crl.location",
)


@dataclass(slots=True, frozen=True)
class TlsSettings:
    """The settings of one side of TLS. Passwords and keys are in no repr.

    Attributes:
        client_auth: Of a server: none, requested or required.
        checks_host: Of a client: the certificate must be for the host that was dialled.
        crl_location: The file of revoked certificates; empty: not checked.
    """

    keystore_location: str = ""
    keystore_type: str = JKS
    keystore_password: str | None = field(default=None, repr=False)
    keystore_key: str = field(default="", repr=False)
    keystore_chain: str = field(default="", repr=False)
    key_password: str | None = field(default=None, repr=False)
    truststore_location: str = ""
    truststore_type: str = JKS
    truststore_password: str | None = field(default=None, repr=False)
    truststore_certificates: str = field(default="", repr=False)
    protocols: tuple[str, ...] = DEFAULT_PROTOCOLS
    cipher_suites: tuple[str, ...] = ()
    client_auth: str = "none"
    checks_host: bool = True
    crl_location: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that the settings name; after a replacement of one of them they are read again."""
        places = (self.keystore_location, self.truststore_location, self.crl_location)
        return tuple(place for place in places if place)


def read_settings(text: Callable[[str], str | None]) -> TlsSettings:
    """Build the settings.

    Args:
        text: Returns the value of a setting, by Kafka's name; None: not set.

    Raises:
        ConfigError: A setting is invalid or contradicts another; the error names it.
    """

    def of(name: str, default: str = "") -> str:
        found = text(name)
        return default if found is None else found

    protocols = tuple(split_list(of("ssl.enabled.protocols"))) or DEFAULT_PROTOCOLS
    for protocol in protocols:
        if protocol not in PROTOCOLS:
            raise ConfigError(f"ssl.enabled.protocols: {protocol} is not supported: use {', '.join(PROTOCOLS)}")
    algorithm = of("ssl.endpoint.identification.algorithm", "https").lower()
    if algorithm not in ("", "https"):
        raise ConfigError(f"ssl.endpoint.identification.algorithm={algorithm} is not supported: use https, or nothing")
    settings = TlsSettings(
        of("ssl.keystore.location"),
        of("ssl.keystore.type", JKS),
        text("ssl.keystore.password"),
        of("ssl.keystore.key"),
        of("ssl.keystore.certificate.chain"),
        text("ssl.key.password"),
        of("ssl.truststore.location"),
        of("ssl.truststore.type", JKS),
        text("ssl.truststore.password"),
        of("ssl.truststore.certificates"),
        protocols,
        tuple(split_list(of("ssl.cipher.suites"))),
        of("ssl.client.auth", "none"),
        algorithm == "https",
        of("barnabas.ssl.crl.location"),
    )
    _check(settings)
    return settings


def client_settings(values: Mapping[str, str]) -> TlsSettings:
    """Return a client's settings from its file. Raises ConfigError."""
    return read_settings(values.get)


def _check(settings: TlsSettings) -> None:
    """Check the settings, with Kafka's error texts. Raises ConfigError."""
    is_pem = settings.keystore_type.upper() == "PEM"
    if settings.keystore_key:
        if not is_pem:
            raise ConfigError("SSL private key can be specified only for PEM, but key store type is JKS.")
        if settings.keystore_location:
            raise ConfigError("Both SSL key store location and separate private key are specified.")
        if not settings.keystore_chain:
            raise ConfigError("SSL private key is specified, but certificate chain is not specified.")
    elif settings.keystore_chain:
        raise ConfigError("SSL certificate chain is specified, but private key is not specified")
    if settings.truststore_certificates:
        if settings.truststore_type.upper() != "PEM":
            raise ConfigError("SSL trust store certs can be specified only for PEM, but trust store type is JKS.")
        if settings.truststore_location:
            raise ConfigError("Both SSL trust store location and separate trust certificates are specified.")
