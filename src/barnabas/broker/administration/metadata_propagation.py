"""Waits until this broker's image of the cluster shows the result of a request to the controller."""

import asyncio
from collections.abc import Callable

from barnabas.broker.cluster.image import ClusterImage, ClusterView, ImageChange
from barnabas.core.timers import Timers


async def wait_for_image(
    cluster: ClusterView, timers: Timers, is_done: Callable[[ClusterImage], bool], timeout_ms: int
) -> bool:
    """Return whether the image satisfied `is_done` in time.

    Args:
        timeout_ms: 0 or less: returns False without checking the current image, as in Kafka.
    """
    if timeout_ms <= 0:
        return False
    if is_done(cluster.image):
        return True
    done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def look(change: ImageChange) -> None:
        if not done.done() and is_done(change.image):
            done.set_result(True)

    def expire() -> None:
        if not done.done():
            done.set_result(False)

    forget = cluster.on_change(look)
    timer = timers.call_later(timeout_ms, expire)
    try:
        return await done
    finally:
        forget()
        timer.cancel()
