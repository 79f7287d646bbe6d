"""What a batch adds to a run's progress."""

from barnabas.pipeline.runner.progress_file import Span, advanced, rebased
from barnabas.pipeline.tables.table import Mark, Progress

OLDER = Progress("r", 3, "c", {"t": {0: 100, 1: 10}}, {"t": {0: Mark(99, 1, 2)}})


def test_a_table_that_is_beyond_a_batchs_end_stays_there():
    span = Span({"t": {0: 50, 1: 10}}, {"t": {0: 80, 1: 20}}, {"t": {0: Mark(79, 5, 6), 1: Mark(19, 7, 8)}})
    after = advanced(OLDER, "r", "c", span)
    assert (after.sequence, after.offsets) == (4, {"t": {0: 100, 1: 20}})
    assert after.marks == {"t": {0: Mark(99, 1, 2), 1: Mark(19, 7, 8)}}


def test_going_on_elsewhere_goes_back_as_well_and_forgets_what_was_read_there():
    after = rebased(OLDER, "r", "c", {"t": {0: 5}})
    assert (after.offsets, after.marks) == ({"t": {0: 5, 1: 10}}, {"t": {}})
