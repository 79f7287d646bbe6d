"""One connection: one request at a time, turns with a bound, back-pressure, and an end that costs nobody else."""

import errno
import gc
import os
import struct
import weakref
from collections.abc import Callable

import pytest

from barnabas.broker.net.connection import TURN_FRAMES, Connection, Pause
from barnabas.broker.net.framing import KEPT_BUFFER_BYTES, READ_AHEAD_BYTES, ReceiveBuffer
from barnabas.broker.net.memory import ReceiveMemory
from barnabas.broker.net.outbox import Outbox
from barnabas.broker.net.reactor import Reactor
from barnabas.broker.net.scheduler import Scheduler
from barnabas.core.errors import ProtocolError, UnanswerableError
from barnabas.wire.protocol.wire import WireBuffer
from tests.replacing import replaces
from tests.unit.broker.net.memory_channel import MemoryPeer, MemoryRegion


class Ticks:
    tick = 0


class Conversation:
    """A connection, its peer, and what was handed up."""

    def __init__(
        self,
        answer: Callable[[Connection, bytes], object] | None = None,
        room_bytes: int | None = None,
        memory: ReceiveMemory | None = None,
        reactor: Reactor | None = None,
    ) -> None:
        self.peer = MemoryPeer(room_bytes)
        self.frames: list[bytes] = []
        self.sent_count = self.closed_count = 0
        self.is_forgotten = False
        # Time stands still where the test does not move it: what bounds a turn here is frames and bytes.
        self.now_ns = 1
        self.deferred: list[Callable[[], object]] = []
        self.answer = answer or (lambda connection, frame: connection.send(WireBuffer(frame)))
        self.memory = memory or ReceiveMemory(1 << 24)
        scheduler = Scheduler(self.deferred.append, lambda: self.now_ns)
        self.reactor = reactor or Reactor(self.memory, scheduler, lambda: self.now_ns)
        self.connection = Connection(self.reactor, self.peer, ("10.1.2.3", 5_000), 1 << 20, Ticks(), self.forget)
        self.connection.on_sent = self.on_sent
        self.connection.start(self)

    def on_frame(self, frame, now_ns):
        self.frames.append(bytes(frame))
        self.answer(self.connection, bytes(frame))

    def on_sent(self, now_ns):
        self.sent_count += 1

    def on_closed(self):
        self.closed_count += 1

    def forget(self, connection):
        self.is_forgotten = True

    def say(self, *payloads):
        self.peer.say(b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads))

    def run_turn(self):
        due, self.deferred[:] = list(self.deferred), []
        for task in due:
            task()

    def run_turns(self):
        while self.deferred:
            self.run_turn()


@pytest.fixture
def conversation():
    return Conversation()


def test_frames_are_handed_up_however_they_arrive(conversation):
    stream = b"".join(struct.pack(">i", len(payload)) + payload for payload in (b"one", b"", b"three"))
    for position in range(len(stream)):
        conversation.peer.say(stream[position : position + 1])
    assert (conversation.frames, conversation.peer.taken) == ([b"one", b"", b"three"], b"onethree")


@pytest.mark.parametrize("is_leaving", [False, True])
def test_who_rests_is_heard(conversation, is_leaving):
    conversation.say(b"early")
    assert conversation.connection.rest()
    conversation.peer.has_ended = is_leaving
    if is_leaving:
        conversation.peer.on_read()
    else:
        conversation.say(b"late")
    assert conversation.frames == ([b"early"] if is_leaving else [b"early", b"late"])
    assert conversation.is_forgotten == is_leaving
    assert conversation.connection.rest() == (not is_leaving)


def test_a_closed_connection_is_no_garbage_though_it_tells_who_knows_it(conversation):
    connection = conversation.connection

    class Teller:
        def __init__(self) -> None:
            self.connection = connection
            connection.on_sent = connection.on_part = self.told

        def told(self, *arguments: object) -> None: ...

    teller = Teller()
    gone = weakref.ref(teller)
    gc.disable()
    try:
        connection.close()
        del teller
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("reason", [Pause.ANSWER, Pause.THROTTLE, Pause.AUTH])
def test_while_there_is_a_reason_to_pause_no_frame_is_handed_up(reason):
    conversation = Conversation(lambda connection, frame: connection.pause(reason))
    conversation.say(b"one", b"two")
    assert conversation.frames == [b"one"]
    conversation.say(b"three")
    assert conversation.frames == [b"one"]
    conversation.connection.resume(reason)
    assert conversation.frames == [b"one", b"two"]


def test_all_reasons_must_be_gone():
    conversation = Conversation(lambda connection, frame: connection.pause(Pause.ANSWER | Pause.THROTTLE))
    conversation.say(b"one", b"two")
    conversation.connection.send(WireBuffer(b"1"))
    assert (conversation.frames, conversation.peer.taken) == ([b"one"], b"1")
    conversation.connection.resume(Pause.THROTTLE)
    assert conversation.frames == [b"one", b"two"]


def test_a_turn_has_so_many_frames_and_the_rest_comes_later(conversation):
    conversation.say(*[b"%d" % number for number in range(3 * TURN_FRAMES)])
    assert len(conversation.frames) == TURN_FRAMES
    conversation.run_turn()
    assert len(conversation.frames) == 2 * TURN_FRAMES
    conversation.run_turns()
    assert len(conversation.frames) == 3 * TURN_FRAMES
    assert conversation.peer.taken == b"".join(conversation.frames)


def test_a_peer_that_does_not_take_its_answer_is_asked_nothing_more():
    conversation = Conversation(room_bytes=2)
    conversation.say(b"first")
    conversation.say(b"second")
    assert (conversation.frames, conversation.sent_count) == ([b"first"], 0)
    conversation.peer.take(3)
    assert conversation.frames == [b"first", b"second"]
    conversation.peer.take(100)
    assert conversation.peer.taken == b"firstsecond"
    assert conversation.peer.on_write is None


def test_who_does_not_take_his_answers_is_not_read_without_end():
    conversation = Conversation(lambda connection, frame: connection.pause(Pause.ANSWER))
    conversation.say(b"first")
    conversation.say(*[bytes(100_000)] * 20)
    assert conversation.peer.on_read is None
    assert conversation.peer.inbox
    conversation.answer = lambda connection, frame: connection.send(WireBuffer(b"."))
    conversation.connection.send(WireBuffer(b"."))
    conversation.run_turns()
    assert conversation.peer.on_read is not None
    conversation.peer.say(b"")
    conversation.run_turns()
    assert len(conversation.frames) == 21


def test_answers_that_nobody_takes_count_in_memory_until_they_are_sent_or_dropped():
    first = Conversation(room_bytes=0, memory=ReceiveMemory(1_000))
    reactor = first.reactor
    others = [Conversation(room_bytes=0, reactor=reactor) for _ in range(3)]
    file = WireBuffer(bytes(100))
    file.add_region(MemoryRegion(bytes(100_000)))
    first.connection.send(file)
    assert reactor.unsent_responses.used_bytes == 100
    others[0].connection.send(WireBuffer(bytes(5_000)))
    others[1].connection.send(WireBuffer(bytes(900)))
    assert reactor.unsent_responses.used_bytes == 6_000
    others[1].peer.take(900)
    assert reactor.unsent_responses.used_bytes == 5_100
    others[2].connection.send(WireBuffer(bytes(901)))
    first.run_turns()
    assert [each.connection.is_closed for each in (first, *others)] == [False, False, False, True]
    for each in (first, others[0]):
        each.connection.close()
    assert reactor.unsent_responses.used_bytes == 0


def test_the_bytes_of_a_response_with_many_parts_are_counted_seldom(monkeypatch):
    def of_many_parts(connection, frame):
        answer = WireBuffer()
        for _ in range(5_000):
            answer += b"head"
            answer.add_region(MemoryRegion(b"file"))
        connection.send(answer)

    def counting(outbox):
        counted.append(len(outbox.parts))
        return 0

    counted = []
    monkeypatch.setattr(Outbox, "kept_bytes", property(counting))
    conversation = Conversation(of_many_parts)
    conversation.say(b"fetch")
    while len(conversation.peer.taken) < 40_000:
        conversation.peer.on_write()
    # There are more than 100 turns.
    assert len(counted) <= 14


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ProtocolError("no request"), "no request"),
        (UnanswerableError("no answer"), "no answer"),
        (MemoryError(), "there is no memory for its request"),
        (ZeroDivisionError("a bug"), "internal error"),
    ],
)
def test_whatever_goes_wrong_ends_this_connection_with_the_answers_before_it(error, told, caplog):
    def answer(connection, frame):
        if frame == b"bad":
            raise error
        connection.send(WireBuffer(frame))

    caplog.set_level("INFO")
    conversation = Conversation(answer)
    conversation.say(b"good", b"bad", b"never")
    assert conversation.frames == [b"good", b"bad"]
    if isinstance(error, ProtocolError | UnanswerableError):
        assert conversation.peer.taken == b"good"
    assert (conversation.peer.is_closed, conversation.closed_count, conversation.is_forgotten) == (True, 1, True)
    assert f"closing the connection from 10.1.2.3:5000: {told}" in caplog.text


@pytest.mark.parametrize("size", [-1, (1 << 20) + 1])
def test_a_size_that_no_frame_may_have_ends_the_connection(conversation, size):
    conversation.peer.say(struct.pack(">i", size))
    assert conversation.peer.is_closed


@pytest.mark.parametrize(("stream", "told"), [(b"", None), (b"\0\0\0\4ab", "the peer left in the middle of a request")])
def test_a_peer_that_leaves(stream, told, caplog):
    caplog.set_level("INFO")
    conversation = Conversation()
    conversation.peer.say(stream)
    conversation.peer.has_ended = True
    conversation.peer.on_read()
    assert (conversation.peer.is_closed, conversation.closed_count) == (True, 1)
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == ([told] if told else [])


def leave(conversation, error=None):
    """Let the peer close its side, or break the connection, and let the connection notice."""
    conversation.peer.has_ended = True
    conversation.peer.failure = error
    conversation.peer.on_read()


ENDS = pytest.mark.parametrize("error", [None, ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))])


@ENDS
def test_requests_that_wait_for_a_turn_outlive_their_peer(error):
    conversation = Conversation(lambda connection, frame: None)
    conversation.peer.inbox += b"".join(struct.pack(">i", 3) + b"%03d" % number for number in range(3 * TURN_FRAMES))
    conversation.peer.say(b"\0\0\0\4ab")
    leave(conversation, error)
    assert (len(conversation.frames), conversation.peer.on_read) == (TURN_FRAMES, None)
    conversation.run_turns()
    assert conversation.frames == [b"%03d" % number for number in range(3 * TURN_FRAMES)]
    assert (conversation.peer.is_closed, conversation.closed_count) == (True, 1)


@ENDS
@pytest.mark.parametrize("is_last_answered", [True, False])
def test_requests_behind_one_that_is_being_handled_outlive_their_peer(error, is_last_answered):
    conversation = Conversation(lambda connection, frame: connection.pause(Pause.ANSWER))
    conversation.say(b"one", b"two", b"three")
    leave(conversation, error)
    conversation.connection.resume(Pause.ANSWER)
    assert (conversation.frames, conversation.peer.is_closed) == ([b"one", b"two"], False)
    if is_last_answered:
        conversation.answer = lambda connection, frame: None
    conversation.connection.resume(Pause.ANSWER)
    # Nothing waits behind the last one, and nobody for its answer.
    assert conversation.frames == [b"one", b"two", b"three"]
    assert (conversation.peer.is_closed, conversation.closed_count) == (True, 1)


def test_a_peer_that_has_closed_its_side_gets_the_answers_to_what_it_asked():
    conversation = Conversation(room_bytes=2)
    conversation.say(b"first")
    conversation.say(b"second", b"third")
    leave(conversation)
    conversation.peer.take(100)
    assert (conversation.peer.taken, conversation.peer.is_closed) == (b"firstsecondthird", True)


@pytest.mark.parametrize(("reason", "is_admitted"), [(Pause.ANSWER, False), (Pause.THROTTLE, True), (Pause.AUTH, True)])
def test_requests_that_may_wait_long_or_are_of_strangers_end_with_their_peer(reason, is_admitted):
    conversation = Conversation(lambda connection, frame: connection.pause(reason))
    if not is_admitted:
        conversation.connection.confine(lambda connection: None)
    conversation.say(b"one", b"two")
    leave(conversation)
    assert (conversation.frames, conversation.peer.is_closed) == ([b"one"], True)


def test_a_throttle_ends_what_a_peer_that_left_has_sent():
    conversation = Conversation(lambda connection, frame: connection.pause(Pause.ANSWER))
    conversation.say(b"one", b"two", b"three")
    leave(conversation)
    conversation.answer = lambda connection, frame: connection.pause(Pause.THROTTLE)
    conversation.connection.resume(Pause.ANSWER)
    assert (conversation.frames, conversation.peer.is_closed) == ([b"one", b"two"], True)


@pytest.mark.parametrize("is_reading", [True, False])
def test_a_connection_that_breaks(is_reading, caplog):
    caplog.set_level("INFO")
    conversation = Conversation()
    conversation.peer.failure = ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
    if is_reading:
        conversation.peer.on_read()
    else:
        conversation.connection.send(WireBuffer(b"answer"))
    assert (conversation.peer.is_closed, conversation.closed_count) == (True, 1)
    assert os.strerror(errno.ECONNRESET) in caplog.text


def test_closing_twice_is_closing_once(conversation):
    conversation.connection.close("why")
    conversation.connection.close("why")
    assert (conversation.closed_count, conversation.connection.is_closed) == (1, True)


def test_what_comes_after_the_end_is_ignored():
    conversation = Conversation(lambda connection, frame: connection.pause(Pause.ANSWER))
    conversation.say(b"one", b"two")
    conversation.connection.close()
    conversation.connection.resume(Pause.ANSWER)
    assert conversation.frames == [b"one"]


def test_the_memory_of_a_large_frame_is_given_back_at_the_end():
    conversation = Conversation(lambda connection, frame: connection.pause(Pause.ANSWER))
    conversation.say(bytes(900_000))
    assert conversation.memory.used_bytes > 0
    conversation.connection.close()
    assert conversation.memory.used_bytes == 0


class TestKeepFrame:
    """A frame that its handler needs longer than the call."""

    @staticmethod
    def keeping(memory=None, is_answered=False):
        """A conversation whose first frame is kept; the frames as they are later, and what gives them up."""
        kept: list[tuple[memoryview, Callable[[], object]]] = []

        class Keeping(Conversation):
            def on_frame(self, frame, now_ns):
                super().on_frame(frame, now_ns)
                if not kept:
                    kept.append((frame, self.connection.keep_frame()))

        def answer(connection, frame):
            connection.send(WireBuffer(b"ok")) if is_answered else connection.pause(Pause.ANSWER)

        return Keeping(answer, memory=memory), kept

    def test_it_stays_as_it_is_whatever_comes(self):
        conversation, kept = self.keeping(is_answered=True)
        payload = os.urandom(100_000)
        conversation.say(payload, bytes(100_000), bytes(100))
        conversation.run_turns()
        assert len(conversation.frames) == 3
        assert bytes(kept[0][0]) == payload

    @pytest.mark.parametrize("is_closed_before", [True, False])
    def test_its_memory_counts_until_it_is_given_up_and_is_given_back_once(self, is_closed_before):
        conversation, kept = self.keeping()
        conversation.say(bytes(900_000))
        ((_, release),) = kept
        assert conversation.memory.used_bytes > 800_000
        if is_closed_before:
            conversation.connection.close()
            assert conversation.memory.used_bytes > 800_000
        release()
        assert conversation.memory.used_bytes == 0
        conversation.connection.close()
        assert conversation.memory.used_bytes == 0

    def test_what_came_behind_it_is_there(self):
        conversation, kept = self.keeping()
        conversation.say(b"first", b"second", bytes(50_000))
        assert len(conversation.frames) == 1
        ((_, release),) = kept
        release()
        conversation.connection.send(WireBuffer(b"."))
        conversation.connection.send(WireBuffer(b"."))
        assert [len(frame) for frame in conversation.frames] == [5, 6, 50_000]

    @replaces("barnabas.broker.net.framing")
    def test_without_memory_for_another_buffer_the_connection_ends(self, monkeypatch):
        def hand_over(buffer):
            raise MemoryError

        monkeypatch.setattr(ReceiveBuffer, "hand_over", hand_over)
        conversation, kept = self.keeping()
        payload = os.urandom(100_000)
        conversation.say(payload)
        assert (conversation.connection.is_closed, conversation.memory.used_bytes) == (True, 0)
        ((frame, release),) = kept
        assert bytes(frame) == payload
        release()
        assert conversation.memory.used_bytes == 0

    @staticmethod
    def crowd():
        """One whose frame went beyond the bound and is kept, and two whose halves fill it."""
        memory = ReceiveMemory(600_000)
        privileged, kept = TestKeepFrame.keeping(memory)
        others = [Conversation(memory=memory) for _ in range(2)]
        frame = struct.pack(">i", 900_000) + bytes(900_000)
        for other in others:
            other.peer.say(frame[:260_000])
        privileged.peer.say(frame[:300_000])
        for other in others:
            other.peer.say(frame[260_000:])
        assert [each.connection.is_parked for each in (privileged, *others)] == [False, True, True]
        privileged.peer.say(frame[300_000:])
        ((_, release),) = kept
        return memory, privileged, others, release

    def test_when_it_is_given_up_those_who_wait_for_memory_go_on(self):
        memory, _, others, release = self.crowd()
        assert [other.frames for other in others] == [[], []]
        release()
        for other in others * 2:
            other.peer.say(b"")
            other.run_turns()
        assert [len(other.frames) for other in others] == [1, 1]
        assert memory.parked_count == 0

    def test_how_long_somebody_waited_is_told_when_he_goes_on_or_ends(self):
        _, _, (goes_on, ends), release = self.crowd()
        told, handlers = [], [each.connection.handler for each in (ends, goes_on)]
        for each in (goes_on, ends):
            each.reactor.on_waited = lambda handler, waited_ns: told.append((handler, waited_ns))
            each.now_ns += 3_000
        ends.connection.close()
        release()
        assert told == [(handler, 3_000) for handler in handlers]
        goes_on.connection.close()
        assert len(told) == 2

    def test_nobody_else_goes_beyond_the_bound_before(self):
        memory, privileged, others, release = self.crowd()
        privileged.connection.close()
        assert all(other.connection.is_parked for other in others)
        assert memory.used_bytes < 600_000 + 900_000 + 2 * 16_384
        release()
        assert not all(other.connection.is_parked for other in others)


class TestStrangers:
    """A peer that has not shown yet who it is."""

    @staticmethod
    def admitting(conversation):
        told = []
        conversation.connection.confine(told.append)
        return told

    def test_what_it_sends_is_in_the_memory_of_strangers_until_it_is_admitted(self, conversation):
        told, strangers = self.admitting(conversation), conversation.reactor.unauthenticated_memory
        half = struct.pack(">i", 200_000) + bytes(100_000)
        conversation.peer.say(half)
        assert (conversation.memory.used_bytes, strangers.used_bytes) == (0, 131_072 - 16_384)
        conversation.connection.admit()
        conversation.connection.admit()
        assert told == [conversation.connection]
        assert (conversation.memory.used_bytes, strangers.used_bytes) == (131_072 - 16_384, 0)
        conversation.peer.say(bytes(100_000))
        assert [len(frame) for frame in conversation.frames] == [200_000]

    def test_who_is_admitted_by_its_first_large_frame_leaves_no_memory_taken(self):
        def answer(connection, frame):
            connection.admit()
            connection.send(WireBuffer(b"."))

        conversation = Conversation(answer)
        self.admitting(conversation)
        conversation.say(bytes(500_000))
        conversation.connection.close()
        assert conversation.memory.used_bytes == conversation.reactor.unauthenticated_memory.used_bytes == 0

    def test_one_that_closes_before_leaves_no_memory_taken(self, conversation):
        told = self.admitting(conversation)
        conversation.peer.say(struct.pack(">i", 200_000) + bytes(100_000))
        conversation.connection.close()
        assert (conversation.reactor.unauthenticated_memory.used_bytes, told) == (0, [])

    def test_a_silent_one_holds_no_buffer(self):
        assert not Conversation().connection.holds_buffer


class TestGivingWay:
    """A half-received request that others wait for."""

    @staticmethod
    def two(answer=None):
        """Of two peers with half a request the second one waits for memory."""
        memory = ReceiveMemory(0)
        slow, honest = Conversation(answer, memory=memory), Conversation(memory=memory)
        for each in (slow, honest):
            each.peer.say(struct.pack(">i", 60_000) + bytes(30_000))
        assert honest.connection.is_parked
        return memory, slow, honest

    def test_who_does_not_go_on_is_closed_and_who_waits_goes_on(self, caplog):
        caplog.set_level("INFO")
        memory, slow, honest = self.two()
        memory.make_room(1_000_000_000)
        honest.peer.say(bytes(30_000))
        assert (slow.connection.is_closed, [len(frame) for frame in honest.frames]) == (True, [60_000])
        assert "its request comes too slowly, and others need the memory that it takes" in caplog.text

    def test_who_is_paused_stays(self):
        memory, slow, _ = self.two()
        slow.connection.pause(Pause.THROTTLE)
        memory.make_room(1_000_000_000)
        assert not slow.connection.is_closed

    def test_who_waits_is_not_slow_itself(self):
        memory, slow, honest = self.two()
        slow.peer.say(bytes(10_000))
        slow.connection.pause(Pause.THROTTLE)
        memory.make_room(1_000_000_000)
        assert not honest.connection.is_closed

    def test_half_of_a_request_behind_another_one_counts_from_then_on(self):
        memory = ReceiveMemory(0)
        slow, honest = Conversation(memory=memory), Conversation(memory=memory)
        slow.peer.say(struct.pack(">i", 40_000) + bytes(40_000) + struct.pack(">i", 60_000) + bytes(30_000))
        slow.run_turns()
        honest.peer.say(struct.pack(">i", 60_000) + bytes(30_000))
        memory.make_room(1_000_000_000)
        assert slow.connection.is_closed


class TestLeavingUnheard:
    """A peer that leaves while nobody reads from it."""

    @pytest.mark.parametrize(("reason", "is_closed"), [(Pause.THROTTLE, True), (Pause.ANSWER, False)])
    def test_it_is_let_go_of_where_a_quota_holds_it(self, reason, is_closed):
        conversation = Conversation(lambda connection, frame: connection.pause(reason))
        conversation.say(b"one")
        conversation.peer.inbox += bytes(2 * READ_AHEAD_BYTES)
        while conversation.peer.inbox and conversation.peer.on_read is not None:
            conversation.peer.on_read()
        unheard = conversation.reactor.unheard
        assert list(unheard) == [conversation.connection]
        assert conversation.connection.look_for_peer() == is_closed
        assert not conversation.connection.is_closed
        conversation.peer.has_ended = True
        while conversation.peer.inbox and conversation.peer.on_read is not None:
            conversation.peer.on_read()
        conversation.connection.look_for_peer()
        assert (conversation.connection.is_closed, list(unheard)) == (
            is_closed,
            [] if is_closed else [conversation.connection],
        )

    @pytest.mark.parametrize(("memory_bytes", "most_bytes"), [(1 << 24, KEPT_BUFFER_BYTES), (1 << 20, 1 << 19)])
    def test_so_much_is_read_of_what_it_sent(self, memory_bytes, most_bytes):
        conversation = Conversation(
            lambda connection, _: connection.pause(Pause.THROTTLE), memory=ReceiveMemory(memory_bytes)
        )
        conversation.say(b"one")
        conversation.peer.inbox += bytes(sent_bytes := 3 * KEPT_BUFFER_BYTES)
        has_room = True
        while has_room:
            while conversation.peer.on_read is not None:
                conversation.peer.on_read()
            has_room = conversation.connection.look_for_peer()
        assert READ_AHEAD_BYTES < sent_bytes - len(conversation.peer.inbox) <= most_bytes
        assert conversation.memory.used_bytes <= most_bytes

    def test_who_is_heard_again_is_not_looked_after(self):
        conversation = Conversation(lambda connection, frame: connection.pause(Pause.THROTTLE))
        conversation.say(b"one")
        conversation.peer.inbox += (struct.pack(">i", 96) + bytes(96)) * (READ_AHEAD_BYTES // 50)
        while conversation.peer.inbox and conversation.peer.on_read is not None:
            conversation.peer.on_read()
        assert conversation.reactor.unheard
        conversation.answer = lambda connection, frame: None
        conversation.connection.resume(Pause.THROTTLE)
        conversation.run_turns()
        assert not conversation.reactor.unheard
