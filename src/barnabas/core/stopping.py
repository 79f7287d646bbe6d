"""Waiting for a result or a stop, whichever comes first."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


async def unless_stopped(work: Coroutine[object, object, T], stopped: asyncio.Event) -> T | None:
    """Return the result of `work`; None: `stopped` was set first, and `work` was cancelled."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        return task.result() if await comes_first(task, stopped) else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def comes_first(task: "asyncio.Task[object]", stopped: asyncio.Event) -> bool:
    """Wait for a task or for `stopped`; return whether the task has ended."""
    stop = asyncio.get_running_loop().create_task(stopped.wait())
    await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    return task.done()
