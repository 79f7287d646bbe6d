"""Three replicas whose leader changes at random, over a network that loses and delays.

What all replicas have had is never lost, and in the end all logs are the same.
"""

from random import Random
from typing import Any

import pytest

from barnabas.core.error_code import ErrorCode as E
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse as FetchedTopic
from barnabas.wire.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.broker.replicas.fetching.followers import Follower, MemoryFollower, Sent, batch

KEY = TopicPartition("t", 0)


class Broker:
    """One replica: a leader as Kafka's is, as far as its followers see it, and a follower."""

    def __init__(self, broker_id: int, clock: ManualClock) -> None:
        self.broker_id = broker_id
        self.log = MemoryFollower(KEY, leader=-1, leader_epoch=-1)
        self.follower = Follower(clock, broker_id)

    def take_state(self, leader: int, epoch: int) -> None:
        self.log.leader, self.log.leader_epoch = leader, epoch
        if leader == self.broker_id:
            self.follower.fetchers.forget([KEY])
            self.log.epochs.append((epoch, self.log.log_end_offset))
        else:
            self.follower.follow(self.log)

    def write(self, count: int, value: bytes) -> None:
        data = batch(self.log.log_end_offset, count, self.log.leader_epoch, value)
        self.log.put(self.log.log_end_offset, self.log.log_end_offset + count - 1, self.log.leader_epoch, data)

    def refusal(self, epoch: int) -> int:
        if epoch != self.log.leader_epoch:
            return E.FENCED_LEADER_EPOCH if epoch < self.log.leader_epoch else E.UNKNOWN_LEADER_EPOCH
        return E.NONE if self.log.leader == self.broker_id else E.NOT_LEADER_OR_FOLLOWER

    def answer(self, sent: Sent, asked: dict[TopicPartition, Any]) -> Any:
        """Answer; `asked` is the session, which is never lost here."""
        request = sent.request
        if isinstance(request, FetchRequest):
            if request.session_epoch == 0:
                asked.clear()
            for topic in request.forgotten_topics_data:
                asked.pop(TopicPartition(topic.topic, topic.partitions[0]), None)
            for named in request.topics:
                asked[KEY] = named.partitions[0]
            parts = [self.fetch(each) for each in asked.values()]
            return FetchResponse(0, 0, 5 if asked else 0, [FetchedTopic("t", parts)] if parts else [])
        wanted = request.topics[0].partitions[0]
        error = self.refusal(wanted.current_leader_epoch)
        if isinstance(request, ListOffsetsRequest):
            offset = self.log.log_end_offset if wanted.timestamp == -1 else self.log.log_start_offset
            part = ListOffsetsPartitionResponse(0, error, None, -1, -1 if error else offset)
            return ListOffsetsResponse(0, [ListOffsetsTopicResponse("t", [part])])
        epoch, end = (-1, -1) if error else self.log.end_offset_for_epoch(wanted.leader_epoch)
        result = EpochEndOffset(error, 0, epoch, end)
        return OffsetForLeaderEpochResponse(0, [OffsetForLeaderTopicResult("t", [result])])

    def fetch(self, wanted: Any) -> PartitionData:
        error = self.refusal(wanted.current_leader_epoch)
        if not error and wanted.fetch_offset > self.log.log_end_offset:
            error = E.OFFSET_OUT_OF_RANGE
        data = b"" if error else b"".join(each[3] for each in self.log.batches if each[0] >= wanted.fetch_offset)
        return PartitionData(0, error, self.log.high_watermark, -1, 0, records=memoryview(data[:700]))


class History:
    """Events, drawn one after the other.

    Attributes:
        committed: What all replicas have had.
    """

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.clock = ManualClock()
        self.brokers = [Broker(number, self.clock) for number in range(3)]
        self.sessions: dict[tuple[int, int], dict[TopicPartition, Any]] = {}
        self.committed: list[bytes] = []
        self.epoch = 0
        self.leader = 0
        self.late: list[tuple[Broker, int, int]] = []
        self.elect(0)

    def elect(self, leader: int) -> None:
        self.epoch += 1
        self.leader = leader
        # Some are told later, and perhaps never of this one.
        self.late += [(broker, leader, self.epoch) for broker in self.brokers]
        self.dice.shuffle(self.late)
        self.tell(self.dice.randrange(4))

    def tell(self, count: int) -> None:
        for _ in range(min(count, len(self.late))):
            broker, leader, epoch = self.late.pop()
            if epoch > broker.log.leader_epoch:
                broker.take_state(leader, epoch)

    def requests(self) -> list[tuple[Broker, Sent]]:
        return [(broker, sent) for broker in self.brokers for sent in broker.follower.channels.sent]

    def deliver(self, broker: Broker, sent: Sent) -> None:
        session = self.sessions.setdefault((broker.broker_id, sent.broker_id), {})
        response = self.brokers[sent.broker_id].answer(sent, session)
        broker.follower.channels.sent.remove(sent)
        sent.pending.complete(response)

    def step(self) -> None:
        match self.dice.choices(("write", "deliver", "lose", "elect", "tell", "time"), (4, 12, 1, 1, 3, 4))[0]:
            case "write":
                leaders = [each for each in self.brokers if each.log.leader == each.broker_id]
                if leaders:
                    value = b"%d" % self.dice.getrandbits(64)
                    self.dice.choice(leaders).write(self.dice.randint(1, 3), value)
            case "deliver":
                if self.requests():
                    self.deliver(*self.dice.choice(self.requests()))
            case "lose":
                if self.requests():
                    broker, sent = self.dice.choice(self.requests())
                    broker.follower.channels.drop(sent.broker_id, sent.lane)
            case "elect":
                self.elect(self.dice.randrange(3))
            case "tell":
                self.tell(1)
            case _:
                self.clock.advance(self.dice.randint(1, 200))
        self.commit()

    def commit(self) -> None:
        """What the leader of the newest epoch and its followers of that epoch have, is committed."""
        leader = self.brokers[self.leader]
        if all(each.log.leader_epoch == self.epoch for each in self.brokers) and all(
            each is leader or self.is_fetching(each) for each in self.brokers
        ):
            least = min(each.log.log_end_offset for each in self.brokers)
            common = [each[3] for each in leader.log.batches if each[1] < least]
            if len(common) > len(self.committed):
                self.committed = common
                leader.log.high_watermark = least
        for broker in self.brokers:
            kept = [each[3] for each in broker.log.batches[: len(self.committed)]]
            assert kept == self.committed, f"broker {broker.broker_id}"

    def is_fetching(self, broker: Broker) -> bool:
        """Whether a follower has cut off what its leader does not have."""
        fetcher = broker.follower.fetchers.fetchers.get((self.leader, 0))
        progress = None if fetcher is None else fetcher.state.partitions.get(KEY)
        return progress is not None and progress.phase.value == "fetching"

    def settle(self) -> None:
        self.elect(self.dice.randrange(3))
        self.tell(len(self.late))
        for _ in range(400):
            self.clock.advance(100)
            for request in self.requests():
                self.deliver(*request)
            self.commit()


@pytest.mark.parametrize("seed", range(60))
def test_nothing_that_all_had_is_lost_and_in_the_end_all_have_the_same(seed: int) -> None:
    history = History(seed)
    for _ in range(300):
        history.step()
    history.settle()
    logs = [broker.log for broker in history.brokers]
    assert [broker.follower.fetchers.failed_count for broker in history.brokers] == [0, 0, 0]
    assert logs[0].batches == logs[1].batches == logs[2].batches
    assert len(history.committed) == len(logs[0].batches)
