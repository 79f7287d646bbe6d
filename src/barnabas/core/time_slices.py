"""Iteration over many items that leaves the event loop time for other work."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")


async def in_time_slices(items: Iterable[T], at_once: int = 200) -> AsyncIterator[T]:
    """Yield items one by one; let other tasks run after every `at_once` items."""
    for number, item in enumerate(items, 1):
        yield item
        if number % at_once == 0:
            await asyncio.sleep(0)
