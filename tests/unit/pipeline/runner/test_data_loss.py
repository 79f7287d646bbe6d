"""What a run finds lost, from all that its outputs have noted, and where it goes on."""

from typing import cast

from barnabas.clients.positions import Extent, Loss, LostRange
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.data_loss import find_losses, not_reported, resume_offsets
from barnabas.pipeline.tables.table import Mark, Progress


class Records:
    """What stands in the topics: one record at each offset."""

    def __init__(self, checksum):
        self._checksum = checksum

    def found_marks(self, marks):
        return {
            topic: {number: Mark(mark.offset, 5, self._checksum) for number, mark in partitions.items()}
            for topic, partitions in marks.items()
        }


def progress(run, mark):
    return Progress(run, 1, "cluster", {"t": {0: mark.offset + 1}}, {"t": {0: mark}})


def losses(marks, *, checksum):
    extents = {"t": {0: Extent(0, 20)}}
    progresses = [progress(f"run/{number}", mark) for number, mark in enumerate(marks)]
    return find_losses(cast(Cluster, Records(checksum)), "cluster", {"t": {0: 10}}, extents, progresses)


def test_the_newest_of_all_marks_says_whether_a_topic_is_the_same():
    # The older of the two was written by another mirror of the same records, say: its checksum is another.
    old, new = Mark(3, 5, 111), Mark(9, 5, 222)
    for marks in ([old, new], [new, old]):
        assert losses(marks, checksum=222) == []
        assert [each.loss for each in losses(marks, checksum=111)] == [Loss.REPLACED]


def test_a_partition_goes_on_at_its_first_record_even_where_that_is_0():
    found = [
        LostRange("t", 0, Loss.SHORTER, 7, 7, 0),
        LostRange("t", 1, Loss.GONE, 8, 8, None),
        LostRange("u", 0, Loss.OVERTAKEN, 3, 5, 5),
    ]
    assert resume_offsets(found) == {"t": {0: 0}, "u": {0: 5}}


def test_a_partition_that_was_absent_is_lost_once():
    losses = [LostRange("t", number, loss, 8, 8, 9) for number, loss in enumerate(Loss)]
    absent = dict.fromkeys(range(len(losses)), 8)
    assert [each.loss for each in not_reported(losses, {"t": absent})] == [Loss.OVERTAKEN, Loss.OTHER_CLUSTER]
    assert not_reported(losses, {"u": absent}) == losses


class Log:
    """A cluster whose partition has an open transaction from offset 10 on."""

    def __init__(self, log_end):
        self._log_end = log_end

    def found_marks(self, marks):
        return {}

    def log_ends(self, partitions):
        return {"t": {0: self._log_end}}


def test_a_place_inside_an_open_transaction_is_no_loss_and_one_behind_the_log_is():
    for log_end, lost in [(15, []), (14, [LostRange("t", 0, Loss.SHORTER, 15, 15, 0)])]:
        cluster = cast(Cluster, Log(log_end))
        assert find_losses(cluster, "cluster", {"t": {0: 15}}, {"t": {0: Extent(0, 10)}}, []) == lost
