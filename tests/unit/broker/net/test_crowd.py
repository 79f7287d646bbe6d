"""Sockets that are watched beside the loop: a bounded number in a turn, those that waited first; and forgotten ones."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest
import uvloop

from barnabas.broker.net.crowd import Crowd

FIRST, OTHERS = 3, 600
# To stop, the loop goes round twice.
MOST_IN_TURNS = FIRST + 2 * 128


class Pairs:
    """Connected sockets, all of them watched; each reads what comes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self.loop = loop
        self.crowd = Crowd(loop, FIRST)
        self.pairs = [socket.socketpair() for _ in range(count)]
        self.heard: list[int] = []
        for number, (ours, _) in enumerate(self.pairs):
            ours.setblocking(False)
            self.crowd.watch(ours.fileno(), lambda number=number: self.hear(number))

    def hear(self, number: int) -> None:
        self.heard.append(number)
        self.pairs[number][0].recv(100)

    def turn(self) -> None:
        """Let the loop go round once."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def close(self) -> None:
        for ours, theirs in self.pairs:
            with contextlib.suppress(ValueError):
                self.crowd.forget(ours.fileno())
            ours.close()
            theirs.close()


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = uvloop.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def pairs(loop: asyncio.AbstractEventLoop) -> Iterator[Pairs]:
    pairs = Pairs(loop, OTHERS)
    yield pairs
    pairs.close()


def test_all_are_heard_and_a_turn_hears_some(pairs: Pairs) -> None:
    for _, theirs in pairs.pairs:
        theirs.send(b"x")
    turns = []
    while len(pairs.heard) < OTHERS:
        before = len(pairs.heard)
        pairs.turn()
        turns.append(len(pairs.heard) - before)
        assert turns[-1], "nobody is heard any more"
    assert max(turns) <= MOST_IN_TURNS
    assert sorted(pairs.heard) == list(range(OTHERS))


def test_who_always_has_something_to_say_holds_up_nobody(pairs: Pairs) -> None:
    talkers = range(FIRST, FIRST + 200)
    quiet = OTHERS - 1
    for number in talkers:
        pairs.pairs[number][1].send(b"x" * 1_000)
    pairs.pairs[quiet][1].send(b"x")
    for _ in range(2):
        pairs.turn()
    assert quiet in pairs.heard
    assert max(pairs.heard.count(number) for number in talkers) <= 4


def test_one_that_is_forgotten_within_a_turn_is_not_called(pairs: Pairs) -> None:
    first, second = FIRST + 1, FIRST + 2

    def forget_the_other(own: int, other: int) -> None:
        pairs.hear(own)
        pairs.crowd.forget(pairs.pairs[other][0].fileno())

    pairs.crowd.watch(pairs.pairs[first][0].fileno(), lambda: forget_the_other(first, second))
    pairs.crowd.watch(pairs.pairs[second][0].fileno(), lambda: forget_the_other(second, first))
    for number in (first, second):
        pairs.pairs[number][1].send(b"x")
    pairs.turn()
    pairs.turn()
    assert len(pairs.heard) == 1
    # The number is free for another one.
    left = second if pairs.heard == [first] else first
    pairs.crowd.watch(pairs.pairs[left][0].fileno(), lambda: pairs.hear(left))
    pairs.turn()
    pairs.turn()
    assert sorted(pairs.heard) == [first, second]


def test_a_peer_that_leaves_is_heard(pairs: Pairs) -> None:
    pairs.pairs[OTHERS - 1][1].close()
    pairs.turn()
    pairs.turn()
    assert OTHERS - 1 in pairs.heard


def test_places_of_the_first_are_given_again(pairs: Pairs) -> None:
    pairs.crowd.forget(pairs.pairs[0][0].fileno())
    last = pairs.pairs[OTHERS - 1][0].fileno()
    # Who is watched stays where it is, whom it calls back may be another.
    pairs.crowd.watch(last, lambda: pairs.hear(OTHERS - 1))
    pairs.crowd.forget(last)
    pairs.crowd.watch(last, lambda: pairs.hear(OTHERS - 1))
    pairs.pairs[OTHERS - 1][1].send(b"x")
    pairs.turn()
    pairs.turn()
    assert pairs.heard == [OTHERS - 1]
