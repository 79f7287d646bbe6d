"""The rules of being in sync, one after the other, as Kafka 2.7.2 has them."""

import pytest

from barnabas.broker.replicas.isr import ReplicaSet

LAG_MS = 30_000


def led(
    isr: tuple[int, ...] = (1, 2, 3), end: int = 100, now_ms: int = 0, replicas: tuple[int, ...] = (1, 2, 3)
) -> ReplicaSet:
    """Broker 1 leads from epoch 5 on."""
    replica_set = ReplicaSet(1)
    replica_set.lead(replicas, isr, 7, 5, end, now_ms, was_leader=False)
    return replica_set


# --- how far a follower is


@pytest.fixture
def replica_set():
    return led()


@pytest.mark.parametrize(
    ("fetches", "caught_up_ms"),
    [
        # (time, fetch offset, the leader's log end offset); the leader began at time 0 with 100.
        ([(10, 100, 100)], 10),
        ([(10, 120, 110)], 10),
        # Behind now, but it has what there was when the epoch began, at 0.
        ([(10, 100, 110)], 0),
        # Each fetch has what there was at the one before.
        ([(10, 100, 110), (20, 110, 130), (30, 130, 150)], 20),
        # Behind what there was at the one before: as it was.
        ([(10, 100, 100), (20, 105, 130), (30, 110, 150)], 10),
        # A throttled follower asks again for the same offset.
        ([(10, 100, 100), (20, 100, 130), (30, 100, 130)], 10),
        ([(10, 100, 100), (20, 100, 130), (30, 130, 130)], 30),
        # A late fetch takes nothing back.
        ([(10, 100, 100), (20, 50, 100)], 10),
    ],
)
def test_a_follower_is_caught_up_as_of_the_last_moment_at_which_it_had_everything(
    replica_set, fetches: list[tuple[int, int, int]], caught_up_ms: int
) -> None:
    for now_ms, fetch_offset, end in fetches:
        replica_set.note_fetch(2, fetch_offset, 0, end, now_ms)
    assert replica_set.followers[2].caught_up_ms == caught_up_ms


def test_a_fetch_tells_both_offsets_and_whether_the_end_changed(replica_set) -> None:
    assert replica_set.note_fetch(2, 90, 4, 100, 1)
    assert not replica_set.note_fetch(2, 90, 6, 100, 2)
    # Also downwards.
    assert replica_set.note_fetch(2, 80, 6, 100, 3)
    assert (replica_set.followers[2].end_offset, replica_set.followers[2].log_start_offset) == (80, 6)


@pytest.mark.parametrize("stranger", [1, 4, -1])
def test_a_stranger_is_not_taken_down(stranger: int) -> None:
    replica_set = led(replicas=(1, 2))
    assert not replica_set.note_fetch(stranger, 100, 0, 100, 1)
    assert replica_set.expansion(stranger, 0) is None
    assert set(replica_set.followers) == {2}


# --- expansion


@pytest.mark.parametrize(
    ("fetch_offset", "high_watermark", "isr"),
    [
        (100, 100, (1, 3, 2)),
        (100, 60, (1, 3, 2)),
        # Below the high watermark.
        (100, 101, None),
        # Below the start of the epoch, though the high watermark is below that.
        (99, 60, None),
    ],
)
def test_a_follower_comes_in_at_the_high_watermark_and_the_start_of_the_epoch(
    fetch_offset: int, high_watermark: int, isr: tuple[int, ...] | None
) -> None:
    replica_set = led(isr=(1, 3))
    replica_set.note_fetch(2, fetch_offset, 0, 150, 1)
    assert replica_set.expansion(2, high_watermark) == isr
    # At each fetch, whether its offset changed or not.
    assert not replica_set.note_fetch(2, fetch_offset, 0, 150, 2)
    assert replica_set.expansion(2, high_watermark) == isr


def test_who_is_in_or_unknown_or_waits_for_another_change_does_not_come_in() -> None:
    replica_set = led(isr=(1, 3))
    assert replica_set.expansion(2, 0) is None
    assert replica_set.expansion(3, 0) is None
    assert replica_set.expansion(4, 0) is None
    replica_set.note_fetch(2, 100, 0, 100, 1)
    replica_set.propose((1,))
    assert replica_set.expansion(2, 0) is None


# --- shrink


def test_all_that_lag_go_in_one_change_and_the_order_stays() -> None:
    replica_set = led(isr=(3, 4, 1, 2), replicas=(1, 2, 3, 4))
    replica_set.note_fetch(4, 100, 0, 100, 10)
    assert replica_set.shrink(120, LAG_MS, LAG_MS) is None
    assert replica_set.shrink(120, LAG_MS + 1, LAG_MS) == (4, 1)
    assert replica_set.shrink(120, LAG_MS + 11, LAG_MS) == (1,)
    replica_set.propose((4, 1))
    assert replica_set.shrink(120, LAG_MS + 11, LAG_MS) is None


def test_who_has_all_stays_however_long_ago_it_fetched(replica_set) -> None:
    for follower in (2, 3):
        replica_set.note_fetch(follower, 100, 0, 100, 1)
    assert replica_set.shrink(100, 1 << 40, LAG_MS) is None
    assert replica_set.shrink(101, 1 << 40, LAG_MS) == (1,)


def test_a_member_that_is_no_replica_any_more_goes() -> None:
    replica_set = led(isr=(9, 1, 2), replicas=(1, 2))
    assert replica_set.shrink(100, 0, LAG_MS) == (1, 2)
    assert led(isr=(1, 2), replicas=(2,)).shrink(100, 0, LAG_MS) is None


# --- expulsion


def test_a_member_that_lost_what_is_below_the_high_watermark_goes_at_its_first_fetch(replica_set) -> None:
    # What is unknown is no loss.
    assert replica_set.expulsion(100) is None
    replica_set.note_fetch(2, 100, 0, 100, 1)
    replica_set.note_fetch(3, 100, 0, 100, 1)
    assert replica_set.expulsion(100) is None
    assert replica_set.high_watermark(100, 1, LAG_MS) == 100
    # It came back empty: the candidate is below the high watermark, which stays.
    assert replica_set.note_fetch(3, 0, 0, 100, 2)
    assert replica_set.high_watermark(100, 2, LAG_MS) == 0
    assert replica_set.expulsion(100) == (1, 2)
    replica_set.propose((1, 2))
    assert replica_set.expulsion(100) is None
    replica_set.committed((1, 2), 8)
    assert replica_set.expulsion(100) is None
    # It comes in again as everybody does.
    assert replica_set.expansion(3, 100) is None
    replica_set.note_fetch(3, 100, 0, 100, 3)
    assert replica_set.expansion(3, 100) == (1, 2, 3)


@pytest.mark.parametrize(
    ("fetches", "isr"),
    [
        # It has truncated to its own high watermark, as a follower of an older message format does, and goes on.
        ([90], None),
        ([90, 90], None),
        ([90, 100], None),
        # It lacks more than one answer brings.
        ([0, 50], (1, 3)),
        # It has lost it since.
        ([90, 100, 90], (1, 3)),
        ([100, 90], (1, 3)),
    ],
)
@pytest.mark.parametrize("was_leader", [True, False])
def test_the_first_fetch_of_an_epoch_may_be_from_below_the_high_watermark(
    replica_set, was_leader: bool, fetches: list[int], isr: tuple[int, ...] | None
) -> None:
    for follower in (2, 3):
        replica_set.note_fetch(follower, 100, 0, 100, 1)
    replica_set.lead((1, 2, 3), (1, 2, 3), 8, 6, 100, 2, was_leader=was_leader)
    for fetch_offset in fetches:
        replica_set.note_fetch(2, fetch_offset, 0, 100, 3)
    assert replica_set.expulsion(100) == isr


# --- what is pending


def test_an_expansion_counts_for_the_high_watermark_at_once_and_for_the_rest_once_it_is_committed() -> None:
    replica_set = led(isr=(1, 3))
    replica_set.propose((1, 3, 2))
    assert (replica_set.isr, replica_set.maximal_isr, replica_set.zk_version) == ((1, 3), (1, 3, 2), 7)
    assert replica_set.committed((1, 3, 2), 8) == 1
    assert (replica_set.isr, replica_set.maximal_isr, replica_set.zk_version) == ((1, 3, 2), (1, 3, 2), 8)
    assert replica_set.proposed is None


def test_a_shrink_counts_once_it_is_committed(replica_set) -> None:
    replica_set.propose((1,))
    assert (replica_set.isr, replica_set.maximal_isr) == ((1, 2, 3), (1, 2, 3))
    assert replica_set.committed((1,), 8) == -2
    assert (replica_set.isr, replica_set.maximal_isr) == ((1,), (1,))


def test_one_change_is_pending_at_a_time(replica_set) -> None:
    replica_set.propose((1, 2))
    with pytest.raises(RuntimeError, match="pending"):
        replica_set.propose((1, 3))


# --- high watermark


@pytest.mark.parametrize(
    ("isr", "fetches", "now_ms", "candidate"),
    [
        ((1, 2, 3), {2: 90, 3: 80}, 1, 80),
        # Out of sync, and not caught up a moment ago.
        ((1, 2), {2: 90, 3: 80}, 1, 90),
        ((1,), {}, 1, 100),
        # An unknown member holds it.
        ((1, 2, 3), {2: 90}, 1, -1),
        ((1, 2), {2: 90}, 1, 90),
        # A member holds it however long it lags.
        ((1, 2), {2: 90}, 1 << 40, 90),
    ],
)
def test_the_high_watermark_waits_for_all_that_are_in_sync(
    isr: tuple[int, ...], fetches: dict[int, int], now_ms: int, candidate: int
) -> None:
    replica_set = led(isr=isr, end=200)
    for follower, fetch_offset in fetches.items():
        replica_set.note_fetch(follower, fetch_offset, 0, 200, 1)
    assert replica_set.high_watermark(100, now_ms, LAG_MS) == candidate


def test_the_high_watermark_waits_for_who_was_caught_up_a_moment_ago() -> None:
    replica_set = led(isr=(1, 2))
    replica_set.note_fetch(2, 120, 0, 120, 5)
    replica_set.note_fetch(3, 110, 0, 110, 5)
    assert replica_set.high_watermark(120, 5 + LAG_MS, LAG_MS) == 110
    assert replica_set.high_watermark(120, 6 + LAG_MS, LAG_MS) == 120


def test_the_high_watermark_does_not_wait_for_who_was_not_taken_in() -> None:
    replica_set = led(isr=(1, 2))
    replica_set.note_fetch(2, 120, 0, 120, 5)
    replica_set.note_fetch(3, 100, 0, 100, 5)
    replica_set.propose((1, 2, 3))
    replica_set.committed((1, 2), 8)
    assert replica_set.high_watermark(120, 6, LAG_MS) == 120
    # It may come again.
    replica_set.note_fetch(3, 110, 0, 110, 7)
    assert replica_set.high_watermark(120, 7, LAG_MS) == 110


def test_the_high_watermark_waits_for_who_may_come_in() -> None:
    replica_set = led(isr=(1, 2), end=50)
    replica_set.note_fetch(2, 100, 0, 100, 1)
    replica_set.note_fetch(3, 60, 0, 100, 1)
    assert replica_set.high_watermark(100, 2 + LAG_MS, LAG_MS) == 100
    replica_set.propose((1, 2, 3))
    assert replica_set.high_watermark(100, 2 + LAG_MS, LAG_MS) == 60


# --- low watermark


def test_the_low_watermark_is_that_of_the_live(replica_set) -> None:
    assert replica_set.low_watermark(20, lambda _: True) == -1
    assert replica_set.low_watermark(20, lambda _: False) == 20
    replica_set.note_fetch(2, 100, 10, 100, 1)
    replica_set.note_fetch(3, 100, 5, 100, 1)
    assert replica_set.low_watermark(20, lambda _: True) == 5
    assert replica_set.low_watermark(20, lambda each: each == 2) == 10
    assert led(replicas=(1,)).low_watermark(20, lambda _: True) == 20


# --- another epoch


def test_a_leader_that_stays_keeps_offsets_and_forgets_what_was_pending() -> None:
    replica_set = led(now_ms=1)
    replica_set.note_fetch(2, 100, 3, 100, 2)
    replica_set.note_fetch(3, 90, 3, 100, 2)
    replica_set.propose((1, 2))
    replica_set.lead((1, 2, 4), (1, 2), 9, 6, 130, 50, was_leader=True)
    assert (replica_set.isr, replica_set.maximal_isr, replica_set.proposed) == ((1, 2), (1, 2), None)
    assert (replica_set.zk_version, replica_set.leader_epoch, replica_set.epoch_start_offset) == (9, 6, 130)
    assert {each: known.end_offset for each, known in replica_set.followers.items()} == {2: 100, 4: -1}
    # Members are caught up as of now, others never were: the clock itself may have begun a moment ago.
    assert replica_set.shrink(140, 50 + LAG_MS, LAG_MS) is None
    assert replica_set.shrink(140, 51 + LAG_MS, LAG_MS) == (1,)
    assert replica_set.high_watermark(130, 50, LAG_MS) == 100


def test_a_leader_that_was_none_knows_nothing_of_the_others(replica_set) -> None:
    replica_set.note_fetch(2, 100, 3, 100, 2)
    replica_set.lead((1, 2), (1, 2), 9, 7, 100, 50, was_leader=False)
    assert (replica_set.followers[2].end_offset, replica_set.followers[2].log_start_offset) == (-1, -1)
    assert replica_set.high_watermark(100, 50, LAG_MS) == -1


def test_the_fetch_before_is_the_beginning_of_the_epoch(replica_set) -> None:
    replica_set.note_fetch(3, 100, 0, 100, 5)
    replica_set.lead((1, 2, 3), (1, 2), 9, 6, 130, 50, was_leader=True)
    assert not replica_set.note_fetch(3, 100, 0, 150, 60)
    assert replica_set.high_watermark(150, 60, LAG_MS) == -1
    replica_set.note_fetch(2, 140, 0, 150, 60)
    # It has not what there was at 50: it is as if it never was caught up.
    assert replica_set.high_watermark(150, 60, LAG_MS) == 140
