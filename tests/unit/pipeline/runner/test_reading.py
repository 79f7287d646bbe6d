"""When a run's queries are to be started anew, as they miss partitions."""

from dataclasses import dataclass

import pytest

from barnabas.pipeline.runner.limits import Limits
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
