"""Runs a page: sockets, server, and graceful shutdown.

A connection without a request is closed after ten seconds. Above the limit of connections, the address with the most
loses its longest idle one, so one address cannot exclude others.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from barnabas.core.errors import ConfigError
from barnabas.core.listening import listening_socket
from barnabas.core.process import has_started
from barnabas.page.app import Page
from barnabas.page.authentication.request_checks import forwarded_address
from barnabas.page.authentication.shares import first_to_go, share_of
from barnabas.page.settings import Settings

_MOST_CONNECTIONS: Final = 500
_MOST_HEADER_BYTES: Final = 16_384
_IDLE_S: Final = 10
_STOPS_WITHIN_S: Final = 2


class _Protocol(H11Protocol):
    """HTTP/1.1 with a limit on idle time and on the number of connections.

    Attributes:
        trusted_proxy: The address of the proxy whose X-Forwarded-For contains the client's address.
    """

    trusted_proxy: str | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self._idle_since_s = self.loop.time()
        self._unsent = 0
        self._make_room()
        self._idle = self.loop.call_later(_IDLE_S, self._close_if_idle, None)

    def connection_lost(self, exc: Exception | None) -> None:
        # Otherwise the timer would keep the received bytes in memory until it fires.
        self._idle.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._idle_since_s = self.loop.time()
        super().on_response_complete()

    @property
    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _owner(self) -> str:
        address = self._peer
        if address == self.trusted_proxy:
            named = [value.decode("latin-1") for name, value in self.headers or () if name == b"x-forwarded-for"]
            address = forwarded_address(address, named)
        return share_of(address)

    def _make_room(self) -> None:
        others = [
            each
            for each in self.connections
            if isinstance(each, _Protocol) and each is not self and not each.transport.is_closing()
        ]
        if len(others) >= _MOST_CONNECTIONS:
            others.sort(key=lambda each: (each._is_busy, each._idle_since_s))
            first_to_go({each: each._owner for each in others}, self._owner).transport.abort()

    def _close_if_idle(self, last: object) -> None:
        """Close the connection if no complete request arrived since the last check."""
        cycle, unsent = self.cycle, self.transport.get_write_buffer_size()
        if not self._is_busy and cycle is last:
            if self.transport.is_closing() and unsent == self._unsent:
                # The client does not read the rest of its response.
                self.transport.abort()
                return
            self.transport.close()
        self._unsent = unsent
        self._idle = self.loop.call_later(_IDLE_S, self._close_if_idle, cycle)


class _Server(uvicorn.Server):
    """A server that does not handle signals; its caller does."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(settings: Settings, stopped: asyncio.Event, say: Callable[[str], None]) -> None:
    """Serve a page until it is stopped.

    Args:
        settings: Checked settings.
        stopped: Set it to stop the page.
        say: Called with one line for each address, once browsers can connect.

    Raises:
        ConfigError: An address cannot be listened on, or the certificate cannot be used.
    """

    class Protocol(_Protocol):
        trusted_proxy = settings.trusted_proxy

    page = Page(settings)
    has_started()
    certificate, key = settings.tls or (None, None)
    config = uvicorn.Config(
        page.app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        # Limit of running requests, including requests of connections that were just closed.
        limit_concurrency=2 * _MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_STOPS_WITHIN_S,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except OSError as error:
        # TLS errors about files are OSErrors, too.
        raise ConfigError(f"--tls-certificate {certificate}, --tls-key {key}: {error}") from None
    sockets = _listen(settings)
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets))
    try:
        for each in sockets:
            host, port = each.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            say(f"{'https' if settings.tls else 'http'}://{shown}:{port}{settings.root_path}/")
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
    finally:
        page.stop()
        server.should_exit = True
        await serving
        await page.close()


def _listen(settings: Settings) -> list[socket.socket]:
    found: list[socket.socket] = []
    try:
        for host, port in settings.listeners:
            found.append(listening_socket(host, port))
    except OSError as error:
        for each in found:
            each.close()
        raise ConfigError(f"--listeners {host}:{port}: {os.strerror(error.errno) if error.errno else error}") from None
    return found
