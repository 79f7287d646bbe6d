"""The receive memory that all connections share: who may grow, who waits, and that everybody's turn comes."""

import random
import struct
from collections.abc import Callable

import pytest

from barnabas.broker.net.framing import FIRST_BUFFER_BYTES, READ_AHEAD_BYTES, ReceiveBuffer
from barnabas.broker.net.memory import LEAST_BYTES_PER_S, PATIENCE_NS, ReceiveMemory, unauthenticated_memory

LIMIT = 100 * 1024 * 1024
MB = 1024 * 1024
SECOND_NS = 1_000_000_000


class Peer:
    """A connection without a socket: bytes come in as long as it reads, frames are taken out once they are whole."""

    def __init__(self, memory: ReceiveMemory, *payloads: bytes, keeps: Callable[[], bool] = lambda: False) -> None:
        self.memory = memory
        self.buffer = ReceiveBuffer(LIMIT, memory)
        self.stream = b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads)
        self.frames: list[bytes] = []
        self.is_parked = False
        self.keeps = keeps
        self.kept: list[tuple[int, Callable[[], object]]] = []
        self.has_given_way = False
        self.now_ns = 0

    @property
    def lacking_bytes(self) -> int:
        return self.buffer.lacking_bytes

    def on_memory(self) -> None:
        self.is_parked = False
        self.buffer.grow()
        self.memory.wait_for(self, self.now_ns)

    def give_way(self) -> bool:
        if self.is_parked:
            return False
        self.has_given_way = True
        self.leave()
        return True

    def receive(self, count: int, now_ns: int = 0) -> None:
        """What `Connection` does when so many bytes of its peer have come."""
        self.now_ns = now_ns
        if self.is_parked or not self.stream:
            return
        space = self.buffer.space()
        if not space:
            if self.memory.may_take(self):
                self.buffer.grow()
            else:
                self.is_parked = True
            return
        part, self.stream = self.stream[: min(count, len(space))], self.stream[min(count, len(space)) :]
        space[: len(part)] = part
        self.buffer.received(len(part))
        is_done = False
        while (frame := self.buffer.next_frame()) is not None:
            self.frames.append(bytes(frame))
            is_done = True
            if self.keeps():
                count = self.buffer.hand_over()
                self.kept.append((count, self.memory.keep(self, count)))
        if is_done and self.buffer.extra_bytes:
            if self.memory.is_short:
                self.buffer.fit()
            self.memory.finished(self)
        if self.buffer.extra_bytes and self.buffer.buffered_bytes:
            self.memory.progressed(self, len(part), now_ns)

    def receive_until_parked(self, now_ns: int = 0) -> None:
        while self.stream and not self.is_parked:
            self.receive(100_000, now_ns)

    def leave(self) -> None:
        self.buffer.free()
        self.memory.forget(self)


def test_first_buffers_count_for_nothing():
    memory = ReceiveMemory(0)
    peers = [Peer(memory, b"x" * 10_000, b"y" * 16_000) for _ in range(20)]
    for peer in peers:
        peer.receive_until_parked()
        assert [len(frame) for frame in peer.frames] == [10_000, 16_000]
    assert memory.used_bytes == 0


def test_memory_that_is_free_is_used_to_read_ahead_up_to_half_of_it():
    memory = ReceiveMemory(4 * READ_AHEAD_BYTES)
    peers = [Peer(memory, *[b"x" * 1_000] * 3_000) for _ in range(40)]
    for peer in peers:
        peer.receive_until_parked()
        assert len(peer.frames) == 3_000
    assert 0 < memory.used_bytes <= memory.limit_bytes // 2


def test_half_frames_that_fill_it_up_are_completed_one_after_the_other():
    memory = ReceiveMemory(1 * MB)
    peers = [Peer(memory, b"x" * MB) for _ in range(10)]
    while any(peer.stream and not peer.is_parked for peer in peers):
        for peer in peers:
            peer.receive(50_000)
        assert memory.used_bytes <= memory.limit_bytes + MB + FIRST_BUFFER_BYTES
    assert all(len(peer.frames) == 1 for peer in peers)
    assert memory.used_bytes == memory.parked_count == 0


def test_who_was_parked_first_goes_on_first():
    memory = ReceiveMemory(0)
    first, *others = [Peer(memory, b"x" * 100_000) for _ in range(4)]
    first.receive(50_000)
    first.receive(50_000)
    for peer in others:
        peer.receive_until_parked()
    order = []
    first.receive_until_parked()
    while waiting := [peer for peer in others if not peer.frames]:
        (going,) = [peer for peer in waiting if not peer.is_parked]
        order.append(others.index(going))
        going.receive_until_parked()
    assert order == [0, 1, 2]


def test_one_that_leaves_gives_its_place_to_the_next():
    memory = ReceiveMemory(0)
    first, second, third = [Peer(memory, b"x" * 100_000) for _ in range(3)]
    for peer in (first, second, third):
        for _ in range(5):
            peer.receive(10_000)
    assert (first.is_parked, second.is_parked, third.is_parked) == (False, True, True)
    second.leave()
    first.leave()
    assert not third.is_parked
    third.receive_until_parked()
    assert len(third.frames) == 1
    assert memory.used_bytes == 0


def test_a_failure_to_take_what_was_granted_passes_the_turn_on():
    memory = ReceiveMemory(0)

    class Failing(Peer):
        def on_memory(self) -> None:
            self.leave()

    first, failing, last = Peer(memory, b"x" * 100_000), Failing(memory, b"x" * 100_000), Peer(memory, b"x" * 100_000)
    for peer in (first, failing, last):
        for _ in range(5):
            peer.receive(10_000)
    first.receive_until_parked()
    assert not last.is_parked
    assert memory.parked_count == 0


def test_one_that_pipelines_does_not_keep_its_privilege():
    memory = ReceiveMemory(0)
    greedy, modest = Peer(memory, *[b"g" * 100_000] * 50), Peer(memory, b"m" * 100_000)
    for _ in range(3):
        greedy.receive(30_000)
    modest.receive_until_parked()
    while greedy.stream and not greedy.is_parked:
        greedy.receive(30_000)
    assert len(greedy.frames) < 3
    modest.receive_until_parked()
    assert len(modest.frames) == 1
    greedy.receive_until_parked()
    assert len(greedy.frames) == 50


@pytest.mark.parametrize("kept_share", [0, 0.5, 1])
def test_every_frame_arrives_whatever_the_order_and_the_bound(kept_share):
    """Also where frames are kept for a while, some of them longer than their connection, and the slow give way."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    for limit in (0, 20_000, 300_000, 2 * MB, 1 << 40):
        memory = ReceiveMemory(limit)
        largest = 400_000
        sent = [
            [source.randbytes(source.choice((0, 5, 16_381, 20_000, 70_000, largest))) for _ in range(6)]
            for _ in range(12)
        ]
        peers = [Peer(memory, *payloads, keeps=lambda: source.random() < kept_share) for payloads in sent]
        gone: list[Peer] = []
        now_ns = 0
        while True:
            now_ns += source.randrange(20_000_000)
            if source.random() < 0.1:
                memory.make_room(now_ns)
                slow = [peer for peer in peers if peer.has_given_way]
                gone += slow
                peers = [peer for peer in peers if peer not in slow]
            busy = [peer for peer in peers if peer.stream and not peer.is_parked]
            keeping = [peer for peer in (*peers, *gone) if peer.kept]
            if keeping and (not busy or source.random() < 0.3):
                source.choice(keeping).kept.pop()[1]()
            elif not busy:
                break
            else:
                peer = source.choice(busy)
                if source.random() < 0.002:
                    peer.leave()
                    peers.remove(peer)
                    gone.append(peer)
                    continue
                peer.receive(source.choice((1_000, 40_000, 500_000)), now_ns)
            kept_bytes = sum(count for peer in (*peers, *gone) for count, _ in peer.kept)
            assert memory.used_bytes == kept_bytes + sum(peer.buffer.extra_bytes for peer in peers)
            assert memory.used_bytes <= limit + largest + FIRST_BUFFER_BYTES
        for peer in peers:
            assert not peer.stream
            assert peer.frames in sent
            peer.leave()
        assert memory.used_bytes == memory.parked_count == 0


class TestSlowPeers:
    """Whose half-received frames hold up others, and do not go on."""

    @staticmethod
    def crowd(count: int) -> tuple[ReceiveMemory, list[Peer]]:
        """Peers with half of a frame of 1 MB each, as far as a pool of 1 MB goes."""
        memory = ReceiveMemory(MB)
        peers = [Peer(memory, b"x" * MB) for _ in range(count)]
        for _ in range(6):
            for peer in peers:
                peer.receive(100_000)
        assert memory.parked_count
        return memory, peers

    def test_they_give_way_to_who_waits(self):
        memory, peers = self.crowd(10)
        honest = Peer(memory, b"h" * 200_000)
        honest.receive_until_parked()
        assert honest.is_parked
        for round_number in range(1, 11):
            memory.make_room(round_number * SECOND_NS)
            honest.receive_until_parked(round_number * SECOND_NS)
        assert [len(frame) for frame in honest.frames] == [200_000]
        assert any(peer.has_given_way for peer in peers)

    def test_nobody_gives_way_before_patience_is_over(self):
        memory, peers = self.crowd(10)
        memory.make_room(PATIENCE_NS - 1)
        assert not any(peer.has_given_way for peer in peers)

    def test_nobody_gives_way_where_nobody_waits(self):
        memory = ReceiveMemory(2 * MB)
        peer = Peer(memory, b"x" * MB)
        peer.receive(100_000)
        peer.receive(100_000)
        memory.make_room(3_600 * SECOND_NS)
        assert not peer.has_given_way

    def test_as_many_as_it_takes_and_the_furthest_behind_first(self):
        memory = ReceiveMemory(600_000)
        peers = [Peer(memory, b"x" * MB) for _ in range(3)]
        for number, peer in enumerate(peers):
            while peer.buffer.buffered_bytes < 200_000:
                peer.receive(50_000, number)
        honest = Peer(memory, b"h" * 60_000)
        honest.receive_until_parked(3)
        assert honest.is_parked
        memory.make_room(SECOND_NS)
        assert not honest.is_parked
        assert [peer.has_given_way for peer in peers] == [True, False, False]

    def test_who_is_fast_enough_stays(self):
        memory, peers = self.crowd(10)
        going = [peer for peer in peers if not peer.is_parked]
        for tenth in range(1, 10):
            for peer in going:
                peer.receive(LEAST_BYTES_PER_S // 10 + 1, tenth * SECOND_NS // 10)
            memory.make_room(tenth * SECOND_NS // 10)
        assert not any(peer.has_given_way for peer in going)

    def test_a_burst_does_not_pay_for_the_time_after_it(self):
        memory, peers = self.crowd(10)
        going = [peer for peer in peers if not peer.is_parked]
        for second in range(1, 4):
            for peer in going:
                peer.receive(1, second * SECOND_NS)
            memory.make_room(second * SECOND_NS)
        assert all(peer.has_given_way for peer in going)

    def test_what_was_not_their_doing_does_not_count(self):
        """We did not read for ten seconds; then some of what waited is read."""
        memory, peers = self.crowd(10)
        going = [peer for peer in peers if not peer.is_parked]
        for peer in going:
            peer.receive(LEAST_BYTES_PER_S // 2 + 1_000, 10 * SECOND_NS)
        memory.make_room(10 * SECOND_NS)
        assert not any(peer.has_given_way for peer in going)

    def test_a_shortage_is_told_of_once(self):
        told = []
        memory = ReceiveMemory(0)
        memory.on_shortage = lambda: told.append(memory.parked_count)
        for peer in [Peer(memory, b"x" * 100_000) for _ in range(4)]:
            for _ in range(5):
                peer.receive(10_000)
        assert told == [1]


@pytest.mark.parametrize(("limit_bytes", "expected_bytes"), [(4 * MB, MB), (1 << 40, 8 * MB)])
def test_strangers_have_a_memory_of_their_own(limit_bytes, expected_bytes):
    assert unauthenticated_memory(ReceiveMemory(limit_bytes)).limit_bytes == expected_bytes
