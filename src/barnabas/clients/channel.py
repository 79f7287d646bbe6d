"""One connection to one broker: sends requests and matches responses to them.

A frame is an int32 size and that many bytes. Responses carry the correlation id of their request; Kafka answers in
order, but the channel does not rely on it. Each request uses the highest version that both sides support, up to Kafka
2.7's; the channel learns the broker's versions by ApiVersions when the connection opens.

Source: protocol guide, "Common request and response structure", "Api versions".
"""

import asyncio
import errno
import os
import socket
from collections.abc import Mapping
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, TypeVar

from barnabas.clients.environment import ClientEnvironment, machine_environment
from barnabas.clients.security import ClientSecurity
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError, ProtocolError
from barnabas.wire.protocol.api_keys import APIS
from barnabas.wire.protocol.header import decode_response_header, encode_request_header
from barnabas.wire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.protocol.wire import Message, WireBuffer

if TYPE_CHECKING:
    from ssl import SSLContext

    from barnabas.clients.login import Login

R = TypeVar("R", bound=Message)

_SIZE = Struct(">i")
MAX_RESPONSE_BYTES = 256 * 1024 * 1024
DEFAULT_REQUEST_TIMEOUT_MS = 30_000
# Time limit for sending the last data when a connection is closed.
_CLOSE_TIMEOUT_S = 5.0
_CLOSED = "the broker closed it"
# Most responses of this size take 10 ms to decode. Fetch responses are exempt: their records are not decoded here.
_DECODED_AT_ONCE_BYTES, _FETCH = 32 * 1024, 1
# Resolver errors: the name does not exist, or has no address. Some systems lack the second code.
_UNKNOWN_HOST = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class UnreachableError(KafkaError):
    """No broker accepted a connection and a first request; an immediate retry is pointless."""


class HungUpError(KafkaError):
    """The peer closed the connection on ApiVersions: it uses TLS or another protocol, or is a Kafka before 0.10."""


class Channel:
    """A connection with negotiated versions.

    Attributes:
        host, port: The broker's address.
        hung_up: Whether the peer closed the connection before it answered anything but ApiVersions.
        versions: The broker's version range of each API key.
    """

    __slots__ = (
        "_client_id",
        "_elsewhere",
        "_failure",
        "_has_answered",
        "_login",
        "_next_correlation_id",
        "_reader",
        "_request_timeout_ms",
        "_task",
        "_waiting",
        "_writer",
        "host",
        "hung_up",
        "port",
        "versions",
    )

    def __init__(
        self,
        host: str,
        port: int,
        client_id: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        env: ClientEnvironment | None = None,
    ) -> None:
        """Create a channel over open streams; call `connect` instead."""
        self.host = host
        self.port = port
        self.hung_up = False
        self.versions: dict[int, tuple[int, int]] = {}
        self._client_id = client_id
        self._elsewhere = None if env is None else env.elsewhere
        self._request_timeout_ms = request_timeout_ms
        self._reader = reader
        self._writer = writer
        self._next_correlation_id = 0
        self._waiting: dict[int, asyncio.Future[memoryview]] = {}
        self._failure: KafkaError | None = None
        self._has_answered = False
        self._login: Login | None = None
        self._task = asyncio.get_running_loop().create_task(self._read_answers())

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        client_id: str,
        timeout_ms: int = 10_000,
        env: ClientEnvironment | None = None,
        *,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        security: ClientSecurity | None = None,
        versions: Mapping[int, tuple[int, int]] | None = None,
    ) -> "Channel":
        """Open a connection, get the broker's versions, and log in if `security` requires it.

        Args:
            timeout_ms: Time limit for the connection and the ApiVersions response together.
            env: The environment; the system's own by default.
            security: TLS and login; None: neither.
            request_timeout_ms: Default timeout of requests.
            versions: The broker's API versions; None: ask the broker, which Kafka before 0.10 does not support.

        Raises:
            HungUpError: The peer closed the connection on ApiVersions.
            KafkaError: NETWORK_EXCEPTION (unreachable, no answer, another protocol, a rejected certificate);
                names the address. SASL_AUTHENTICATION_FAILED and others: the login failed.
            ConfigError: A keystore is unusable.
        """
        env = env or machine_environment()
        context = None if security is None else security.context()
        now = asyncio.get_running_loop().time
        begin_s = now()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                reader, writer = await (env.dial(host, port) if context is None else env.dial_tls(host, port, context))
        except TimeoutError:
            raise _no_answer(host, port, now() - begin_s) from None
        except (OSError, UnicodeError) as error:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, _why_not(host, port, error, context)) from error
        channel = cls(host, port, client_id, reader, writer, request_timeout_ms, env)
        try:
            if versions is None:
                left_ms = max(1, timeout_ms - round((now() - begin_s) * 1000))
                try:
                    await channel._negotiate(min(left_ms, request_timeout_ms))
                except KafkaError as error:
                    if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                        raise
                    raise _no_answer(host, port, now() - begin_s) from error
            else:
                channel.versions = dict(versions)
            if security is not None and security.mechanism:
                from barnabas.clients.login import Login

                channel._login = Login(security, env.dice, env.clock, f"{host}:{port}")
                await channel._login.begin(channel)
        except BaseException:
            await channel.close()
            raise
        return channel

    @property
    def is_open(self) -> bool:
        """Return whether the channel accepts another request."""
        return self._failure is None

    def version_of(self, api_key: int, max_version: int | None = None) -> int:
        """Return the version in which requests of this API are sent.

        Args:
            max_version: The highest version that the caller supports; Kafka 2.7's highest when None.

        Raises:
            KafkaError: UNSUPPORTED_VERSION: the two version ranges do not overlap.
        """
        api = APIS[api_key]
        highest = api.max_version if max_version is None else min(max_version, api.max_version)
        # Private APIs are not listed: the request itself shows whether they are supported.
        unknown = (api.min_version, api.max_version) if api.is_private else (0, -1)
        least, most = self.versions.get(api_key, unknown)
        version = min(highest, most)
        if version < max(least, api.min_version):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"the broker at {self.host}:{self.port} does not support {api.message}"
            )
        return version

    async def send(
        self,
        request: Message,
        answer: type[R],
        *,
        max_version: int | None = None,
        timeout_ms: int | None = None,
    ) -> R:
        """Send a request and wait for its response.

        Args:
            answer: The response's class.
            max_version: See `version_of`.
            timeout_ms: Timeout of the response; None: the channel's own `request_timeout_ms`.

        Raises:
            KafkaError: NETWORK_EXCEPTION (the connection broke), REQUEST_TIMED_OUT (the connection is closed too),
                UNSUPPORTED_VERSION.
            EncodeError: The request cannot be encoded in that version.
            ProtocolError: The answer is malformed.
        """
        if self._login is not None and self._login.is_due:
            await self._login_again(self._login)
        return await self.ask(request, answer, max_version=max_version, timeout_ms=timeout_ms)

    async def ask(
        self, request: Message, answer: type[R], *, max_version: int | None = None, timeout_ms: int | None = None
    ) -> R:
        """Send a request like `send`, but without renewing the login; for the login's own requests."""
        version = self.version_of(request.API_KEY, max_version)
        timeout_ms = self._request_timeout_ms if timeout_ms is None else timeout_ms
        correlation_id = self._write(request, version)
        future: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = future
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._drain()
                frame = await future
        except TimeoutError:
            name = APIS[request.API_KEY].message
            what = f"did not answer {name} within {timeout_ms} ms"
            # Responses come in order, so later requests would wait behind this one. Close the connection, so that
            # callers try another broker.
            self._fail(self._lost(f"the broker {what}"))
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{self.host}:{self.port} {what}") from None
        finally:
            self._waiting.pop(correlation_id, None)
            if future.done() and not future.cancelled():
                # Retrieves the exception of a failed send, which was reported already.
                future.exception()
        _, pos = decode_response_header(frame, request.API_KEY, version)
        if len(frame) > _DECODED_AT_ONCE_BYTES and self._elsewhere is not None and answer.API_KEY != _FETCH:
            # Decoding thousands of partitions takes a tenth of a second, which would block the event loop.
            decoded: tuple[R, int] = await self._elsewhere(partial(answer.decode, version, frame, pos))
            return decoded[0]
        return answer.decode(version, frame, pos)[0]

    async def send_without_answer(
        self, request: Message, *, max_version: int | None = None, timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS
    ) -> None:
        """Send a request without a response (Produce with acks=0).

        Args:
            max_version: See `version_of`.
            timeout_ms: The connection is aborted if the broker reads nothing for this time.

        Raises:
            KafkaError: As from `send`.
            EncodeError: The request cannot be encoded in that version.
        """
        if self._login is not None and self._login.is_due:
            await self._login_again(self._login)
        self._write(request, self.version_of(request.API_KEY, max_version))
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._drain()
        except TimeoutError:
            failure = self._lost(f"the broker read nothing for {timeout_ms} ms")
            self._fail(failure)
            raise failure from None

    async def close(self) -> None:
        """Close the connection; pending requests fail with NETWORK_EXCEPTION."""
        # Requests without a response may still be in the send buffer.
        self._writer.close()
        self._end(KafkaError(ErrorCode.NETWORK_EXCEPTION, f"the connection to {self.host}:{self.port} was closed"))
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
        except OSError:
            pass

    async def _login_again(self, login: "Login") -> None:
        try:
            await login.renew(self)
        except KafkaError as error:
            # After a failed login, the broker closes the connection or ignores it.
            self._fail(error)
            raise

    def _write(self, request: Message, version: int) -> int:
        if self._failure is not None:
            raise self._failure
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        out = WireBuffer(bytes(_SIZE.size))
        encode_request_header(out, request.API_KEY, version, correlation_id, self._client_id)
        request.encode(version, out)
        _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
        self._writer.write(out)
        return correlation_id

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError as error:
            self._fail(self._lost(_reason(error)))
            assert self._failure is not None
            raise self._failure from error

    async def _negotiate(self, timeout_ms: int) -> None:
        # Every broker supports version 0, which contains all that is needed.
        api_key = ApiVersionsRequest.API_KEY
        self.versions[api_key] = (0, 0)
        try:
            response = await self.send(ApiVersionsRequest(), ApiVersionsResponse, max_version=0, timeout_ms=timeout_ms)
        except (KafkaError, ProtocolError) as error:
            if isinstance(error, KafkaError) and error.code is ErrorCode.REQUEST_TIMED_OUT:
                raise
            if isinstance(error, KafkaError) and "TLS: " in error.message:
                # In TLS 1.3 the client's handshake is over when the broker refuses its certificate.
                raise
            # The peer sent something else, or closed the connection.
            message = f"{self.host}:{self.port} does not speak Kafka's protocol"
            if isinstance(error, KafkaError) and error.message.endswith(_CLOSED):
                message += ", or not so: is security.protocol right?"
                raise HungUpError(ErrorCode.NETWORK_EXCEPTION, message) from error
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, message) from error
        if response.error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode(response.error_code), f"{self.host}:{self.port} refused ApiVersions")
        self.versions = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        self._has_answered = False

    async def _read_answers(self) -> None:
        try:
            while True:
                (size,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
                if not 4 <= size <= MAX_RESPONSE_BYTES:
                    self._fail(self._lost(f"the size of an answer, {size} bytes, is invalid"))
                    return
                frame = memoryview(await self._reader.readexactly(size))
                (correlation_id,) = _SIZE.unpack_from(frame)
                self._has_answered = True
                future = self._waiting.get(correlation_id)
                # A response whose request timed out is dropped.
                if future is not None and not future.done():
                    future.set_result(frame)
        except asyncio.IncompleteReadError:
            self._note_end()
            self._fail(self._lost(_CLOSED))
        except OSError as error:
            self._note_end()
            self._fail(self._lost(_reason(error)))
        except MemoryError:
            self._fail(self._lost("there is not enough memory for its answer"))

    def _note_end(self) -> None:
        # A request that timed out here has closed the connection as well.
        self.hung_up = not self._has_answered and self._failure is None

    def _lost(self, reason: str) -> KafkaError:
        return KafkaError(ErrorCode.NETWORK_EXCEPTION, f"connection to {self.host}:{self.port} lost: {reason}")

    def _fail(self, failure: KafkaError) -> None:
        """Abort the connection and drop unsent data; all pending requests fail with this error."""
        self._writer.transport.abort()
        self._end(failure)

    def _end(self, failure: KafkaError) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(failure)


def _no_answer(host: str, port: int, waited_s: float) -> KafkaError:
    text = f"no answer from {host}:{port} within {round(waited_s, 1):g} s: is it a Kafka listener, and is it up?"
    return KafkaError(ErrorCode.NETWORK_EXCEPTION, text)


def _why_not(host: str, port: int, error: OSError | UnicodeError, context: "SSLContext | None") -> str:
    """Describe why a connection could not be opened, with TLS if there is a context."""
    if isinstance(error, UnicodeError) or (isinstance(error, socket.gaierror) and error.errno in _UNKNOWN_HOST):
        return f"unknown host: {host}"
    if isinstance(error, socket.gaierror):
        return f"cannot resolve host {host}: {error.strerror}"
    refused: str | None = getattr(error, "verify_message", None)
    if refused is not None:
        return f"the certificate of {host}:{port} is refused: {refused}"
    if context is not None and isinstance(error, ConnectionResetError):
        return f"{host}:{port} closed the connection during the TLS handshake: is security.protocol right?"
    return f"cannot connect to {host}:{port}: {_reason(error)}"


def _reason(error: OSError) -> str:
    """Return the system's text for an error in lower case; asyncio's own texts repeat the address."""
    # A TLS error has its own numbers. (`isinstance` would import `ssl` even for connections without TLS.)
    of_tls: str | None = getattr(error, "reason", None)
    if of_tls:
        return f"TLS: {of_tls.lower().replace('_', ' ')}"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    # asyncio resets connections without a text.
    return str(error).lower() or os.strerror(errno.ECONNRESET).lower()


def parse_servers(text: str) -> list[tuple[str, int]]:
    """Parse `host:port,host:port`.

    Raises:
        BarnabasError: The text has another form; the error shows the expected one.
    """
    servers = []
    # Kafka's clients ignore empty items, too.
    for item in [each.strip() for each in text.split(",") if each.strip()] or [text]:
        host, colon, port = item.rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise BarnabasError(f"{item!r} is not a server address: write host:port, such as 127.0.0.1:9092")
        servers.append((host.strip("[]"), int(port)))
    return servers
