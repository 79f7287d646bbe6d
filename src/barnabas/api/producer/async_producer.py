"""The producer for programs with an event loop: blocking calls run in a thread."""

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import overload

from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.producer import Producer


class AsyncProducer:
    """A `Producer` with awaitable methods, usable after `open` or inside `async with`."""

    def __init__(self, config: Mapping[str, object]) -> None:
        """Args:
        config: As for `Producer`.
        """
        self._config = config
        self._producer: Producer | None = None

    async def open(self) -> "AsyncProducer":
        """Create the producer. Raises the errors of `Producer`'s constructor."""
        if self._producer is None:
            self._producer = await asyncio.to_thread(Producer, self._config)
        return self

    @overload
    async def send(self, topic: str, key: object, messages: Sequence[object], /) -> None: ...

    @overload
    async def send(self, *data: ProducerData) -> None: ...

    async def send(self, *given: object) -> None:
        """Send messages; see `Producer.send`. A cancelled call may have sent them.

        Raises:
            RuntimeError: The producer is not open.
        """
        if self._producer is None:
            raise RuntimeError("the producer is not open")
        # `Producer.send` checks the arguments.
        await asyncio.to_thread(self._producer.send, *given)  # type: ignore[arg-type]

    async def close(self) -> None:
        """Send queued messages and close; see `Producer.close`."""
        if self._producer is not None:
            await asyncio.to_thread(self._producer.close)

    async def __aenter__(self) -> "AsyncProducer":
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
