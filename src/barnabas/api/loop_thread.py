"""An event loop on its own thread, on which synchronous APIs run their coroutines.

Invariants: when `run` returns or raises, its coroutine is done or cancelled; no caller waits for a stopped loop.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import TypeVar

from barnabas.api.errors import ClosedError

T = TypeVar("T")


class LoopThread:
    """A thread that runs an event loop until it is stopped. It does not keep the process alive."""

    __slots__ = ("_is_stopped", "_lock", "_loop", "_thread")

    def __init__(self, name: str) -> None:
        """Start the thread with this name."""
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and wait for its result. Any number of threads may call this at once.

        Returns:
            The coroutine's result.

        Raises:
            ClosedError: The thread was stopped, before or during the call.
            BaseException: The coroutine's error; or Ctrl-C, which cancels it.
        """
        with self._lock:
            if self._is_stopped:
                coroutine.close()
                raise ClosedError("the event loop was closed")
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ClosedError("the event loop was closed meanwhile") from None
        except BaseException:
            future.cancel()
            raise

    def call_soon(self, call: Callable[[], object]) -> None:
        """Call a function on the loop without waiting for it; after `stop`, do nothing."""
        with self._lock:
            if not self._is_stopped:
                self._loop.call_soon_threadsafe(call)

    def stop(self) -> None:
        """Cancel running coroutines and end the thread; a second call does nothing."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
        # Coroutines submitted earlier have started when this one starts.
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
