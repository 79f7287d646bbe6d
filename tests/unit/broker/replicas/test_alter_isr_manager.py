"""Changes of in-sync replicas asked of a controller that is scripted: late, lost, refused, half answered."""

import logging

import pytest

from barnabas.broker.replicas.alter_isr_manager import MOST_PARTITIONS, AlterIsrManager
from barnabas.broker.replicas.isr_changes import Committed, IsrOutcome, Refused
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError
from barnabas.core.pending import Pending, completed
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrResponse,
    AlterIsrResponsePartitionData,
    AlterIsrResponseTopicData,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def answer(*entries: tuple[TopicPartition, AlterIsrResponsePartitionData]) -> AlterIsrResponse:
    topics: dict[str, list[AlterIsrResponsePartitionData]] = {}
    for key, entry in entries:
        entry.partition_index = key.partition
        topics.setdefault(key.topic, []).append(entry)
    return AlterIsrResponse(topics=[AlterIsrResponseTopicData(*each) for each in topics.items()])


def done(isr: tuple[int, ...] = (1, 2), version: int = 8, leader_epoch: int = 5) -> AlterIsrResponsePartitionData:
    return AlterIsrResponsePartitionData(0, 0, 1, leader_epoch, list(isr), version)


def refused(error_code: ErrorCode) -> AlterIsrResponsePartitionData:
    return AlterIsrResponsePartitionData(0, error_code)


def asked(request: AlterIsrRequest) -> list[tuple[str, int, int, list[int], int]]:
    return [
        (topic.name, each.partition_index, each.leader_epoch, each.new_isr, each.current_isr_version)
        for topic in request.topics
        for each in topic.partitions
    ]


class Leader:
    """A broker that asks, and notes what it is told."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.requests: list[AlterIsrRequest] = []
        self.answers: list[Pending[AlterIsrResponse]] = []
        self.outcomes: list[tuple[TopicPartition, IsrOutcome]] = []
        self.epoch = 100
        self.changes = AlterIsrManager(1, lambda: self.epoch, self.send, self.clock)

    def send(self, request: AlterIsrRequest) -> Pending[AlterIsrResponse]:
        self.requests.append(request)
        self.answers.append(Pending())
        return self.answers[-1]

    def propose(self, key: TopicPartition, isr: tuple[int, ...] = (1, 2), version: int = 7, epoch: int = 5) -> None:
        self.changes.propose(key, 1, epoch, isr, version, 3, lambda outcome: self.outcomes.append((key, outcome)))

    def ask(self, *keys: TopicPartition) -> None:
        """Propose changes, and let the time pass for which others are waited for."""
        for key in keys:
            self.propose(key)
        self.clock.advance(50)

    def answer(self, *entries: tuple[TopicPartition, AlterIsrResponsePartitionData]) -> None:
        self.answers[-1].complete(answer(*entries))


@pytest.fixture
def leader() -> Leader:
    return Leader()


def test_what_comes_within_50_ms_goes_in_one_request(leader: Leader) -> None:
    leader.propose(T0)
    leader.clock.advance(30)
    leader.propose(U0, (1, 3), 2, 9)
    leader.propose(T1)
    leader.clock.advance(19)
    assert leader.requests == []
    leader.clock.advance(1)
    (request,) = leader.requests
    assert (request.broker_id, request.broker_epoch) == (1, 100)
    assert asked(request) == [("t", 0, 5, [1, 2], 7), ("t", 1, 5, [1, 2], 7), ("u", 0, 9, [1, 3], 2)]
    leader.answer((T0, done()), (T1, done()), (U0, done((1, 3), 3, 9)))
    assert leader.outcomes == [(T0, Committed((1, 2), 8)), (T1, Committed((1, 2), 8)), (U0, Committed((1, 3), 3))]
    assert (leader.changes.failed_count, leader.clock.timer_count) == (0, 0)


def test_one_request_is_on_its_way_at_a_time(leader: Leader) -> None:
    leader.ask(T0)
    leader.propose(T1)
    leader.clock.advance(10_000)
    assert len(leader.requests) == 1
    leader.answer((T0, done()))
    leader.clock.advance(50)
    assert asked(leader.requests[1]) == [("t", 1, 5, [1, 2], 7)]


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        # As a cluster of Kafka's brokers sent and answered them when one of three stood still (recording 15).
        (
            (3, 248, TopicPartition("t", 2), 6, (2, 3), 10),
            {"new_isr": [2, 3], "current_isr_version": 10, "leader_epoch": 6, "partition_index": 2},
        ),
        (
            (2, 131, TopicPartition("t", 1), 5, (2, 3, 1), 10),
            {"new_isr": [2, 3, 1], "current_isr_version": 10, "leader_epoch": 5, "partition_index": 1},
        ),
    ],
)
def test_requests_are_those_of_kafka(
    fields: tuple[int, int, TopicPartition, int, tuple[int, ...], int], body: dict[str, object]
) -> None:
    broker_id, broker_epoch, key, leader_epoch, isr, version = fields
    leader = Leader()
    changes = AlterIsrManager(broker_id, lambda: broker_epoch, leader.send, leader.clock)
    changes.propose(key, broker_id, leader_epoch, isr, version, 2, lambda _: None)
    leader.clock.advance(50)
    (request,) = leader.requests
    assert (request.broker_id, request.broker_epoch) == (broker_id, broker_epoch)
    ((topic, partitions),) = [(each.name, each.partitions) for each in request.topics]
    assert topic == "t"
    assert [{name: getattr(each, name) for name in each.FIELDS} for each in partitions] == [body]


# --- what is final


@pytest.mark.parametrize(
    "error_code",
    [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION],
)
def test_what_the_state_forbids_is_not_asked_again(leader: Leader, error_code: ErrorCode) -> None:
    leader.ask(T0)
    leader.answer((T0, refused(error_code)))
    assert leader.outcomes == [(T0, Refused(error_code))]
    assert leader.changes.failed_count == 1
    leader.clock.advance(10_000)
    assert len(leader.requests) == 1


@pytest.mark.parametrize(
    ("entry", "error_code"),
    [
        (done(leader_epoch=6), ErrorCode.FENCED_LEADER_EPOCH),
        (done(leader_epoch=4), ErrorCode.FENCED_LEADER_EPOCH),
        (done(version=6), ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_a_state_that_is_not_the_own_is_not_taken(
    leader: Leader, entry: AlterIsrResponsePartitionData, error_code: ErrorCode
) -> None:
    leader.ask(T0)
    leader.answer((T0, entry))
    assert leader.outcomes == [(T0, Refused(error_code))]
    assert leader.changes.failed_count == 1


def test_a_change_that_was_made_before_is_answered_with_its_version(leader: Leader) -> None:
    leader.propose(T0, (1, 2), 7)
    leader.clock.advance(50)
    leader.answers[-1].fail(BarnabasError("the connection is lost"))
    leader.clock.advance(100)
    leader.answer((T0, done((1, 2), 7)))
    assert leader.outcomes == [(T0, Committed((1, 2), 7))]


# --- what is asked again


@pytest.mark.parametrize("failed_count", [0, 1])
def test_a_passing_error_is_asked_again_and_costs_nobody_else_anything(leader: Leader, failed_count: int) -> None:
    leader.ask(T0, T1, U0)
    code = ErrorCode.UNKNOWN_SERVER_ERROR if failed_count else ErrorCode.NOT_CONTROLLER
    leader.answer((T0, refused(code)), (T1, done()), (U0, done()))
    assert [key for key, _ in leader.outcomes] == [T1, U0]
    assert leader.changes.failed_count == failed_count
    leader.clock.advance(99)
    assert len(leader.requests) == 1
    leader.clock.advance(1)
    assert asked(leader.requests[1]) == [("t", 0, 5, [1, 2], 7)]
    leader.answer((T0, done()))
    assert leader.outcomes[-1] == (T0, Committed((1, 2), 8))


@pytest.mark.parametrize(
    "error_code", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NOT_CONTROLLER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
)
def test_an_answer_that_is_an_error_is_asked_again_with_the_epoch_of_then(
    leader: Leader, error_code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    leader.ask(T0)
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            leader.answers[-1].complete(AlterIsrResponse(error_code=error_code))
            leader.clock.advance(100)
    # Said once.
    assert [record.getMessage() for record in caplog.records] == [f"AlterIsr failed, retrying: {error_code.name}"]
    assert (len(leader.requests), leader.changes.failed_count) == (11, 0)
    leader.epoch = 101
    leader.answers[-1].complete(AlterIsrResponse(error_code=error_code))
    leader.clock.advance(100)
    assert leader.requests[-1].broker_epoch == 101
    leader.answer((T0, done()))
    assert leader.outcomes == [(T0, Committed((1, 2), 8))]


def test_a_lost_answer_and_no_controller_are_asked_again(leader: Leader) -> None:
    leader.ask(T0)
    for _ in range(3):
        leader.answers[-1].fail(BarnabasError("no controller is known"))
        leader.clock.advance(100)
    assert len(leader.requests) == 4
    leader.answer((T0, done()))
    assert leader.outcomes == [(T0, Committed((1, 2), 8))]


def test_what_an_answer_leaves_out_is_asked_again(leader: Leader) -> None:
    leader.ask(T0, T1)
    leader.answer((T1, done()))
    leader.clock.advance(100)
    assert asked(leader.requests[1]) == [("t", 0, 5, [1, 2], 7)]


def test_answers_that_nobody_asked_for_are_left_alone(leader: Leader) -> None:
    leader.ask(T0)
    leader.propose(T1)
    # Of a partition that was not asked for, of one that was not asked for yet, and twice of the same.
    leader.answer((U0, done()), (T1, done()), (T0, done()), (T0, refused(ErrorCode.FENCED_LEADER_EPOCH)))
    assert leader.outcomes == [(T0, Committed((1, 2), 8))]
    leader.clock.advance(50)
    assert asked(leader.requests[1]) == [("t", 1, 5, [1, 2], 7)]


def test_an_unknown_error_is_asked_again(leader: Leader) -> None:
    leader.ask(T0)
    leader.answer((T0, AlterIsrResponsePartitionData(0, 12345)))
    leader.clock.advance(100)
    assert len(leader.requests) == 2


# --- another leader epoch, another controller


def test_an_answer_counts_for_the_change_that_was_sent(leader: Leader) -> None:
    """KAFKA-12686: what was proposed in another leader epoch, while the one before is on its way, waits for its own."""
    leader.ask(T0)
    leader.changes.withdraw(T0)
    leader.propose(T0, (1, 2, 3), 9, 6)
    leader.clock.advance(1_000)
    assert len(leader.requests) == 1
    leader.answer((T0, refused(ErrorCode.FENCED_LEADER_EPOCH)))
    assert leader.outcomes == []
    leader.clock.advance(50)
    assert asked(leader.requests[1]) == [("t", 0, 6, [1, 2, 3], 9)]
    leader.answer((T0, done((1, 2, 3), 10, 6)))
    assert leader.outcomes == [(T0, Committed((1, 2, 3), 10))]


def test_what_is_withdrawn_is_neither_sent_nor_called_back(leader: Leader) -> None:
    leader.propose(T0)
    leader.propose(T1)
    leader.changes.withdraw(T0)
    leader.changes.withdraw(U0)
    leader.clock.advance(50)
    assert asked(leader.requests[0]) == [("t", 1, 5, [1, 2], 7)]
    leader.changes.withdraw(T1)
    leader.answers[0].fail(BarnabasError("lost"))
    leader.clock.advance(1_000)
    assert (leader.outcomes, len(leader.requests)) == ([], 1)
    leader.propose(T1)
    leader.changes.withdraw(T1)
    leader.clock.advance(1_000)
    assert len(leader.requests) == 1


def test_another_controller_is_asked_at_once_what_the_one_before_did_not_answer(leader: Leader) -> None:
    leader.ask(T0)
    leader.changes.controller_changed()
    leader.clock.advance(0)
    assert len(leader.requests) == 2
    assert leader.answers[0].is_done
    leader.answer((T0, done()))
    # Too late, and by nobody whose word counts.
    leader.answers[0].complete(answer((T0, refused(ErrorCode.FENCED_LEADER_EPOCH))))
    assert leader.outcomes == [(T0, Committed((1, 2), 8))]


def test_another_controller_ends_the_wait_after_an_error(leader: Leader) -> None:
    leader.ask(T0)
    leader.answers[0].fail(BarnabasError("lost"))
    leader.changes.controller_changed()
    leader.clock.advance(0)
    assert len(leader.requests) == 2
    leader.clock.advance(1_000)
    assert len(leader.requests) == 2


# --- around it


def test_very_many_are_asked_in_parts_and_all_have_their_turn(leader: Leader) -> None:
    keys = [TopicPartition("t", index) for index in range(MOST_PARTITIONS + 10)]
    for key in keys:
        leader.propose(key)
    leader.clock.advance(50)
    assert len(asked(leader.requests[0])) == MOST_PARTITIONS
    # All of the first have to come again: the others go first.
    leader.answer(*((key, refused(ErrorCode.UNKNOWN_SERVER_ERROR)) for key in keys[:MOST_PARTITIONS]))
    leader.clock.advance(100)
    assert [row[1] for row in asked(leader.requests[1])][:10] == list(range(MOST_PARTITIONS, MOST_PARTITIONS + 10))


def test_one_partition_that_cannot_take_its_answer_costs_the_others_nothing(
    leader: Leader, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: IsrOutcome) -> None:
        raise RuntimeError("a bug")

    leader.changes.propose(T0, 1, 5, (1, 2), 7, 3, fail)
    leader.ask(T1)
    leader.answer((T0, done()), (T1, done()))
    assert leader.outcomes == [(T1, Committed((1, 2), 8))]
    assert "a bug" in caplog.text


def test_a_controller_in_this_process_answers_on_the_spot() -> None:
    clock = ManualClock()
    outcomes: list[IsrOutcome] = []
    changes = AlterIsrManager(1, lambda: 1, lambda _: completed(answer((T0, done()))), clock)

    def again(outcome: IsrOutcome) -> None:
        outcomes.append(outcome)
        if len(outcomes) < 3:
            changes.propose(T0, 1, 5, (1, 2), 8, 3, again)

    changes.propose(T0, 1, 5, (1, 2), 7, 3, again)
    clock.advance(1_000)
    assert outcomes == [Committed((1, 2), 8)] * 3


def test_after_the_end_nothing_is_sent_or_told(leader: Leader) -> None:
    leader.ask(T0)
    leader.propose(T1)
    leader.changes.close()
    leader.answer((T0, done()))
    leader.clock.advance(1_000)
    assert (leader.outcomes, len(leader.requests), leader.clock.timer_count) == ([], 1, 0)
