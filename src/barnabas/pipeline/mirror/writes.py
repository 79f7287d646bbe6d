"""The target's quota, as a mirror keeps to it: batches no larger than it lets through in their time, each paid for."""

import threading
from collections.abc import Iterable

from barnabas.pipeline.runner.pacer import WRITE, Debt, Pacer, Used

# Batches are planned anew where one should take so many times as much, or as little.
_TOLERANCE = 1.6


class Writes:
    """The writing side of one mirror."""

    def __init__(self, pacer: Pacer | None) -> None:
        """Args:
        pacer: For the quotas at the target; None: they are left to the brokers.
        """
        self._pacer = pacer
        self._planned: float | None = None
        self._burst_s = 1.0

    def begin(self, topics: Iterable[str]) -> None:
        """Before a query starts: ask which quotas hold."""
        if self._pacer is not None:
            self._pacer.follow(topics)
            self._pacer.refresh()

    def offsets_per_batch(self, trigger_s: float, record_bytes: float, most: int) -> int:
        """Give how many records a batch may have.

        Args:
            trigger_s: How long a batch is to last.
            record_bytes: Mean size of a record.
            most: Without a quota.
        """
        self._burst_s = trigger_s
        self._planned = rate = self._rate()
        if self._pacer is not None:
            self._pacer.expect(WRITE, trigger_s, 0.0)
        return most if rate is None else min(most, max(1, int(rate * trigger_s / record_bytes)))

    def reason_to_restart(self) -> str:
        """Say why the query should be started anew; nothing: it should not."""
        now, planned = self._rate(), self._planned
        if now is None or planned is None:
            has_moved = now is not planned
        else:
            has_moved = max(now, planned) > _TOLERANCE * min(now, planned)
        return "batches are planned anew, as the target's quota has changed" if has_moved else ""

    def begin_batch(self) -> None:
        """Before a batch is written."""
        if self._pacer is not None:
            self._pacer.begin(WRITE)

    def owe(self, used: Used) -> Debt | None:
        """Note what was written; gives what has to be settled."""
        return None if self._pacer is None else self._pacer.owe(WRITE, used)

    def settle(self, debt: Debt | None, stopped: threading.Event) -> None:
        """Wait until a batch is paid for, or nobody is to be held any more."""
        if debt is not None and self._pacer is not None:
            self._pacer.settle(debt, stopped)

    def _rate(self) -> float | None:
        """Give the bytes/s that the brokers with a quota let through together; None: none has one."""
        rates = {} if self._pacer is None else self._pacer.rates(WRITE, self._burst_s)
        return sum(rates.values()) if rates else None
