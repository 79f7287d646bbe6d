"""Operations that wait for a condition or a deadline, on a manual clock."""

import pytest

from barnabas.core.purgatory import Purgatory


class Waiting:
    """Completes once `is_ready`."""

    def __init__(self):
        self.is_ready = False
        self.tried_count = 0
        self.ended = []

    def try_complete(self):
        self.tried_count += 1
        if self.is_ready:
            self.ended.append("complete")
        return self.is_ready

    def expire(self):
        self.ended.append("expired")

    def fail(self, error):
        self.ended.append(error)


@pytest.fixture
def purgatory(clock):
    return Purgatory(clock, lambda callback, *args: clock.call_later(0, callback, *args))


def test_a_change_completes_it_once(purgatory, clock):
    waiting = Waiting()
    purgatory.watch(waiting, ["a", "b"], 100)
    waiting.is_ready = True
    purgatory.notify("a")
    purgatory.notify("b")
    clock.advance(0)
    clock.advance(1_000)
    assert waiting.ended == ["complete"]
    assert len(purgatory) == 0
    assert clock.timer_count == 0


def test_one_with_very_many_keys_is_told_of_each_of_them(purgatory, clock):
    waiting, other = Waiting(), Waiting()
    purgatory.watch_many(waiting, dict.fromkeys("ab"), 100)
    purgatory.watch(other, ["c"], 100)
    purgatory.notify("c")
    clock.advance(0)
    assert (waiting.tried_count, other.tried_count) == (0, 1)
    purgatory.notify("b")
    purgatory.notify("a")
    clock.advance(0)
    assert waiting.tried_count == 1
    waiting.is_ready = True
    purgatory.notify("a")
    clock.advance(0)
    assert waiting.ended == ["complete"]
    purgatory.notify("a")
    clock.advance(0)
    assert (waiting.tried_count, len(purgatory)) == (2, 1)


def test_many_changes_in_one_turn_are_one_try(purgatory, clock):
    waiting = Waiting()
    purgatory.watch(waiting, ["a"], 100)
    for _ in range(10):
        purgatory.notify("a")
    clock.advance(0)
    assert waiting.tried_count == 1
    purgatory.notify("a")
    clock.advance(0)
    assert waiting.tried_count == 2


def test_the_deadline_ends_it(purgatory, clock):
    waiting = Waiting()
    purgatory.watch(waiting, ["a"], 100)
    clock.advance(99)
    assert waiting.ended == []
    clock.advance(1)
    assert waiting.ended == ["expired"]


def test_what_is_forgotten_is_never_called(purgatory, clock):
    waiting = Waiting()
    purgatory.watch(waiting, ["a"], 100)
    purgatory.notify("a")
    purgatory.forget(waiting)
    purgatory.forget(waiting)
    clock.advance(1_000)
    assert (waiting.tried_count, waiting.ended) == (0, [])


def test_all_can_be_ended_at_once(purgatory):
    first, second = Waiting(), Waiting()
    purgatory.watch(first, ["a"], 100)
    purgatory.watch(second, ["a", "b"], 100)
    purgatory.expire_all()
    assert first.ended == second.ended == ["expired"]


def test_those_that_keep_too_much_end_with_what_there_is_the_longest_waiting_first(clock):
    purgatory = Purgatory(clock, lambda callback, *args: clock.call_later(0, callback, *args), 100)
    uncounted, first, second, third = (Waiting() for _ in range(4))
    purgatory.watch(uncounted, ["a"], 2**31)
    purgatory.watch(first, ["a"], 2**31, 60)
    purgatory.watch_many(second, dict.fromkeys("ab"), 2**31, 40)
    clock.advance(0)
    assert (purgatory.kept_bytes, len(purgatory)) == (100, 3)
    purgatory.watch(third, ["a"], 2**31, 50)
    clock.advance(0)
    assert first.ended == ["expired"]
    assert (purgatory.kept_bytes, len(purgatory)) == (90, 3)
    purgatory.forget(second)
    purgatory.forget(third)
    assert purgatory.kept_bytes == 0


def test_what_alone_keeps_too_much_does_not_wait(clock):
    purgatory = Purgatory(clock, lambda callback, *args: clock.call_later(0, callback, *args), 100)
    waiting = Waiting()
    purgatory.watch(waiting, ["a"], 2**31, 101)
    clock.advance(0)
    assert waiting.ended == ["expired"]
    assert purgatory.kept_bytes == clock.timer_count == 0
