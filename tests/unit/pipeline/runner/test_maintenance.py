"""When a run's tables are compacted, and when their history goes."""

from dataclasses import dataclass, field

from barnabas.pipeline.runner.maintenance import Every, Maintenance


@dataclass
class Table:
    """Notes what is done to it."""

    done: list[str] = field(default_factory=list)
    is_there: bool = True

    def exists(self):
        return self.is_there

    def compact(self):
        self.done.append("compact")

    def trim_history(self):
        self.done.append("trim")


def done_by(every, steps_s):
    """Return what was done to an appended and a replaced table after batches at some times."""
    clock_s = [0.0]
    maintenance = Maintenance(every, lambda: clock_s[0])
    appended, replaced, absent = Table(), Table(), Table(is_there=False)
    told = []
    for now_s in steps_s:
        clock_s[0] = now_s
        maintenance.after_batch([appended, absent], [replaced, absent])
        told.append((" ".join(appended.done), " ".join(replaced.done)))
        appended.done.clear()
        replaced.done.clear()
    assert not absent.done
    return told


NOTHING, BOTH, COMPACTED = ("", ""), ("compact trim", "trim"), ("compact", "")


def test_tables_are_compacted_after_so_many_batches():
    assert done_by(Every(batches=2), [1, 2, 3, 4, 5]) == [NOTHING, BOTH, NOTHING, COMPACTED, NOTHING]


def test_tables_are_compacted_after_so_much_time():
    assert done_by(Every(seconds=60), [30, 59, 61, 62, 121]) == [NOTHING, NOTHING, BOTH, NOTHING, COMPACTED]


def test_history_goes_once_an_hour_at_the_most():
    assert done_by(Every(batches=1), [0, 3_599, 3_600, 7_199]) == [BOTH, COMPACTED, BOTH, COMPACTED]


def test_nothing_is_done_where_nothing_is_asked_for():
    assert done_by(Every(), [1, 100_000]) == [NOTHING, NOTHING]
