"""One log's work on its files: in order, and nothing after a failure."""

import pytest

from barnabas.broker.log.disk.disk_work import DiskWork
from barnabas.core.executor import InlineExecutor
from barnabas.testing.manual_executor import ManualExecutor


@pytest.fixture
def executor():
    return ManualExecutor()


@pytest.fixture
def work(executor):
    return DiskWork(executor)


def fail():
    raise OSError("no disk")


def test_one_after_the_other(work, executor):
    done = []
    for name in "abc":
        work.run(lambda name=name: done.append(name), lambda _, name=name: done.append(f"{name} told"), done.append)
    assert executor.waiting_count == 1
    executor.run_all()
    assert done == ["a", "a told", "b", "b told", "c", "c told"]


def test_what_a_callback_asks_for_comes_last(work, executor):
    done = []
    work.run(lambda: None, lambda _: work.run(lambda: done.append("last"), done.append, done.append), done.append)
    work.run(lambda: done.append("first"), lambda _: None, done.append)
    executor.run_all()
    assert done == ["first", "last", None]


def test_after_a_failure_nothing_is_done_and_everybody_is_told(work, executor):
    done = []
    errors = []
    work.run(fail, done.append, errors.append)
    work.run(lambda: done.append("written"), done.append, errors.append)
    executor.run_all()
    work.run(lambda: done.append("written"), done.append, errors.append)
    assert (done, errors) == ([], [work.error] * 3)
    assert str(work.error) == "no disk"


def test_beside_the_others(work, executor):
    done = []
    work.run(lambda: done.append("in order"), lambda _: None, done.append)
    work.beside(lambda: done.append("beside"), lambda _: None, done.append)
    work.beside(fail, done.append, lambda _: done.append("failed alone"))
    assert executor.waiting_count == 3
    executor.run_all()
    assert done == ["in order", "beside", "failed alone"]
    assert work.error is None


def test_settled(work, executor):
    assert work.settled().is_done
    work.run(lambda: None, lambda _: None, fail)
    work.beside(lambda: None, lambda _: None, fail)
    waiting = [work.settled(), work.settled()]
    executor.run_next()
    assert not waiting[0].is_done
    executor.run_next()
    assert all(each.is_done for each in waiting)


def test_on_the_spot():
    done = []
    work = DiskWork(InlineExecutor())
    work.run(lambda: 1, done.append, done.append)
    assert (done, work.settled().is_done) == ([1], True)
