"""Opens the session with ZooKeeper from a broker's settings.

The login to ZooKeeper is in section `Client` of a JAAS file, as for Kafka:

    Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="kafka" password="..."; };

Source: Kafka 2.7.2, zookeeper.* of the broker's settings, KafkaServer.initZkClient; JaasUtils.
"""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.broker.server.jaas_settings import FILE_SETTING, file_sections
from barnabas.clients.zookeeper.options import ZooKeeperLogin, ZooKeeperOptions, ZooKeeperTls
from barnabas.clients.zookeeper.settings import STORE_TYPES, TLS_SETTINGS, tls_context
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import Registry

if TYPE_CHECKING:
    from random import Random

log = logging.getLogger(__name__)
_DIGEST_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
_SECTION = "Client"
_TLS_SOCKET = "org.apache.zookeeper.ClientCnxnSocketNetty"
_VERSIONS = ("TLSv1.2", "TLSv1.3")


def zookeeper_options(config: BrokerConfig, dice: "Random") -> ZooKeeperOptions:
    """Return the options of the connection to the ensemble, from the settings.

    Args:
        dice: For the login.

    Raises:
        ConfigError: The settings contradict each other, or name an unreadable file.
    """
    connect, timeout_ms = config.zookeeper_connect, config.zookeeper_connection_timeout_ms
    assert connect is not None
    if config.zookeeper_session_timeout_ms <= 0:
        raise ConfigError("zookeeper.session.timeout.ms: must be at least 1")
    login, tls = _login(config, dice), _tls(config)
    digest = config.barnabas_zookeeper_digest
    if digest is not None and not digest.partition(":")[2]:
        raise ConfigError("barnabas.zookeeper.digest: must be user:password")
    if config.zookeeper_set_acl and login is None and digest is None and (tls is None or tls.keystore is None):
        raise ConfigError(
            "zookeeper.set.acl=true: nobody logs in to ZooKeeper: set barnabas.jaas.config.file to a JAAS file with a "
            "section Client, or barnabas.zookeeper.digest, or zookeeper.ssl.client.enable, zookeeper.clientCnxnSocket "
            "and zookeeper.ssl.keystore.location"
        )
    return ZooKeeperOptions(
        connect,
        config.zookeeper_session_timeout_ms,
        config.zookeeper_session_timeout_ms if timeout_ms is None else timeout_ms,
        config.zookeeper_max_in_flight_requests,
        config.zookeeper_set_acl,
        login,
        tls,
        digest,
    )


async def open_zookeeper(options: ZooKeeperOptions) -> Registry:
    """Begin a session, and create the chroot if it is missing.

    Raises:
        StartupError: No server answers, or the login is refused.
        RegistryError: The chroot cannot be created.
    """
    # Imported here, because kazoo is large.
    from barnabas.clients.zookeeper.registry import ZooKeeperRegistry

    if options.tls is not None:
        from barnabas.clients.zookeeper.tls import new_context

        # Report invalid files here, because kazoo would retry for ever.
        if options.tls.context is None:
            new_context(options.tls)
    registry = await ZooKeeperRegistry.open(options)
    try:
        await registry.create_chroot()
        if options.sets_acl and await registry.is_open(paths.ROOT):
            log.warning(
                "zookeeper.set.acl=true: everyone can create and delete nodes such as /controller at the root of %s, "
                "as in Kafka: add a chroot that does not exist yet to zookeeper.connect, run "
                "zookeeper-security-migration.sh, or set barnabas.registry.super.users on `barnabas registry serve`",
                options.connect,
            )
    except BaseException:
        await registry.close()
        raise
    return registry


def _login(config: BrokerConfig, dice: "Random") -> ZooKeeperLogin | None:
    name, path, sections = FILE_SETTING, config.barnabas_jaas_config_file, file_sections(config)
    entries = sections.get(_SECTION)
    if not entries:
        return None
    module, options = entries[0].module, entries[0].options
    if module != _DIGEST_MODULE:
        # differs from Kafka (zookeeper-kerberos): Kafka can also log in by Kerberos.
        raise ConfigError(f"{name}={path}: section {_SECTION}: only {_DIGEST_MODULE} is supported, not {module}")
    if "username" not in options or "password" not in options:
        raise ConfigError(f"{name}={path}: section {_SECTION} needs a username and a password")
    return ZooKeeperLogin(options["username"], options["password"], dice.randbytes)


def _tls(config: BrokerConfig) -> ZooKeeperTls | None:
    if not config.zookeeper_ssl_client_enable:
        return None
    if config.zookeeper_clientcnxnsocket != _TLS_SOCKET:
        raise ConfigError(f"zookeeper.ssl.client.enable=true: set zookeeper.clientCnxnSocket={_TLS_SOCKET}")
    if config.zookeeper_ssl_crl_enable or config.zookeeper_ssl_ocsp_enable:
        raise ConfigError("zookeeper.ssl.crl.enable, zookeeper.ssl.ocsp.enable: are not implemented: remove them")
    protocols = tuple(config.zookeeper_ssl_enabled_protocols or [config.zookeeper_ssl_protocol])
    if unknown := [each for each in protocols if each not in _VERSIONS]:
        raise ConfigError(f"zookeeper.ssl.enabled.protocols: {unknown[0]} is none of {', '.join(_VERSIONS)}")
    stores = (
        _is_pkcs12("keystore", config.zookeeper_ssl_keystore_location, config.zookeeper_ssl_keystore_type),
        _is_pkcs12("truststore", config.zookeeper_ssl_truststore_location, config.zookeeper_ssl_truststore_type),
    )
    tls = ZooKeeperTls(
        config.zookeeper_ssl_keystore_location,
        config.zookeeper_ssl_keystore_password,
        config.zookeeper_ssl_truststore_location,
        protocols,
        tuple(config.zookeeper_ssl_cipher_suites or ()),
        config.zookeeper_ssl_endpoint_identification_algorithm.upper() == "HTTPS",
    )
    if not any(stores):
        return tls
    values = {name: text for name in TLS_SETTINGS if (text := config.text(name)) is not None}
    return replace(tls, context=tls_context(values))


def _is_pkcs12(store: str, location: str | None, kind: str | None) -> bool:
    if location is None:
        return False
    found = kind.upper() if kind else STORE_TYPES.get(location.rpartition(".")[2].lower())
    if found not in STORE_TYPES.values():
        # differs from Kafka (zookeeper-keystores): Kafka also reads JKS.
        raise ConfigError(
            f"zookeeper.ssl.{store}.location={location}: only PEM and PKCS12 are read for ZooKeeper; "
            "`keytool -importkeystore -srckeystore FILE -destkeystore FILE.p12 -deststoretype pkcs12` makes it from JKS"
        )
    return found == "PKCS12"
