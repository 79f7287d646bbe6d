"""Runs that pace themselves, beside a broker's own quotas, in simulated time: how much they use, and never too much."""

import json
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.explain import explain
from barnabas.broker.quotas.manager import Quotas
from barnabas.pipeline.runner.pace import Pace, Spread
from barnabas.pipeline.runner.quota_state import READ, Quota, explained
from barnabas.wire.quotas.entities import Entity

MB = 1_000_000.0
STEP_S = 0.05
POLL_S = 1.0


class Broker:
    """Real quotas, in milliseconds that are counted here."""

    def __init__(self, limit: float) -> None:
        self.quotas = Quotas(Windows(11, 1_000))
        self.held: list[float] = []
        self.sent: list[tuple[float, float]] = []
        self.limit(limit)

    def limit(self, limit: float) -> None:
        self.quotas.set_override(Entity("u", None), READ, limit)

    def fetch(self, now_s: float, size: float) -> None:
        self.quotas.enter("u", "c", 0).fetched_bytes += round(size)
        throttle_ms = self.quotas.record(READ, "u", "c", size, round(now_s * 1_000))
        self.sent.append((now_s, size))
        if throttle_ms:
            self.quotas.bucket(READ, "u", "c", round(now_s * 1_000)).note_throttle(round(now_s * 1_000), throttle_ms)
            self.held.append(now_s)

    def tell(self, now_s: float, run: str, is_held: bool) -> Quota:
        now_ms = round(now_s * 1_000)
        self.quotas.pacers.note(READ, "u", "c", run, now_ms, 6_000 if is_held else 0)
        told = json.loads(json.dumps({"broker_id": 0, **explain(self.quotas, None, "u", "c", now_ms)}))
        quota = explained(told, READ, is_held)
        assert quota is not None
        return quota

    def rate(self, from_s: float, to_s: float) -> float:
        return sum(size for at_s, size in self.sent if from_s <= at_s < to_s) / (to_s - from_s)


@dataclass
class Run:
    """One that could always read more: batch after batch, of which the broker sends all in `read_s` at the start."""

    name: str
    broker: Broker
    batch_bytes: float
    batch_s: float = 0.4
    read_s: float = 0.0
    begins_s: float = 0.0
    truth: float = 1.0
    """What the broker counts for each byte that the run knows of."""
    pace: Pace | None = None
    read: list[tuple[float, float]] = field(default_factory=list)
    _began_s: float = 0.0
    _part: float = 0.0
    _until_s: float = 0.0
    _next_poll_s: float = 0.0
    _owed: float | None = None

    def step(self, now_s: float) -> None:
        if now_s < self.begins_s:
            return
        if now_s >= self._next_poll_s:
            self._next_poll_s = now_s + POLL_S
            quota = self.broker.tell(now_s, self.name, is_held=True)
            if self.pace is None:
                self.pace = Pace(quota, now_s)
            else:
                self.pace.take(quota, now_s)
        if now_s < self._until_s:
            self._fetch(now_s)
            return
        assert self.pace is not None
        if self._owed is None and self.read:
            spread = Spread(self.read_s, now_s - self._began_s - self.read_s)
            self._owed = self.pace.owe(now_s, self.read[-1][1] / self.truth, spread)
            self._next_poll_s = now_s
        if self._owed is not None and self.pace.wait_s(now_s, self._owed) > 0:
            return
        self._owed = None
        self.pace.take(self.broker.tell(now_s, self.name, is_held=True), now_s)
        self.pace.begin()
        self.read.append((now_s, self.truth * self.batch_bytes))
        self._began_s, self._until_s, self._part = now_s, now_s + self.batch_s, 0.0
        self._fetch(now_s)

    def _fetch(self, now_s: float) -> None:
        part = min(1.0, (now_s + STEP_S - self._began_s) / self.read_s) if self.read_s else 1.0
        before, self._part = self._part, part
        count = 1 if self.read_s else 4
        for _ in range(count if part > before else 0):
            self.broker.fetch(now_s, self.truth * self.batch_bytes * (part - before) / count)

    def rate(self, from_s: float, to_s: float) -> float:
        return sum(size for at_s, size in self.read if from_s <= at_s < to_s) / (to_s - from_s)


def go(runs: list[Run], from_s: float, to_s: float) -> None:
    for number in range(round(from_s / STEP_S), round(to_s / STEP_S)):
        for run in runs:
            run.step(number * STEP_S)


def test_a_run_uses_nearly_all_of_its_limit_and_is_never_held() -> None:
    broker = Broker(MB)
    go([Run("a", broker, 0.5 * MB)], 0, 120)
    assert broker.held == []
    assert 0.9 <= broker.rate(11, 120) / MB <= 1.0


@pytest.mark.parametrize("truth", [0.2, 0.7, 1.4, 3.0])
def test_what_the_broker_measures_corrects_the_estimate(truth: float) -> None:
    broker = Broker(MB)
    run = Run("a", broker, 0.5 * MB / truth, truth=truth)
    go([run], 0, 120)
    assert run.pace is not None
    assert run.pace.correction == pytest.approx(truth, rel=0.05)
    assert [at_s for at_s in broker.held if at_s > 30] == []
    assert 0.88 <= broker.rate(40, 120) / MB <= 1.0


def test_a_limit_that_is_halved_and_doubled_is_followed() -> None:
    broker = Broker(MB)
    run = Run("a", broker, 0.5 * MB)
    go([run], 0, 40)
    broker.limit(MB / 2)
    go([run], 40, 43)
    run.batch_bytes = 0.5 * MB / 2
    go([run], 43, 80)
    broker.limit(2 * MB)
    go([run], 80, 83)
    run.batch_bytes = 0.5 * MB * 2
    go([run], 83, 120)
    # What it had used by the old limit is above the new one for a window.
    assert [at_s for at_s in broker.held if not 40 <= at_s < 51] == []
    assert 0.9 <= broker.rate(11, 40) / MB <= 1.0
    assert 0.9 <= broker.rate(51, 80) / (MB / 2) <= 1.0
    assert 0.9 <= broker.rate(91, 120) / (2 * MB) <= 1.0


def test_two_runs_share_a_limit_evenly_and_the_one_that_stays_has_all_of_it() -> None:
    broker = Broker(MB)
    first = Run("a", broker, 0.5 * MB)
    second = Run("b", broker, 0.25 * MB, begins_s=30.3)
    go([first, second], 0, 90)
    # The first one hears of the other a moment late.
    assert [at_s for at_s in broker.held if not 30 <= at_s < 41] == []
    assert 0.9 <= broker.rate(45, 90) / MB <= 1.0
    assert first.rate(45, 90) == pytest.approx(second.rate(45, 90), rel=0.1)
    go([first], 90, 130)
    assert [at_s for at_s in broker.held if at_s > 41] == []
    assert 0.9 <= broker.rate(105, 130) / MB <= 1.0


def test_a_run_of_long_batches_leaves_free_what_their_bursts_need() -> None:
    broker = Broker(MB)
    go([Run("a", broker, 2.2 * MB, batch_s=1.5)], 0, 120)
    assert [at_s for at_s in broker.held if at_s > 11] == []
    assert 0.7 <= broker.rate(11, 120) / MB <= 0.95


@pytest.mark.parametrize(("batch_s", "read_s"), [(1.9, 1.4), (4.7, 3.2), (0.9, 0.45), (9.5, 7.8)])
def test_a_run_that_reads_long_batches_evenly_uses_nearly_all_of_its_limit(batch_s: float, read_s: float) -> None:
    broker = Broker(MB)
    planned = Pace(Quota(READ, 0, MB, "x"), 0.0).rate_in_batches(batch_s + 0.1, read_s)
    go([Run("a", broker, (batch_s + 0.1) * planned, batch_s, read_s)], 0, 160)
    assert broker.held == []
    assert 0.9 <= broker.rate(11, 160) / MB <= 1.0


@pytest.mark.parametrize("late_s", [0.0, 0.4])
def test_two_batches_in_a_window_leave_room_for_much_other_work(late_s: float) -> None:
    broker = Broker(MB)
    run = Run("a", broker, 4.8 * MB, 4.6, 3.1)
    dice = Random(12)
    for number in range(round(160 / STEP_S)):
        run.step(number * STEP_S)
        if run._began_s == number * STEP_S:
            run._until_s += dice.uniform(0.0, late_s)
    assert broker.held == []
    assert 0.9 <= broker.rate(11, 160) / MB <= 1.0


@pytest.mark.parametrize(("batch_s", "least"), [(4.8, 0.82), (9.6, 0.90)])
def test_fewer_and_longer_batches_lose_less_by_being_late(batch_s: float, least: float) -> None:
    # With 1.3 s of other work, and up to 1.5 s more: docs/adr/0011.
    broker = Broker(MB)
    planned = Pace(told(0.0), 0.0).rate_in_batches(batch_s, batch_s - 1.5)
    run = Run("a", broker, batch_s * planned, batch_s - 0.2, batch_s - 1.5)
    dice = Random(12)
    for number in range(round(400 / STEP_S)):
        run.step(number * STEP_S)
        if run._began_s == number * STEP_S:
            run._until_s += dice.uniform(0.0, 1.5)
    assert broker.held == []
    assert least <= broker.rate(20, 400) / MB <= 1.0


def test_batches_that_are_read_evenly_may_be_larger_than_those_that_come_at_once() -> None:
    # More is left free where the broker does not tell what it has counted.
    for quota, part in ((told(0.0), 0.98), (Quota(READ, 0, MB, "x"), 0.96)):
        pace = Pace(quota, 0.0)
        assert pace.rate_in_batches(0.5, 0.0) == pytest.approx(part * MB / 1.05)
        assert pace.rate_in_batches(5.0, 0.0) == pytest.approx(part * MB / 1.5)
        assert pace.rate_in_batches(5.0, 3.0) == pytest.approx(0.98 * part * MB)


def test_two_runs_that_read_evenly_share_a_limit() -> None:
    broker = Broker(MB)
    runs = [Run("a", broker, MB, 1.9, 1.3), Run("b", broker, MB, 1.9, 1.3, begins_s=0.7)]
    go(runs, 0, 120)
    assert [at_s for at_s in broker.held if at_s > 11] == []
    assert 0.9 <= broker.rate(20, 120) / MB <= 1.0


def test_a_broker_that_has_to_hold_all_the_same_makes_the_run_leave_more_free() -> None:
    pace = Pace(Quota(READ, 0, MB, "x", used_total=0.0), 0.0)
    before = pace.rate(20.0)
    pace.take(Quota(READ, 0, MB, "x", used_total=0.0, held_s=0.4), 20.0)
    less = pace.rate(20.0)
    assert less < before
    rates = []
    for number in range(100):
        pace.take(Quota(READ, 0, MB, "x", used_total=0.0, held_s=0.4), 22.0 + 2 * number)
        rates.append(pace.rate(22.0 + 2 * number))
    assert all(one <= other for one, other in pairwise(rates))
    assert rates[-1] == pytest.approx(before, rel=0.01)


def test_what_the_broker_held_counts_as_used_at_last() -> None:
    waits = []
    for held_s in (0.0, 12.0):
        pace = Pace(Quota(READ, 0, MB, "x"), 0.0)
        pace.owe(0.0, 10 * MB)
        pace.take(Quota(READ, 0, MB, "x", held_s=held_s), 100.0)
        pace.owe(100.0, 9 * MB, Spread(12.0))
        # Some seconds later most of it would be forgotten.
        waits.append(pace.wait_s(109.0, pace.owe(109.0, 2 * MB, Spread(2.0))))
    assert waits[0] <= 0
    assert waits[1] > 0.5


@pytest.mark.parametrize(("held_s", "more"), [(0.01, 0.005), (0.2, 0.02), (4.0, 0.03)])
def test_more_is_left_free_by_as_much_as_was_too_much(held_s: float, more: float) -> None:
    pace = Pace(Quota(READ, 0, MB, "x", used_total=0.0), 0.0)
    before = pace.rate(20.0)
    pace.take(Quota(READ, 0, MB, "x", used_total=0.0, held_s=held_s), 20.0)
    assert pace.rate(20.0) == pytest.approx(before - more * MB)


def test_a_batch_that_was_read_in_its_time_was_not_what_the_broker_held() -> None:
    waits = []
    for held_s in (0.0, 12.0):
        pace = Pace(Quota(READ, 0, MB, "x", 2), 0.0)
        pace.expect(9.6, 8.0)
        pace.take(Quota(READ, 0, MB, "x", 2, held_s=held_s), 9.0)
        waits.append(pace.wait_s(9.0, pace.owe(9.0, 4.4 * MB, Spread(8.0))))
    assert waits[0] == pytest.approx(waits[1], abs=0.5)


def told(total: float, sharer_count: int = 1, **others: float) -> Quota:
    return Quota(READ, 0, MB, "x", sharer_count, used_total=total, **others)


def test_what_the_broker_counted_tells_when_it_was_used() -> None:
    pace = Pace(told(0.0), 0.0)
    pace.expect(8.0, 6.0)
    pace.begin()
    # All of it came within a second, whatever the run knows of it.
    for at_s, total in ((1.0, 0.0), (2.0, 8 * MB), (3.0, 8 * MB), (7.0, 8 * MB)):
        pace.take(told(total), at_s)
    owed = pace.owe(7.0, 8 * MB, Spread(6.0))
    pace.take(told(8 * MB), 7.1)
    # That second is forgotten eleven seconds later, when a third of the next batch is read.
    assert paid_after_s(pace, 7.1, owed) == pytest.approx(2.8, abs=0.3)


def test_where_others_share_a_limit_a_run_goes_by_what_it_noted() -> None:
    pace = Pace(told(0.0, 2), 0.0)
    pace.begin()
    for at_s in (1.0, 2.0, 6.0):
        pace.take(told(2 * MB, 2), at_s)
    owed = pace.owe(6.0, 4 * MB, Spread(0.5))
    pace.take(told(2 * MB, 2), 6.1)
    assert paid_after_s(pace, 6.1, owed) > 8


def test_until_the_broker_tells_again_what_was_noted_counts() -> None:
    pace = Pace(told(0.0), 0.0)
    pace.expect(9.0, 1.0)
    pace.begin()
    owed = pace.owe(20.0, 9 * MB, Spread(1.0))
    assert pace.wait_s(20.0, owed) > 5
    # It was a tenth of it, as it turns out.
    pace.take(told(0.9 * MB), 20.1)
    assert pace.wait_s(20.1, owed) < 1


def test_a_broker_that_counts_from_nothing_again_has_forgotten_all() -> None:
    pace = Pace(told(50 * MB, window_total=9.9 * MB, measured_s=10.4), 0.0)
    pace.expect(4.8, 3.5)
    assert pace.wait_s(0.1, 0.0) > 0
    pace.take(told(0.0), 0.2)
    assert pace.wait_s(0.2, 0.0) <= 0


def test_what_was_thrown_away_is_in_the_windows_and_is_not_paid_for() -> None:
    waits = []
    for wasted in (0.0, 6 * MB):
        pace = Pace(Quota(READ, 0, MB, "x"), 0.0)
        pace.waste(30.0, wasted, Spread(2.0))
        pace.expect(4.8, 3.5)
        waits.append(pace.wait_s(30.0, 0.0))
    assert waits[0] <= 0
    # It is forgotten from the tenth second on, while the next batch is read.
    assert waits[1] == pytest.approx(5.5, abs=0.3)


def test_what_was_not_used_in_a_quiet_hour_is_not_used_at_once() -> None:
    pace = Pace(Quota(READ, 0, MB, "x"), 0.0)
    pace.owe(0.0, 0.5 * MB)
    waits = [pace.wait_s(3_600.0, pace.owe(3_600.0, 0.5 * MB)) for _ in range(4)]
    assert waits[0] <= 0
    assert waits[-1] > 0


def paid_after_s(pace: Pace, from_s: float, owed: float) -> float:
    """For how long what is owed holds, with a look each tenth of a second."""
    tenths = range(round(from_s * 10), round(from_s * 10) + 10_000)
    return next(tenth / 10 for tenth in tenths if pace.wait_s(tenth / 10, owed) <= 0) - from_s


def test_a_record_that_is_larger_than_all_windows_hold_is_paid_for() -> None:
    pace = Pace(Quota(READ, 0, 20_000.0, "x"), 0.0)
    assert 15 <= paid_after_s(pace, 0.0, pace.owe(0.0, 300_000.0)) <= 60


@pytest.mark.timeout(30)
@pytest.mark.parametrize("part", [0.5, 0.3, 0.1, 0.05])
def test_a_batch_that_was_read_evenly_by_a_far_larger_limit_is_paid_for(part: float) -> None:
    pace = Pace(Quota(READ, 0, MB, "x"), 0.0)
    for number in range(3):
        pace.owe(5.0 * number, 4.7 * MB, Spread(3.3, 1.5))
    pace.take(Quota(READ, 0, part * MB, "x"), 14.0)
    owed = pace.owe(15.0, 4.7 * MB, Spread(3.3, 1.5))
    assert pace.rate(15.0) > 0
    assert 5 <= paid_after_s(pace, 15.0, owed) <= 900


def test_a_limit_that_falls_to_a_hundredth_does_not_hold_for_ever() -> None:
    pace = Pace(Quota(READ, 0, MB, "x"), 0.0)
    owed = 0.0
    for number in range(40):
        owed = pace.owe(0.5 * number, 0.45 * MB)
    pace.take(Quota(READ, 0, MB / 100, "x"), 20.0)
    # Until the windows of the old limit have passed.
    assert 5 <= paid_after_s(pace, 20.0, owed) <= 60


def test_a_third_of_the_limit_with_long_batches_and_one_more_run_goes_on() -> None:
    pace = Pace(Quota(READ, 0, MB, "x"), 0.0)
    owed = 0.0
    for number in range(10):
        owed = pace.owe(4.0 * number, 2.8 * MB)
    pace.take(Quota(READ, 0, MB / 3, "x", sharer_count=2), 40.0)
    assert 0 < paid_after_s(pace, 40.0, owed) <= 60
