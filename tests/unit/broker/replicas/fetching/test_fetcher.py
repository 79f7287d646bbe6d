"""A fetcher and its leader, answer by answer."""

import pytest

from barnabas.broker.replicas.fetching.fetch_session import MOST_ADDED
from barnabas.broker.replicas.fetching.fetch_state import FIRST_BACK_OFF_MS, Phase
from barnabas.broker.replicas.fetching.manager import fetcher_number
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.errors import ProtocolError, StorageError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchRequest
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.unit.broker.replicas.fetching.followers import LEADER, Follower, MemoryFollower, batch, records

A, B, C = (TopicPartition("t", number) for number in range(3))


def fetching(*keys: TopicPartition, **settings: str) -> tuple[Follower, list[MemoryFollower]]:
    """A follower whose session has begun, with a fetch on its way that asks for nothing else."""
    follower = Follower(settings=settings)
    followed = [MemoryFollower(key) for key in keys]
    follower.follow(*followed)
    follower.answer_fetch(*(records(key) for key in keys))
    return follower, followed


# --- what is asked


def test_an_empty_log_is_cut_at_its_high_watermark_and_fetched_from_there() -> None:
    follower, followed = Follower(), MemoryFollower(A)
    follower.follow(followed)
    assert followed.done == [("truncate", 0)]
    sent, request = follower.only, follower.asked
    assert (sent.broker_id, sent.lane, sent.version) == (LEADER, "fetcher-0", 12)
    assert sent.timeout_ms == 30_000
    assert sent.max_answer_bytes > 100 * 1024 * 1024
    # The leader waits for records only when it has said what there is.
    assert (request.replica_id, request.max_wait_ms, request.min_bytes) == (1, 0, 1)
    assert (request.max_bytes, request.isolation_level, request.rack_id) == (10_485_760, 0, "")
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert follower.fetched() == {("t", 0): (0, 1, 0)}
    part = request.topics[0].partitions[0]
    assert (part.last_fetched_epoch, part.partition_max_bytes) == (-1, 1_048_576)
    follower.answer_fetch(records(A))
    assert follower.asked.max_wait_ms == 500


@pytest.mark.parametrize(
    ("spoken", "version"),
    [
        ("0.8.2", 0),
        ("0.9.0", 1),
        ("0.10.0", 2),
        ("0.10.1", 3),
        ("0.11.0-IV0", 4),
        ("0.11.0", 5),
        ("2.0", 8),
        ("2.7", 12),
    ],
)
def test_each_version_of_fetch_can_be_said(spoken: str, version: int) -> None:
    follower, [followed] = fetching(A, inter_broker_protocol_version=spoken, log_message_format_version="0.8.2")
    assert follower.only.version == version
    assert isinstance(follower.asked, FetchRequest)
    if version < 7:
        # Full each time.
        assert follower.fetched() == {("t", 0): (0, 1 if version >= 9 else -1, 0 if version >= 5 else -1)}
    follower.answer_fetch(records(A, batch(0, 3), 3))
    assert followed.log_end_offset == 3


def test_what_came_is_appended_and_the_next_fetch_asks_for_what_follows() -> None:
    follower, [first, second] = fetching(A, B)
    assert (follower.asked.session_id, follower.asked.session_epoch, follower.fetched()) == (77, 1, {})
    follower.answer_fetch(records(A, batch(0, 3) + batch(3, 2), 4))
    assert (first.log_end_offset, first.high_watermark) == (5, 4)
    assert first.done[-1] == ("append", 2, 4, 0)
    assert second.log_end_offset == 0
    assert follower.asked.session_epoch == 2
    assert follower.fetched() == {("t", 0): (5, 1, 0)}
    assert follower.fetchers.max_lag == 0
    follower.answer_fetch(records(A, batch(5), 20))
    assert follower.fetchers.max_lag == 14


def test_a_torn_last_batch_is_left_and_asked_for_again() -> None:
    follower, [followed] = fetching(A)
    follower.answer_fetch(records(A, batch(0) + batch(1)[:-1], 2))
    assert followed.log_end_offset == 1
    assert follower.fetched() == {("t", 0): (1, 1, 0)}


def test_an_answer_that_holds_no_whole_batch_is_not_asked_for_at_once() -> None:
    follower, [followed] = fetching(A)
    follower.answer_fetch(records(A, batch(0)[:-1], 2))
    assert followed.log_end_offset == 0
    assert follower.forgotten() == [("t", 0)]


def test_the_high_watermark_and_the_log_start_of_a_leader_come_without_records_too() -> None:
    follower, [followed] = fetching(A)
    follower.answer_fetch(records(A, batch(0, 5), 2))
    follower.answer_fetch(records(A, b"", 5, 3))
    assert (followed.high_watermark, followed.log_start_offset) == (5, 3)
    # The leader is told where the log begins now.
    assert follower.fetched() == {("t", 0): (5, 1, 3)}


def test_appends_go_on_side_by_side_and_the_next_fetch_waits_for_all() -> None:
    follower, [first, second, third] = fetching(A, B, C)
    first.is_holding = second.is_holding = True
    follower.answer_fetch(*(records(key, batch(0), 1) for key in (A, B, C)))
    assert third.log_end_offset == 1
    assert follower.is_idle
    second.release()
    assert (second.log_end_offset, follower.is_idle) == (1, True)
    first.release()
    assert follower.fetched() == {("t", number): (1, 1, 0) for number in range(3)}


def test_a_large_answer_is_taken_in_over_several_turns() -> None:
    keys = [TopicPartition("t", number) for number in range(200)]
    follower = Follower()
    followed = [MemoryFollower(key) for key in keys]
    follower.follow(*followed)
    follower.answer_fetch(*(records(key, batch(0), 1) for key in keys))
    assert 0 < sum(each.log_end_offset for each in followed) < 200
    assert follower.is_idle
    # One of those that are left is not followed any more, and one has another epoch.
    followed[198].leader = 3
    followed[199].leader_epoch = 2
    follower.follow(followed[199])
    follower.clock.advance(0)
    assert sum(each.log_end_offset for each in followed) == 198
    assert ("t", 198) not in follower.fetched()
    assert follower.fetched()["t", 199] == (0, 2, 0)


def test_a_fetch_of_many_idle_partitions_looks_at_those_that_have_changed() -> None:
    keys = [TopicPartition("t", number) for number in range(60)]
    follower, followed = fetching(*keys)
    asked: list[int] = []
    type_of = type(followed[0])
    original = type_of.__getattribute__

    class Counted(type_of):  # type: ignore[valid-type]
        def __getattribute__(self, name: str) -> object:
            asked.append(1)
            return original(self, name)

    for each in followed[1:]:
        each.__class__ = Counted
    for number in range(10):
        follower.answer_fetch(records(keys[0], batch(number), number + 1))
    assert followed[0].log_end_offset == 10
    assert asked == []


def test_very_many_partitions_are_asked_for_without_a_pause_until_all_are() -> None:
    keys = [TopicPartition("t", number) for number in range(2 * MOST_ADDED + 1)]
    follower = Follower()
    follower.follow(*(MemoryFollower(key) for key in keys))
    waits = []
    for named in (keys[:MOST_ADDED], keys[MOST_ADDED:-1], keys[-1:]):
        waits.append(follower.asked.max_wait_ms)
        assert list(follower.fetched()) == named
        follower.answer_fetch(*(records(key) for key in named))
        while follower.is_idle:
            follower.clock.advance(0)
    assert waits == [0, 0, follower.config.replica_fetch_wait_max_ms]
    assert not follower.fetched()


# --- truncation


def with_history(key: TopicPartition, *epochs: tuple[int, int, int], high_watermark: int = 0) -> MemoryFollower:
    """A partition with batches of base offset, last offset and epoch."""
    followed = MemoryFollower(key, leader_epoch=9)
    for base, last, epoch in epochs:
        followed.put(base, last, epoch)
    followed.high_watermark = high_watermark
    return followed


def asked_epochs(follower: Follower) -> dict[int, tuple[int, int]]:
    assert isinstance(follower.asked, OffsetForLeaderEpochRequest)
    return {
        each.partition: (each.current_leader_epoch, each.leader_epoch)
        for topic in follower.asked.topics
        for each in topic.partitions
    }


@pytest.fixture
def follower() -> Follower:
    return Follower()


def test_the_leader_is_asked_for_the_newest_epoch_before_anything_is_fetched(follower: Follower) -> None:
    first, second = with_history(A, (0, 9, 3), (10, 12, 5)), with_history(B, (0, 4, 8))
    third = MemoryFollower(C, leader_epoch=9)
    follower.follow(first, second, third)
    assert third.done == [("truncate", 0)]
    assert (follower.only.version, follower.asked.replica_id) == (3, 1)
    assert asked_epochs(follower) == {0: (9, 5), 1: (9, 8)}
    follower.answer_epochs((A, 0, 5, 11), (B, 0, 8, 5))
    assert (first.done, second.done) == ([("truncate", 11)], [("truncate", 5)])
    assert follower.fetched() == {("t", 0): (10, 9, 0), ("t", 1): (5, 9, 0), ("t", 2): (0, 9, 0)}


def test_very_many_are_asked_for_their_epochs_some_at_a_time() -> None:
    keys = [TopicPartition("t", number) for number in range(1_001)]
    follower = Follower()
    follower.follow(*(with_history(key, (0, 4, 3)) for key in keys))
    assert list(asked_epochs(follower)) == list(range(1_000))
    follower.answer_epochs(*((key, 0, 3, 5) for key in keys[:1_000]))
    while follower.is_idle:
        follower.clock.advance(0)
    assert list(asked_epochs(follower)) == [1_000]


def test_where_the_epochs_differ_it_is_asked_again(follower: Follower) -> None:
    followed = with_history(A, (0, 4, 0), (5, 8, 1), (9, 11, 3))
    follower.follow(followed)
    assert asked_epochs(follower) == {0: (9, 3)}
    follower.answer_epochs((A, 0, 2, 7))
    assert followed.log_end_offset == 9
    assert asked_epochs(follower) == {0: (9, 1)}
    follower.answer_epochs((A, 0, 0, 4))
    assert follower.fetched() == {("t", 0): (0, 9, 0)}
    assert followed.log_end_offset == 4 or followed.batches == []


def test_without_epochs_in_answers_it_is_asked_for_the_one_before_too() -> None:
    """KIP-279 before inter.broker.protocol.version 2.0: the leader has 0 to 11 of the epochs up to 2, and none of 3."""
    follower = Follower(settings={"inter_broker_protocol_version": "1.1"})
    followed = with_history(A, (0, 4, 0), (5, 8, 1), (9, 9, 3), high_watermark=5)
    replicated = with_history(B, (0, 4, 3), high_watermark=5)
    follower.follow(followed, replicated)
    assert (follower.only.version, asked_epochs(follower)) == (0, {0: (-1, 3), 1: (-1, 3)})
    follower.answer_epochs((A, 0, -1, 12), (B, 0, -1, 12))
    # All of it is replicated: there is nothing to cut.
    assert replicated.done == [("truncate", 5)]
    assert asked_epochs(follower) == {0: (-1, 2)}
    follower.answer_epochs((A, 0, -1, 12))
    assert followed.done == [("truncate", 9)]
    assert asked_epochs(follower) == {0: (-1, 1)}
    follower.answer_epochs((A, 0, -1, 9))
    assert asked_epochs(follower) == {0: (-1, 0)}
    follower.answer_epochs((A, 0, -1, 5))
    assert follower.fetched() == {("t", 0): (9, -1, 0), ("t", 1): (5, -1, 0)}


def test_a_leader_without_the_epoch_leaves_the_high_watermark(follower: Follower) -> None:
    followed = with_history(A, (0, 4, 0), (5, 8, 1), high_watermark=5)
    follower.follow(followed)
    follower.answer_epochs((A, 0, -1, -1))
    assert followed.done == [("truncate", 5)]
    assert follower.fetched() == {("t", 0): (5, 9, 0)}


@pytest.mark.parametrize("spoken", ["0.10.2", "0.11.0-IV1"])
def test_before_epochs_the_high_watermark_is_the_end(spoken: str) -> None:
    follower = Follower(settings={"inter_broker_protocol_version": spoken, "log_message_format_version": "0.10.0"})
    followed = with_history(A, (0, 4, 0), high_watermark=3)
    follower.follow(followed)
    assert followed.done == [("truncate", 3)]
    assert isinstance(follower.asked, FetchRequest)


def test_an_epoch_that_moved_meanwhile_is_asked_for_anew(follower: Follower) -> None:
    followed = with_history(A, (0, 4, 0))
    follower.follow(followed)
    followed.leader_epoch = 10
    follower.follow(followed)
    follower.answer_epochs((A, E.FENCED_LEADER_EPOCH, -1, -1))
    assert (followed.done, follower.fetchers.failed_count) == ([], 0)
    assert asked_epochs(follower) == {0: (10, 0)}


def test_a_fenced_epoch_fails_until_the_controller_speaks_again(follower: Follower) -> None:
    first, second = with_history(A, (0, 4, 0)), with_history(B, (0, 4, 0))
    follower.follow(first, second)
    follower.answer_epochs((A, E.FENCED_LEADER_EPOCH, -1, -1), (B, 0, 0, 5))
    assert follower.fetchers.failed_count == 1
    assert follower.fetched() == {("t", 1): (5, 9, 0)}
    first.leader_epoch = 10
    follower.follow(first)
    assert follower.fetchers.failed_count == 0


@pytest.mark.parametrize(
    "code", [E.UNKNOWN_LEADER_EPOCH, E.NOT_LEADER_OR_FOLLOWER, E.KAFKA_STORAGE_ERROR, E.OFFSET_OUT_OF_RANGE]
)
def test_other_errors_of_a_truncation_delay(follower: Follower, code: E) -> None:
    followed = with_history(A, (0, 4, 0))
    follower.follow(followed)
    for wait_ms in (50, 100, 200, 400, 800, 1_000, 1_000):
        follower.answer_epochs((A, code, -1, -1))
        follower.clock.advance(wait_ms - 1)
        assert follower.is_idle
        follower.clock.advance(1)
        assert asked_epochs(follower) == {0: (9, 0)}


def test_no_answer_for_a_partition_delays_it_and_one_that_nobody_asked_for_is_ignored(follower: Follower) -> None:
    follower.follow(with_history(A, (0, 4, 0)))
    follower.answer_epochs((C, 0, 0, 1))
    assert follower.is_idle
    follower.clock.advance(FIRST_BACK_OFF_MS)
    assert asked_epochs(follower) == {0: (9, 0)}


def test_a_truncation_that_lasts_does_not_hold_up_the_others_for_long(follower: Follower) -> None:
    slow, quick = MemoryFollower(A), MemoryFollower(B)
    slow.is_holding = True
    follower.follow(slow, quick)
    assert follower.is_idle
    follower.clock.advance(50)
    assert follower.fetched() == {("t", 1): (0, 1, 0)}
    follower.answer_fetch(records(B))
    # The leader does not wait for records: the slow one may be ready any time.
    assert follower.asked.max_wait_ms == 50
    slow.release()
    follower.answer_fetch(records(B))
    assert follower.fetched() == {("t", 0): (0, 1, 0)}
    assert follower.asked.max_wait_ms == 500


def test_a_truncation_that_fails_fails_the_partition_alone(follower: Follower) -> None:
    bad, good = MemoryFollower(A), MemoryFollower(B)
    bad.failure = StorageError("the disk failed")
    follower.follow(bad, good)
    assert follower.fetchers.failed_count == 1
    assert follower.fetched() == {("t", 1): (0, 1, 0)}


def test_what_was_begun_before_ends_before_a_partition_begins_anew() -> None:
    follower, [followed] = fetching(A)
    followed.is_holding = True
    follower.answer_fetch(records(A, batch(0, 3), 3))
    followed.leader, followed.leader_epoch = 3, 2
    follower.follow(followed)
    follower.clock.advance(10)
    assert follower.is_idle
    followed.is_holding = False
    followed.release()
    assert followed.log_end_offset == 3
    new, old = follower.channels.sent
    assert (new.broker_id, old.broker_id) == (3, LEADER)
    follower.channels.sent.remove(old)
    assert asked_epochs(follower) == {0: (2, 0)}


# --- errors of a fetch


@pytest.mark.parametrize(
    "code",
    [E.UNKNOWN_LEADER_EPOCH, E.NOT_LEADER_OR_FOLLOWER, E.UNKNOWN_TOPIC_OR_PARTITION, E.KAFKA_STORAGE_ERROR, 12_345],
)
def test_an_error_delays_its_partition_and_the_leader_waits_no_longer_than_that(code: int) -> None:
    follower, [first, second] = fetching(A, B)
    follower.answer_fetch(records(A, error_code=code), records(B, batch(0), 1))
    assert second.log_end_offset == 1
    assert follower.forgotten() == [("t", 0)]
    assert follower.asked.max_wait_ms == FIRST_BACK_OFF_MS
    follower.clock.advance(FIRST_BACK_OFF_MS)
    follower.answer_fetch()
    assert follower.fetched() == {("t", 0): (0, 1, 0)}
    follower.answer_fetch(records(A, error_code=code))
    assert follower.asked.max_wait_ms == 2 * FIRST_BACK_OFF_MS
    follower.clock.advance(2 * FIRST_BACK_OFF_MS)
    follower.answer_fetch()
    follower.answer_fetch(records(A, batch(0), 1))
    assert first.log_end_offset == 1
    follower.answer_fetch(records(A, error_code=code))
    assert follower.asked.max_wait_ms == FIRST_BACK_OFF_MS


def test_a_fenced_fetch_fails_its_partition() -> None:
    follower, [followed, _] = fetching(A, B)
    follower.answer_fetch(records(A, error_code=E.FENCED_LEADER_EPOCH))
    assert (follower.fetchers.failed_count, follower.forgotten()) == (1, [("t", 0)])
    follower.fetchers.forget([A])
    assert follower.fetchers.failed_count == 0
    followed.leader_epoch = 2
    follower.follow(followed)
    assert A in follower.fetchers.fetchers[LEADER, 0].state.partitions


def test_a_wrong_crc_delays_and_keeps_nothing_of_the_partitions_answer() -> None:
    follower, [first, second] = fetching(A, B)
    bad = bytearray(batch(1))
    bad[-1] ^= 1
    follower.answer_fetch(records(A, batch(0) + bytes(bad), 2), records(B, batch(0), 1))
    assert (first.log_end_offset, second.log_end_offset) == (0, 1)
    assert (follower.fetchers.failed_count, follower.forgotten()) == (0, [("t", 0)])


@pytest.mark.parametrize("is_holding", [False, True])
def test_offsets_that_go_back_fail_their_partition(is_holding: bool) -> None:
    follower, [first, second] = fetching(A, B)
    follower.answer_fetch(records(A, batch(0, 5), 5))
    first.is_holding = is_holding
    follower.answer_fetch(records(A, batch(3, 5), 5), records(B, batch(0), 1))
    first.release()
    assert (first.log_end_offset, second.log_end_offset) == (5, 1)
    assert (follower.fetchers.failed_count, follower.forgotten()) == (1, [("t", 0)])


@pytest.mark.parametrize("is_holding", [False, True])
def test_a_failed_disk_fails_its_partition(is_holding: bool) -> None:
    follower, [first, _] = fetching(A, B)
    if is_holding:
        first.is_holding = True
    else:
        first.failure = StorageError("the disk failed")
    follower.answer_fetch(records(A, batch(0), 1))
    first.failure = StorageError("the disk failed")
    first.release()
    assert (follower.fetchers.failed_count, follower.forgotten()) == (1, [("t", 0)])


def test_a_log_that_does_not_end_where_was_asked_fails() -> None:
    follower, [followed] = fetching(A)
    followed.log_end_offset = 4
    follower.answer_fetch(records(A, batch(0), 1))
    assert (follower.fetchers.failed_count, followed.batches) == (1, [])


def test_an_answer_of_an_older_epoch_is_not_used() -> None:
    follower, [followed, _] = fetching(A, B)
    followed.leader_epoch = 2
    follower.follow(followed)
    follower.answer_fetch(records(A, batch(0), 1))
    assert followed.batches == []
    # All is asked for: in the session the leader has told the high watermark, and would not do so again.
    assert (follower.asked.session_id, follower.asked.session_epoch) == (77, 0)
    assert follower.fetched() == {("t", 0): (0, 2, 0), ("t", 1): (0, 1, 0)}


def test_an_answer_of_a_partition_that_is_not_followed_any_more_is_not_used() -> None:
    follower, [followed, other] = fetching(A, B)
    followed.leader = 1
    other.leader_epoch = 3
    follower.fetchers.forget([B])
    follower.answer_fetch(records(A, batch(0), 1), records(B, batch(0), 1))
    assert (followed.batches, other.batches) == ([], [])
    assert sorted(follower.forgotten()) == [("t", 0), ("t", 1)]


def test_the_append_of_a_partition_that_is_forgotten_meanwhile_is_waited_for() -> None:
    follower, [followed, _] = fetching(A, B)
    followed.is_holding = True
    follower.answer_fetch(records(A, batch(0), 1))
    follower.fetchers.forget([A])
    assert follower.is_idle
    followed.release()
    assert follower.forgotten() == [("t", 0)]


def test_what_was_appended_when_the_epoch_moved_has_its_high_watermark_told_again() -> None:
    follower, [followed] = fetching(A)
    followed.is_holding = True
    follower.answer_fetch(records(A, batch(0), 1))
    followed.leader_epoch = 2
    follower.follow(followed)
    followed.is_holding = False
    followed.release()
    follower.answer_epochs((A, 0, 0, 1))
    assert (follower.asked.session_epoch, follower.fetched()) == (0, {("t", 0): (1, 2, 0)})


# --- offsets that the leader does not have


def asked_offsets(follower: Follower) -> tuple[int, dict[int, int]]:
    assert isinstance(follower.asked, ListOffsetsRequest)
    assert (follower.asked.replica_id, follower.asked.isolation_level) == (1, 0)
    parts = [each for topic in follower.asked.topics for each in topic.partitions]
    assert len({each.timestamp for each in parts}) == 1
    return parts[0].timestamp, {each.partition_index: each.current_leader_epoch for each in parts}


def out_of_range(follower: Follower, followed: MemoryFollower) -> None:
    follower.answer_fetch(records(A, batch(0, 10), 10))
    follower.answer_fetch(records(A, error_code=E.OFFSET_OUT_OF_RANGE))
    assert asked_offsets(follower) == (-1, {0: 1})
    assert followed.log_end_offset == 10


def test_a_leader_that_ends_before_is_followed_down() -> None:
    follower, [followed] = fetching(A)
    out_of_range(follower, followed)
    follower.answer_offsets((A, 0, 0))
    assert followed.done[-1] == ("truncate", 0)
    assert follower.fetched() == {("t", 0): (0, 1, 0)}


def test_a_leader_that_begins_after_is_followed_up() -> None:
    follower, [followed] = fetching(A)
    out_of_range(follower, followed)
    follower.answer_offsets((A, 0, 50))
    assert asked_offsets(follower) == (-2, {0: 1})
    follower.answer_offsets((A, 0, 30))
    assert followed.done[-1] == ("truncate fully", 30)
    assert follower.fetched() == {("t", 0): (30, 1, 30)}


def test_a_leader_that_has_it_after_all_is_asked_a_moment_later() -> None:
    follower, [followed] = fetching(A)
    out_of_range(follower, followed)
    follower.answer_offsets((A, 0, 50))
    follower.answer_offsets((A, 0, 5))
    follower.clock.advance(FIRST_BACK_OFF_MS)
    follower.answer_fetch()
    assert follower.fetched() == {("t", 0): (10, 1, 0)}


@pytest.mark.parametrize(
    "answers", [[(E.NOT_LEADER_OR_FOLLOWER, -1)], [(0, 50), (E.UNKNOWN_LEADER_EPOCH, -1)], [(0, -1)]]
)
def test_an_error_delays_and_the_fetch_is_tried_again(answers: list[tuple[int, int]]) -> None:
    follower, [followed] = fetching(A)
    out_of_range(follower, followed)
    for code, offset in answers:
        follower.answer_offsets((A, code, offset))
    assert follower.forgotten() == [("t", 0)]
    follower.answer_fetch(session_id=0)
    follower.clock.advance(FIRST_BACK_OFF_MS)
    assert follower.fetched() == {("t", 0): (10, 1, 0)}


def test_a_fenced_epoch_fails_here_too() -> None:
    follower, [followed] = fetching(A)
    out_of_range(follower, followed)
    follower.answer_offsets((A, E.FENCED_LEADER_EPOCH, -1))
    assert follower.fetchers.failed_count == 1


@pytest.mark.parametrize("old", [[0], []])
def test_the_oldest_version_answers_with_a_list(old: list[int]) -> None:
    follower, [followed] = fetching(A, inter_broker_protocol_version="0.9.0", log_message_format_version="0.9.0")
    follower.answer_fetch(records(A, batch(0, 10), 10))
    follower.answer_fetch(records(A, error_code=E.OFFSET_OUT_OF_RANGE))
    assert follower.only.version == 0
    part = ListOffsetsPartitionResponse(0, 0, old)
    follower.answer(ListOffsetsResponse(0, [ListOffsetsTopicResponse("t", [part])]))
    assert followed.done[-1][0] == ("truncate" if old else "append")


# --- requests that fail as a whole


def test_a_lost_request_is_tried_again_and_the_session_begins_anew() -> None:
    follower, [followed, _] = fetching(A, B)
    for wait_ms in (50, 100, 200, 400, 800, 1_000):
        follower.lose()
        follower.clock.advance(wait_ms - 1)
        assert follower.is_idle
        follower.clock.advance(1)
        assert (follower.asked.session_id, follower.asked.session_epoch) == (77, 0)
        assert len(follower.fetched()) == 2
    follower.answer_fetch(records(A, batch(0), 1), records(B), session_id=78)
    assert (followed.log_end_offset, follower.asked.session_id, follower.asked.session_epoch) == (1, 78, 1)
    follower.lose()
    follower.clock.advance(50)
    assert not follower.is_idle


def test_a_leader_that_can_not_be_reached_is_tried_again(follower: Follower) -> None:
    follower.channels.is_refusing = True
    follower.follow(MemoryFollower(A))
    follower.clock.advance(5_000)
    assert follower.is_idle
    follower.channels.is_refusing = False
    follower.clock.advance(1_000)
    assert follower.fetched() == {("t", 0): (0, 1, 0)}


def test_an_answer_that_is_none_is_as_a_lost_request() -> None:
    follower, [followed] = fetching(A)
    sent = follower.channels.sent.pop()
    sent.pending.fail(ProtocolError("malformed"))
    follower.clock.advance(50)
    assert follower.asked.session_epoch == 0
    assert followed.log_end_offset == 0


def test_a_session_that_gave_way_begins_anew_at_once_and_not_again_and_again() -> None:
    follower, _ = fetching(A)
    follower.answer_fetch(error_code=E.FETCH_SESSION_ID_NOT_FOUND, session_id=0)
    assert (follower.asked.session_id, follower.asked.session_epoch) == (0, 0)
    follower.answer_fetch(error_code=E.FETCH_SESSION_ID_NOT_FOUND, session_id=0)
    assert follower.is_idle
    follower.clock.advance(100)
    assert (follower.asked.session_id, follower.asked.session_epoch) == (0, 0)


@pytest.mark.parametrize("other", [B, TopicPartition("other", 0)])
def test_an_answer_for_what_nobody_asked_is_not_used(other: TopicPartition) -> None:
    follower, [followed] = fetching(A)
    follower.answer_fetch(records(A, batch(0), 1), records(other, batch(0), 1))
    assert (followed.batches, follower.is_idle) == ([], True)
    follower.clock.advance(50)
    assert (follower.asked.session_id, follower.asked.session_epoch) == (77, 0)


# --- partitions that come and go


def test_a_partition_that_comes_while_the_leader_has_nothing_to_say_does_not_wait_for_it() -> None:
    follower, _ = fetching(A)
    other = MemoryFollower(B)
    follower.follow(other)
    third = MemoryFollower(C)
    follower.clock.advance(9)
    assert other.done == []
    follower.follow(third)
    follower.clock.advance(1)
    assert follower.channels.dropped == [(LEADER, "fetcher-0")]
    assert (follower.asked.session_id, follower.asked.session_epoch) == (77, 0)
    assert len(follower.fetched()) == 3
    follower.answer_fetch(*(records(key) for key in (A, B, C)))
    # Not again and again.
    fourth, fifth = (MemoryFollower(TopicPartition("t", number)) for number in (3, 4))
    follower.follow(fourth)
    follower.clock.advance(50)
    assert len(follower.channels.dropped) == 1
    follower.answer_fetch()
    assert follower.fetched() == {("t", 3): (0, 1, 0)}
    follower.follow(fifth)
    follower.clock.advance(50)
    assert len(follower.channels.dropped) == 2
    assert len(follower.fetched()) == 5


def test_a_fetch_that_brings_records_is_not_given_up() -> None:
    follower, _ = fetching(A)
    follower.answer_fetch(records(A, batch(0), 9))
    follower.follow(MemoryFollower(B))
    follower.clock.advance(100)
    assert follower.channels.dropped == []


def test_one_that_is_followed_already_goes_on() -> None:
    follower, [followed] = fetching(A)
    follower.answer_fetch(records(A, batch(0), 1))
    follower.follow(followed)
    follower.clock.advance(100)
    state = follower.fetchers.fetchers[LEADER, 0].state
    assert state.partitions[A].phase is Phase.FETCHING
    assert follower.channels.dropped == []


def test_a_partition_goes_to_its_new_leader() -> None:
    follower, [followed, _] = fetching(A, B)
    follower.answer_fetch(records(A, batch(0, epoch=1), 1))
    followed.leader, followed.leader_epoch = 3, 2
    follower.follow(followed)
    old, new = follower.channels.sent
    assert (new.broker_id, new.lane) == (3, "fetcher-0")
    assert isinstance(new.request, OffsetForLeaderEpochRequest)
    follower.channels.sent.remove(new)
    assert old is follower.only
    follower.answer_fetch()
    assert follower.forgotten() == [("t", 0)]


def test_a_fetcher_without_partitions_ends_its_session_and_then_goes() -> None:
    follower, _ = fetching(A)
    follower.fetchers.forget([A, B])
    follower.answer_fetch()
    assert follower.forgotten() == [("t", 0)]
    follower.answer_fetch(session_id=0)
    assert follower.is_idle
    follower.clock.advance(1_000)
    assert (follower.fetchers.fetchers, follower.channels.dropped) == ({}, [(LEADER, "fetcher-0")])


def test_a_fetcher_that_gets_a_partition_in_time_stays() -> None:
    follower, [followed] = fetching(A)
    follower.fetchers.forget([A])
    followed.leader_epoch = 2
    follower.follow(followed)
    follower.clock.advance(1_000)
    assert list(follower.fetchers.fetchers) == [(LEADER, 0)]


def test_a_leader_that_could_not_be_reached_is_asked_at_once_when_the_controller_names_it_again() -> None:
    follower, _ = fetching(A)
    for _ in range(6):
        follower.lose()
        follower.clock.advance(1_000)
    follower.lose()
    assert follower.is_idle
    follower.follow(MemoryFollower(B))
    assert len(follower.fetched()) == 2


def test_a_leader_that_is_elsewhere_is_not_waited_for() -> None:
    follower, _ = fetching(A)
    follower.channels.address = ("leader", 9_093)
    follower.follow(MemoryFollower(B))
    assert follower.channels.dropped == [(LEADER, "fetcher-0")]
    follower.clock.advance(50)
    assert len(follower.fetched()) == 2


def test_partitions_are_spread_over_fetchers_as_kafka_does() -> None:
    # As Java computes it: "t".hashCode() is 116.
    assert [fetcher_number(TopicPartition("t", number), 4) for number in range(4)] == [0, 1, 2, 3]
    assert fetcher_number(TopicPartition("polygenelubricants", 0), 3) == 0
    follower = Follower(settings={"num_replica_fetchers": "2"})
    follower.follow(*(MemoryFollower(TopicPartition("t", number)) for number in range(4)))
    assert [sent.lane for sent in follower.channels.sent] == ["fetcher-0", "fetcher-1"]


def test_another_number_of_fetchers_begins_anew_from_where_each_is() -> None:
    follower, [first, second] = fetching(A, B)
    follower.answer_fetch(records(A, batch(0, 5, epoch=1), 0))
    second.is_holding = True
    follower.answer_fetch(records(B, batch(0, epoch=1), 0))
    follower.config.num_replica_fetchers = 2
    follower.fetchers.resize()
    assert follower.channels.dropped == [(LEADER, "fetcher-0")]
    assert asked_epochs(follower) == {0: (1, 1)}
    follower.answer_epochs((A, 0, -1, -1))
    # Where it was, and not its high watermark.
    assert first.done[-1] == ("truncate", 5)
    second.is_holding = False
    second.release()
    assert [sent.lane for sent in follower.channels.sent] == ["fetcher-0", "fetcher-1"]


def test_a_broker_that_stops_asks_for_nothing_any_more() -> None:
    follower, [followed, _] = fetching(A, B)
    followed.is_holding = True
    follower.answer_fetch(records(A, batch(0), 1))
    follower.fetchers.close()
    followed.release()
    follower.follow(MemoryFollower(C))
    follower.clock.advance(10_000)
    assert (follower.is_idle, followed.log_end_offset) == (True, 1)


# --- what the quota holds back


DATA = batch(0, 3)


def throttled(follower: Follower, *partitions: int) -> None:
    """Two seconds are as much as DATA."""
    follower.quota.set_limit(len(DATA) // 2)
    follower.quota.set_partitions("t", frozenset(partitions))


def throttled_follower(*keys: TopicPartition) -> Follower:
    """A follower of A and others, to which two seconds' worth of A came, and which lags in it."""
    follower, _ = fetching(*keys)
    throttled(follower, 0)
    follower.answer_fetch(records(A, DATA, 9))
    return follower


def test_a_throttled_partition_that_lags_is_left_out_until_its_bytes_are_paid_for() -> None:
    follower = throttled_follower(A, B)
    # It is forgotten, and the leader waits for the other no longer than that.
    assert (follower.forgotten(), follower.fetched()) == ([A], {})
    assert follower.asked.max_wait_ms == 500
    follower.answer_fetch(records(B, batch(0, 1), 1))
    assert follower.fetched() == {B: (1, 1, 0)}
    follower.clock.advance(1_800)
    follower.answer_fetch()
    assert (follower.fetched(), follower.asked.max_wait_ms) == ({}, 200)
    follower.clock.advance(200)
    follower.answer_fetch()
    assert follower.fetched() == {A: (3, 1, 0)}


def test_nothing_is_asked_where_all_is_held_and_time_alone_goes_on() -> None:
    follower = throttled_follower(A)
    # The session ends with its last partition.
    assert follower.forgotten() == [A]
    follower.answer_fetch(session_id=0)
    assert follower.is_idle
    follower.clock.advance(1_999)
    assert follower.is_idle
    follower.clock.advance(1)
    assert follower.fetched() == {A: (3, 1, 0)}


def test_what_is_in_sync_is_counted_and_never_held() -> None:
    follower, _ = fetching(A, B)
    throttled(follower, 0, 1)
    follower.answer_fetch(records(A, DATA, 3), records(B, batch(0, 1), 7))
    assert (follower.fetched(), follower.forgotten()) == ({A: (3, 1, 0)}, [B])


def test_what_is_asked_for_already_is_held_too_when_the_quota_is_used_up() -> None:
    follower, _ = fetching(A, B)
    follower.answer_fetch(records(B, b"", 9))
    throttled(follower, 0, 1)
    follower.answer_fetch(records(A, DATA, 9))
    assert sorted(follower.forgotten()) == [A, B]


def test_a_throttle_that_is_lifted_lets_go_on_at_once() -> None:
    follower = throttled_follower(A)
    follower.answer_fetch(session_id=0)
    assert follower.is_idle
    throttled(follower)
    follower.fetchers.go_on()
    assert follower.fetched() == {A: (3, 1, 0)}


def test_a_rate_that_is_doubled_lets_go_on_at_once() -> None:
    follower = throttled_follower(A)
    follower.answer_fetch(session_id=0)
    follower.quota.set_limit(len(DATA))
    follower.fetchers.go_on()
    assert follower.fetched() == {A: (3, 1, 0)}


def test_a_held_partition_that_is_not_followed_any_more_is_forgotten() -> None:
    follower = throttled_follower(A, B)
    follower.fetchers.forget([A])
    throttled(follower)
    follower.answer_fetch()
    assert (follower.fetched(), follower.asked.max_wait_ms) == ({}, 500)
