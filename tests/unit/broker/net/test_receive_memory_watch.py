"""While somebody waits for receive memory, who holds it is looked after; else nothing is done."""

from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.receive_memory_watch import watch
from barnabas.testing.manual_clock import ManualClock
from tests.unit.broker.net.test_memory import Peer


def test_slow_peers_give_way_within_a_second_and_then_nobody_looks():
    clock, memory = ManualClock(), ReceiveMemory(0)
    watch(memory, clock, clock.monotonic_ns)
    slow, honest = Peer(memory, b"x" * 100_000), Peer(memory, b"x" * 100_000)
    for peer in (slow, honest):
        for _ in range(5):
            peer.receive(10_000, clock.monotonic_ns())
    assert honest.is_parked
    clock.advance(1_000)
    assert (slow.has_given_way, honest.is_parked) == (True, False)
    assert clock.timer_count == 0
