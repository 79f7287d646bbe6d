"""Runs a broker from its start to its stop.

Source: design page, section 2; operations, start and stop.
"""

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.server.environment import Environment, machine_environment
from barnabas.broker.server.node import Node
from barnabas.broker.server.server_loop import StopRequest, exit_at_once, run_on_loop, write_ready
from barnabas.core.config import BrokerConfig
from barnabas.core.process import has_started, print_status

if TYPE_CHECKING:
    from barnabas.broker.server.interception_channel import InterceptionChannel
    from barnabas.broker.server.page_process import PageProcess


def run(
    config: BrokerConfig,
    ready_fd: int | None = None,
    control_fd: int | None = None,
    page_options: Sequence[str] | None = None,
) -> None:
    """Run a broker until a signal stops it.

    Args:
        ready_fd: Receives one line of JSON once clients can connect, and is then closed.
        control_fd: A socket through which the test kit intercepts requests; see `interception_channel.py`.
        page_options: Options of the web console to run beside the broker; None: no web console.

    Raises:
        BarnabasError: The broker cannot start or continue.
    """
    run_on_loop(_serve(config, ready_fd, control_fd, page_options))


def problems_of_a_start(config: BrokerConfig) -> list[str]:
    """Return the errors of a start for settings that are valid by themselves; see `settings_check.py`."""
    # Imported here, because a start does not need it.
    from barnabas.broker.server import settings_check

    found: list[str] = []

    async def look() -> None:
        env = machine_environment(asyncio.get_running_loop())
        found.extend(settings_check.problems_of_a_start(config, env))

    run_on_loop(look())
    return found


async def _serve(
    config: BrokerConfig, ready_fd: int | None, control_fd: int | None, page_options: Sequence[str] | None
) -> None:
    loop = asyncio.get_running_loop()
    stop = StopRequest(loop)
    env = machine_environment(loop)
    node = Node(env, config, stop)
    control = None if control_fd is None else await _open_control(control_fd)
    page: PageProcess | None = None
    try:
        if not await stop.is_before_end_of(node.start(), lambda: _exit_during_recovery(node)):
            if control is not None and node.routes is not None:
                control.attach(node.routes, env.timers, node.watchdog.stalls_of_late)
            _announce(node, ready_fd)
            has_started()
            if page_options is not None:
                page = _start_page(node, env, page_options)
            await stop.wait()
    finally:
        if page is not None:
            page.end()
        if control is not None:
            control.close()
        await node.stop()
        if page is not None:
            await page.wait()
    if node.failure is not None:
        raise node.failure


def _exit_during_recovery(node: Node) -> None:
    """Exit as after a kill if the logs are being recovered: threads cannot be cancelled, and may need minutes.

    No marker of a clean shutdown is written, so the next start recovers the logs. Kafka exits here, too.
    """
    if node.is_recovering and node.failure is None:
        exit_at_once()


async def _open_control(control_fd: int) -> "InterceptionChannel":
    # Imported here, because only a broker of a test kit needs it.
    from barnabas.broker.server.interception_channel import open_interception_channel

    return await open_interception_channel(control_fd)


def _start_page(node: Node, env: Environment, options: Sequence[str]) -> "PageProcess":
    # Imported here, because a broker without a web console does not need it.
    from barnabas.broker.server.page_process import PageProcess, plan_page, server_of

    plan = plan_page(node.config, options)
    return PageProcess(plan, server_of(plan, node.config, node.address_of(plan.endpoint.listener_name)), env.clock)


def _announce(node: Node, ready_fd: int | None) -> None:
    host, port = node.address
    print_status(
        f"barnabas broker {node.broker_id} listens on {host}:{port}, cluster {node.cluster_id}, "
        f"data in {', '.join(node.config.log_dirs)}",
        sys.stdout,
    )
    if ready_fd is not None:
        line: dict[str, object] = {
            "host": host,
            "port": port,
            "cluster_id": node.cluster_id,
            "broker_id": node.broker_id,
        }
        if node.http_monitoring is not None:
            line["http"] = [f"{host}:{port}" for host, port in node.http_monitoring.addresses]
        write_ready(ready_fd, line)
