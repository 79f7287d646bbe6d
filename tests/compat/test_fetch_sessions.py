"""Fetch by raw requests, step by step: incremental sessions, the order of partitions, sizes, and what ends a wait.

Each test says what Kafka 2.7.2 answers; `BARNABAS_COMPAT_TARGET=kafka` asks Kafka itself.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.records.batch import batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from tests.compat.acl_requests import CONFIG as ACCESS_RULES
from tests.compat.conftest import RunningBroker, StartBroker
from tests.compat.raw import Peer, create_topic

VERSION = 11
FULL = (0, 0)
WITHOUT = (0, -1)
# Nothing that is answered at once takes so long, on whatever machine; what waits, waits longer.
LONG_MS = 20_000
AT_ONCE_S = 10
# Timers count whole milliseconds, as Kafka's: a wait may end by so much before its time.
TICK_MS = 1


class Reader(Peer):
    """One connection that asks for one topic."""

    def __init__(self, broker: RunningBroker, topic: str) -> None:
        super().__init__(broker.bootstrap_servers)
        self.topic = topic

    def fetch(
        self,
        partitions: dict[int, int],
        session: tuple[int, int] = WITHOUT,
        forget: tuple[int, ...] = (),
        *,
        version: int = VERSION,
        **changes,
    ) -> FetchResponse:
        """Fetch partitions from offsets."""
        return self.ask(self.request(partitions, session, forget, **changes), version)

    def request(
        self,
        partitions: dict[int, int],
        session: tuple[int, int] = WITHOUT,
        forget: tuple[int, ...] = (),
        **changes: Any,
    ) -> FetchRequest:
        values = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, "replica_id": -1} | changes
        of_partition = {"partition_max_bytes": 1 << 20}
        for name in ("partition_max_bytes", "current_leader_epoch", "last_fetched_epoch"):
            if name in values:
                of_partition[name] = values.pop(name)
        wanted = [FetchPartition(index, fetch_offset=offset, **of_partition) for index, offset in partitions.items()]
        return FetchRequest(
            topics=[FetchTopic(self.topic, partitions=wanted)] if wanted else [],
            session_id=session[0],
            session_epoch=session[1],
            forgotten_topics_data=[ForgottenTopic(self.topic, list(forget))] if forget else [],
            **values,
        )

    def produce(self, partition: int, size: int = 100, count: int = 1) -> None:
        builder = BatchBuilder()
        for _ in range(count):
            builder.append(1_600_000_000_000, None, b"x" * size)
        data = [TopicProduceData(self.topic, partition_data=[PartitionProduceData(partition, bytes(builder.build()))])]
        answer = self.ask(ProduceRequest(None, 1, 10_000, data), 8)
        assert answer.responses[0].partition_responses[0].error_code == 0


@pytest.fixture
def reader(cluster: RunningBroker, name: str) -> Iterator[Reader]:
    """Of a topic with four partitions."""
    # Records of these tests are years old.
    create_topic(cluster.bootstrap_servers, name, 4, retention_ms="-1")
    with Reader(cluster, name) as reader:
        yield reader


def records(data: PartitionData) -> memoryview:
    """Of one partition."""
    assert isinstance(data.records, (bytes, memoryview))
    return memoryview(data.records)


def told(answer: FetchResponse) -> list[tuple[int, int, int, list[int]]]:
    """Partition, error, high watermark and base offsets of all that is answered, in its order."""
    return [
        (
            data.partition_index,
            int(data.error_code),
            data.high_watermark,
            [read_header(each).base_offset for each in batches(records(data))],
        )
        for topic in answer.responses
        for data in topic.partitions
    ]


def begun(reader: Reader, partitions: dict[int, int]) -> int:
    """The id of a new session."""
    answer = reader.fetch(partitions, FULL)
    assert answer.error_code == 0
    assert answer.session_id > 0
    return answer.session_id


# --- a session step by step


def test_a_session_answers_what_is_new(reader: Reader) -> None:
    reader.produce(0)
    answer = reader.fetch({0: 0, 1: 0, 2: 0}, FULL)
    session = answer.session_id
    assert session > 0
    assert told(answer) == [(0, 0, 1, [0]), (1, 0, 0, []), (2, 0, 0, [])], "first of all, all of it"
    answer = reader.fetch({0: 1}, (session, 1))
    assert (answer.error_code, answer.session_id) == (0, session)
    assert told(answer) == [], "nothing has changed"
    reader.produce(1)
    reader.produce(2)
    assert told(reader.fetch({}, (session, 2))) == [(1, 0, 1, [0]), (2, 0, 1, [0])]
    assert told(reader.fetch({}, (session, 3))) == [(1, 0, 1, [0]), (2, 0, 1, [0])], "it did not say that it got them"
    assert told(reader.fetch({1: 1, 2: 1}, (session, 4))) == []


def test_a_partition_whose_high_watermark_moved_is_answered_without_records(reader: Reader) -> None:
    session = begun(reader, {0: 0})
    reader.produce(0, count=3)
    assert told(reader.fetch({0: 3}, (session, 1))) == [(0, 0, 3, [])]
    assert told(reader.fetch({}, (session, 2))) == []


def test_partitions_come_and_go(reader: Reader) -> None:
    session = begun(reader, {0: 0, 1: 0})
    assert told(reader.fetch({3: 0}, (session, 1))) == [(3, 0, 0, [])], "of a new partition everything is told"
    for index in range(4):
        reader.produce(index)
    answer = reader.fetch({}, (session, 2), forget=(0,))
    assert told(answer) == [(1, 0, 1, [0]), (3, 0, 1, [0])]
    assert told(reader.fetch({0: 0, 1: 1, 3: 1}, (session, 3), forget=(2,))) == [(0, 0, 1, [0])]


def test_an_error_is_told_each_time_and_what_comes_after_it_in_full(reader: Reader) -> None:
    reader.produce(0)
    session = begun(reader, {0: 1, 1: 0})
    out_of_range = (0, ErrorCode.OFFSET_OUT_OF_RANGE, -1, [])
    assert told(reader.fetch({0: 7}, (session, 1))) == [out_of_range]
    assert told(reader.fetch({}, (session, 2))) == [out_of_range]
    assert told(reader.fetch({0: 1}, (session, 3))) == [(0, 0, 1, [])]
    assert told(reader.fetch({}, (session, 4))) == []


def test_unknown_partitions_stand_last_each_time(reader: Reader) -> None:
    unknown = (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, [])
    answer = reader.fetch({9: 0, 0: 0, 1: 0}, FULL)
    session = answer.session_id
    assert told(answer) == [(0, 0, 0, []), (1, 0, 0, []), unknown]
    reader.produce(0)
    assert told(reader.fetch({}, (session, 1))) == [(0, 0, 1, [0]), unknown]


def test_a_session_without_partitions_ends(reader: Reader) -> None:
    session = begun(reader, {0: 0})
    answer = reader.fetch({}, (session, 1), forget=(0,))
    assert (answer.error_code, answer.session_id, told(answer)) == (0, 0, [])
    assert reader.fetch({}, (session, 2)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_partition_that_is_named_and_forgotten_at_once_is_answered_without_a_session(reader: Reader) -> None:
    session = begun(reader, {0: 0})
    answer = reader.fetch({1: 0}, (session, 1), forget=(0, 1))
    assert (answer.error_code, answer.session_id, told(answer)) == (0, 0, [(1, 0, 0, [])])


def test_a_full_fetch_of_nothing_begins_a_session(reader: Reader) -> None:
    session = begun(reader, {})
    assert told(reader.fetch({0: 0}, (session, 1))) == [(0, 0, 0, [])]


def test_an_empty_session_that_stays_empty_ends(reader: Reader) -> None:
    session = begun(reader, {})
    answer = reader.fetch({}, (session, 1))
    assert (answer.error_code, answer.session_id) == (0, 0)


# --- epochs of a session


def test_epochs_count_up(reader: Reader) -> None:
    session = begun(reader, {0: 0})
    for epoch in (0x7FFFFFFF, 2, -2):
        answer = reader.fetch({}, (session, epoch))
        assert (answer.error_code, answer.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    assert reader.fetch({}, (session, 1)).error_code == 0
    assert reader.fetch({}, (session, 1)).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH, "it was used"
    assert reader.fetch({}, (session, 2)).error_code == 0


@pytest.mark.parametrize("epoch", [1, 2, 0x7FFFFFFF])
def test_sessions_that_nobody_began(reader: Reader, epoch: int) -> None:
    for session in (0, 1 << 30):
        answer = reader.fetch({0: 0}, (session, epoch))
        assert (answer.error_code, answer.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
        assert told(answer) == []


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_fetch_ends_the_session_that_it_names(reader: Reader, epoch: int) -> None:
    session = begun(reader, {0: 0})
    answer = reader.fetch({1: 0}, (session, epoch))
    assert answer.error_code == 0
    assert told(answer) == [(1, 0, 0, [])]
    assert (answer.session_id == 0) == (epoch == -1)
    assert answer.session_id != session
    assert reader.fetch({}, (session, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_request_that_was_overtaken_while_it_waited(cluster: RunningBroker, reader: Reader) -> None:
    session = begun(reader, {0: 0})
    reader.send(reader.request({}, (session, 1), max_wait_ms=LONG_MS), VERSION)
    with Reader(cluster, reader.topic) as other:
        # As soon as the first one is there.
        while (answer := other.fetch({}, (session, 2))).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH:
            pass
        assert answer.error_code == 0
        other.produce(0)
        answer = reader.receive(ApiKey.FETCH, VERSION)
        assert (answer.error_code, answer.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session)
        assert told(answer) == []
        assert told(other.fetch({}, (session, 3))) == [(0, 0, 1, [0])]


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version(reader: Reader, version: int) -> None:
    reader.produce(0)
    answer = reader.fetch({0: 0, 1: 0}, FULL if version >= 7 else WITHOUT, version=version)
    assert told(answer) == [(0, 0, 1, [0]), (1, 0, 0, [])]
    assert (answer.session_id > 0) == (version >= 7)
    if version >= 7:
        assert told(reader.fetch({0: 1}, (answer.session_id, 1), version=version)) == []
        reader.produce(1)
        assert told(reader.fetch({}, (answer.session_id, 2), version=version)) == [(1, 0, 1, [0])]


# --- the cache


def test_slots_are_taken_by_larger_sessions_of_followers(start_broker: StartBroker, name: str) -> None:
    # Whoever may act for the cluster is a follower; without access rules only who stands among the replicas is.
    broker = start_broker(**{"max.incremental.fetch.session.cache.slots": "2", **ACCESS_RULES})
    create_topic(broker.bootstrap_servers, name, 4)
    with Reader(broker, name) as reader:
        small, large = begun(reader, {0: 0}), begun(reader, {0: 0, 1: 0, 2: 0})
        assert reader.fetch({0: 0, 1: 0, 2: 0, 3: 0}, FULL).session_id == 0, "consumers wait for two minutes"
        # A follower's own id would do as well: this one is nobody's.
        assert (follower := reader.fetch({0: 0}, FULL, replica_id=77).session_id) > 0
        assert reader.fetch({}, (small, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert reader.fetch({}, (large, 1)).error_code == 0
        assert (second := reader.fetch({0: 0, 1: 0}, FULL, replica_id=77).session_id) > 0
        assert reader.fetch({}, (large, 2)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert reader.fetch({0: 0, 1: 0, 2: 0}, FULL, replica_id=77).session_id == 0, "followers keep theirs"
        assert reader.fetch({}, (follower, 1), replica_id=77).error_code == 0
        assert reader.fetch({}, (second, 1), replica_id=77).error_code == 0


def test_without_slots_there_are_no_sessions(start_broker: StartBroker, name: str) -> None:
    broker = start_broker(**{"max.incremental.fetch.session.cache.slots": "0"})
    create_topic(broker.bootstrap_servers, name)
    with Reader(broker, name) as reader:
        answer = reader.fetch({0: 0}, FULL)
        assert (answer.error_code, answer.session_id, told(answer)) == (0, 0, [(0, 0, 0, [])])


# --- turns and sizes


def test_partitions_that_gave_records_are_served_last(reader: Reader) -> None:
    for index in range(4):
        for _ in range(3):
            reader.produce(index, 1_000)
    session = reader.fetch(dict.fromkeys(range(4), 0), FULL, max_bytes=1).session_id
    served = []
    for epoch in range(1, 9):
        answer = told(reader.fetch({}, (session, epoch), max_bytes=1))
        served.append([index for index, _, _, found in answer if found])
    assert served == [[0], [1], [2], [3], [0], [1], [2], [3]]


def test_the_first_partition_with_records_gives_a_whole_batch_and_the_next_ones_none_that_does_not_fit(
    reader: Reader,
) -> None:
    reader.produce(1, 1_000)
    reader.produce(2, 5_000)
    reader.produce(3, 100)
    answer = reader.fetch({0: 0, 1: 0, 2: 0, 3: 0}, max_bytes=2_000)
    assert told(answer) == [(0, 0, 0, []), (1, 0, 1, [0]), (2, 0, 1, []), (3, 0, 1, [0])]
    sizes = [len(records(data)) for data in answer.responses[0].partitions]
    assert sizes[2] == 0, "not even its beginning"
    answer = reader.fetch({1: 0, 2: 0, 3: 0}, max_bytes=200)
    assert told(answer) == [(1, 0, 1, [0]), (2, 0, 1, []), (3, 0, 1, [])]


def test_a_partition_s_own_limit(reader: Reader) -> None:
    for index in (0, 1):
        for _ in range(3):
            reader.produce(index, 1_000)
    answer = reader.fetch({0: 0, 1: 0}, partition_max_bytes=2_500)
    assert told(answer) == [(0, 0, 3, [0, 1]), (1, 0, 3, [0, 1])]
    sizes = [len(records(data)) for data in answer.responses[0].partitions]
    assert sizes == [2_500, 2_500], "the last batch is cut"
    answer = reader.fetch({0: 0, 1: 0}, partition_max_bytes=10)
    assert told(answer) == [(0, 0, 3, [0]), (1, 0, 3, [])]


# --- what ends a wait


def took_s(reader: Reader, *args, **changes) -> tuple[float, FetchResponse]:
    start = time.monotonic()
    answer = reader.fetch(*args, **changes)
    return time.monotonic() - start, answer


def test_a_batch_that_does_not_fit_counts_for_min_bytes(reader: Reader) -> None:
    reader.produce(0, 100)
    reader.produce(1, 5_000)
    seconds, answer = took_s(reader, {0: 0, 1: 0}, max_bytes=400, min_bytes=300, max_wait_ms=LONG_MS)
    assert told(answer) == [(0, 0, 1, [0]), (1, 0, 1, [])]
    assert seconds < AT_ONCE_S


def test_an_unknown_partition_alone_is_answered_at_once(reader: Reader) -> None:
    seconds, answer = took_s(reader, {9: 0}, max_wait_ms=LONG_MS)
    assert told(answer) == [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, [])]
    assert seconds < AT_ONCE_S


def test_beside_an_unknown_partition_another_is_waited_for(cluster: RunningBroker, reader: Reader) -> None:
    wait_ms = 1_000
    seconds, answer = took_s(reader, {9: 0, 0: 0}, max_wait_ms=wait_ms)
    assert told(answer) == [(0, 0, 0, []), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, [])]
    assert seconds >= (wait_ms - TICK_MS) / 1_000


def test_another_error_ends_the_wait(reader: Reader) -> None:
    seconds, answer = took_s(reader, {0: 7, 1: 0}, max_wait_ms=LONG_MS)
    assert told(answer) == [(0, ErrorCode.OFFSET_OUT_OF_RANGE, -1, []), (1, 0, 0, [])]
    assert seconds < AT_ONCE_S


def test_a_broker_that_is_no_replica_gets_nothing_before_its_time_is_up(reader: Reader) -> None:
    reader.produce(0)
    answer = reader.fetch({0: 0}, replica_id=77)
    assert told(answer) == [(0, 0, 1, [])]
    wait_ms = 1_000
    seconds, answer = took_s(reader, {0: 0}, replica_id=77, max_wait_ms=wait_ms)
    assert told(answer) == [(0, 0, 1, [0])]
    assert seconds >= (wait_ms - TICK_MS) / 1_000


def test_a_session_waits_for_all_its_partitions(cluster: RunningBroker, reader: Reader) -> None:
    session = begun(reader, {0: 0, 1: 0})
    reader.send(reader.request({0: 0}, (session, 1), max_wait_ms=3 * LONG_MS), VERSION)
    with Reader(cluster, reader.topic) as other:
        other.produce(1)
        assert told(reader.receive(ApiKey.FETCH, VERSION)) == [(1, 0, 1, [0])]


# --- leader epochs

EPOCHS = [(-1, ErrorCode.NONE), (0, ErrorCode.NONE), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)]


@pytest.mark.parametrize(("epoch", "error_code"), [*EPOCHS, (-5, ErrorCode.NONE)])
def test_fetch_checks_the_leader_epoch(reader: Reader, epoch: int, error_code: ErrorCode) -> None:
    ((_, error, _, _),) = told(reader.fetch({0: 0}, current_leader_epoch=epoch))
    assert error == error_code


@pytest.mark.parametrize(("epoch", "error_code"), [*EPOCHS, (-5, ErrorCode.FENCED_LEADER_EPOCH)])
@pytest.mark.parametrize("version", [4, 5])
def test_list_offsets_checks_the_leader_epoch(reader: Reader, version: int, epoch: int, error_code: ErrorCode) -> None:
    wanted = ListOffsetsPartition(0, current_leader_epoch=epoch, timestamp=-1)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(reader.topic, [wanted])])
    answer = reader.ask(request, version)
    assert answer.topics[0].partitions[0].error_code == error_code


@pytest.mark.parametrize(("epoch", "error_code"), [*EPOCHS, (-5, ErrorCode.FENCED_LEADER_EPOCH)])
@pytest.mark.parametrize("version", [2, 3])
def test_offset_for_leader_epoch_checks_the_leader_epoch(
    reader: Reader, version: int, epoch: int, error_code: ErrorCode
) -> None:
    wanted = OffsetForLeaderPartition(0, current_leader_epoch=epoch, leader_epoch=0)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(reader.topic, [wanted])])
    answer = reader.ask(request, version)
    assert answer.topics[0].partitions[0].error_code == error_code


def diverging(answer: FetchResponse) -> tuple[int, int, int, int]:
    (data,) = answer.responses[0].partitions
    return data.error_code, data.high_watermark, data.diverging_epoch.epoch, data.diverging_epoch.end_offset


def test_where_histories_part(reader: Reader) -> None:
    reader.produce(0, count=2)

    def after_epoch(last_fetched_epoch: int, offset: int, isolation_level: int = 0) -> tuple[int, int, int, int]:
        request = reader.request({0: offset}, last_fetched_epoch=last_fetched_epoch, isolation_level=isolation_level)
        return diverging(reader.ask(request, 12))

    out_of_range = (ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, -1)
    assert after_epoch(0, 1) == (0, 2, -1, -1)
    assert after_epoch(0, 5) == (0, 2, 0, 2)
    assert after_epoch(0, 5, isolation_level=1) == (0, 2, 0, 2)
    assert after_epoch(0, -3) == out_of_range
    assert after_epoch(3, 0) == out_of_range


def test_a_session_tells_each_time_where_histories_part(reader: Reader) -> None:
    reader.produce(0, count=2)
    session = reader.fetch({0: 5}, FULL, version=12, last_fetched_epoch=0).session_id
    for epoch in (1, 2):
        assert diverging(reader.fetch({}, (session, epoch), version=12)) == (0, 2, 0, 2)


def test_transactions_of_what_is_left_out(reader: Reader) -> None:
    reader.produce(0, 100)
    reader.produce(1, 5_000)
    answer = reader.fetch({0: 0, 1: 0, 2: 0}, max_bytes=400, isolation_level=1)
    found = [data.aborted_transactions for data in answer.responses[0].partitions]
    assert found == [[], None, []]
