"""The queue of an async producer: what is next and when, who waits, and who is refused."""

import random
import threading

import pytest

from barnabas.api.errors import ClosedError
from barnabas.api.producer.backlog import Backlog
from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.errors import QueueFullError
from barnabas.api.producer.event_queue import EventQueue
from barnabas.testing.manual_clock import ManualClock
from tests.patience import PATIENCE_S


def data(*messages: bytes, topic: str = "t") -> ProducerData:
    return ProducerData(topic, None, list(messages))


def in_thread(work: object) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def test_a_batch_goes_when_it_is_full_or_has_waited() -> None:
    backlog = Backlog(100, 3, 50)
    assert backlog.due_in_ms(0) is None
    backlog.add(data(b"1", b"2"), 10)
    assert [backlog.due_in_ms(now_ms) for now_ms in (10, 40, 60, 70)] == [50, 20, 0, 0]
    backlog.add(data(b"3"), 20)
    assert backlog.due_in_ms(20) == 0
    assert backlog.take() == [data(b"1", b"2"), data(b"3")]
    assert (backlog.queued, backlog.unsettled, backlog.room) == (0, 3, 97)


def test_what_is_left_of_a_batch_has_waited_since_it_came() -> None:
    backlog = Backlog(100, 3, 50)
    backlog.add(data(b"1", b"2", b"3", b"4"), 10)
    assert backlog.take() == [data(b"1", b"2", b"3")]
    assert backlog.due_in_ms(30) == 30
    assert backlog.take() == [data(b"4")]


def test_a_queue_that_is_smaller_than_a_batch_is_full_when_it_is_full() -> None:
    backlog = Backlog(2, 200, 5_000)
    backlog.add(data(b"1", b"2"), 0)
    assert backlog.due_in_ms(0) == 0


@pytest.mark.parametrize("seed", range(20))
def test_messages_leave_in_order_and_in_batches(seed: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    batch_size = rng.randrange(1, 20)
    backlog = Backlog(10_000, batch_size, 0)
    sent = left = 0
    for _ in range(200):
        count = rng.randrange(30)
        backlog.add(data(*(b"%d" % (sent + number) for number in range(count))), 0)
        sent += count
        while backlog.queued and rng.random() < 0.8:
            messages = [message for each in backlog.take() for message in each.messages]
            assert len(messages) <= batch_size
            assert messages == [b"%d" % (left + number) for number in range(len(messages))]
            left += len(messages)
        assert (backlog.queued, backlog.unsettled) == (sent - left, left)


def test_what_is_on_its_way_takes_room() -> None:
    queue = EventQueue(Backlog(3, 2, 0), 0, ManualClock())
    queue.put(data(b"1", b"2", b"3"))
    queue.take(0)
    with pytest.raises(QueueFullError, match=r"no room for 1 of 3 messages \(queue.size\): 1 are queued, 2 on"):
        queue.put(data(b"4"))
    queue.settle(1)
    queue.put(data(b"4"))
    assert queue.queued == 2


def test_nothing_of_what_does_not_fit_is_taken() -> None:
    queue = EventQueue(Backlog(3, 2, 0), 0, ManualClock())
    with pytest.raises(QueueFullError):
        queue.put(data(*[b"x"] * 4))
    assert queue.queued == 0


def test_a_timeout_is_waited_for() -> None:
    queue = EventQueue(Backlog(1, 1, 0), 1, ManualClock())
    queue.put(data(b"1"))
    with pytest.raises(QueueFullError, match="after 1 ms"):
        queue.put(data(b"2"))


def test_a_negative_timeout_waits_for_room() -> None:
    queue = EventQueue(Backlog(2, 1, 0), -1, ManualClock())
    queue.put(data(b"1", b"2"))
    blocked = in_thread(lambda: queue.put(data(b"3", b"4", b"5")))
    taken: list[object] = []
    while len(taken) < 5:
        taken += [message for each in queue.take(None) for message in each.messages]
        queue.settle(0)
    blocked.join(PATIENCE_S)
    assert taken == [b"1", b"2", b"3", b"4", b"5"]


def test_the_taker_waits_for_a_batch_that_is_not_full_by_the_clock() -> None:
    clock = ManualClock()
    queue = EventQueue(Backlog(10, 5, 1_000), 0, clock)
    queue.put(data(b"1"))
    assert queue.take(0) == []
    clock.advance(999)
    assert queue.take(0) == []
    clock.advance(1)
    assert queue.take(None) == [data(b"1")]


def test_a_closed_queue_gives_what_it_has_and_takes_nothing() -> None:
    queue = EventQueue(Backlog(2, 5, 1 << 30), -1, ManualClock())
    queue.put(data(b"1", b"2"))
    refused: list[Exception] = []

    def put() -> None:
        try:
            queue.put(data(b"3"))
        except ClosedError as error:
            refused.append(error)

    blocked = in_thread(put)
    queue.close()
    blocked.join(PATIENCE_S)
    assert len(refused) == 1
    assert not queue.is_drained
    assert queue.take(None) == [data(b"1", b"2")]
    assert queue.is_drained
    assert queue.take(None) == []
    with pytest.raises(ClosedError):
        queue.put(data(b"4"))
