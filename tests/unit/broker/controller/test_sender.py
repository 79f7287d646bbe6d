import pytest

from barnabas.broker.controller.requests import ControlRequest, ControlResponse
from barnabas.broker.controller.sender import RETRY_BACKOFF_MS, Delivered, Sender
from barnabas.core.error_code import ErrorCode
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

OK = UpdateMetadataResponse(0)


class HeldLink:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.answer: Delivered | None = None

    def send(self, request: ControlRequest, then: Delivered) -> None:
        self.sent.append(request.controller_epoch)
        self.answer = then

    def reply(self, response: ControlResponse | None = OK) -> None:
        answer, self.answer = self.answer, None
        assert answer is not None
        answer(response)


class EagerLink(HeldLink):
    """Answers on the spot."""

    def send(self, request: ControlRequest, then: Delivered) -> None:
        super().send(request, then)
        self.reply()


@pytest.fixture
def link() -> HeldLink:
    return HeldLink()


@pytest.fixture
def sender(clock: ManualClock, link: HeldLink) -> Sender:
    return Sender(clock, clock, lambda _: link)


def request(number: int) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(0, number)


def test_one_request_is_in_flight_and_order_is_kept(link: HeldLink, sender: Sender) -> None:
    answers: list[int] = []
    sender.add(1)
    for number in range(3):
        sender.send(1, request(number), lambda _, number=number: answers.append(number))
    idle: list[bool] = []
    sender.when_idle(1, lambda: idle.append(True))
    assert link.sent == [0]
    link.reply()
    assert (link.sent, answers) == ([0, 1], [0])
    link.reply()
    assert idle == []
    link.reply()
    assert (link.sent, answers, idle) == ([0, 1, 2], [0, 1, 2], [True])
    sender.when_idle(1, lambda: idle.append(True))
    assert idle == [True, True]
    sender.send(1, request(3))
    assert link.sent[-1] == 3


def test_what_did_not_arrive_is_sent_again(clock: ManualClock, link: HeldLink, sender: Sender) -> None:
    sender.add(1)
    sender.send(1, request(0))
    sender.send(1, request(1))
    link.reply(None)
    assert link.sent == [0]
    clock.advance(RETRY_BACKOFF_MS)
    assert link.sent == [0, 0]
    link.reply()
    assert link.sent == [0, 0, 1]


def test_a_broker_that_is_gone_gets_nothing_more_and_who_waits_is_told(link: HeldLink, sender: Sender) -> None:
    answers: list[ControlResponse | None] = []
    sender.add(1)
    sender.send(1, request(0), answers.append)
    sender.send(1, request(1), answers.append)
    late = link.answer
    assert late is not None
    sender.close()
    late(OK)
    sender.send(1, request(2), answers.append)
    assert answers == [None, None, None]
    assert link.sent == [0]


def test_one_that_is_another_one_by_now_gets_nothing_more_until_it_is_seen_anew(link: HeldLink, sender: Sender) -> None:
    answers: list[ControlResponse | None] = []
    sender.add(1)
    for number in range(3):
        sender.send(1, request(number), answers.append)
    stale = UpdateMetadataResponse(ErrorCode.STALE_BROKER_EPOCH)
    link.reply(stale)
    sender.send(1, request(3), answers.append)
    assert (link.sent, answers) == ([0], [None, None, stale, None])
    assert [(each.broker_id, each.waiting_count) for each in sender.figures()] == [(1, 0)]
    sender.add(1)
    sender.send(1, request(4), answers.append)
    link.reply()
    assert (link.sent, answers[-1]) == ([0, 4], OK)


def test_a_broker_that_is_gone_is_not_tried_again(clock: ManualClock, link: HeldLink, sender: Sender) -> None:
    sender.add(1)
    sender.send(1, request(0))
    link.reply(None)
    sender.remove(1)
    clock.advance(RETRY_BACKOFF_MS)
    assert link.sent == [0]


def test_thousands_of_requests_to_a_link_that_answers_at_once() -> None:
    link, clock = EagerLink(), ManualClock()
    sender = Sender(clock, clock, lambda _: link)
    sender.add(1)

    def again(response: ControlResponse | None) -> None:
        if len(link.sent) < 5000:
            sender.send(1, request(len(link.sent)), again)

    sender.send(1, request(0), again)
    assert link.sent == list(range(5000))
