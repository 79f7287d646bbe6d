"""What a limit would have done."""

import random
from collections.abc import Sequence

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.history import Name
from barnabas.broker.quotas.traffic_replay import Outcome, Sender, simulate
from barnabas.wire.quotas.entities import DEFAULT, Entity
from barnabas.wire.quotas.levels import Limits
from barnabas.wire.quotas.limits import QuotaKind

WINDOWS = Windows(11, 1_000)
MB = 1_000_000
APP = Name("alice", "app")


def under(limit: float, traffic: dict[Name, Sequence[float]], kind: QuotaKind = QuotaKind.PRODUCE) -> Outcome:
    """With one limit of a user."""
    limits = Limits()
    limits.set(Entity("alice", None), limit)
    (outcome,) = simulate(kind, limits, traffic.items(), WINDOWS)
    return outcome


def alone(limit: float, values: Sequence[float], kind: QuotaKind = QuotaKind.PRODUCE) -> Sender:
    (sender,) = under(limit, {APP: values}, kind).senders
    return sender


def test_who_stays_below_is_never_held() -> None:
    sender = alone(2 * MB, [MB] * 60)
    assert (sender.throttle_count, sender.throttled_ms, sender.latest_ms, sender.left) == (0, 0, 0, 0)
    assert (sender.offered, sender.peak) == (60 * MB, MB)


@pytest.mark.parametrize("kind", [QuotaKind.PRODUCE, QuotaKind.FETCH])
def test_who_wants_twice_as_much_is_late_by_half(kind: QuotaKind) -> None:
    sender = alone(MB, [2 * MB] * 120, kind)
    # What was sent in two minutes is what the limit allows.
    assert sender.offered - sender.left == pytest.approx(120 * MB, rel=0.1)
    assert sender.latest_ms == pytest.approx(60_000, rel=0.2)
    assert sender.throttle_count > 0
    assert sender.throttled_ms > 100_000 / 2


def test_a_burst_that_the_windows_allow_is_not_held() -> None:
    assert alone(MB, [8 * MB, *[0] * 30]).throttle_count == 0
    burst = alone(MB, [30 * MB, *[0] * 60])
    assert burst.throttle_count > 0
    assert burst.left == 0
    assert 15_000 < burst.latest_ms < 40_000


def test_who_is_quiet_afterwards_catches_up() -> None:
    sender = alone(MB, [*[3 * MB] * 20, *[0] * 100])
    assert sender.left == 0
    assert sender.latest_ms == pytest.approx(40_000, rel=0.3)


def test_those_who_share_a_limit_are_measured_together() -> None:
    other = Name("alice", "other")
    outcome = under(MB, {APP: [0.7 * MB] * 120, other: [0.7 * MB] * 120})
    assert {each.client for each in outcome.senders} == {APP, other}
    # What the limit allows in two minutes, and what may be spent at once.
    sent = sum(each.offered - each.left for each in outcome.senders)
    assert 115 * MB < sent < (120 + 11) * MB + 11 * 1_048_576
    assert all(each.throttle_count for each in outcome.senders)


def test_a_request_quota_holds_for_a_window_at_the_most() -> None:
    sender = alone(10, [50.0] * 60, QuotaKind.REQUEST)
    assert sender.throttle_count > 0
    assert sender.longest_throttle_ms == 1_000
    assert sender.offered - sender.left == pytest.approx(600, rel=0.3)


def test_partitions_are_counted_by_tokens() -> None:
    # Eleven seconds' worth may be made at once, and then one a second.
    assert alone(1, [11, *[0] * 10], QuotaKind.CONTROLLER_MUTATION).throttle_count == 0
    sender = alone(1, [31, *[0] * 30], QuotaKind.CONTROLLER_MUTATION)
    assert sender.throttle_count > 0
    assert sender.left == 0


def test_each_bucket_with_a_limit_is_told() -> None:
    limits = Limits()
    limits.set(Entity("alice", DEFAULT), MB)
    limits.set(Entity(None, "app"), MB)
    traffic = [(Name("alice", "app"), [1.0]), (Name("bob", "app"), [1.0]), (Name("bob", "none"), [1.0])]
    outcomes = simulate(QuotaKind.PRODUCE, limits, traffic, WINDOWS)
    assert {tuple(each.client for each in outcome.senders) for outcome in outcomes} == {
        (Name("alice", "app"),),
        (Name("bob", "app"),),
    }


def test_nothing_is_lost_whatever_is_offered() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(20):
        values = [dice.choice((0, 0, 1, 5)) * dice.random() * MB for _ in range(60)]
        limit = dice.choice((0.1, 1, 3)) * MB
        for kind in (QuotaKind.PRODUCE, QuotaKind.FETCH):
            sender = alone(limit, values, kind)
            assert sender.offered == pytest.approx(sum(values))
            assert 0 <= sender.left <= sender.offered
            # A burst of all windows and one request more than the limit times the time.
            assert sender.offered - sender.left <= limit * (60 + 11) + 1_048_576 * 11
            assert 0 <= sender.throttled_ms <= 60_000
            assert 0 <= sender.latest_ms <= 60_000
