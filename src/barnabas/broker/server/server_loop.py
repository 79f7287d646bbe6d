"""The event loop of a broker's or registry's process: signals, orderly stop.

It imports no broker modules: a standalone registry starts without them.

Source: operations, start and stop.
"""

import asyncio
import json
import logging
import os
from collections.abc import Callable, Coroutine, Mapping

from barnabas.broker.server.process_resources import raise_open_file_limit
from barnabas.core.process import stop_signals

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
    """Waits for a signal that stops the process, or a request to stop from this process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._reason: asyncio.Future[str] = loop.create_future()
        for number in stop_signals():
            loop.add_signal_handler(number, self, number.name)

    def __call__(self, reason: str) -> None:
        """Request the stop."""
        if not self._reason.done():
            self._reason.set_result(reason)

    async def is_before_end_of(
        self, start: Coroutine[object, object, None], on_stop: Callable[[], object] = lambda: None
    ) -> bool:
        """Run a start; cancel it and return True if a stop is requested before its end.

        Args:
            start: The start.
            on_stop: Called before the start is cancelled.

        Raises:
            BarnabasError: The start failed.
        """
        starting = asyncio.ensure_future(start)
        await asyncio.wait((starting, self._reason), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            return False
        log.info("stopping during the start: %s", self._reason.result())
        on_stop()
        starting.cancel()
        await asyncio.wait((starting,))
        if not starting.cancelled():
            starting.result()
        return True

    async def wait(self) -> None:
        """Wait until a stop is requested."""
        log.info("stopping: %s", await self._reason)


def exit_at_once() -> None:
    """Exit with code 0 without an orderly stop and without waiting for threads."""
    os._exit(0)


def write_ready(ready_fd: int, line: Mapping[str, object]) -> None:
    """Notify the parent process that clients can connect."""
    os.write(ready_fd, json.dumps(line).encode() + b"\n")
    os.close(ready_fd)
