"""The error for batches from a leader that a follower cannot append.

By itself because an error is never compiled: see `wire/records/errors.py`.
"""

from barnabas.core.errors import BarnabasError


class OutOfOrderBatchesError(BarnabasError):
    """The batches' offsets do not ascend from the log's end: leader and follower disagree about the log."""
