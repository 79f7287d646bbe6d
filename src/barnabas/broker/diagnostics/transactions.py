"""Causes of aborted transactions: the producer, the timeout, or a newer producer. Pure.

A producer that aborts repeatedly for the same reason has one row with a count. Commits are not stored: they need no
explanation, and there may be thousands per second.

Source: docs/explain.md; KIP-98.
"""

from collections.abc import Callable, Collection
from enum import Enum
from typing import Final, NamedTuple, Protocol

from barnabas.broker.diagnostics import Row

MOST_ROWS: Final = 1_000
REPEATED_WITHIN_MS: Final = 60_000
# Memory of a row without its texts; a character may take four bytes.
_ROW_BYTES, _CHARACTER_BYTES = 1_100, 4

_Key = tuple[str, str, str, str]


class AbortReason(Enum):
    """Why a transaction is aborted."""

    PRODUCER = "producer"
    TIMEOUT = "timeout"
    NEWER_PRODUCER = "newer_producer"


class Abort(NamedTuple):
    """The state machine's report of a transaction that is aborted.

    Attributes:
        client_id, client_host: The client that requested it, or reused the transactional id; empty: no client.
    """

    reason: AbortReason
    client_id: str = ""
    client_host: str = ""


class Aborted(Protocol):
    """The aborted transaction in its last state: `transactions.Transaction`."""

    @property
    def transactional_id(self) -> str: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def timeout_ms(self) -> int: ...
    @property
    def start_timestamp_ms(self) -> int: ...
    @property
    def partitions(self) -> Collection[object]: ...


class Aborts:
    """The aborts of one coordinator.

    Attributes:
        kept_bytes: Their estimated memory.
        left_out: The number of rows evicted to make room.
        ended: Called with each new row.
    """

    def __init__(self, most_bytes: int, most_rows: int = MOST_ROWS) -> None:
        self._most_bytes = most_bytes
        self._most_rows = most_rows
        self.kept_bytes = self.left_out = 0
        # The key without an abort for the longest time is first.
        self._rows: dict[_Key, Row] = {}
        self.ended: Callable[[Row], object] = _nobody

    def note(self, txn: Aborted, abort: Abort, now_ms: int) -> None:
        """Record why a transaction is aborted."""
        key = (txn.transactional_id, abort.reason.value, abort.client_id, abort.client_host)
        row = self._rows.pop(key, None)
        is_repeated = row is not None and now_ms - row["at_ms"] < REPEATED_WITHIN_MS
        if row is not None:
            self.kept_bytes -= _bytes_of(key)
        count = row["count"] + 1 if row is not None and is_repeated else 1
        self._add(
            key,
            {
                "at_ms": now_ms,
                "first_ms": row["first_ms"] if row is not None and is_repeated else now_ms,
                "count": count,
                "began_ms": txn.start_timestamp_ms,
                "transactional_id": txn.transactional_id,
                "producer_id": txn.producer_id,
                "producer_epoch": txn.producer_epoch,
                "timeout_ms": txn.timeout_ms,
                "outcome": "aborted",
                "reason": abort.reason.value,
                "client_id": abort.client_id or None,
                "host": abort.client_host or None,
                "partition_count": len(txn.partitions),
            },
        )
        if not is_repeated:
            self.ended(self._rows[key])

    def rows(self, transactional_ids: Collection[str] | None = None, since_ms: int = -1) -> list[Row]:
        """Return the events since a time, the latest last.

        Args:
            transactional_ids: The ids to include; None for all.
        """
        return [
            row
            for key, row in self._rows.items()
            if (transactional_ids is None or key[0] in transactional_ids) and row["at_ms"] >= since_ms
        ]

    def restore(self, row: Row) -> None:
        """Store an event that `ended` received before the broker restarted."""
        names = (row["transactional_id"], row["reason"], row["client_id"] or "", row["host"] or "")
        key: _Key = (str(names[0]), str(names[1]), str(names[2]), str(names[3]))
        if self._rows.pop(key, None) is not None:
            self.kept_bytes -= _bytes_of(key)
        self._add(key, row)

    def _add(self, key: _Key, row: Row) -> None:
        self._rows[key] = row
        self.kept_bytes += _bytes_of(key)
        while len(self._rows) > self._most_rows or (self.kept_bytes > self._most_bytes and len(self._rows) > 1):
            oldest = next(iter(self._rows))
            del self._rows[oldest]
            self.kept_bytes -= _bytes_of(oldest)
            self.left_out += 1


def _nobody(row: Row) -> None:
    return


def _bytes_of(key: _Key) -> int:
    return _ROW_BYTES + _CHARACTER_BYTES * sum(map(len, key))
