"""The web console beside a broker (`barnabas broker --page`): a process of its own, which ends with the broker.

It starts once clients can connect, and connects to the broker like any client: its failures do not affect the broker's
clients. If it exits it is restarted after 1 s. Each further delay is twice as long, up to a minute; after a run of a
minute the delay is 1 s again.

It uses a listener on which users log in with a password, so that each user's rights apply; otherwise a listener without
logins. It receives the settings of that listener through a pipe, but no login: it has no rights of its own.
"""

import asyncio
import logging
import os
import re
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from barnabas.core.clock import Clock
from barnabas.core.command_line import ENVIRONMENT
from barnabas.core.config import BrokerConfig, Endpoint
from barnabas.core.config.settings import format_value
from barnabas.core.errors import ConfigError
from barnabas.core.parent import child_command
from barnabas.core.peer_text import on_one_line

log = logging.getLogger(__name__)

_FIRST_WAIT_S: Final = 1
_LONGEST_WAIT_S: Final = 60
_ENDS_WITHIN_S: Final = 5
# Fits into a pipe before the other end reads.
_MOST_BYTES: Final = 60_000
_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_TRUST: Final = tuple(f"ssl.truststore.{each}" for each in ("location", "type", "password", "certificates"))
_ALL_INTERFACES: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
_ESCAPED: Final = re.compile(r"[^A-Za-z0-9/._-]")


class PagePlan(NamedTuple):
    """How a page is started.

    Attributes:
        endpoint: The listener to which it connects.
        properties: Its client settings, in the format of a properties file.
        options: The options of `barnabas page`, without the broker's address.
    """

    endpoint: Endpoint
    properties: str
    options: Sequence[str]


def plan_page(config: BrokerConfig, options: Sequence[str]) -> PagePlan:
    """Choose the page's listener.

    Args:
        options: More options of `barnabas page`.

    Raises:
        ConfigError: No listener is usable.
    """
    by_rank: dict[int, Endpoint] = {}
    for each in config.endpoints:
        rank = _rank(config, each)
        if rank is not None and each.listener_name != config.control_plane_listener_name:
            by_rank.setdefault(rank, each)
    if not by_rank:
        raise ConfigError("--page: there is no listener for it: users log in there by PLAIN or SCRAM, or not at all")
    rank = min(by_rank)
    endpoint = by_rank[rank]
    name, values = endpoint.listener_name, {"security.protocol": endpoint.security_protocol}
    mechanisms = _mechanisms(config, name)
    if rank == 0 and len(mechanisms) == 1:
        values["sasl.mechanism"] = mechanisms[0]
    if endpoint.security_protocol.endswith("SSL"):
        values |= {each: text for each in _TRUST if (text := _text(config, name, each)) is not None}
    properties = "".join(f"{each}={_ESCAPED.sub(_escape, text)}\n" for each, text in values.items())
    if len(properties) > _MOST_BYTES:
        raise ConfigError("--page: ssl.truststore.certificates is too long: name a file in ssl.truststore.location")
    return PagePlan(endpoint, properties, [*(["--login"] if rank == 0 else []), *options])


def _rank(config: BrokerConfig, endpoint: Endpoint) -> int | None:
    """Return a listener's rank for the page, 0 being the best; None: unusable."""
    match endpoint.security_protocol:
        case "PLAINTEXT":
            return 1
        case "SSL":
            return None if _text(config, endpoint.listener_name, "ssl.client.auth") == "required" else 2
    return 0 if _mechanisms(config, endpoint.listener_name) else None


def _mechanisms(config: BrokerConfig, name: str) -> list[str]:
    enabled = (_text(config, name, "sasl.enabled.mechanisms") or "").split(",")
    return [each for each in _MECHANISMS if each in enabled]


def _text(config: BrokerConfig, listener_name: str, name: str) -> str | None:
    own = format_value(config.of_listener(listener_name, name))
    return config.text(name) if own is None else own


def _escape(character: re.Match[str]) -> str:
    data = character[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[each : each + 2].hex()}" for each in range(0, len(data), 2))


def server_of(plan: PagePlan, config: BrokerConfig, bound: tuple[str, int]) -> str:
    """Return the broker's address for the web console; with TLS the name in its certificate."""
    host, port = bound
    if plan.endpoint.security_protocol.endswith("SSL"):
        names = [each.host for each in config.advertised_endpoints if each.listener_name == plan.endpoint.listener_name]
        host = "".join(names[:1]) or host
    host = _ALL_INTERFACES.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class PageProcess:
    """Keeps a page running, from its construction until `end`. Owned by the event loop."""

    def __init__(self, plan: PagePlan, server: str, clock: Clock) -> None:
        """Args:
        server: The broker's address, `host:port`.
        """
        self._plan = plan
        self._server = server
        self._clock = clock
        self._keeping = asyncio.get_running_loop().create_task(self._keep())

    def end(self) -> None:
        """Begin to stop the process; `wait` returns when it has ended."""
        self._keeping.cancel()

    async def wait(self) -> None:
        """Wait until it has ended."""
        await asyncio.wait([self._keeping])

    async def _keep(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            begin_ms = self._clock.monotonic_ms()
            try:
                how = f"ended with {await self._run()}"
            except OSError as error:
                how = f"cannot start: {error.strerror}"
            if self._clock.monotonic_ms() - begin_ms >= _LONGEST_WAIT_S * 1_000:
                wait_s = _FIRST_WAIT_S
            log.warning("the web console %s; restarting it in %d s", how, wait_s)
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _run(self) -> int:
        """Run the process to its end; return its exit status."""
        process, loop = self._start(), asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()
        # Not in an executor: Python joins its threads at exit, but this thread waits for the page, which ends later.
        threading.Thread(target=_follow, args=(process, loop, ended), name="page", daemon=True).start()
        try:
            return await asyncio.shield(ended)
        finally:
            process.terminate()
            await asyncio.wait([ended], timeout=_ENDS_WITHIN_S)
            process.kill()
            await asyncio.wait([ended])

    def _start(self) -> subprocess.Popen[bytes]:
        read_fd, write_fd = os.pipe()
        try:
            os.write(write_fd, self._plan.properties.encode("ascii"))
            os.close(write_fd)
            # Variables, not options: --page-options may name others.
            settings = {ENVIRONMENT["--bootstrap-server"]: self._server}
            settings[ENVIRONMENT["--command-config"]] = f"/dev/fd/{read_fd}"
            # On the loop's thread, because the child ends with the thread that starts it. By `subprocess`, which copies
            # no page tables: with 600 MB the loop is blocked for 5 to 30 ms, with uvloop for 150 ms.
            return subprocess.Popen(
                child_command("barnabas.cli.main", ["page", *self._plan.options]),
                env=os.environ | settings,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(read_fd,),
                # A terminal's signals reach only the broker, which then stops the page.
                start_new_session=True,
            )
        finally:
            os.close(read_fd)


def _follow(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: asyncio.Future[int]) -> None:
    """Copy the console's output to the log, wait for its end and report it; in a thread of its own."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            log.info("%s", on_one_line(line.decode(errors="replace").rstrip("\n"), 1_000))
    status = process.wait()
    # The loop may be closed already.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set_result, status)
