"""kazoo's client, configured with back-off, TLS and a login.

kazoo works in threads of its own. It would use one thread for answers and one for watch events, so that they could
overtake each other. Here both go through one queue.

Source: ZooKeeper programmer's guide, sessions; Kafka 2.7.2, zookeeper.* of the broker's settings.
"""

import base64
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

# kazoo has no type information.
from kazoo.client import KazooClient  # type: ignore[import-untyped]
from kazoo.handlers.threading import SequentialThreadingHandler  # type: ignore[import-untyped]
from kazoo.protocol import connection as kazoo_connection  # type: ignore[import-untyped]

from barnabas.clients.zookeeper.digest_md5 import DigestError, DigestMd5
from barnabas.clients.zookeeper.options import ZooKeeperOptions, ZooKeeperTls
from barnabas.core.errors import StartupError

_LOG = logging.getLogger("barnabas.clients.zookeeper.kazoo")
# kazoo's default back-off of up to a minute would delay the reconnection to a restarted server.
_RECONNECTING = {"max_tries": -1, "delay": 0.05, "max_delay": 1.0}


def new_client(options: ZooKeeperOptions) -> Any:
    """Return a client that is not started.

    Raises:
        StartupError: The address is invalid.
    """
    handler = SequentialThreadingHandler()
    handler.dispatch_callback = lambda callback: handler.completion_queue.put(lambda: callback.func(*callback.args))
    if options.tls is not None:
        handler.create_connection = _tls_connector(options.tls)
    try:
        client = KazooClient(
            options.connect,
            timeout=options.session_timeout_ms / 1000,
            handler=handler,
            connection_retry=dict(_RECONNECTING),
            sasl_options=_sasl_options(options),
            auth_data=None if options.digest is None else [("digest", options.digest)],
            use_ssl=options.tls is not None,
            logger=_LOG,
        )
        # Raises UnicodeError (a ValueError) here, because kazoo would raise it in its own thread.
        for host, _ in client.hosts:
            host.encode("idna")
    except ValueError as error:
        raise StartupError(f"{options.connect} is not a ZooKeeper address (HOST:PORT,.../CHROOT): {error}") from None
    return client


def _sasl_options(options: ZooKeeperOptions) -> dict[str, object] | None:
    login = options.login
    if login is None:
        return None
    return {
        "mechanism": "DIGEST-MD5",
        "username": login.username,
        "password": login.password,
        "randbytes": login.randbytes,
    }


def _tls_connector(tls: ZooKeeperTls) -> Callable[..., Any]:
    # Not at the top, because it is needed only with TLS.
    from barnabas.clients.zookeeper.tls import connect_tls

    def connect(address: tuple[str, int], timeout: float, hostname: str | None = None, **_: object) -> Any:
        return connect_tls(tls, address, hostname, timeout)

    return connect


class _DigestClient:
    """DIGEST-MD5 with the interface of pure-sasl that kazoo uses."""

    def __init__(
        self, host: str, service: str, username: str, password: str, randbytes: Callable[[int], bytes], **_: object
    ) -> None:
        cnonce = base64.b64encode(randbytes(24)).decode()
        self._digest = DigestMd5(username, password, f"{service}/{host}", cnonce)

    @property
    def complete(self) -> bool:
        return self._digest.complete

    def process(self, challenge: bytes | None = None) -> bytes:
        return self._digest.answer(challenge)

    def dispose(self) -> None:
        return


# Replaces the library `puresasl`, which is not installed: kazoo gets ZooKeeper's mechanism for passwords.
kazoo_connection.puresasl = SimpleNamespace(
    client=SimpleNamespace(SASLClient=_DigestClient), SASLError=DigestError, SASLProtocolException=DigestError
)
kazoo_connection.PURESASL_AVAILABLE = True
