"""When a run's queries are to be started anew, and what they still have to wait for then."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import pytest

from barnabas.pipeline.runner.limits import Limits
from barnabas.pipeline.runner.pacer import READ, Debt, Pacer, Stopped
from barnabas.pipeline.runner.positions import Extent
from barnabas.pipeline.runner.reading import Reading

EXTENTS = {"t": {0: Extent(0, 9), 1: Extent(0, 9)}}


@dataclass
class Plan:
    limits: Limits
    trigger_s: float | None = 1.0


@pytest.mark.parametrize(
    ("limits", "is_divided", "leaves_out"),
    [
        (Limits(records_per_s_per_partition=10), True, True),
        # With state there can't be another number of sources.
        (Limits(records_per_s_per_partition=10), False, False),
        (Limits(records_per_s=10), True, False),
    ],
)
def test_a_partition_that_was_added(limits: Limits, is_divided: bool, leaves_out: bool) -> None:
    reading = Reading(Plan(limits), None, is_divided=is_divided)
    reading.begin(["t"])
    reading.sources({"t": {0: 0}})
    assert reading.leaves_out(EXTENTS) is leaves_out
    reading.begin(["t"])
    reading.sources({"t": {0: 0, 1: 0}})
    assert not reading.leaves_out(EXTENTS)


class Holding:
    """A pacer whose holds last until they are ended."""

    def __init__(self) -> None:
        self.settled: list[tuple[Debt, bool]] = []

    def follow(self, topics: Iterable[str]) -> None:
        pass

    def refresh(self) -> None:
        pass

    def settle(self, debt: Debt, stopped: Stopped) -> None:
        self.settled.append((debt, stopped.wait(0.0)))


def test_a_hold_that_a_new_start_has_ended_goes_on_before_the_next_batch() -> None:
    pacer = Holding()
    reading = Reading(Plan(Limits()), cast(Pacer, pacer))
    debt = Debt(READ, {0: 7.0}, "a quota")
    reading.begin(["t"])
    reading.settle_rest()
    reading.end()
    reading.settle(debt)
    reading.begin(["t"])
    reading.settle_rest()
    # It is paid for now.
    reading.settle_rest()
    assert pacer.settled == [(debt, True), (debt, False)]
