"""What a person can do about a failure of a process, and whether the same process would meet it again.

A child's last words are all that the demo has of it, Spark's JVM among them: so failures are known by the system's own
texts, which are the same in Python and in Java.
"""

import errno
import os
from collections.abc import Sequence

# What a process says of these ended it, and ends the next one. Not so a port: Spark tries one after the other.
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

_AGAIN = "then run the same command again"
_REMEDIES = {
    errno.ENOSPC: f"make room on that disk, {_AGAIN}",
    errno.EDQUOT: f"make room within the disk's quota, {_AGAIN}",
    errno.EFBIG: f"raise the limit of file sizes (ulimit -f), {_AGAIN}",
    errno.EROFS: "give a --directory that can be written to",
    errno.EACCES: "give a --directory that can be written to",
    errno.EADDRINUSE: "run the same command again: it takes another port",
}


def remedy_of(text: str) -> str | None:
    """Return the remedy for a failure; None where none is known."""
    return next((remedy for number, remedy in _REMEDIES.items() if os.strerror(number) in text), None)


def disk_failure_among(lines: Sequence[str]) -> str | None:
    """The last line that tells of a disk which can't be written to: trying again does not mend that."""
    texts = [os.strerror(number) for number in _DISK_ERRORS]
    return next((line for line in reversed(lines) if any(text in line for text in texts)), None)
