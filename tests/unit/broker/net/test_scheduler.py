"""What is done at the end of a turn of the loop: checks, then tasks, each once, none at the cost of another."""

from functools import partial

import pytest

from barnabas.broker.net.scheduler import MOST_NS, Scheduler


class Loop:
    """Runs what was put off, a turn at a time."""

    def __init__(self):
        self.deferred = []
        self.now_ns = 1
        self.scheduler = Scheduler(self.deferred.append, lambda: self.now_ns)

    def turn(self):
        deferred, self.deferred[:] = list(self.deferred), []
        for run in deferred:
            run()


@pytest.fixture
def loop():
    return Loop()


def test_an_answer_that_a_check_gives_leaves_in_the_same_turn(loop):
    done = []

    def check():
        done.append("check")
        loop.scheduler.add(lambda: done.append("answer"))

    loop.scheduler.add_check(check)
    loop.turn()
    assert done == ["check", "answer"]
    assert not loop.deferred


def test_checks_come_before_tasks_and_each_in_its_order(loop):
    done = []
    loop.scheduler.add(lambda: done.append("first task"))
    loop.scheduler.add_check(lambda: done.append("first check"))
    loop.scheduler.add(lambda: done.append("second task"))
    loop.scheduler.add_check(lambda: done.append("second check"))
    assert (len(loop.scheduler), len(loop.deferred), done) == (4, 1, [])
    loop.turn()
    assert done == ["first check", "second check", "first task", "second task"]
    loop.turn()
    assert (len(loop.scheduler), len(done)) == (0, 4)


@pytest.mark.parametrize(("kind", "more"), [("add", "add"), ("add", "add_check"), ("add_check", "add_check")])
def test_what_comes_of_one_of_them_waits_for_the_next_turn(loop, kind, more):
    done = []

    def one():
        done.append("one")
        getattr(loop.scheduler, more)(lambda: done.append("two"))

    getattr(loop.scheduler, kind)(one)
    loop.turn()
    assert done == ["one"]
    assert len(loop.deferred) == 1
    loop.turn()
    assert done == ["one", "two"]
    assert not loop.deferred


@pytest.mark.parametrize("kind", ["add", "add_check"])
def test_one_that_raises_costs_the_others_nothing(loop, kind, caplog):
    done = []
    getattr(loop.scheduler, kind)(lambda: 1 // 0)
    getattr(loop.scheduler, kind)(lambda: done.append("other"))
    loop.turn()
    assert done == ["other"]
    assert "ZeroDivisionError" in caplog.text


def test_at_the_end_all_of_it_runs_and_all_that_comes_of_it(loop):
    done = []
    loop.scheduler.add(lambda: loop.scheduler.add_check(lambda: loop.scheduler.add(lambda: done.append("last"))))
    loop.scheduler.finish()
    assert done == ["last"]
    assert len(loop.scheduler) == 0


@pytest.mark.parametrize("kind", ["add", "add_check"])
def test_very_many_take_several_turns_in_their_order(loop, kind):
    ran = []

    def task(number):
        ran.append(number)
        loop.now_ns += MOST_NS // 10

    for number in range(40):
        getattr(loop.scheduler, kind)(partial(task, number))
    loop.turn()
    assert ran == list(range(10))
    getattr(loop.scheduler, kind)(partial(task, "added between"))
    assert len(loop.deferred) == 1
    loop.turn()
    assert ran == list(range(20))
    while loop.deferred:
        loop.turn()
    assert ran == [*range(40), "added between"]
