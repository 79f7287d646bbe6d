"""The outside world of a client: connections, the time of day, random numbers.

Durations use the event loop's time, so a loop with virtual time controls them too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from barnabas.core.clock import Clock, SystemClock
from barnabas.core.dice import system_dice

if TYPE_CHECKING:
    import ssl
    from random import Random

_READ_AHEAD_BYTES = 1 << 20

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def dial_tls(host: str, port: int, context: "ssl.SSLContext") -> Streams:
    """Connect over the system's network with TLS. Raises OSError."""
    return await asyncio.open_connection(host, port, limit=_READ_AHEAD_BYTES, ssl=context)


@dataclass(slots=True)
class ClientEnvironment:
    """The environment of clients.

    Attributes:
        clock: Clock for timestamps of records and the age of cached metadata.
        dice: Random numbers, for the partition of records without a key.
        dial: Opens a connection to a host and port; raises OSError.
        dial_tls: The same, with TLS.
        elsewhere: Runs a slow function in a thread; None: everything runs on the event loop.
    """

    clock: Clock
    dice: "Random"
    dial: Callable[[str, int], Awaitable[Streams]]
    dial_tls: "Callable[[str, int, ssl.SSLContext], Awaitable[Streams]]" = dial_tls
    elsewhere: Callable[[Callable[[], Any]], Awaitable[Any]] | None = None


async def dial(host: str, port: int) -> Streams:
    """Connect over the system's network. Raises OSError."""
    return await asyncio.open_connection(host, port, limit=_READ_AHEAD_BYTES)


def machine_environment() -> ClientEnvironment:
    """Return the environment of this system."""
    return ClientEnvironment(SystemClock(), system_dice(), dial, elsewhere=asyncio.to_thread)
