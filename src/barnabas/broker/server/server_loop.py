"""The event loop of a broker's or registry's process: signals, orderly stop.

It imports no broker modules: a standalone registry starts without them.

Source: operations, start and stop.
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Coroutine, Mapping

from barnabas.broker.server.process_resources import raise_open_file_limit

log = logging.getLogger(__name__)


def run_on_loop(serve: Coroutine[object, object, None]) -> None:
    """Run a server on an event loop of its own, to its end."""
    raise_open_file_limit()
    loop = _new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(serve)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        log.warning("uvloop is not installed: using asyncio's event loop, which needs more CPU")
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class StopRequest:
    """Waits for SIGTERM, SIGINT, or a request to stop from this process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._reason: asyncio.Future[str] = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self, number.name)

    def __call__(self, reason: str) -> None:
        """Request the stop."""
        if not self._reason.done():
            self._reason.set_result(reason)

    async def wait(self) -> None:
        """Wait until a stop is requested."""
        log.info("stopping: %s", await self._reason)


def write_ready(ready_fd: int, line: Mapping[str, object]) -> None:
    """Notify the parent process that clients can connect."""
    os.write(ready_fd, json.dumps(line).encode() + b"\n")
    os.close(ready_fd)
