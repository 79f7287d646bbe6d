"""Opens standard input, output and error if the parent process had closed them.

The system gives a new file or socket the lowest free number. If 0, 1 or 2 is free, a log or a connection gets it, and
terminal output would go there.
"""

import os
import sys


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
