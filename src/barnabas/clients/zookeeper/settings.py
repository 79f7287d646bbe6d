"""Security of a client's connection to ZooKeeper, or to a broker's registry: TLS and logins.

    zookeeper.ssl.*              Kafka's: truststore and own certificate
    barnabas.zookeeper.digest    user:password of ZooKeeper's scheme digest
    barnabas.zookeeper.sasl      user:password of SASL DIGEST-MD5, as Kafka's brokers log in

Invariant: no repr and no error contains a secret.

Source: Kafka 2.7.2, ZkSecurityMigratorUtils, zookeeper.* of --zk-tls-config-file; ZooKeeper programmer's guide.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from barnabas.clients.zookeeper.options import ZooKeeperLogin, ZooKeeperOptions, ZooKeeperTls
from barnabas.core.errors import ConfigError

if TYPE_CHECKING:
    import ssl
    from random import Random

ENABLE: Final = "zookeeper.ssl.client.enable"
DIGEST: Final = "barnabas.zookeeper.digest"
SASL: Final = "barnabas.zookeeper.sasl"
_TLS: Final = (
    *("ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type"),
    *("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type"),
    *("ssl.enabled.protocols", "ssl.cipher.suites", "ssl.endpoint.identification.algorithm"),
)
TLS_SETTINGS: Final = tuple(f"zookeeper.{name}" for name in _TLS)
ZOOKEEPER_SETTINGS: Final = (
    ENABLE,
    "zookeeper.clientCnxnSocket",
    *TLS_SETTINGS,
    DIGEST,
    SASL,
)
"""All settings that are read; zookeeper.clientCnxnSocket adds no information."""
STORE_TYPES: Final = {"pem": "PEM", "p12": "PKCS12", "pfx": "PKCS12"}
"""Types of stores by file name suffix, as in ZooKeeper if no type is set."""
_DEFAULT_TIMEOUT_MS = 10_000


def zookeeper_options(
    connect: str,
    values: Mapping[str, str],
    dice: "Random",
    session_timeout_ms: int = _DEFAULT_TIMEOUT_MS,
    connection_timeout_ms: int = _DEFAULT_TIMEOUT_MS,
) -> ZooKeeperOptions:
    """Build the connection options from a client's settings.

    Args:
        connect: As zookeeper.connect.
        values: By name; other settings are ignored.
        dice: For a login by SASL.

    Raises:
        ConfigError: A setting is invalid, or a store is unusable; the error names it, and contains no secret.
    """
    enable = values.get(ENABLE, "false").lower()
    if enable not in ("true", "false"):
        raise ConfigError(f"{ENABLE}: must be true or false")
    sasl = _user_and_password(values, SASL)
    login = None
    if sasl is not None:
        user, _, password = sasl.partition(":")
        login = ZooKeeperLogin(user, password, dice.randbytes)
    return ZooKeeperOptions(
        connect,
        session_timeout_ms,
        connection_timeout_ms,
        login=login,
        tls=ZooKeeperTls(context=tls_context(values)) if enable == "true" else None,
        digest=_user_and_password(values, DIGEST),
    )


def _user_and_password(values: Mapping[str, str], name: str) -> str | None:
    text = values.get(name)
    if text is not None and not text.partition(":")[2]:
        raise ConfigError(f"{name}: must be user:password")
    return text


def tls_context(values: Mapping[str, str]) -> "ssl.SSLContext":
    """Return the TLS context for zookeeper.ssl.*. Raises ConfigError."""
    # Imported here, because connections without TLS do not need it.
    from barnabas.wire.security.tls.contexts import client_context
    from barnabas.wire.security.tls.settings import read_settings

    def text(name: str) -> str | None:
        found = values.get(f"zookeeper.{name}")
        if found is None and name.endswith("store.type"):
            # As in ZooKeeper, the file name determines the type.
            location = values.get(f"zookeeper.{name.removesuffix('type')}location", "")
            return STORE_TYPES.get(location.rpartition(".")[2].lower())
        return found

    try:
        return client_context(read_settings(text))
    except ConfigError as error:
        raise ConfigError(f"{ENABLE}=true: {error}") from None
