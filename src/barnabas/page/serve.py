"""Run a page: sockets, the server, and an end in good order.

A connection on which no request comes is closed after ten seconds, so that those who only hold one keep nobody out.
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
from barnabas.core.process_start import has_started
from barnabas.page.app import Page
from barnabas.page.settings import Settings

_MOST_CONNECTIONS: Final = 500
_MOST_HEADER_BYTES: Final = 16_384
_IDLE_S: Final = 10
_STOPS_WITHIN_S: Final = 2


class _Protocol(H11Protocol):
    """HTTP, for those who ask."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._idle = self.loop.call_later(_IDLE_S, self._close_if_idle, None)

    def connection_lost(self, exc: Exception | None) -> None:
        # Else what it sent would be kept until then.
        self._idle.cancel()
        super().connection_lost(exc)

    def _close_if_idle(self, last: object) -> None:
        """Close it where no request came, whole, since it was looked at last."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if (cycle is None or cycle.response_complete) and cycle is last:
            self.transport.close()
            return
        self._idle = self.loop.call_later(_IDLE_S, self._close_if_idle, cycle)


class _Server(uvicorn.Server):
    """Leaves signals to who runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(settings: Settings, stopped: asyncio.Event, say: Callable[[str], None]) -> None:
    """Serve a page until it is stopped.

    Args:
        settings: They were checked.
        stopped: Set to end it.
        say: Told one line for each address, once it can be opened.

    Raises:
        ConfigError: An address can't be listened on, or the certificate can't be used.
    """
    page = Page(settings)
    has_started()
    certificate, key = settings.tls or (None, None)
    config = uvicorn.Config(
        page.app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_STOPS_WITHIN_S,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except OSError as error:
        # What TLS says of files is an OSError, too.
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
