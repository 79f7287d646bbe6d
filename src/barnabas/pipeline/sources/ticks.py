"""What is looked at again and again becomes lines of events: one line a tick, until somebody says stop.

Ids: `<name>@<start in ms>:<tick>` and what was measured, so each start of a collector is a log of its own.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import count

from barnabas.pipeline.events.types import EventType
from barnabas.pipeline.sources.lines import SourceLine

# What one look tells: the event's type, what was measured (once in a tick), and the fields without id and time.
Told = tuple[EventType, str, dict[str, object]]
Look = Callable[[], Sequence[Told]]


def tick_lines(
    name: str,
    interval_s: float,
    looks: Sequence[Look],
    is_stopped: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
    time_s: Callable[[], float] = time.time,
) -> Iterator[SourceLine]:
    """Look, and give what is told as one line per tick; a feeder must be allowed to append the lines.

    Args:
        name: Of the host that looks; the ids begin with it.
        interval_s: How long to wait between two ticks.
        looks: What is looked at in each tick, in this order.
        is_stopped: Asked before each tick.
        sleep: Waits for some seconds.
        time_s: Returns the time of the events, in seconds since 1970.
    """
    log = f"{name}@{int(time_s() * 1000)}"
    for tick in count(1):
        if is_stopped():
            return
        now_s = time_s()
        now = datetime.fromtimestamp(now_s, UTC)
        events: list[tuple[EventType, dict[str, object]]] = [
            (event_type, {"id": f"{log}:{tick}:{what}", "time": now, **fields})
            for look in looks
            for event_type, what, fields in look()
        ]
        yield SourceLine(log, tick, int(now_s * 1000), events, is_last_for_now=True)
        sleep(interval_s)
