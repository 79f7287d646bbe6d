"""Writes records to topics: at once, or, where a quota holds the run's producers, in slices of a second's worth.

What is derived comes in bursts, a whole refresh at a time. A broker answers a producer that is over its quota and then
reads nothing from it for as long as that takes; what waits in the producer for longer than `delivery.timeout.ms` is
lost to it, and the job fails. So it is written no faster than the quota allows.

A run that is to stop does not wait for all slices: what is left is found and written again when it is started again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import ceil
from typing import TYPE_CHECKING

from barnabas.pipeline.runner.limits import RECORD_OVERHEAD_BYTES
from barnabas.pipeline.runner.quota import WRITE
from barnabas.pipeline.runner.quota_client import QuotaClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SLICE_S, _LOOK_S = 1.0, 0.1
_MOST_SLICES = 10_000


class WritingStoppedError(Exception):
    """The run is to stop, and some of the records are not written."""


class Writing:
    """The writing side of one run.

    Attributes:
        limited_by: The quota that held the last write; empty: none did.
    """

    def __init__(self, quotas: QuotaClient | None, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Args:
        quotas: Of the run's user and client id; None: they are left to the brokers.
        is_stopped: Asked again and again between slices: whether to leave the write.
        """
        self.limited_by = ""
        self._quotas = quotas
        self._is_stopped = is_stopped

    def save(self, records: DataFrame, topic: str, options: Mapping[str, str]) -> None:
        """Write records to a topic; returns once all are acknowledged.

        Args:
            records: Columns `key` and `value`. Those of one key keep their order.
            options: Of Spark's connector.

        Raises:
            WritingStoppedError: it was to stop between two slices.
        """
        self.limited_by = ""
        rate = None
        if self._quotas is not None:
            self._quotas.ask(again=True)
            rate = self._quotas.rate(WRITE)
        if rate is None:
            _save(records, topic, options)
            return
        records = records.persist()
        try:
            self._save_slices(records, topic, options, rate)
        finally:
            records.unpersist()

    def _save_slices(self, records: DataFrame, topic: str, options: Mapping[str, str], rate: float) -> None:
        slice_count = min(max(1, ceil(_size_of(records) / (_SLICE_S * rate))), _MOST_SLICES)
        for number in range(slice_count):
            until_s = time.monotonic() + _SLICE_S
            _save(records.where(f"pmod(xxhash64(key), {slice_count}) = {number}"), topic, options)
            if number + 1 < slice_count:
                self._note_limited()
                self._wait_until(until_s, f"{number + 1} of {slice_count} slices are in topic {topic}")

    def _note_limited(self) -> None:
        assert self._quotas is not None
        self._quotas.note_limited(WRITE)
        self._quotas.ask(again=True)
        self.limited_by = self._quotas.strictest(WRITE) or self.limited_by

    def _wait_until(self, until_s: float, written: str) -> None:
        while True:
            if self._is_stopped():
                raise WritingStoppedError(written)
            if time.monotonic() >= until_s:
                return
            # No event, whose lock a signal's handler in this very thread would wait for.
            time.sleep(_LOOK_S)


def _save(records: DataFrame, topic: str, options: Mapping[str, str]) -> None:
    records.write.format("kafka").options(**options).option("topic", topic).save()


def _size_of(records: DataFrame) -> float:
    """Return the bytes of records, about as a broker counts them, in one pass that also puts them into the cache."""
    each = f"coalesce(length(key), 0) + coalesce(length(value), 0) + {RECORD_OVERHEAD_BYTES}"
    (row,) = records.selectExpr(f"coalesce(sum({each}), 0) AS size").collect()
    return float(row["size"])
