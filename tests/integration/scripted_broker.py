"""A broker of one node that says what a test tells it to, also what no broker should say.

It answers ApiVersions and Metadata by itself: every topic that is asked for is there, with one partition that it leads.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping

from barnabas.wire.protocol.api_keys import ApiKey, request_class
from barnabas.wire.protocol.header import decode_request_header
from barnabas.wire.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.protocol.wire import Message, WireBuffer

# What an answer is made from: the version and the request; None never answers, bytes are sent as the body as they are.
Answer = Callable[[int, Message], Message | bytes | None]


class ScriptedBroker:
    """Answers requests as `answers` says, by API; one that is not in it is refused by ApiVersions.

    Attributes:
        requests: What came, in order, but for ApiVersions.
    """

    def __init__(self, answers: Mapping[ApiKey, Answer], *, reads_produce: bool = True) -> None:
        """Args:
        reads_produce: Else a connection is read up to its first Produce request, and no further.
        """
        self.requests: list[Message] = []
        self._answers = {ApiKey.METADATA: self._metadata, **answers}
        self._reads_produce = reads_produce
        self._port = 0
        self._is_done = asyncio.Event()

    async def run(self, use: Callable[[str], Awaitable[None]], timeout_s: float = 60) -> None:
        """Call `use` with the address; what hangs ends after `timeout_s` with TimeoutError."""
        listener = socket.create_server(("127.0.0.1", 0))
        # Each connection inherits it: the system may take tens of megabytes that nobody reads, else.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        server = await asyncio.start_server(self._serve, sock=listener)
        self._port = server.sockets[0].getsockname()[1]
        async with server:
            try:
                async with asyncio.timeout(timeout_s):
                    await use(f"127.0.0.1:{self._port}")
            finally:
                self._is_done.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                start = await reader.readexactly(6)
                size, api_key = struct.unpack(">ih", start)
                if api_key == ApiKey.PRODUCE and not self._reads_produce:
                    break
                frame = memoryview(start[4:] + await reader.readexactly(size - 2))
                api_key, version, correlation_id, _, pos = decode_request_header(frame)
                if api_key == ApiKey.API_VERSIONS:
                    body: Message | bytes | None = self._versions()
                else:
                    request, _ = request_class(api_key).decode(version, frame, pos)
                    self.requests.append(request)
                    body = self._answers[ApiKey(api_key)](version, request)
                if body is None:
                    continue
                out = WireBuffer(struct.pack(">i", correlation_id))
                if isinstance(body, bytes):
                    out += body
                else:
                    body.encode(version, out)
                writer.write(struct.pack(">i", len(out)) + out)
            await self._is_done.wait()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    def _versions(self) -> bytes:
        # The last version whose headers are without tags, so that an answer's bytes can be written down by hand.
        most = {ApiKey.PRODUCE: 8, ApiKey.FETCH: 11, ApiKey.METADATA: 8, ApiKey.INIT_PRODUCER_ID: 1}
        keys = [ApiKey.API_VERSIONS, *self._answers]
        ranges = [struct.pack(">hhh", key, 0, most.get(key, 2)) for key in keys]
        return struct.pack(">hi", 0, len(ranges)) + b"".join(ranges)

    def _metadata(self, version: int, request: Message) -> Message:
        assert isinstance(request, MetadataRequest)
        topics = [
            MetadataResponseTopic(0, topic.name, partitions=[MetadataResponsePartition(0, 0, 0, 0, [0], [0], [])])
            for topic in request.topics or []
        ]
        return MetadataResponse(0, [MetadataResponseBroker(0, "127.0.0.1", self._port)], "scripted", 0, topics)
