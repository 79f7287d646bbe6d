"""One connection to one broker, opened on demand and reopened once if it breaks.

Brokers from 0.10 on report their supported request versions (ApiVersions). Older brokers close the connection on that
request; the client then assumes 0.8.2, whose requests 0.9 supports too. 0.8.0 and 0.8.1 support fewer requests, so the
program must specify those versions.

Source: protocol guide, ApiVersions; legacy-0.7.md, "0.8 .. 0.9 on the newer wire"; design document, the simple consumer
(it reconnects once).
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from socket import SO_RCVBUF, SOL_SOCKET
from typing import Final, TypeVar

from barnabas.api.broker_errors import BrokerError, UnsupportedVersionError, broker_error
from barnabas.api.errors import ClosedError
from barnabas.clients.channel import Channel, HungUpError
from barnabas.clients.environment import ClientEnvironment, Streams, machine_environment
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError, EncodeError, KafkaError, ProtocolError
from barnabas.wire.protocol.api_keys import APIS, ApiKey
from barnabas.wire.protocol.wire import Message

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Message)
Versions = Mapping[int, tuple[int, int]]

_OF_0_8_0: Final[Versions] = {ApiKey.FETCH: (0, 0), ApiKey.LIST_OFFSETS: (0, 0), ApiKey.METADATA: (0, 0)}
_OF_0_8_1: Final[Versions] = {**_OF_0_8_0, ApiKey.OFFSET_COMMIT: (0, 0), ApiKey.OFFSET_FETCH: (0, 0)}
_OF_0_8_2: Final[Versions] = {
    **_OF_0_8_1,
    ApiKey.OFFSET_COMMIT: (0, 1),
    ApiKey.OFFSET_FETCH: (0, 1),
    ApiKey.FIND_COORDINATOR: (0, 0),
}
_OF_0_9: Final[Versions] = {**_OF_0_8_2, ApiKey.FETCH: (0, 1), ApiKey.OFFSET_COMMIT: (0, 2)}
OLD_BROKERS: Final = {"0.8.0": _OF_0_8_0, "0.8.1": _OF_0_8_1, "0.8.2": _OF_0_8_2, "0.9.0": _OF_0_9}
"""The API versions of brokers that cannot report them."""

# Errors that a new connection may resolve.
_OF_THE_CONNECTION: Final = frozenset({ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT})


def versions_of(broker_version: str) -> Versions | None:
    """Return the API versions that brokers of a version support; None: the broker can report them itself.

    Args:
        broker_version: Such as `0.8.2` or `0.8.2.2`.

    Raises:
        ConfigError: The text is not a Kafka version with this protocol.
    """
    numbers = broker_version.split(".")
    if not all(number.isdecimal() for number in numbers) or len(numbers) < 2:
        raise ConfigError(f"broker_version={broker_version}: write it as 0.8.2 or 2.7")
    version = tuple(map(int, numbers))
    if version >= (0, 10):
        return None
    known = OLD_BROKERS.get(".".join([*numbers, "0"][:3]))
    if known is None:
        raise ConfigError(f"broker_version={broker_version}: brokers before 0.8 speak another protocol")
    return known


class BrokerConnection:
    """Sends requests to one broker and connects on the first request.

    Concurrent requests are allowed; the broker answers them in sequence.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str = "",
        timeout_ms: int = 30_000,
        buffer_size: int = -1,
        security: ClientSecurity | None = None,
        broker_version: str | None = None,
        env: ClientEnvironment | None = None,
    ) -> None:
        """Args:
        timeout_ms: Timeout of a connection attempt, and of each request.
        buffer_size: Receive buffer in bytes; -1: the system's default.
        broker_version: The version of a broker before 0.10; None: ApiVersions is sent, and a broker that closes the
            connection is treated as 0.8.2.

        Raises:
            ConfigError: The version does not exist.
        """
        self.host = host
        self.port = port
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._security = security
        self._versions = None if broker_version is None else versions_of(broker_version)
        self._env = _with_buffer(env or machine_environment(), buffer_size)
        self._channel: Channel | None = None
        self._connecting = asyncio.Lock()
        # Set while the client only assumes that this is an old broker.
        self._hung_up: HungUpError | None = None
        self._is_closed = False

    async def ask(self, request: Message, answer: type[R], *, version: int | None = None, max_version: int = 99) -> R:
        """Send a request and wait for its response; if the connection breaks, try once more over a new one.

        Args:
            answer: The response's class.
            version: The required version; None: the highest that both sides support, up to `max_version`.

        Raises:
            BrokerError: DisconnectedError or RequestTimedOutError on both attempts; UnsupportedVersionError.
            ClosedError: The connection was closed.
        """
        try:
            return await self._ask(request, answer, version, max_version)
        except (KafkaError, ProtocolError) as error:
            if isinstance(error, KafkaError) and error.code not in _OF_THE_CONNECTION:
                raise _as_broker_error(error) from error
            log.info("connecting to %s:%d again: %s", self.host, self.port, error)
        try:
            return await self._ask(request, answer, version, max_version)
        except (KafkaError, ProtocolError) as error:
            # If the peer also closed the connection on ApiVersions, it may not be a broker: that error is more useful.
            raise _as_broker_error(self._hung_up or error) from error

    async def knows(self, api_key: ApiKey, version: int) -> bool:
        """Return whether the broker supports a version of a request.

        Raises:
            BrokerError: The broker cannot be reached.
            ClosedError: The connection was closed.
        """
        try:
            least, most = (await self._connected()).versions.get(api_key, (0, -1))
        except KafkaError as error:
            raise _as_broker_error(error) from error
        return least <= version <= most

    async def close(self) -> None:
        """Close the connection; does nothing if it is closed already."""
        self._is_closed = True
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _ask(self, request: Message, answer: type[R], version: int | None, max_version: int) -> R:
        channel = await self._connected()
        if version is not None:
            max_version = version
            least, most = channel.versions.get(request.API_KEY, (0, -1))
            if not least <= version <= most:
                name = APIS[request.API_KEY].message
                raise UnsupportedVersionError(
                    ErrorCode.UNSUPPORTED_VERSION,
                    f"the broker at {self.host}:{self.port} does not know version {version} of {name}",
                )
        try:
            response = await channel.send(request, answer, max_version=max_version, timeout_ms=self._timeout_ms)
        except (KafkaError, ProtocolError) as error:
            if isinstance(error, ProtocolError) or error.code in _OF_THE_CONNECTION:
                # The rest of the stream is undefined.
                await self._drop(channel)
            raise
        except EncodeError as error:
            raise ValueError(str(error)) from error
        self._hung_up = None
        return response

    async def _connected(self) -> Channel:
        # One of several concurrent callers connects; the others wait for it.
        async with self._connecting:
            if self._is_closed:
                raise ClosedError(f"the connection to {self.host}:{self.port} was closed")
            channel = self._channel
            if channel is None or not channel.is_open:
                if channel is not None:
                    await self._drop(channel)
                channel = self._channel = await self._connect()
                if self._is_closed:
                    await self._drop(channel)
            return channel

    async def _connect(self) -> Channel:
        try:
            return await self._dial(self._versions)
        except HungUpError as error:
            try:
                channel = await self._dial(_OF_0_8_2)
            except KafkaError:
                raise error from None
            log.info("%s:%d does not report its versions: Kafka 0.8.2 is assumed", self.host, self.port)
            self._hung_up = error
            return channel

    async def _dial(self, versions: Versions | None) -> Channel:
        return await Channel.connect(
            self.host,
            self.port,
            self._client_id,
            self._timeout_ms,
            self._env,
            security=self._security,
            versions=versions,
        )

    async def _drop(self, channel: Channel) -> None:
        if self._channel is channel:
            self._channel = None
        await channel.close()


def _with_buffer(env: ClientEnvironment, buffer_size: int) -> ClientEnvironment:
    """Return the same environment, with this receive buffer size for connections without TLS."""
    if buffer_size < 0:
        return env

    async def dial(host: str, port: int) -> Streams:
        streams = await env.dial(host, port)
        connection = streams[1].get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(SOL_SOCKET, SO_RCVBUF, buffer_size)
        return streams

    return replace(env, dial=dial)


def _as_broker_error(error: KafkaError | ProtocolError) -> BrokerError:
    if isinstance(error, ProtocolError):
        return broker_error(ErrorCode.NETWORK_EXCEPTION, f"malformed answer: {error}")
    return broker_error(error.code, error.message)
