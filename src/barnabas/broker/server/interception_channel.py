"""The broker's end of the socket through which the test kit that started it intercepts requests.

The kit sends the APIs that it watches before it starts the broker, so that it misses no request: that message is read
before anything else, and applied before the first request can be handled (`attach` is called in the turn of the event
loop in which the broker begins to accept connections).
"""

import asyncio
import socket
from collections.abc import Callable
from typing import cast

from barnabas.broker.requests.interception import Interceptor
from barnabas.broker.requests.interception_messages import Fields, Splitter, encode
from barnabas.broker.requests.table import RouteTable
from barnabas.broker.server.watchdog import NO_STALLS, Stalls
from barnabas.core.timers import Timers

_FIRST_READ_BYTES = 4096


class InterceptionChannel(asyncio.Protocol):
    """Exchanges messages between the kit and an `Interceptor`."""

    def __init__(self) -> None:
        self._splitter = Splitter()
        self._waiting: list[tuple[Fields, bytearray]] = []
        self._interceptor: Interceptor | None = None
        self._stalls_of_late: Callable[[], Stalls] = lambda: NO_STALLS
        self._transport: asyncio.WriteTransport | None = None

    @property
    def has_messages(self) -> bool:
        """Return whether a message arrived before `attach`."""
        return bool(self._waiting)

    def attach(self, routes: RouteTable, timers: Timers, stalls_of_late: Callable[[], Stalls]) -> None:
        """Process earlier and later messages of the kit.

        Args:
            stalls_of_late: Returns the event loop's longest stalls since its last call.
        """
        self._stalls_of_late = stalls_of_late
        interceptor = self._interceptor = Interceptor(routes, timers, self._send)
        for fields, body in self._waiting:
            self._obey(interceptor, fields, body)
        self._waiting.clear()

    def close(self) -> None:
        """Close the channel; requests that wait for the kit are then handled."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        for fields, body in self._splitter.feed(data):
            if self._interceptor is None:
                self._waiting.append((fields, body))
            else:
                self._obey(self._interceptor, fields, body)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._interceptor is not None:
            self._interceptor.close()

    def _obey(self, interceptor: Interceptor, fields: Fields, body: bytearray) -> None:
        if fields["op"] == "stalls":
            self._send({"op": "stalls", "id": fields["id"], "stalls": self._stalls_of_late()}, b"")
        else:
            interceptor.on_message(fields, body)

    def _send(self, fields: Fields, body: bytes | bytearray) -> None:
        if self._transport is not None:
            self._transport.write(encode(fields, body))


async def open_interception_channel(fd: int) -> InterceptionChannel:
    """Open the channel, and wait for the kit's first messages.

    Args:
        fd: A socket connected to the kit; the channel takes ownership.
    """
    channel = InterceptionChannel()
    kit = socket.socket(fileno=fd)
    kit.setblocking(True)
    while not channel.has_messages:
        data = kit.recv(_FIRST_READ_BYTES)
        if not data:
            break
        channel.data_received(data)
    await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=kit)
    return channel
