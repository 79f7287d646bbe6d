"""An aborted transaction in memory; `txn_index.py` stores it on disk."""

from typing import NamedTuple


class AbortedTransaction(NamedTuple):
    """One entry, with its fields in their order on disk."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
