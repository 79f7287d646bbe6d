"""How a run writes records to topics: at once, or, where a quota holds its producers, in slices that are each paid for.

What is derived comes in bursts, a whole refresh at a time. A broker answers a producer that is over its quota and then
reads nothing from it for as long as that takes; beyond `request.timeout.ms` that is an error, and beyond
`delivery.timeout.ms` the records are lost to the producer and the job fails. So no slice is larger than what may be
written in half a second.

A run that is to stop does not wait for all slices: what is left is found and written again when it is started again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import ceil
from typing import TYPE_CHECKING

from barnabas.pipeline.runner.limits import RECORD_OVERHEAD_BYTES
from barnabas.pipeline.runner.pacer import WRITE, Pacer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SLICE_S = 0.5
_MOST_SLICES = 10_000


class WritingStoppedError(Exception):
    """The run is to stop, and some of the records are not written."""


class Writing:
    """The writing side of one run.

    Attributes:
        limited_by: The quota that held the last write; empty: none did.
    """

    def __init__(self, pacer: Pacer | None, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Args:
        pacer: For the quotas of the run's user and client id; None: they are left to the brokers.
        is_stopped: Asked again and again while a write is held: whether to leave it.
        """
        self.limited_by = ""
        self._pacer = pacer
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
        pacer = self._pacer
        if pacer is not None and pacer.has_quota(WRITE):
            pacer.follow([topic])
            self._save_paced(pacer, records.persist(), topic, options)
        else:
            _save(records, topic, options)

    def wait(self, timeout: float) -> bool:
        """Wait for so many seconds while a slice is held; whether the wait is to end (`pacer.Stopped`)."""
        # No event, whose lock a signal's handler in this very thread would wait for.
        time.sleep(timeout)
        return self._is_stopped()

    def _save_paced(self, pacer: Pacer, records: DataFrame, topic: str, options: Mapping[str, str]) -> None:
        try:
            size = _size_of(records)
            rate = min(pacer.rates(WRITE, _SLICE_S).values(), default=size)
            slice_count = min(max(1, ceil(size / (_SLICE_S * rate))) if size else 1, _MOST_SLICES)
            pacer.expect(WRITE, _SLICE_S, 0.0)
            for number in range(slice_count):
                if slice_count > 1 and self._is_stopped():
                    raise WritingStoppedError(f"{number} of {slice_count} slices are in topic {topic}")
                pacer.begin(WRITE)
                _save(records.where(f"pmod(xxhash64(key), {slice_count}) = {number}"), topic, options)
                partitions = pacer.leaders.get(topic) or {-1: -1}
                used = {topic: dict.fromkeys(partitions, size / slice_count / len(partitions))}
                self.limited_by = pacer.pay(WRITE, used, self).limit or self.limited_by
        finally:
            records.unpersist()


def _save(records: DataFrame, topic: str, options: Mapping[str, str]) -> None:
    records.write.format("kafka").options(**options).option("topic", topic).save()


def _size_of(records: DataFrame) -> float:
    """Give the bytes of records, about as a broker counts them, in one pass that also puts them into the cache."""
    each = f"coalesce(length(key), 0) + coalesce(length(value), 0) + {RECORD_OVERHEAD_BYTES}"
    (row,) = records.selectExpr(f"coalesce(sum({each}), 0) AS size").collect()
    return float(row["size"])
