"""Who comes in, who waits and who is turned away at listeners that share their limits."""

import errno
from typing import Any

import pytest

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.connection_quotas import ConnectionQuotas
from barnabas.broker.net.listener import Listener
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.core.config import BrokerConfig
from barnabas.testing.manual_clock import ManualClock
from tests.unit.broker.net.memory_channel import MemoryAcceptor, MemoryPeer
from tests.unit.broker.net.test_listener import Handler

ONE = "PLAINTEXT://h:1"
TWO: dict[str, Any] = {
    "listeners": "A://h:1,B://h:2",
    "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
    "inter.broker.listener.name": "A",
}


class House:
    """A broker's listeners by name, and who came in at them."""

    def __init__(self, are_known: bool = True, login_timeout_ms: int = 0, most_open: int = -1, **settings: str) -> None:
        given = {name.replace("__", "."): text for name, text in settings.items()}
        self.config = BrokerConfig.from_properties({"listeners": ONE, **given})
        self.clock = ManualClock()
        self.quotas = ConnectionQuotas(self.config, self.clock, most_open)
        self.are_known = are_known
        self.handlers: dict[str, list[Handler]] = {}
        self.acceptors: dict[str, MemoryAcceptor] = {}
        self.listeners: dict[str, Listener] = {}
        reactor = Reactor(ReceiveMemory(1 << 20), Scheduler(lambda task: None, lambda: 1), self.clock.monotonic_ns)
        for endpoint in self.config.endpoints:
            name = endpoint.listener_name
            acceptor = self.acceptors[name] = MemoryAcceptor()
            came = self.handlers[name] = []
            listener = self.listeners[name] = Listener(
                acceptor, self.clock, 1 << 20, 100_000, name, self.quotas, login_timeout_ms
            )
            listener.start(lambda connection, came=came: self.take(connection, came), reactor)

    def take(self, connection: Connection, came: list[Handler]) -> Handler:
        came.append(Handler(connection))
        if self.are_known:
            connection.admit()
        return came[-1]

    def knock(self, count: int, name: str = "PLAINTEXT") -> list[MemoryPeer]:
        peers = [MemoryPeer() for _ in range(count)]
        self.acceptors[name].knock(*peers)
        return peers

    def inside(self, name: str = "PLAINTEXT") -> int:
        return self.listeners[name].connection_count

    def leave(self, name: str = "PLAINTEXT") -> None:
        self.handlers[name].pop(0).connection.close()


def test_who_comes_when_there_are_all_that_may_be_waits_for_one_to_go():
    house = House(max__connections="2")
    peers = house.knock(4)
    assert (house.inside(), house.acceptors["PLAINTEXT"].is_paused) == (2, True)
    assert not any(peer.is_closed for peer in peers)
    house.leave()
    assert house.inside() == 2
    house.leave()
    assert (house.inside(), house.quotas.count) == (2, 2)


def test_who_waits_comes_in_when_more_may_be_there():
    house = House(max__connections="1")
    house.knock(3)
    assert house.inside() == 1
    house.config.max_connections = 3
    house.quotas.look_again()
    assert (house.inside(), house.acceptors["PLAINTEXT"].is_paused) == (3, False)


def test_an_address_that_has_all_it_may_have_is_turned_away():
    house = House(max__connections__per__ip="2")
    peers = house.knock(3)
    assert [peer.is_closed for peer in peers] == [False, False, True]
    house.leave()
    (peer,) = house.knock(1)
    assert (peer.is_closed, house.inside()) == (False, 2)
    house.quotas.set_counts_by_host({"::ffff:10.1.2.3": 3})
    house.knock(2)
    assert house.inside() == 3


def test_a_listener_has_limits_of_its_own():
    house = House(**TWO, listener__name__b__max__connections="1")
    house.knock(3, "A")
    house.knock(2, "B")
    assert (house.inside("A"), house.inside("B")) == (3, 1)


def test_where_brokers_meet_there_is_always_room_and_others_must_go():
    house = House(**TWO, max__connections="2")
    told = []
    house.quotas.on_excess = lambda: told.append(house.quotas.excess_count())
    house.knock(3, "B")
    assert house.inside("B") == 2
    house.knock(1, "A")
    assert (house.inside("A"), told) == (1, [1])


def test_who_comes_too_fast_waits_a_second_at_the_most():
    house = House(max__connection__creation__rate="1")
    house.knock(13)
    assert house.inside() == 10
    for seconds in (1, 2, 3):
        house.clock.advance(1_000)
        assert house.inside() == 10 + seconds


def test_who_is_held_when_the_listener_ends_is_turned_away():
    house = House(max__connections="1")
    _, held, _ = house.knock(3)
    house.listeners["PLAINTEXT"].close()
    assert (held.is_closed, house.quotas.count) == (True, 0)


class TestStrangers:
    """Who has not logged in, or asked for anything, keeps nobody out."""

    def test_the_oldest_gives_way_when_they_have_their_share(self):
        house = House(are_known=False, max__connections="6")
        peers = house.knock(7)
        assert [peer.is_closed for peer in peers] == [True] * 4 + [False] * 3
        assert not house.acceptors["PLAINTEXT"].is_paused

    def test_a_part_of_the_descriptors_is_their_share_too(self):
        house = House(are_known=False, most_open=4)
        house.knock(9)
        assert house.inside() == 2

    def test_the_oldest_gives_way_when_there_is_no_room_left(self):
        house = House(max__connections="4")
        house.knock(3)
        house.are_known = False
        peers = house.knock(2)
        assert [peer.is_closed for peer in peers] == [True, False]
        assert house.inside() == 4

    def test_who_is_known_stays_when_very_many_come(self):
        house = House(max__connections="100")
        known = house.knock(30)
        house.are_known = False
        for _ in range(100):
            house.knock(100)
        assert (house.inside(), any(peer.is_closed for peer in known)) == (80, False)

    def test_who_logs_in_is_no_stranger_any_more(self):
        house = House(are_known=False, max__connections="4")
        peers = house.knock(2)
        house.handlers["PLAINTEXT"][0].connection.admit()
        house.knock(2)
        assert [peer.is_closed for peer in peers] == [False, True]

    def test_a_listener_that_has_all_it_may_have_makes_room_among_its_own(self):
        house = House(are_known=False, **TWO, listener__name__b__max__connections="2")
        (other,) = house.knock(1, "A")
        peers = house.knock(3, "B")
        assert ([peer.is_closed for peer in peers], other.is_closed) == ([True, False, False], False)

    def test_those_elsewhere_push_nobody_out_where_brokers_meet(self):
        house = House(are_known=False, **TWO, max__connections="4")
        (broker,) = house.knock(1, "A")
        house.knock(50, "B")
        assert (broker.is_closed, house.inside("B")) == (False, 2)

    def test_without_a_descriptor_the_oldest_gives_way(self):
        house = House(are_known=False)
        peers = house.knock(2)
        house.clock.advance(1_000)
        house.acceptors["PLAINTEXT"].knock(OSError(errno.EMFILE, "too many"), MemoryPeer())
        assert [peer.is_closed for peer in peers] == [True, False]
        assert (house.inside(), house.acceptors["PLAINTEXT"].is_paused) == (2, False)

    def test_without_a_descriptor_nobody_gives_way_who_came_just_now(self, caplog):
        house = House(are_known=False)
        peers = house.knock(2)
        house.acceptors["PLAINTEXT"].knock(OSError(errno.EMFILE, "too many"), MemoryPeer())
        assert [peer.is_closed for peer in peers] == [False, False]
        assert house.acceptors["PLAINTEXT"].is_paused
        assert "no file descriptor is left" in caplog.text

    @pytest.mark.parametrize("is_known", [False, True])
    def test_who_does_not_log_in_in_time_is_closed(self, is_known, caplog):
        caplog.set_level("INFO")
        house = House(are_known=is_known, login_timeout_ms=10_000)
        # More than one turn of the loop closes.
        peers = [peer for _ in range(5) for peer in house.knock(50)]
        house.clock.advance(5_000)
        house.are_known = False
        (late,) = house.knock(1)
        house.clock.advance(5_000)
        assert not any(peer.is_closed for peer in peers)
        house.clock.advance(2_000)
        assert [peer.is_closed for peer in peers] == [not is_known] * 250
        assert not late.is_closed
        assert ("it did not log in within barnabas.login.timeout.ms=10000" in caplog.text) == (not is_known)

    def test_where_nobody_logs_in_silence_has_no_deadline(self):
        house = House(are_known=False)
        (peer,) = house.knock(1)
        house.clock.advance(60_000)
        assert not peer.is_closed
