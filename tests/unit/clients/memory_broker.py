"""A broker of one node in memory, which says what a test tells it to, on a loop whose time is free.

A client's bytes are read when they are written, and the answers are there in the loop's next turn: no sockets, no
waiting.
"""

import asyncio
import random
import struct
from collections import defaultdict
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from barnabas.clients.environment import ClientEnvironment
from barnabas.clients.pool import Pool
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.simulation.loop import VirtualLoop
from barnabas.wire.protocol.api_keys import APIS, ApiKey, request_class
from barnabas.wire.protocol.header import decode_request_header, encode_response_header
from barnabas.wire.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorResponse
from barnabas.wire.protocol.messages.metadata import (
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.protocol.wire import Message, WireBuffer

# What comes of a request: an answer, None for none, or CLOSE.
Answer = Callable[[Any], Message | None]
CLOSE = ConnectionResetError("the broker closes the connection")


class MemoryBroker:
    """Answers as `answers` says, by API.

    Attributes:
        requests: What came, by API.
        partition_count: Of every topic that is asked for.
        dial_count: How many connections were opened.
        is_up: Whether it can be connected to.
        answers: What is still to be answered, by API.
    """

    def __init__(self, answers: dict[ApiKey, Answer | list[Answer]]) -> None:
        self.requests: dict[ApiKey, list[Any]] = defaultdict(list)
        self.partition_count = 1
        self.dial_count = 0
        self.is_up = True
        self.versions = {api: (0, APIS[api].max_version) for api in ApiKey}
        self.answers: dict[ApiKey, list[Answer]] = {
            ApiKey.API_VERSIONS: [lambda request: self._api_versions()],
            ApiKey.METADATA: [self._metadata],
            ApiKey.FIND_COORDINATOR: [lambda request: FindCoordinatorResponse(0, 0, None, 0, "memory", 9092)],
        }
        self.will_answer(answers)

    def will_answer(self, answers: dict[ApiKey, Any]) -> None:
        """Answer these APIs so from now on; a list gives one answer after the other and repeats its last."""
        for api, answer in answers.items():
            self.answers[api] = list(answer) if isinstance(answer, list) else [answer]

    def run(self, use: Callable[[Pool], Awaitable[None]]) -> None:
        """Call `use` with a pool of this broker; what would wait for ever raises."""
        loop = VirtualLoop()  # type: ignore[abstract]  # it has what clients ask of a loop

        async def main() -> None:
            async with Pool("memory:9092", env=self.environment()) as pool:
                await use(pool)

        try:
            loop.run_until_complete(main())
        finally:
            loop.close()
        assert loop.errors == []

    def environment(self) -> ClientEnvironment:
        return ClientEnvironment(ManualClock(), random.Random(1), self.dial)

    async def dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, Any]:
        self.dial_count += 1
        if not self.is_up:
            raise ConnectionRefusedError(111, "refused")
        reader = asyncio.StreamReader()
        return reader, _Writer(self, reader)

    def answer(self, frame: memoryview) -> bytes | None:
        """The answer with its size; None where there is none.

        Raises:
            ConnectionResetError: The connection ends instead.
        """
        api_key, version, correlation_id, _, position = decode_request_header(frame)
        request, _ = request_class(api_key).decode(version, frame, position)
        api = ApiKey(api_key)
        self.requests[api].append(request)
        answers = self.answers[api]
        response = (answers.pop(0) if len(answers) > 1 else answers[0])(request)
        if response is None:
            return None
        out = WireBuffer(bytes(4))
        encode_response_header(out, api_key, version, correlation_id)
        response.encode(version, out)
        struct.pack_into(">i", out, 0, len(out) - 4)
        return bytes(out)

    def _api_versions(self) -> Message:
        keys = [ApiVersion(api, least, most) for api, (least, most) in self.versions.items()]
        return ApiVersionsResponse(0, keys)

    def _metadata(self, request: Any) -> Message:
        topics = []
        # The topics that there are, unless some are named.
        internal = [MetadataRequestTopic(name=name) for name in sorted(INTERNAL_TOPICS)]
        for asked in internal if request.topics is None else request.topics:
            partitions = [
                MetadataResponsePartition(0, index, 0, 0, [0], [0], []) for index in range(self.partition_count)
            ]
            topics.append(MetadataResponseTopic(0, asked.name, partitions=partitions))
        return MetadataResponse(0, [MetadataResponseBroker(0, "memory", 9092)], "memory", 0, topics)


def closes(request: Any) -> None:
    """An answer that is the end of the connection."""
    raise CLOSE


class _Writer:
    """The client's side of a connection, as far as a `Channel` uses it."""

    def __init__(self, broker: MemoryBroker, reader: asyncio.StreamReader) -> None:
        self._broker = broker
        self._reader = reader
        self._is_closed = False
        self.transport = SimpleNamespace(abort=self.close)

    def write(self, data: bytes | bytearray) -> None:
        try:
            answer = self._broker.answer(memoryview(bytes(data[4:])))
        except ConnectionResetError:
            self.close()
            return
        if answer is not None and not self._is_closed:
            self._reader.feed_data(answer)

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._reader.feed_eof()

    async def wait_closed(self) -> None:
        return
