"""What a follower knows of its partitions, and what follows from an answer."""

import pytest

from barnabas.broker.replicas.fetching.fetch_state import (
    FIRST_BACK_OFF_MS,
    UNKNOWN_LAG,
    FetchState,
    Phase,
    Reaction,
    Truncation,
    back_off_ms,
    reaction,
    truncation,
    truncation_without_epochs,
)
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.types import TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))


def own_epochs(*entries: tuple[int, int], end: int):
    """The ends of a follower's epochs, as its log tells them."""

    def end_of(epoch: int) -> tuple[int, int]:
        if not entries or epoch > entries[-1][0]:
            return -1, -1
        known = [index for index, (each, _) in enumerate(entries) if each <= epoch]
        if not known:
            return epoch, entries[0][1]
        last = known[-1]
        return entries[last][0], entries[last + 1][1] if last + 1 < len(entries) else end

    return end_of


@pytest.mark.parametrize(
    ("epoch", "end_offset", "expected"),
    [
        # The leader has no epochs, or none so old: the high watermark.
        (-1, -1, Truncation(4, True)),
        # Version 0 says no epoch.
        (-1, 15, Truncation(15, True)),
        (-1, 25, Truncation(20, True)),
        # The same epoch on both sides: its end, wherever that comes first.
        (5, 17, Truncation(17, True)),
        (5, 30, Truncation(20, True)),
        (2, 30, Truncation(10, True)),
        (2, 8, Truncation(8, True)),
        # Between two own ones: the end of the lower one, and the leader is asked again.
        (4, 16, Truncation(10, False)),
        # Below all that are known here.
        (0, 3, Truncation(2, True)),
        (0, 1, Truncation(1, True)),
        # Above all: nonsense, or the log has forgotten some since.
        (6, 18, Truncation(18, True)),
    ],
)
def test_a_log_is_cut_where_its_history_and_the_leaders_part(epoch: int, end_offset: int, expected: Truncation) -> None:
    own = own_epochs((1, 2), (2, 5), (5, 10), end=20)
    assert truncation(epoch, end_offset, 4, 20, own) == expected


def test_a_log_whose_epochs_were_forgotten_ends_with_the_leaders_epoch() -> None:
    assert truncation(3, 12, 4, 20, own_epochs(end=20)) == Truncation(12, True)


def test_rounds_go_down_until_both_have_the_epoch() -> None:
    """KIP-279: the leader has the epochs 0 and 2, the follower 0, 1 and 3."""
    leader, own, end = {3: (2, 7), 1: (0, 4)}, [(0, 0), (1, 5), (3, 9)], 12
    asked, is_done = [], False
    while not is_done:
        asked.append(own[-1][0])
        found = truncation(*leader[asked[-1]], 0, end, own_epochs(*own, end=end))
        end, is_done = min(end, found.offset), found.is_done
        own = [entry for entry in own if entry[1] < end]
    assert (asked, end) == ([3, 1], 4)


@pytest.mark.parametrize(
    ("newest_end_offset", "end_offset_before", "least_offset", "expected"),
    [
        # The leader has records of the newest epoch.
        (15, 10, 4, Truncation(15, True)),
        (25, 10, 4, Truncation(20, True)),
        # It knows nothing of the one before.
        (15, -1, 4, Truncation(15, True)),
        # It has none: that epoch goes, and what is asked then is how much of the one before there is.
        (15, 15, 4, Truncation(10, False)),
        (25, 25, 4, Truncation(10, False)),
        (8, 8, 4, Truncation(8, False)),
        # Up to there it is replicated, whatever a leader says; but for one that ends before it.
        (25, 25, 12, Truncation(12, True)),
        (11, 11, 12, Truncation(11, True)),
    ],
)
def test_two_answers_without_epochs_tell_what_the_leader_never_heard_of(
    newest_end_offset: int, end_offset_before: int, least_offset: int, expected: Truncation
) -> None:
    found = truncation_without_epochs(newest_end_offset, end_offset_before, least_offset, 20, newest_start_offset=10)
    assert found == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (E.OFFSET_OUT_OF_RANGE, Reaction.SEEK),
        (E.FENCED_LEADER_EPOCH, Reaction.FAIL),
        (E.UNKNOWN_LEADER_EPOCH, Reaction.DELAY),
        (E.NOT_LEADER_OR_FOLLOWER, Reaction.DELAY),
        (E.UNKNOWN_TOPIC_OR_PARTITION, Reaction.DELAY),
        (E.KAFKA_STORAGE_ERROR, Reaction.DELAY),
        (E.CORRUPT_MESSAGE, Reaction.DELAY),
        (12_345, Reaction.DELAY),
    ],
)
def test_errors_seek_fail_or_delay(code: int, expected: Reaction) -> None:
    assert reaction(code) is expected


def test_the_back_off_grows_up_to_what_is_configured() -> None:
    assert [back_off_ms(count, 1_000) for count in (1, 2, 3, 5, 6, 1_000)] == [50, 100, 200, 800, 1_000, 1_000]
    assert back_off_ms(1, 20) == 20


def state_of(*keys: TopicPartition) -> FetchState:
    state = FetchState()
    for key in keys:
        state.add(key, 1, 10)
        state.enter(state.partitions[key], Phase.FETCHING, 10)
    state.changed.clear()
    return state


def test_an_added_partition_is_truncated_first() -> None:
    state = FetchState()
    state.add(A, 3, 7)
    progress = state.partitions[A]
    assert (progress.phase, progress.leader_epoch, progress.offset) == (Phase.TRUNCATING, 3, 7)
    assert (progress.lag, progress.is_fetchable) == (UNKNOWN_LAG, False)
    assert state.unready(Phase.TRUNCATING) == [progress]
    state.enter(progress, Phase.FETCHING, 6)
    assert (state.unready(Phase.TRUNCATING), progress.is_fetchable, progress.offset) == ([], True, 6)
    assert list(state.changed) == [A]


def test_a_partition_that_is_added_again_is_another_one() -> None:
    state = state_of(A)
    first = state.partitions[A]
    state.add(A, 2, 5)
    assert not state.is_current(first)
    assert state.is_current(state.partitions[A])
    assert state.unready(Phase.TRUNCATING) == [state.partitions[A]]
    state.remove(A)
    state.remove(A)
    assert (state.partitions, state.unready(Phase.TRUNCATING)) == ({}, [])


def test_partitions_with_records_are_served_last_and_only_they_have_changed() -> None:
    state = state_of(A, B, C)
    state.has_fetched(state.partitions[A], 15, 20)
    state.has_fetched(state.partitions[B], 10, 10)
    assert (list(state.partitions), list(state.changed)) == ([B, C, A], [A])
    assert [state.partitions[key].lag for key in (A, B, C)] == [5, 0, UNKNOWN_LAG]


def test_lag_is_never_negative() -> None:
    state = state_of(A)
    state.has_fetched(state.partitions[A], 15, 12)
    assert state.partitions[A].lag == 0


def test_a_delayed_partition_comes_back_when_it_is_due() -> None:
    state = state_of(A, B)
    progress = state.partitions[A]
    assert state.next_wake_ms is None
    assert state.delay(progress, "NOT_LEADER_OR_FOLLOWER", 100, 1_000)
    assert (progress.is_fetchable, state.next_wake_ms) == (False, 100 + FIRST_BACK_OFF_MS)
    assert list(state.changed) == [A]
    state.changed.clear()
    state.wake(149)
    assert not progress.is_fetchable
    state.wake(150)
    assert (progress.is_fetchable, list(state.changed), state.next_wake_ms) == (True, [A], None)
    # The same once more is no news; the next success ends the row.
    assert not state.delay(progress, "NOT_LEADER_OR_FOLLOWER", 150, 1_000)
    assert state.next_wake_ms == 250
    state.wake(250)
    state.has_fetched(progress, 11, 11)
    assert state.delay(progress, "NOT_LEADER_OR_FOLLOWER", 300, 1_000)
    assert state.next_wake_ms == 350


def test_delays_hold_while_truncating_and_end_what_seeks() -> None:
    state = FetchState()
    state.add(A, 1, 0)
    state.delay(state.partitions[A], "UNKNOWN_LEADER_EPOCH", 0, 1_000)
    assert state.unready(Phase.TRUNCATING) == []
    state.wake(50)
    assert state.unready(Phase.TRUNCATING) == [state.partitions[A]]
    for phase in (Phase.SEEKING_END, Phase.SEEKING_START):
        state.enter(state.partitions[A], phase, 3)
        assert state.unready(phase) == [state.partitions[A]]
        state.delay(state.partitions[A], "NOT_LEADER_OR_FOLLOWER", 0, 1_000)
        state.wake(10_000)
        assert state.partitions[A].is_fetchable
        assert state.unready(phase) == []


def test_a_delayed_partition_that_is_removed_is_forgotten() -> None:
    state = state_of(A)
    state.delay(state.partitions[A], "x", 0, 1_000)
    state.remove(A)
    state.wake(10_000)
    assert (state.next_wake_ms, state.partitions) == (None, {})
