"""Answers on their way out: in order, in as few calls as there can be, from memory and from files."""

import random

import pytest

from barnabas.broker.net.outbox import TURN_BYTES, Outbox
from barnabas.wire.protocol.wire import WireBuffer
from tests.unit.broker.net.memory_channel import MemoryPeer, MemoryRegion


def answer(data=b"", *regions):
    """An answer, with regions at their positions in it."""
    out = WireBuffer(data)
    out.regions = list(regions)
    return out


def test_small_answers_that_wait_together_leave_together():
    peer = MemoryPeer()
    outbox = Outbox(peer)
    for part in (b"one", b"two", b"three"):
        outbox.put(answer(part))
    assert outbox.flush()
    assert (peer.taken, peer.sends) == (b"onetwothree", [(11, False)])


def test_large_answers_are_not_copied_to_be_merged():
    peer = MemoryPeer()
    outbox = Outbox(peer)
    outbox.put(answer(b"a" * 65_536))
    outbox.put(answer(b"b"))
    assert outbox.flush()
    # More follows the first one at once.
    assert peer.sends == [(65_536, True), (1, False)]


@pytest.mark.parametrize(
    ("data", "regions", "expected"),
    [
        (b"headtail", [(4, b"-file-")], b"head-file-tail"),
        (b"tail", [(0, b"file-")], b"file-tail"),
        (b"head", [(4, b"-file")], b"head-file"),
        (b"head", [(4, b"-one"), (4, b"-two")], b"head-one-two"),
        (b"head", [(2, b"")], b"head"),
        (b"", [(0, b"file")], b"file"),
    ],
)
def test_file_regions_stand_where_they_belong(data, regions, expected):
    peer = MemoryPeer()
    outbox = Outbox(peer)
    outbox.put(answer(data, *[(at, MemoryRegion(region)) for at, region in regions]))
    assert outbox.flush()
    assert peer.taken == expected


@pytest.mark.parametrize("seed", range(20))
def test_a_peer_that_takes_little_gets_all_in_the_end(seed):
    dice = random.Random(seed)
    peer = MemoryPeer(0)
    outbox = Outbox(peer)
    expected = b""
    for _ in range(20):
        data = dice.randbytes(dice.randrange(50))
        region = dice.randbytes(dice.randrange(50))
        at = dice.randrange(len(data) + 1)
        has_region = dice.random() < 0.5
        outbox.put(answer(data, (at, MemoryRegion(region))) if has_region else answer(data))
        expected += data[:at] + region + data[at:] if has_region else data
        peer.room_bytes += dice.randrange(40)
        outbox.flush()
    while not outbox.flush():
        peer.room_bytes += 7
        assert len(peer.taken) <= len(expected)
    assert peer.taken == expected


def test_a_turn_ends_though_the_peer_takes_more():
    peer = MemoryPeer()
    outbox = Outbox(peer)
    outbox.put(answer(bytes(TURN_BYTES)))
    outbox.put(answer(b"later"))
    assert not outbox.flush()
    assert len(peer.taken) == TURN_BYTES
    assert outbox.flush()
    assert peer.taken.endswith(b"later")


def test_what_is_dropped_is_not_sent_and_what_comes_after_begins_at_its_beginning():
    peer = MemoryPeer(2)
    outbox = Outbox(peer)
    outbox.put(answer(b"dropped"))
    assert not outbox.flush()
    outbox.clear()
    peer.room_bytes = 100
    outbox.put(answer(b"new"))
    assert outbox.flush()
    assert peer.taken == b"drnew"
