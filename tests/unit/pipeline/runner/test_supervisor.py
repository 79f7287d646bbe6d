"""When a run that has failed is started again, and when it is given up."""

import pytest

from barnabas.pipeline.runner import supervisor
from barnabas.pipeline.runner.batch_run import QueryStoppedError
from barnabas.pipeline.runner.run_metrics import Figures, Metrics
from barnabas.pipeline.runner.supervisor import RunFailedError, supervise

GIVE_UP_S = 60.0


class Clock:
    """Time as it is asked for; what waits moves it."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class LongRun:
    """Each of its batches takes five minutes, and so many of them fail before one is done."""

    is_refresh_failing = False

    def __init__(self, clock: Clock, failure_count: int) -> None:
        self.figures = Figures("long")
        self.figures.lag = {"t": {0: 5}}
        self.failure_count = failure_count
        self.start_count = 0
        self._clock = clock

    def start(self) -> None:
        self.start_count += 1

    def poll(self) -> bool:
        self._clock.sleep(5 * GIVE_UP_S)
        if self.start_count <= self.failure_count:
            raise QueryStoppedError("an executor was lost")
        self.figures.batch_count += 1
        return True

    def end(self) -> None:
        return

    def stop(self, timeout_s: float = 30.0) -> None:
        return

    def finish(self) -> None:
        return


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(supervisor, "time", clock)
    return clock


def test_a_run_whose_long_batch_has_failed_once_is_started_again(clock: Clock):
    run = LongRun(clock, failure_count=1)
    supervise([run], [GIVE_UP_S], Metrics(), lambda _: None, lambda: False)
    assert (run.start_count, run.figures.restart_count) == (2, 1)


def test_a_run_that_goes_on_failing_is_given_up(clock: Clock):
    run = LongRun(clock, failure_count=2)
    with pytest.raises(RunFailedError, match="an executor was lost"):
        supervise([run], [GIVE_UP_S], Metrics(), lambda _: None, lambda: False)
    assert run.start_count == 2


def test_a_stop_waits_for_one_run_at_most(clock: Clock):
    runs = [LongRun(clock, failure_count=1) for _ in range(3)]
    supervise(runs, [GIVE_UP_S] * 3, Metrics(), lambda _: None, lambda: runs[0].start_count > 0)
    assert [each.start_count for each in runs] == [1, 0, 0]


class FailingRefresh(LongRun):
    """Its batches succeed, or there is no record to read; its refresh fails after each start."""

    is_refresh_failing = True

    def poll(self) -> bool:
        if self.start_count == self.figures.restart_count + 1:
            self.figures.batch_count += self.failure_count
            self._clock.sleep(1.0)
            self.start_count += 1
            return False
        self.start_count -= 1
        raise QueryStoppedError("an executor was lost")


@pytest.mark.parametrize("new_batch_count", [0, 1])
def test_a_run_whose_refresh_goes_on_failing_is_given_up(clock: Clock, new_batch_count: int):
    run = FailingRefresh(clock, new_batch_count)
    run.figures.lag = {}
    with pytest.raises(RunFailedError, match="an executor was lost"):
        supervise([run], [GIVE_UP_S], Metrics(), lambda _: None, lambda: False)
    assert run.figures.restart_count > 3
