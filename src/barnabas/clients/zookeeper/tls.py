"""TLS connections to a ZooKeeper server, for kazoo.

kazoo's own TLS trusts the system's certificates besides the configured ones, and accepts any version of TLS.

Source: Kafka 2.7.2, zookeeper.ssl.* of the broker's settings.
"""

import socket
import ssl
from typing import Final

from barnabas.clients.zookeeper.options import ZooKeeperTls
from barnabas.core.errors import StartupError

VERSIONS: Final = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


def new_context(tls: ZooKeeperTls) -> ssl.SSLContext:
    """Create a connection's TLS context.

    Raises:
        StartupError: A file cannot be read, or a cipher does not exist.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = sorted(VERSIONS[name] for name in tls.protocols)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    context.check_hostname = tls.checks_host
    what = ""
    try:
        if tls.ciphers:
            what = "zookeeper.ssl.cipher.suites"
            context.set_ciphers(":".join(tls.ciphers))
        what = "zookeeper.ssl.truststore.location"
        if tls.truststore is None:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        else:
            context.load_verify_locations(tls.truststore)
        if tls.keystore is not None:
            what = "zookeeper.ssl.keystore.location"
            # An empty password keeps OpenSSL from prompting at a terminal.
            context.load_cert_chain(tls.keystore, password=tls.keystore_password or "")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else "no PEM"
        raise StartupError(f"{what}: {reason}") from None
    return context


def connect_tls(tls: ZooKeeperTls, address: tuple[str, int], hostname: str | None, timeout_s: float) -> ssl.SSLSocket:
    """Connect and complete the TLS handshake. Blocks: for kazoo's thread.

    Raises:
        OSError: No server answers, or one side does not trust the other.
    """
    plain = socket.create_connection(address, timeout_s)
    try:
        return (tls.context or new_context(tls)).wrap_socket(plain, server_hostname=hostname or address[0])
    except BaseException:
        plain.close()
        raise
