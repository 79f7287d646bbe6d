"""Options of a connection to a ZooKeeper ensemble.

Source: Kafka 2.7.2, zookeeper.* of the broker's settings.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


@dataclass(slots=True, frozen=True)
class ZooKeeperLogin:
    """The credentials of a DIGEST-MD5 login.

    Attributes:
        randbytes: Random bytes.
    """

    username: str
    password: str = field(repr=False)
    randbytes: Callable[[int], bytes] = field(repr=False)


@dataclass(slots=True, frozen=True)
class ZooKeeperTls:
    """TLS to a server.

    Attributes:
        keystore: PEM file with the client's key and certificate; None: no client certificate.
        keystore_password: Password of the key.
        truststore: PEM file with the trusted certificates; None: the system's.
        protocols: The permitted TLS versions, by Java's names.
        ciphers: By OpenSSL's names; empty: OpenSSL's defaults.
        checks_host: Verify that the certificate matches the host name.
        context: A ready context, if the stores were read already; it overrides the other fields.
    """

    keystore: str | None = None
    keystore_password: str | None = field(default=None, repr=False)
    truststore: str | None = None
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: tuple[str, ...] = ()
    checks_host: bool = True
    context: "ssl.SSLContext | None" = field(default=None, repr=False)


@dataclass(slots=True, frozen=True)
class ZooKeeperOptions:
    """The options of a session.

    Attributes:
        connect: As zookeeper.connect: `host:port,host:port/chroot`.
        session_timeout_ms: zookeeper.session.timeout.ms; also the timeout of requests.
        connection_timeout_ms: zookeeper.connection.timeout.ms: time limit of the first connection.
        most_in_flight: zookeeper.max.in.flight.requests.
        sets_acl: zookeeper.set.acl: only its creator may change a node (`wire/registry/access.py`).
        login: None: no login.
        tls: None: no TLS.
        digest: user:password of ZooKeeper's scheme digest; None: not used.
    """

    connect: str
    session_timeout_ms: int = 10_000
    connection_timeout_ms: int = 10_000
    most_in_flight: int = 10
    sets_acl: bool = False
    login: ZooKeeperLogin | None = None
    tls: ZooKeeperTls | None = None
    digest: str | None = field(default=None, repr=False)
