"""The process itself: its standard streams at the start, its tuning after the start, and its freed memory.

If the parent process had closed standard input, output or error, a log or a connection would get the number 0, 1 or 2,
and terminal output would go there: the system gives a new file or socket the lowest free number.

The C library keeps freed memory below the end of its heap for later use. After a peak (a thousand connections that
closed), neither this process nor any other uses that memory.

Source: malloc_trim(3). Only glibc has it; elsewhere nothing happens.
"""

import gc
import os
import sys
from typing import Final

# Requests make many small objects without cycles: the default of 700 would look for cycles many times a second.
# What is looked at in one go stays small: a large request makes hundreds of thousands at once, and so do thousands of
# connections that say something at once; a look at 30,000 takes 15 ms.
_COLLECTOR_THRESHOLDS: Final = (5_000, 2, 1_000)
# How long the loop waits for a thread that computes (compaction, conversion, large requests), each time that it comes
# back from a system call: with the default of 5 ms clients notice (benchmarks/load, neighbour).
_SWITCH_INTERVAL_S: Final = 0.0002


def has_started() -> None:
    """Enable the garbage collector, except for objects made so far, and shorten thread switches.

    So the event loop of a server never pauses for long.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    gc.enable()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


def open_standard_streams() -> None:
    """Open the closed ones of 0, 1 and 2 on the null device; `sys.stdin` and `sys.stdout` stay None."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest that is free, so this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        # print(file=None) writes to standard output: errors would stand among the results.
        sys.stderr = os.fdopen(2, "w", closefd=False)


def give_memory_back() -> None:
    """Return freed memory to the system. This takes milliseconds, so call it only after a peak."""
    if sys.platform != "linux":
        return
    # Not at start: most brokers never see such a peak.
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
