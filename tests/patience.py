"""How long a test waits for what must come.

It tells a hang from a machine that is slow or shared, and measures nothing: what is timed belongs in `benchmarks/`. It
is below pytest's own limit for a test, so that the test itself can say what did not come.
"""

import select
import time
from collections.abc import Callable
from typing import Any, TypeVar

PATIENCE_S = 240

_T = TypeVar("_T")


def is_readable(file: Any, timeout_s: float = PATIENCE_S) -> bool:
    """Wait until a file, socket or descriptor has data or has ended; not by `select`, which takes none above 1023."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout_s) * 1_000))


def until(ask: Callable[[], _T], describe: Callable[[], object] | None = None) -> _T:
    """Ask again and again until the answer is true, and return it.

    Args:
        ask: Returns what is waited for, or something false.
        describe: Returns what to fail with when the time is up; the last answer if None.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < deadline, describe() if describe else answer
        time.sleep(0.01)
    return answer
