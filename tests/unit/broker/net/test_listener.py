"""Who is accepted, who is left waiting, and who is closed for saying nothing."""

import errno

import pytest

from barnabas.broker.net.listener import Listener
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.testing.manual_clock import ManualClock
from tests.unit.broker.net.memory_channel import MemoryAcceptor, MemoryPeer

MAX_IDLE_MS = 10_000


class Handler:
    """Takes frames; never answers."""

    def __init__(self, connection):
        self.connection = connection

    def on_frame(self, frame, now_ns):
        pass

    def on_closed(self):
        pass


class House:
    """A listener and what it is given."""

    def __init__(self, max_idle_ms=MAX_IDLE_MS, new_handler=Handler) -> None:
        self.clock = ManualClock()
        self.acceptor = MemoryAcceptor()
        self.listener = Listener(self.acceptor, self.clock, 1 << 20, max_idle_ms)
        self.memory = ReceiveMemory(1 << 20)
        scheduler = Scheduler(lambda task: task(), self.clock.monotonic_ns)
        self.connections = []

        def noted_handler(connection):
            self.connections.append(connection)
            return new_handler(connection)

        self.listener.start(noted_handler, Reactor(self.memory, scheduler, self.clock.monotonic_ns))


def test_all_who_wait_are_accepted_in_their_order():
    handlers: list[Handler] = []

    def new_handler(connection):
        handlers.append(Handler(connection))
        return handlers[-1]

    house = House(new_handler=new_handler)
    house.acceptor.knock(MemoryPeer(), MemoryPeer())
    assert house.listener.connection_count == 2
    assert [(each.connection.peer_host, each.connection.peer_port) for each in handlers] == [("10.1.2.3", 5_000)] * 2


@pytest.fixture
def house():
    return House()


def test_one_turn_accepts_so_many_and_no_more(house):
    house.acceptor.knock(*[MemoryPeer() for _ in range(100)])
    assert house.listener.connection_count == 64
    house.acceptor.knock()
    assert house.listener.connection_count == 100


def test_a_peer_that_is_gone_before_it_was_greeted_costs_the_next_one_nothing(house):
    house.acceptor.knock(ConnectionAbortedError(errno.ECONNABORTED, "gone"), MemoryPeer())
    assert house.listener.connection_count == 1


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_without_a_descriptor_peers_wait_until_there_may_be_one(house, number, caplog):
    house.acceptor.knock(OSError(number, "too many"), MemoryPeer())
    assert (house.acceptor.is_paused, house.listener.connection_count) == (True, 0)
    assert "raise the limit (ulimit -n)" in caplog.text
    house.clock.advance(500)
    assert (house.acceptor.is_paused, house.listener.connection_count) == (False, 1)


def test_without_memory_a_peer_is_turned_away_and_the_next_ones_wait(caplog):
    def no_memory(connection):
        raise MemoryError

    house = House(new_handler=no_memory)
    peer = MemoryPeer()
    house.acceptor.knock(peer)
    assert (peer.is_closed, house.listener.connection_count, house.acceptor.is_paused) == (True, 0, True)
    assert "no memory is left" in caplog.text


def test_a_connection_that_closes_is_forgotten(house):
    peer = MemoryPeer()
    house.acceptor.knock(peer)
    peer.has_ended = True
    peer.on_read()
    assert peer.is_closed
    assert house.listener.connection_count == 0


def test_the_silent_are_closed_and_those_who_speak_are_not(house):
    silent, speaking = MemoryPeer(), MemoryPeer()
    house.acceptor.knock(silent, speaking)
    for _ in range(12):
        house.clock.advance(1_000)
        speaking.say(b"\0\0\0\0")
    assert (silent.is_closed, speaking.is_closed) == (True, False)


def test_who_is_silent_holds_no_buffer_and_is_heard_when_it_speaks_again():
    frames = []

    class Noting(Handler):
        def on_frame(self, frame, now_ns):
            frames.append(bytes(frame))

    house = House(max_idle_ms=-1, new_handler=Noting)
    peer, speaking = MemoryPeer(), MemoryPeer()
    house.acceptor.knock(peer, speaking)
    peer.say(b"\0\0\0\5first")
    for _ in range(15):
        house.clock.advance(1_000)
        speaking.say(b"\0\0\0\0")
    first, second = house.connections
    assert (first.holds_buffer, second.holds_buffer) == (False, True)
    peer.say(b"\0\0\0\6second")
    assert first.holds_buffer
    assert [frame for frame in frames if frame] == [b"first", b"second"]


def test_nobody_is_closed_before_the_time_is_over(house):
    peer = MemoryPeer()
    house.acceptor.knock(peer)
    house.clock.advance(MAX_IDLE_MS)
    assert not peer.is_closed
    house.clock.advance(2_000)
    assert peer.is_closed


def test_without_a_bound_nobody_is_closed():
    house = House(max_idle_ms=-1)
    peer = MemoryPeer()
    house.acceptor.knock(peer)
    house.clock.advance(3_600_000)
    assert not peer.is_closed


def test_who_waits_for_our_memory_is_not_silent(house):
    peers = [MemoryPeer(), MemoryPeer()]
    house.acceptor.knock(*peers)
    house.memory.limit_bytes = house.memory._spare_bytes = 0
    for peer in peers:
        # Half a frame: the first one is privileged, the second one waits.
        peer.say((1 << 19).to_bytes(4, "big") + bytes(100_000))
    house.clock.advance(MAX_IDLE_MS + 2_000)
    assert peers[0].is_closed
    # What the first one held is free: from now on the second one's silence is its own.
    assert not peers[1].is_closed
    house.clock.advance(MAX_IDLE_MS + 2_000)
    assert peers[1].is_closed


def test_closing_ends_everything_and_timers_too(house):
    peers = [MemoryPeer() for _ in range(3)]
    house.acceptor.knock(*peers)
    house.listener.close()
    assert all(peer.is_closed for peer in peers)
    assert house.acceptor.is_closed
    assert house.clock.timer_count == 0
    house.acceptor.knock(MemoryPeer())
    assert house.listener.connection_count == 0


def test_who_is_connected_goes_on_when_no_more_are_accepted(house):
    peer = MemoryPeer()
    house.acceptor.knock(peer)
    house.listener.stop_accepting()
    assert (house.acceptor.is_closed, peer.is_closed) == (True, False)
