"""What waits to be sent, over a channel that takes everything."""

from typing import NamedTuple

from barnabas.broker.net.outbox import TURN_BYTES, Outbox
from barnabas.wire.protocol.wire import Region, WireBuffer

# Far fewer than slices in an answer of very many partitions, far more than in a usual one.
MOST_CALLS = 100


class Slice(NamedTuple):
    """A part of a file."""

    fd: int
    position: int
    length: int


class TakingAll:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.sent: list[bytes | Region] = []

    def send(self, data: bytearray | memoryview, /) -> int:
        self.sent.append(bytes(data))
        return len(data)

    def send_more(self, data: bytearray | memoryview) -> int:
        return self.send(data)

    def send_file(self, part: Region, start: int, count: int) -> int:
        self.sent.append(part)
        return count


def outbox_over(channel) -> Outbox:
    return Outbox(channel)


def answer_of(count: int, length: int) -> WireBuffer:
    answer = WireBuffer()
    for number in range(count):
        answer += b"%08d" % number
        answer.add_region(Slice(3, number, length))
    return answer


def test_very_many_small_slices_leave_in_many_turns():
    channel = TakingAll()
    outbox = outbox_over(channel)
    outbox.put(answer_of(1_000, 100))
    turn_count = 1
    while not outbox.flush():
        assert len(channel.sent) <= turn_count * MOST_CALLS
        turn_count += 1
    assert turn_count >= 2_000 // MOST_CALLS
    assert channel.sent == [each for number in range(1_000) for each in (b"%08d" % number, Slice(3, number, 100))]


def test_a_usual_answer_leaves_in_one_turn():
    outbox = outbox_over(TakingAll())
    outbox.put(answer_of(10, 300_000))
    assert outbox.flush()


def test_a_turn_is_bounded_in_bytes():
    channel = TakingAll()
    outbox = outbox_over(channel)
    outbox.put(answer_of(4, TURN_BYTES))
    assert not outbox.flush()
    assert len(channel.sent) == 2
