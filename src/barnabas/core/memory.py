"""Gives freed memory back to the system.

The C library keeps what was freed below the end of its heap for later. After a peak (a thousand connections that went
away) that is memory which this process does not use and nobody else can.

Source: malloc_trim(3). Only glibc has it; elsewhere nothing happens.
"""

import sys


def give_memory_back() -> None:
    """Give back what is free. It takes milliseconds, so call it after a peak only."""
    if sys.platform != "linux":
        return
    # Not at start: most brokers never see such a peak.
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
