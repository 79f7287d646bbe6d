"""What is done at the end of a turn: once, in order, and without costing the others anything."""

import pytest

from barnabas.net.turns import Turns


@pytest.fixture
def deferred():
    """What is to be run in the loop's next turn."""
    return []


@pytest.fixture
def turns(deferred):
    return Turns(deferred.append)


def test_tasks_of_one_turn_run_together_in_their_order(turns, deferred):
    ran = []
    for number in range(3):
        turns.add(lambda number=number: ran.append(number))
    assert (len(turns), len(deferred), ran) == (3, 1, [])
    deferred.pop()()
    assert (len(turns), ran) == (0, [0, 1, 2])


def test_what_is_added_meanwhile_waits_for_the_next_turn(turns, deferred):
    ran = []

    def first():
        ran.append("first")
        turns.add(lambda: ran.append("second"))

    turns.add(first)
    deferred.pop()()
    assert ran == ["first"]
    deferred.pop()()
    assert ran == ["first", "second"]
    assert deferred == []


def test_one_that_raises_costs_the_others_nothing(turns, deferred, caplog):
    ran = []
    turns.add(lambda: 1 // 0)
    turns.add(lambda: ran.append("second"))
    deferred.pop()()
    assert ran == ["second"]
    assert "ZeroDivisionError" in caplog.text


def test_at_the_end_all_runs_and_all_that_comes_of_it(turns):
    ran = []
    turns.add(lambda: turns.add(lambda: turns.add(lambda: ran.append("third"))))
    turns.finish()
    assert ran == ["third"]
