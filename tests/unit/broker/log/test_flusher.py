"""Unexpected errors around a flush: each waiting caller is called, and the next flush runs."""

import pytest

from barnabas.broker.log.flusher import Flusher
from barnabas.core.executor import InlineExecutor


def fail(*_: object) -> None:
    raise ZeroDivisionError


def test_an_unexpected_error_of_the_preparation_fails_one_flush_only():
    steps = iter([fail, lambda: (7, lambda: None)])
    told, flushed, errors = [], [], []
    flusher = Flusher(InlineExecutor(), lambda: next(steps)(), flushed.append, errors.append)
    flusher.request(told.append)
    flusher.request(told.append)
    assert [type(error) for error in told] == [ZeroDivisionError, type(None)]
    assert (len(errors), flushed) == (1, [7])


@pytest.mark.parametrize("listener", ["finished", "failed"])
def test_a_listener_that_fails_costs_no_caller_its_answer(listener):
    told: list[object] = []
    work = fail if listener == "failed" else (lambda: None)
    flusher = Flusher(InlineExecutor(), lambda: (7, work), fail, fail)
    for count in (1, 2):
        with pytest.raises(ZeroDivisionError):
            flusher.request(told.append)
        assert len(told) == count


def test_a_caller_that_fails_does_not_stop_the_next_flush():
    told: list[object] = []
    flusher = Flusher(InlineExecutor(), lambda: (7, lambda: None), lambda _: None, fail)
    flusher.request(fail)
    flusher.request(told.append)
    assert told == [None]
