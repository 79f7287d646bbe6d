"""What is done at the end of a turn: once, in order, and without costing the others anything."""

from functools import partial

import pytest

from barnabas.broker.net.scheduler import MOST_NS, Scheduler


@pytest.fixture
def deferred():
    """What is to be run in the loop's next turn."""
    return []


class Clock:
    """Time that a test lets pass."""

    def __init__(self) -> None:
        self.now_ns = 1

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def scheduler(deferred, clock):
    return Scheduler(deferred.append, clock)


def test_tasks_of_one_turn_run_together_in_their_order(scheduler, deferred):
    ran = []
    for number in range(3):
        scheduler.add(lambda number=number: ran.append(number))
    assert (len(scheduler), len(deferred), ran) == (3, 1, [])
    deferred.pop()()
    assert (len(scheduler), ran) == (0, [0, 1, 2])


def test_what_is_added_meanwhile_waits_for_the_next_turn(scheduler, deferred):
    ran = []

    def first():
        ran.append("first")
        scheduler.add(lambda: ran.append("second"))

    scheduler.add(first)
    deferred.pop()()
    assert ran == ["first"]
    deferred.pop()()
    assert ran == ["first", "second"]
    assert deferred == []


def test_one_that_raises_costs_the_others_nothing(scheduler, deferred, caplog):
    ran = []
    scheduler.add(lambda: 1 // 0)
    scheduler.add(lambda: ran.append("second"))
    deferred.pop()()
    assert ran == ["second"]
    assert "ZeroDivisionError" in caplog.text


def test_at_the_end_all_runs_and_all_that_comes_of_it(scheduler):
    ran = []
    scheduler.add(lambda: scheduler.add(lambda: scheduler.add(lambda: ran.append("third"))))
    scheduler.finish()
    assert ran == ["third"]


@pytest.mark.parametrize("kind", ["add", "add_check"])
def test_very_many_take_several_turns_in_their_order(scheduler, deferred, clock, kind):
    ran = []

    def task(number):
        ran.append(number)
        clock.now_ns += MOST_NS // 10

    for number in range(40):
        getattr(scheduler, kind)(partial(task, number))
    deferred.pop()()
    assert ran == list(range(10))
    getattr(scheduler, kind)(partial(task, "added between"))
    assert len(deferred) == 1
    deferred.pop()()
    assert ran == list(range(20))
    while deferred:
        deferred.pop()()
    assert ran == [*range(40), "added between"]
