"""Opens standard input, output and error where the process that started this one had closed them.

The system gives a new file or socket the lowest number that is free. Where 0, 1 or 2 is, a log or a connection gets it,
and what is meant for the terminal is written into that.
"""

import os
import sys


def open_standard_streams() -> None:
    """Open those of 0, 1 and 2 that are closed, on the null device; `sys.stdin` and `sys.stdout` stay None."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest that is free, so this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        # print(file=None) writes to standard output: errors would stand among the results.
        sys.stderr = os.fdopen(2, "w", closefd=False)
