"""What `barnabas consume --group` commits: the positions of all partitions, but none after records not printed yet."""

import asyncio
from typing import Any

import pytest

from barnabas.cli.consume import _Reader, _Writer
from barnabas.cli.output import progress
from barnabas.clients import Consumer, GroupMember
from barnabas.clients.admin_calls import EARLIEST
from barnabas.clients.consumer_protocol import encode_assignment
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.wire.protocol.messages.join_group import JoinGroupResponse
from barnabas.wire.protocol.messages.leave_group import LeaveGroupResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchResponse
from barnabas.wire.protocol.messages.sync_group import SyncGroupResponse
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from tests.unit.clients.memory_broker import MemoryBroker

PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1)]
END = 10


def batch(count, producer_id=-1):
    builder = BatchBuilder(Codec.NONE, producer_id, 0, 0, is_transactional=producer_id >= 0)
    for _ in range(count):
        builder.append(0, None, b"v", ())
    return bytes(builder.build(END))


def aborted():
    marker = build_marker(7, 0, EndTransactionMarker(MarkerType.ABORT, 0), 0, base_offset=END + 2)
    return PartitionData(
        0, 0, END + 3, END + 3, aborted_transactions=[AbortedTransaction(7, END)], records=batch(2, 7) + bytes(marker)
    )


def log(partition, count):
    return PartitionData(partition, 0, END + count, END + count, records=batch(count))


def broker(*fetched, commit_error=ErrorCode.NONE):
    """A group without offsets, whose only member receives both partitions, and these responses to a fetch."""
    committed = OffsetCommitResponseTopic("t", [OffsetCommitResponsePartition(0, commit_error)])
    offsets = [ListOffsetsPartitionResponse(index, 0, offset=END) for index in (0, 1)]
    given: dict[ApiKey, Any] = {
        ApiKey.JOIN_GROUP: lambda request: JoinGroupResponse(0, 0, 1, None, "range", "other", "m-1", []),
        ApiKey.SYNC_GROUP: lambda request: SyncGroupResponse(0, 0, assignment=encode_assignment(PARTITIONS)),
        ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(0, 0),
        ApiKey.OFFSET_FETCH: lambda request: OffsetFetchResponse(0, []),
        ApiKey.OFFSET_COMMIT: lambda request: OffsetCommitResponse(0, [committed]),
        ApiKey.LEAVE_GROUP: lambda request: LeaveGroupResponse(0, 0),
        ApiKey.LIST_OFFSETS: lambda request: ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", offsets)]),
        ApiKey.FETCH: [
            lambda request: FetchResponse(responses=[FetchableTopicResponse("t", list(fetched))]) if fetched else None,
            lambda request: None,
        ],
    }
    made = MemoryBroker(given)
    made.partition_count = len(PARTITIONS)
    return made


def read(made, max_messages=None, commit_interval_s=5, stop_s=None, print_s=0, spent_s=None):
    """Read as a member of a group; return the number of printed records.

    A signal comes after `stop_s`, and each print begins after `print_s`; `spent_s` receives the time that it took.
    """
    counts = []

    async def elsewhere(work):
        await asyncio.sleep(print_s)
        work()

    async def play(pool):
        consumer, stopped = Consumer(pool, is_read_committed=True), asyncio.Event()
        if stop_s is not None:
            asyncio.get_running_loop().call_later(stop_s, stopped.set)
        reader = _Reader(consumer, _Writer({}, False, is_silent=True), max_messages, 2_000, stopped, elsewhere)
        with progress("", None, is_wanted=False) as bar:
            await reader.read_as_member(GroupMember(pool, "g", ["t"]), "latest", bar, commit_interval_s)
        if spent_s is not None:
            spent_s.append(asyncio.get_running_loop().time())
        await consumer.close()
        counts.append(reader.count)

    made.run(play)
    return counts[0]


def test_an_offset_of_a_deleted_topic_is_not_committed_and_stops_nothing():
    made = broker(log(0, 1), commit_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert read(made) == 1
    assert len(made.requests[ApiKey.OFFSET_COMMIT]) == 1


@pytest.mark.parametrize(
    ("fetched", "max_messages", "printed", "committed"),
    [
        # The next start of the group must not look for the ends again.
        ([], None, 0, [END, END]),
        ([log(0, 1)], None, 1, [END + 1, END]),
        ([aborted()], None, 0, [END + 3, END]),
        ([aborted(), log(1, 1)], 1, 1, [END + 3, END + 1]),
        ([log(0, 3), log(1, 2)], 2, 2, [END + 2, END]),
        ([log(0, 3), log(1, 2)], 4, 4, [END + 3, END + 1]),
    ],
)
@pytest.mark.parametrize("commits", [True, False])
def test_positions_of_all_partitions_are_committed(fetched, max_messages, printed, committed, commits):
    made = broker(*fetched)
    assert read(made, max_messages, 5 if commits else None) == printed
    assert commits_of(made) == ([committed] if commits else [])


def test_a_partition_without_a_leader_delays_no_other():
    made = broker(log(0, 1))
    parts = [MetadataResponsePartition(0, index, leader_id, 0, [0], [0], []) for index, leader_id in ((0, 0), (1, -1))]
    topic = MetadataResponseTopic(0, "t", partitions=parts)
    node = MetadataResponseBroker(0, "memory", 9092)
    found = ListOffsetsTopicResponse("t", [ListOffsetsPartitionResponse(0, 0, offset=END)])
    made.will_answer(
        {
            ApiKey.METADATA: lambda request: MetadataResponse(0, [node], "memory", 0, [topic]),
            ApiKey.LIST_OFFSETS: lambda request: ListOffsetsResponse(topics=[found]),
        }
    )
    spent_s = []
    assert read(made, spent_s=spent_s) == 1
    assert commits_of(made) == [[END + 1]]
    # Its searches do not prolong the timeout of two seconds.
    assert spent_s == [pytest.approx(2.5, abs=0.6)]


@pytest.mark.parametrize("stop_s", [0.05, 0.6])
def test_a_signal_at_any_time_commits_the_positions(stop_s):
    made = broker()
    assert read(made, stop_s=stop_s) == 0
    assert commits_of(made) == [[END, END]]


@pytest.mark.parametrize(
    ("silent", "ends_s"),
    [([ApiKey.OFFSET_COMMIT], 6), ([ApiKey.LEAVE_GROUP], 6), ([ApiKey.OFFSET_COMMIT, ApiKey.LEAVE_GROUP], 11)],
)
def test_a_signal_limits_the_wait_for_a_coordinator(silent, ends_s):
    made = broker(log(0, 1))
    made.will_answer(dict.fromkeys(silent, lambda request: None))
    spent_s = []
    assert read(made, stop_s=1, spent_s=spent_s) == 1
    assert spent_s == [pytest.approx(ends_s, abs=0.5)]


@pytest.mark.parametrize(
    ("connect_s", "fetched", "printed"),
    # A connection may take ten seconds.
    [(each, *made) for each in (0, 0.45, 0.8, 1.2) for made in (([log(0, 3)], 3), ([], 0))] + [(99, [], 0)],
)
def test_the_timeout_does_not_count_the_first_connections_and_lookups(connect_s, fetched, printed):
    made, times_s = broker(*fetched), []

    async def slow(host, port):
        # After the first connection, which finds the cluster.
        await asyncio.sleep(connect_s if made.dial_count else 0)
        return await MemoryBroker.dial(made, host, port)

    async def play(pool):
        await pool.metadata(["t"])
        await (await pool.any_broker()).close()
        consumer = Consumer(pool)
        consumer.seek(PARTITIONS, EARLIEST)
        reader = _Reader(consumer, _Writer({}, False, is_silent=True), None, 500, asyncio.Event(), written)
        begin_s = asyncio.get_running_loop().time()
        with progress("", None, is_wanted=False) as bar:
            await reader.read(bar)
        times_s.append(asyncio.get_running_loop().time() - begin_s)
        await consumer.close()
        assert reader.count == printed

    async def written(work):
        work()

    made.dial = slow
    made.run(play)
    assert 0.5 <= times_s[0] - min(connect_s, 10) <= 1.2


def commits_of(made):
    return [
        [part.committed_offset for topic in request.topics for part in topic.partitions]
        for request in made.requests[ApiKey.OFFSET_COMMIT]
    ]


@pytest.mark.parametrize(
    ("stop_s", "heartbeat", "print_s", "printed", "committed"),
    [
        (None, ErrorCode.NONE, 20, 5, [[END + 3, END + 2]]),
        # What is interrupted is not committed, be it by a signal, by a rebalance, or by a reader that reads nothing.
        (4, ErrorCode.NONE, 7, 0, [[END, END]]),
        (4, ErrorCode.NONE, 20, 0, [[END, END]]),
        (None, ErrorCode.REBALANCE_IN_PROGRESS, 7, 0, [[END, END], [END, END]]),
    ],
)
def test_heartbeats_continue_while_records_are_printed(stop_s, heartbeat, print_s, printed, committed):
    made = broker(log(0, 3), log(1, 2))
    made.will_answer({ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(0, heartbeat)})
    assert read(made, commit_interval_s=60, stop_s=stop_s, print_s=print_s) == printed
    assert commits_of(made) == committed
    assert made.requests[ApiKey.HEARTBEAT]
