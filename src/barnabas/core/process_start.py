"""Tuning of a server process after its start, so that its event loop never pauses for long."""

import gc
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
    """Enable the garbage collector, except for objects made so far, and shorten thread switches."""
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    gc.enable()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
