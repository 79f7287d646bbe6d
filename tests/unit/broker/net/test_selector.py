"""Sockets of which a turn hears as many as its time allows, those that waited first; and forgotten ones."""

import asyncio
import contextlib
import select
import socket
from collections.abc import Iterator

import pytest
import uvloop

from barnabas.broker.net.scheduler import MOST_NS
from barnabas.broker.net.selector import Selector

COUNT = 600
# To stop, the loop goes round twice.
MOST_IN_TURNS = 2 * 40


class Pairs:
    """Connected sockets, all of them watched; each reads what comes, in a fortieth of a turn's time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.now_ns = 0
        self.selector = Selector(loop, lambda: self.now_ns)
        self.pairs = [socket.socketpair() for _ in range(COUNT)]
        self.heard: list[int] = []
        for number, (ours, _) in enumerate(self.pairs):
            ours.setblocking(False)
            self.selector.watch(ours.fileno(), lambda number=number: self.hear(number))

    def hear(self, number: int) -> None:
        self.heard.append(number)
        self.now_ns += MOST_NS // 40
        with contextlib.suppress(BlockingIOError):
            self.pairs[number][0].recv(100)

    def turn(self) -> None:
        """Let the loop go round once."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def close(self) -> None:
        for ours, theirs in self.pairs:
            with contextlib.suppress(KeyError):
                self.selector.forget(ours.fileno())
            ours.close()
            theirs.close()


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = uvloop.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(params=["epoll", "portable"])
def pairs(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, loop: asyncio.AbstractEventLoop
) -> Iterator[Pairs]:
    if request.param == "portable":
        monkeypatch.delattr(select, "epoll")
    pairs = Pairs(loop)
    yield pairs
    pairs.close()


def test_all_are_heard_and_a_turn_hears_as_many_as_its_time_allows(pairs: Pairs) -> None:
    for _, theirs in pairs.pairs:
        theirs.send(b"x")
    while len(pairs.heard) < COUNT:
        before = len(pairs.heard)
        pairs.turn()
        assert 0 < len(pairs.heard) - before <= MOST_IN_TURNS
    assert sorted(pairs.heard) == list(range(COUNT))


def test_who_always_has_something_to_say_holds_up_nobody(pairs: Pairs) -> None:
    talkers = range(200)
    quiet = COUNT - 1
    for number in talkers:
        pairs.pairs[number][1].send(b"x" * 10_000)
    pairs.pairs[quiet][1].send(b"x")
    while quiet not in pairs.heard:
        pairs.turn()
    assert max(pairs.heard.count(number) for number in talkers) <= 2


def test_one_that_is_forgotten_within_a_turn_is_not_called(pairs: Pairs) -> None:
    def forget_the_other(own: int, other: int) -> None:
        pairs.hear(own)
        pairs.selector.forget(pairs.pairs[other][0].fileno())

    pairs.selector.watch(pairs.pairs[1][0].fileno(), lambda: forget_the_other(1, 2))
    pairs.selector.watch(pairs.pairs[2][0].fileno(), lambda: forget_the_other(2, 1))
    for number in (1, 2):
        pairs.pairs[number][1].send(b"x")
    pairs.turn()
    pairs.turn()
    assert len(pairs.heard) == 1
    # The number is free for another one.
    left = 2 if pairs.heard == [1] else 1
    pairs.selector.watch(pairs.pairs[left][0].fileno(), lambda: pairs.hear(left))
    pairs.turn()
    pairs.turn()
    assert sorted(pairs.heard) == [1, 2]


def test_one_that_raises_is_not_called_again_before_the_others(pairs: Pairs) -> None:
    def fail() -> None:
        raise RuntimeError("of the test")

    pairs.loop.set_exception_handler(lambda *_: None)
    pairs.selector.watch(pairs.pairs[0][0].fileno(), fail)
    for number in (0, 1):
        pairs.pairs[number][1].send(b"x")
    for _ in range(3):
        pairs.turn()
    assert pairs.heard == [1]


def test_a_peer_that_leaves_is_heard(pairs: Pairs) -> None:
    pairs.pairs[COUNT - 1][1].close()
    pairs.turn()
    pairs.turn()
    assert COUNT - 1 in pairs.heard
