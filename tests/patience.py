"""How long a test waits for what must come.

It tells a hang from a machine that is slow or shared, and measures nothing: what is timed belongs in `benchmarks/`. It
is below pytest's own limit for a test, so that the test itself can say what did not come.
"""

import select
from typing import Any

PATIENCE_S = 240


def is_readable(file: Any, timeout_s: float = PATIENCE_S) -> bool:
    """Wait until a file, socket or descriptor has data or has ended; not by `select`, which takes none above 1023."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout_s) * 1_000))
