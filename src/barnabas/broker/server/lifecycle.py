"""From a configuration to a running broker and back: event loop, signals, orderly stop.

Source: design page, section 2; operations, start and stop.
"""

import asyncio
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.server.environment import machine_environment
from barnabas.broker.server.node import Node
from barnabas.broker.server.open_files import raise_open_file_limit
from barnabas.core.config import BrokerConfig

if TYPE_CHECKING:
    from barnabas.broker.server.control import ControlChannel

log = logging.getLogger(__name__)

# Requests make many small objects without cycles: the default of 700 would look for cycles many times a second.
# What is looked at in one go stays small: a large request makes hundreds of thousands at once, and so do thousands of
# connections that say something at once; a look at 30,000 takes 15 ms.
_COLLECTOR_THRESHOLDS = (5_000, 2, 1_000)
# How long the loop waits for a thread that computes (compaction, conversion, large requests), each time that it comes
# back from a system call: with the default of 5 ms clients notice (benchmarks/load, neighbour).
_SWITCH_INTERVAL_S = 0.0002


def run(config: BrokerConfig, ready_fd: int | None = None, control_fd: int | None = None) -> None:
    """Run a broker until SIGTERM or SIGINT.

    Args:
        ready_fd: Gets one line of JSON once clients can connect, and is then closed.
        control_fd: A socket by which the test kit intercepts requests; see `control.py`.

    Raises:
        BarnabasError: The broker can't start, or can't go on.
    """
    run_on_loop(_serve(config, ready_fd, control_fd))


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
        log.warning("uvloop is not installed: running on asyncio's own loop, which costs more CPU")
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class StopRequest:
    """Waits for SIGTERM, SIGINT, or somebody in this process who wants it to stop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._reason: asyncio.Future[str] = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self, number.name)

    def __call__(self, reason: str) -> None:
        """Ask for the stop."""
        if not self._reason.done():
            self._reason.set_result(reason)

    async def wait(self) -> None:
        """Return when it was asked for."""
        log.info("stopping: %s", await self._reason)


def has_started() -> None:
    """Let the collector in again, and threads that compute: what was made up to now stays."""
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    gc.enable()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


def write_ready(ready_fd: int, line: Mapping[str, object]) -> None:
    """Tell whoever started this process that clients can connect."""
    os.write(ready_fd, json.dumps(line).encode() + b"\n")
    os.close(ready_fd)


async def _serve(config: BrokerConfig, ready_fd: int | None, control_fd: int | None) -> None:
    loop = asyncio.get_running_loop()
    stop = StopRequest(loop)
    env = machine_environment(loop)
    node = Node(env, config, stop)
    control = None if control_fd is None else await _open_control(control_fd)
    try:
        await node.start()
        if control is not None and node.routes is not None:
            control.attach(node.routes, env.timers, node.watchdog.stalls_of_late)
        _announce(node, ready_fd)
        has_started()
        await stop.wait()
    finally:
        if control is not None:
            control.close()
        await node.stop()
    if node.failure is not None:
        raise node.failure


async def _open_control(control_fd: int) -> "ControlChannel":
    # Not at the top: a broker that no test kit started does without it.
    from barnabas.broker.server.control import open_control_channel

    return await open_control_channel(control_fd)


def _announce(node: Node, ready_fd: int | None) -> None:
    host, port = node.address
    print(
        f"barnabas broker {node.broker_id} listens on {host}:{port}, cluster {node.cluster_id}, "
        f"data in {', '.join(node.config.log_dirs)}",
        flush=True,
    )
    if ready_fd is not None:
        line: dict[str, object] = {
            "host": host,
            "port": port,
            "cluster_id": node.cluster_id,
            "broker_id": node.broker_id,
        }
        if node.observation is not None:
            line["http"] = [f"{host}:{port}" for host, port in node.observation.addresses]
        write_ready(ready_fd, line)
