"""The doors of a broker: a real one, on real sockets, in this process and on this thread, so that coverage is seen.

Each input is a connection: its bytes are sent, the sending side is closed, and what is answered is read to its end. The
broker answers what it has received, drops what waits, and closes.
"""

import asyncio
import contextlib
import logging
import shutil
import socket
import struct
import tempfile
import time
from pathlib import Path

from barnabas.broker.server.environment import machine_environment
from barnabas.broker.server.node import Node
from barnabas.core.config import BrokerConfig
from barnabas.testing.certificates import Authority
from tests.patience import PATIENCE_S
from tools.kafka.server import free_port

LISTENERS = ("plain", "sasl", "tls", "http", "zookeeper")

_OURS = logging.getLogger("barnabas")

MOST_STALL_S = 0.25
"""So long one input may compute: instrumented code is some five times as slow, and the goal is 50 ms."""

# What inputs have made (topics, groups) goes with the broker after so many of them, and the broker is seen to stop.
_INPUTS_OF_A_BROKER = 20_000
_INPUTS_BETWEEN_LOOKS = 500
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)
_JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=secret;",
    "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredValidatorPrincipalClaimName="sub";',
)


class WrongError(Exception):
    """The broker did wrong."""


class _Bugs(logging.Handler):
    """Keeps what the broker logs of bugs: errors that come with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.seen.append(logging.Formatter().format(record))


class NetworkDoor:
    """One of a broker's listeners. Used as a function of an input."""

    def __init__(self, name: str) -> None:
        """Args:
        name: Which one, of `LISTENERS`.
        """
        self._ports = {each: free_port() for each in LISTENERS}
        self._address = ("127.0.0.1", self._ports[name])
        self._loop = asyncio.new_event_loop()
        self._directory = Path(tempfile.mkdtemp(prefix="barnabas-fuzz-"))
        self._bugs = _Bugs()
        logging.getLogger().addHandler(self._bugs)
        # Of each input there is something to be told.
        self._level = _OURS.level
        _OURS.setLevel(logging.ERROR)
        self._count = 0
        self._node: Node | None = None

    def __call__(self, data: bytes) -> None:
        """Give the broker an input.

        Raises:
            WrongError: It did wrong.
        """
        self._loop.run_until_complete(self._take(data))

    def close(self) -> None:
        """Stop the broker and remove its files."""
        self._loop.run_until_complete(self._stop())
        self._loop.close()
        logging.getLogger().removeHandler(self._bugs)
        _OURS.setLevel(self._level)
        shutil.rmtree(self._directory, ignore_errors=True)

    async def _take(self, data: bytes) -> None:
        if self._count % _INPUTS_OF_A_BROKER == 0:
            await self._stop()
            await self._start()
        self._count += 1
        assert self._node is not None
        # Once more: it may have been a look for garbage, of which this process has more than a broker.
        if await self._computed_s(data) > MOST_STALL_S and (computed_s := await self._computed_s(data)) > MOST_STALL_S:
            raise WrongError(f"computed for {computed_s:.3f} s")
        if self._count % _INPUTS_BETWEEN_LOOKS == 1 and not await _converse(self._node.address, _API_VERSIONS):
            raise WrongError("the broker does not answer any more")
        if self._bugs.seen:
            seen, self._bugs.seen = self._bugs.seen, []
            raise WrongError("\n".join(seen))

    async def _computed_s(self, data: bytes) -> float:
        """Give the broker an input; for how long this thread computed."""
        started_s = time.thread_time()
        await _converse(self._address, data)
        return time.thread_time() - started_s

    async def _start(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir()
        authority = Authority()
        (self._directory / "broker.pem").write_bytes(authority.issue("broker").pem())
        config = BrokerConfig.single_broker(
            {
                "log.dirs": str(self._directory / "data"),
                "listeners": ",".join(f"{name.upper()}://127.0.0.1:{self._ports[name]}" for name in LISTENERS[:3]),
                "listener.security.protocol.map": "PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL",
                "inter.broker.listener.name": "PLAIN",
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
                "listener.name.sasl.plain.sasl.jaas.config": _JAAS[0],
                "listener.name.sasl.scram-sha-256.sasl.jaas.config": _JAAS[1],
                "listener.name.sasl.oauthbearer.sasl.jaas.config": _JAAS[2],
                "connection.failed.authentication.delay.ms": "0",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self._directory / "broker.pem"),
                "barnabas.http.listeners": f"127.0.0.1:{self._ports['http']}",
                "barnabas.registry.listeners": f"127.0.0.1:{self._ports['zookeeper']}",
                "auto.create.topics.enable": "false",
                "num.partitions": "1",
            }
        )
        self._node = Node(machine_environment(asyncio.get_running_loop()), config, lambda reason: None)
        await self._node.start()

    async def _stop(self) -> None:
        if self._node is not None:
            node, self._node = self._node, None
            await node.stop()


async def _converse(address: tuple[str, int], data: bytes) -> bytes:
    """Send bytes and close that side; what is answered until the other side closes.

    Raises:
        WrongError: It never does.
    """
    loop = asyncio.get_running_loop()
    heard = bytearray()
    with socket.socket() as sock:
        sock.setblocking(False)
        await loop.sock_connect(sock, address)
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(sock, data)
            sock.shutdown(socket.SHUT_WR)
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while part := await loop.sock_recv(sock, 1 << 20):
                        heard += part
            except TimeoutError:
                raise WrongError("the connection was never closed") from None
    return bytes(heard)
