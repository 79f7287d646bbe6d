"""Outcomes on their way to the leaders of partitions."""

from collections.abc import Sequence

import pytest

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.transactions.events import SendMarkers
from barnabas.broker.transactions.markers import RETRY_MS, MarkerSender
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.errors import KafkaError
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

ALL = {("t", 0): 1, ("t", 1): 2, ("u", 0): 1}
STATE = {("__transaction_state", 0): 1}


class Brokers:
    """Takes requests and answers them when it is told to."""

    def __init__(self, leaders: dict[tuple[str, int], int]) -> None:
        self.clock = ManualClock()
        self.view = ClusterView("c")
        self.asked: list[tuple[int, WriteTxnMarkersRequest, Pending[WriteTxnMarkersResponse]]] = []
        self.done: list[int] = []
        self.sender = MarkerSender(self, self.view, self.clock)
        self.lead(leaders)
        self.sender.open()

    def send(self, broker_id, request, version, answer, lane):
        pending: Pending[WriteTxnMarkersResponse] = Pending()
        self.asked.append((broker_id, request, pending))
        return pending

    def drop(self, broker_id, lane):
        for to, _, pending in self.asked:
            if to == broker_id and not pending.is_done:
                pending.fail(KafkaError(E.NETWORK_EXCEPTION))

    def lead(self, leaders: dict[tuple[str, int], int], live: Sequence[int] = (1, 2)) -> None:
        states = [
            UpdateMetadataTopicState(topic, [UpdateMetadataPartitionState2(index, leader=leader)])
            for (topic, index), leader in leaders.items()
        ]
        brokers = [UpdateMetadataBroker(each) for each in live]
        self.view.update_metadata(UpdateMetadataRequest(topic_states=states, live_brokers=brokers))

    def tell(self, producer_id: int = 7, places=tuple(ALL), epoch: int = 3):
        markers = SendMarkers(producer_id, 1, True, frozenset(TopicPartition(*place) for place in places))
        return self.sender.send(markers, epoch, lambda: self.done.append(producer_id))

    @property
    def waiting(self) -> list[tuple[int, list[tuple[int, list[tuple[str, int]]]]]]:
        """By broker: the producers and their partitions that it has not answered."""
        return [
            (
                broker_id,
                [
                    (
                        each.producer_id,
                        [(topic.name, index) for topic in each.topics for index in topic.partition_indexes],
                    )
                    for each in request.markers
                ],
            )
            for broker_id, request, pending in self.asked
            if not pending.is_done
        ]

    def answer(self, broker_id: int, **codes: E) -> None:
        """Answer what a broker was asked: by default with NONE, else by topic."""
        (_, request, pending) = next(each for each in self.asked if each[0] == broker_id and not each[2].is_done)
        pending.complete(
            WriteTxnMarkersResponse(
                [
                    WritableTxnMarkerResult(
                        marker.producer_id,
                        [
                            WritableTxnMarkerTopicResult(
                                topic.name,
                                [
                                    WritableTxnMarkerPartitionResult(index, codes.get(topic.name, E.NONE))
                                    for index in topic.partition_indexes
                                ],
                            )
                            for topic in marker.topics
                        ],
                    )
                    for marker in request.markers
                ]
            )
        )


@pytest.fixture
def brokers() -> Brokers:
    return Brokers(ALL | STATE)


def test_each_leader_is_told_of_its_partitions(brokers: Brokers) -> None:
    brokers.tell()
    assert brokers.waiting == [(1, [(7, [("t", 0), ("u", 0)])]), (2, [(7, [("t", 1)])])]
    (_, request, _) = brokers.asked[0]
    marker = request.markers[0]
    assert (marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch) == (1, True, 3)
    brokers.answer(1)
    assert brokers.done == []
    brokers.answer(2)
    assert brokers.done == [7]


def test_what_waits_for_a_broker_goes_together(brokers: Brokers) -> None:
    for producer_id in (7, 8, 9):
        brokers.tell(producer_id, [("t", 0)])
    assert brokers.waiting == [(1, [(7, [("t", 0)])])]
    brokers.answer(1)
    assert brokers.waiting == [(1, [(8, [("t", 0)]), (9, [("t", 0)])])]
    brokers.answer(1)
    assert brokers.done == [7, 8, 9]


@pytest.mark.parametrize(
    "code",
    [
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.NOT_LEADER_OR_FOLLOWER,
        E.NOT_ENOUGH_REPLICAS,
        E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        E.REQUEST_TIMED_OUT,
        E.KAFKA_STORAGE_ERROR,
    ],
)
def test_what_may_pass_is_told_again_to_whoever_leads_then(brokers: Brokers, code: E) -> None:
    brokers.tell(places=[("t", 0), ("u", 0)])
    brokers.answer(1, t=code)
    brokers.lead({("t", 0): 2})
    brokers.clock.advance(RETRY_MS)
    assert brokers.waiting == [(2, [(7, [("t", 0)])])]
    brokers.answer(2)
    assert brokers.done == [7]


@pytest.mark.parametrize("code", [E.UNSUPPORTED_FOR_MESSAGE_FORMAT, E.UNSUPPORTED_VERSION])
def test_a_partition_that_cannot_hold_markers_needs_none(brokers: Brokers, code: E) -> None:
    brokers.tell(places=[("t", 0)])
    brokers.answer(1, t=code)
    assert brokers.done == [7]


@pytest.mark.parametrize("code", [E.INVALID_PRODUCER_EPOCH, E.TRANSACTION_COORDINATOR_FENCED])
def test_somebody_newer_decides(brokers: Brokers, code: E) -> None:
    brokers.tell()
    brokers.answer(1, t=code)
    brokers.answer(2)
    brokers.clock.advance(60_000)
    assert (brokers.done, brokers.waiting) == ([], [])


def test_a_lost_connection_and_a_partition_without_leader_are_tried_again(brokers: Brokers) -> None:
    brokers.lead({("u", 0): -1})
    brokers.tell(places=[("t", 0), ("u", 0)])
    brokers.asked[0][2].fail(KafkaError(E.NETWORK_EXCEPTION))
    brokers.lead({("u", 0): 1})
    brokers.clock.advance(RETRY_MS)
    assert len(brokers.waiting) == 1
    brokers.answer(1)
    if brokers.waiting:
        brokers.answer(1)
    assert brokers.done == [7]


def test_markers_in_flight_to_a_broker_that_leaves_go_to_the_new_leader(brokers: Brokers) -> None:
    brokers.tell(places=[("t", 1)])
    brokers.tell(8, places=[("t", 1)])
    brokers.lead({("t", 1): 1}, live=[1])
    brokers.clock.advance(RETRY_MS)
    assert {broker_id for broker_id, _ in brokers.waiting} <= {1}
    while brokers.waiting:
        brokers.answer(1)
    assert sorted(brokers.done) == [7, 8]


def test_a_deleted_topic_is_done_with(brokers: Brokers) -> None:
    brokers.tell(places=[("gone", 0)])
    assert brokers.done == []
    brokers.clock.advance(0)
    assert (brokers.done, brokers.asked) == ([7], [])


def test_before_a_broker_knows_the_topics_none_counts_as_deleted() -> None:
    brokers = Brokers({})
    brokers.tell(places=[("t", 0)])
    brokers.clock.advance(10 * RETRY_MS)
    assert (brokers.done, brokers.asked) == ([], [])
    brokers.lead(ALL | STATE)
    brokers.clock.advance(RETRY_MS)
    brokers.answer(1)
    assert brokers.done == [7]


def test_who_resigns_tells_nothing_more(brokers: Brokers) -> None:
    brokers.tell(7, [("t", 0)])
    stop = brokers.tell(8, [("t", 0)])
    stop()
    brokers.answer(1)
    brokers.clock.advance(60_000)
    assert (brokers.done, brokers.waiting) == ([7], [])


def test_a_broker_that_answers_less_than_it_was_asked_is_asked_again(brokers: Brokers) -> None:
    brokers.tell(places=[("t", 0)])
    brokers.asked[0][2].complete(WriteTxnMarkersResponse([]))
    brokers.clock.advance(RETRY_MS)
    brokers.answer(1)
    assert brokers.done == [7]


def test_nobody_is_told_before_this_broker_listens(brokers: Brokers) -> None:
    brokers.sender = MarkerSender(brokers, brokers.view, brokers.clock)
    brokers.tell(7)
    give_up = brokers.tell(8)
    brokers.clock.advance(RETRY_MS)
    assert brokers.asked == []
    give_up()
    brokers.sender.open()
    assert {producer_id for _, parts in brokers.waiting for producer_id, _ in parts} == {7}
