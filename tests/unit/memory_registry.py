"""A registry in memory, for tests that need one and not its file."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Spawner
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.registry.bootstrap import bootstrap


async def memory_registry(clock: ManualClock | None = None, *, is_kafkas: bool = False) -> EmbeddedRegistry:
    """A registry on a clock, by default one of its own; with the nodes that a start creates if it is to be Kafka's."""
    registry = await EmbeddedRegistry.open(None, clock or ManualClock(), InlineExecutor())
    if is_kafkas:
        await bootstrap(registry, Random(1))
    return registry


def played_with(make: Callable[[EmbeddedRegistry, ManualClock, Spawner], Any]) -> Callable[..., None]:
    """What plays stories of what `make` makes of a registry with Kafka's nodes; nothing may fail in the background."""

    def play(story: Callable[[Any], Awaitable[None]]) -> None:
        errors: list[BaseException] = []

        async def run() -> None:
            clock = ManualClock()
            await story(make(await memory_registry(clock, is_kafkas=True), clock, Spawner(errors.append)))

        asyncio.run(run())
        assert errors == []

    return play
