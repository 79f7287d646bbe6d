"""What clients used, second by second."""

import random
from collections import defaultdict

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.history import SECOND_COUNT, History, Name
from barnabas.broker.quotas.manager import Client, Quotas
from barnabas.wire.quotas.limits import QuotaKind

START_S = 1_600_000_000
ALICE = Name("alice", "app")


class Traffic:
    """A broker's clients, and the history of what they use."""

    def __init__(self, most_kept: int = 100, most_remembered: int = 20_000) -> None:
        self.quotas = Quotas(Windows(11, 1_000), most_remembered=most_remembered)
        self.history = History(most_kept=most_kept)
        self.second = START_S - 1

    def of(self, user: str, client_id: str = "") -> Client:
        """Somebody whose connection is gone already."""
        client = self.quotas.enter(user, client_id, 0)
        self.quotas.leave(client, 0)
        return client

    def go_on(self, by_s: int = 1) -> None:
        """The next second is over, or one that lies further ahead."""
        self.second += by_s
        self.history.collect(self.second * 1_000 + 1_005, self.quotas.clients.values())

    def values(self, client: Name | None, kind: QuotaKind = QuotaKind.PRODUCE) -> list[int]:
        for each in self.history.recorded():
            if (each.client, each.kind) == (client, kind):
                return list(each.values)
        return [0] * SECOND_COUNT

    def total(self) -> int:
        return sum(sum(each.values) for each in self.history.recorded())


@pytest.fixture
def traffic() -> Traffic:
    return Traffic()


def test_what_was_counted_stands_in_its_second(traffic: Traffic) -> None:
    alice = traffic.of("alice", "app")
    for size in (100, 0, 300):
        alice.produced_bytes += size
        alice.fetched_bytes += 2 * size
        alice.mutation_count += size // 100
        traffic.go_on()
    assert traffic.history.second == START_S + 2
    assert traffic.values(ALICE)[-3:] == [100, 0, 300]
    assert traffic.values(ALICE, QuotaKind.FETCH)[-3:] == [200, 0, 600]
    assert traffic.values(ALICE, QuotaKind.CONTROLLER_MUTATION)[-3:] == [1, 0, 3]
    assert traffic.history.rates(3) == {ALICE: (400 / 3, 800 / 3, 0, 4 / 3)}


def test_parts_of_a_microsecond_are_not_lost(traffic: Traffic) -> None:
    alice = traffic.of("alice", "app")
    for _ in range(4):
        alice.request_ns += 1_500
        traffic.go_on()
    assert traffic.values(ALICE, QuotaKind.REQUEST)[-4:] == [1, 2, 1, 2]


def test_after_an_hour_it_is_forgotten(traffic: Traffic) -> None:
    traffic.of("alice", "app").produced_bytes += 7
    traffic.go_on()
    traffic.go_on(SECOND_COUNT - 1)
    assert traffic.values(ALICE)[0] == 7
    traffic.go_on()
    assert traffic.total() == 0


def test_hours_that_were_slept_through_are_empty(traffic: Traffic) -> None:
    alice = traffic.of("alice", "app")
    alice.produced_bytes += 5
    traffic.go_on()
    alice.produced_bytes += 6
    traffic.go_on(10 * SECOND_COUNT)
    assert traffic.values(ALICE) == [0] * (SECOND_COUNT - 1) + [6]


def test_a_clock_that_is_set_back_adds_to_the_last_second(traffic: Traffic) -> None:
    alice = traffic.of("alice", "app")
    alice.produced_bytes += 5
    traffic.go_on()
    alice.produced_bytes += 6
    traffic.go_on(-30)
    assert traffic.history.second == START_S
    assert traffic.values(ALICE)[-2:] == [0, 11]


@pytest.mark.parametrize("ahead_s", [100, 7_200])
def test_seconds_of_a_clock_that_was_ahead_are_removed(traffic: Traffic, ahead_s: int) -> None:
    alice = traffic.of("alice", "app")
    values = []
    for size, by_s in [(5, 1), (6, ahead_s), (7, 1 - ahead_s), (8, 1)]:
        alice.produced_bytes += size
        traffic.go_on(by_s)
        values = traffic.values(ALICE)
    assert traffic.history.second == traffic.history.last_use == START_S + 2
    # Two hours ahead, what was before is forgotten.
    assert values[-3:] == [5 if ahead_s == 100 else 0, 7, 8]
    assert sum(values[:-3]) == 0


def test_a_history_from_a_clock_that_was_ahead_does_not_stop_a_later_one() -> None:
    before, after = Traffic(), Traffic()
    before.go_on(7_200)
    before.of("alice", "app").produced_bytes += 5
    before.go_on()
    after.history.restore(before.history.second, before.history.recorded())
    for _ in range(2):
        after.of("alice", "app").produced_bytes += 6
        after.go_on()
    assert after.history.rates(10) == {ALICE: (12 / 10, 0, 0, 0)}


def test_who_is_silent_has_no_ring(traffic: Traffic) -> None:
    traffic.of("alice", "app")
    traffic.go_on()
    assert traffic.history.kept_count == 0


def test_who_was_forgotten_and_comes_again_is_counted_from_the_beginning(traffic: Traffic) -> None:
    traffic.of("alice", "app").produced_bytes += 100
    traffic.go_on()
    traffic.quotas.clients.clear()
    traffic.of("alice", "app").produced_bytes += 30
    traffic.go_on()
    assert traffic.values(ALICE)[-2:] == [100, 30]


def test_the_largest_have_rings_and_nothing_is_lost() -> None:
    traffic = Traffic(most_kept=2)
    sizes = {"small": 1, "middle": 10, "large": 100}
    for _ in range(180):
        for name, size in sizes.items():
            traffic.of(name).produced_bytes += size
        traffic.go_on()
    assert traffic.history.kept_count == 2
    assert traffic.values(Name("small", ""))[-1] == 0
    assert traffic.values(Name("large", ""))[-1] == 100
    assert traffic.values(None)[-1] == 1
    assert traffic.total() == 180 * 111


def test_two_of_a_size_do_not_take_turns() -> None:
    traffic = Traffic(most_kept=1)
    for _ in range(600):
        traffic.of("one").produced_bytes += 100
        traffic.of("other").produced_bytes += 120
        traffic.go_on()
    assert sum(traffic.values(Name("one", ""))) == 600 * 100


def test_who_is_silent_for_an_hour_makes_room() -> None:
    traffic = Traffic(most_kept=1)
    traffic.of("early").produced_bytes += 1_000_000
    traffic.go_on()
    for _ in range(SECOND_COUNT + 120):
        traffic.of("late").produced_bytes += 1
        traffic.go_on()
    assert traffic.values(Name("late", ""))[-1] == 1
    assert not any(traffic.values(Name("early", "")))


def test_very_many_clients_take_bounded_memory() -> None:
    traffic = Traffic(most_kept=3, most_remembered=50)
    for second in range(20):
        for number in range(40):
            traffic.of("", f"client-{second}-{number}").produced_bytes += 1
        traffic.go_on()
        assert traffic.history.kept_count <= 3
    assert traffic.total() == 20 * 40


def test_any_traffic_adds_up() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    traffic = Traffic(most_kept=3)
    model: dict[int, int] = defaultdict(int)
    for _ in range(300):
        by_s = dice.choice((1, 1, 1, 2, 30, 400))
        for _ in range(dice.randrange(5)):
            size = dice.randrange(1, 1_000)
            traffic.of(f"user-{dice.randrange(12)}").fetched_bytes += size
            model[traffic.second + by_s] += size
        traffic.go_on(by_s)
    sums = [0] * SECOND_COUNT
    for each in traffic.history.recorded():
        for index, value in enumerate(each.values):
            sums[index] += value
    first = traffic.second - SECOND_COUNT + 1
    assert sums == [model[first + index] for index in range(SECOND_COUNT)]


def test_it_goes_on_after_a_restart() -> None:
    before, after = Traffic(), Traffic()
    before.of("alice", "app").produced_bytes += 5
    before.go_on()
    after.history.restore(before.history.second, before.history.recorded())
    after.of("alice", "app").produced_bytes += 6
    after.go_on(11)
    assert after.values(ALICE)[-11:] == [5, *[0] * 9, 6]
    after.go_on(SECOND_COUNT - 5)
    assert after.total() == 6


def test_a_restart_with_more_clients_than_have_room_counts_them_with_the_others() -> None:
    before, after = Traffic(), Traffic(most_kept=1)
    for name in ("a", "b", "c"):
        before.of(name).produced_bytes += 5
    before.go_on()
    after.history.restore(before.history.second, before.history.recorded())
    assert after.history.kept_count == 1
    assert after.values(None)[-1] == 10


def test_the_last_seconds_alone(traffic: Traffic) -> None:
    for size in range(5):
        traffic.of("alice", "app").produced_bytes += size
        traffic.go_on()
    (only,) = traffic.history.recorded(3)
    assert list(only.values) == [2, 3, 4]


def test_a_second_larger_than_a_ring_can_hold_is_cut(traffic: Traffic) -> None:
    traffic.of("alice", "app").produced_bytes += 2**40
    traffic.go_on()
    assert traffic.values(ALICE)[-1] == 2**32 - 1


def test_very_many_who_use_a_little_take_no_more_than_so_much_and_hide_nobody() -> None:
    traffic = Traffic(most_kept=1, most_remembered=100_000)
    traffic.of("first").produced_bytes += 10
    traffic.go_on()
    large = traffic.of("large")
    for number in range(20):
        large.produced_bytes += 1_000
        for each in range(1_000):
            traffic.of("small", f"{number}-{each}").produced_bytes += 1
        traffic.go_on()
        assert len(traffic.history._candidates) <= 5_000
    assert sum(traffic.values(Name("large", ""))) > 0
    assert traffic.total() == 10 + 20 * 1_000 + 20 * 1_000
