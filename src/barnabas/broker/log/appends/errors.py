"""The error for batches from a leader that a follower cannot append.

It has its own module because errors are never compiled: see `wire/records/errors.py`.
"""

from barnabas.core.errors import BarnabasError


class OutOfOrderBatchesError(BarnabasError):
    """The batches' offsets do not ascend from the log end offset: the leader's and the follower's log differ."""
