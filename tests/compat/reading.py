"""Waiting for what is to come."""

import time
from collections.abc import Callable, Sequence

from tests.compat.clients import Consumer, Record
from tests.patience import PATIENCE_S


def read(consumer: Consumer, count: int, timeout_s: float = PATIENCE_S) -> list[Record]:
    """Poll until at least `count` records came; fail when time is up."""
    records: list[Record] = []
    deadline = time.monotonic() + timeout_s
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records came in {timeout_s} s"
        records += consumer.poll(200)
    return records


def poll_until(
    consumers: Sequence[Consumer], is_reached: Callable[[], bool], timeout_s: float = PATIENCE_S
) -> list[Record]:
    """Poll all consumers in turn until a condition holds, and return what they saw on the way."""
    records: list[Record] = []
    deadline = time.monotonic() + timeout_s
    while not is_reached():
        assert time.monotonic() < deadline, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            records += consumer.poll(100)
    return records
