"""Returns freed memory to the system.

The C library keeps freed memory below the end of its heap for later use. After a peak (a thousand connections that
closed), neither this process nor any other uses that memory.

Source: malloc_trim(3). Only glibc has it; elsewhere nothing happens.
"""

import sys


def give_memory_back() -> None:
    """Return freed memory to the system. This takes milliseconds, so call it only after a peak."""
    if sys.platform != "linux":
        return
    # Not at start: most brokers never see such a peak.
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
