"""The process itself: its standard streams at the start, its tuning after the start, its stop, and its freed memory.

If the parent process closed standard input, output or error, a log file or a connection would get descriptor 0, 1 or 2,
because the system assigns the lowest free number. Terminal output would then go there.

The C library keeps freed memory below the end of its heap for later use. After a peak (a thousand connections that
closed), no process uses that memory.

Source: malloc_trim(3). Only glibc has it; elsewhere nothing happens.
"""

import codecs
import gc
import io
import os
import signal
import sys
from typing import Final, TextIO

# Requests create many small objects without cycles: with the default of 700, the collector would run many times a
# second. The thresholds also keep each collection small: a large request, or thousands of active connections, create
# hundreds of thousands of objects at once, and a collection of 30,000 objects takes 15 ms.
_COLLECTOR_THRESHOLDS: Final = (5_000, 2, 1_000)
# After each system call, the loop waits this long for a computing thread (compaction, conversion, large requests) to
# release the GIL. With the default of 5 ms, clients see the delay (benchmarks/load, neighbour).
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
    """Open the closed ones of 0, 1 and 2 on the null device; `sys.stdin` and `sys.stdout` stay None.

    Standard output shows characters that its encoding lacks as `\\u65e5`.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The system assigns the lowest free descriptor: this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        # print(file=None) writes to standard output, so errors would mix with results.
        sys.stderr = os.fdopen(2, "w", closefd=False)
    # Any other choice is the user's, by PYTHONIOENCODING.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        codecs.register_error("barnabas", _escape)
        sys.stdout.reconfigure(errors="barnabas")


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Escape what an encoding lacks as JSON does, because the output may be JSON: not as \\xfc or \\U0001f600."""
    # Imported here, because most outputs do not need it.
    import json

    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def print_status(text: str, stream: TextIO | None) -> None:
    """Print a line about a program that runs until it is stopped: a full disk under the output does not end it.

    Args:
        stream: None: the stream is closed.

    Raises:
        BrokenPipeError: The reader of the output has left.
    """
    if stream is None:
        return
    try:
        # One write, so that lines of several threads do not mix.
        stream.write(f"{text}\n")
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError:
        pass


def stop_signals() -> list[signal.Signals]:
    """Return the signals that stop this process in order: SIGHUP, too, unless nohup has disabled it."""
    hangup = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGTERM, signal.SIGINT, *hangup]


def give_memory_back() -> None:
    """Return freed memory to the system. This takes milliseconds, so call it only after a peak."""
    if sys.platform != "linux":
        return
    # Imported late: most brokers never have such a peak.
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
