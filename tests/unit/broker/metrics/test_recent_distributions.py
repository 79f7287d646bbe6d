"""What counts as recent: five minutes of distributions, a minute or two of computing."""

from barnabas.broker.metrics.recent_distributions import INTERVAL_MS, RecentDistributions
from barnabas.broker.metrics.snapshot import NOTHING, Distribution
from barnabas.testing.manual_clock import ManualClock


class World:
    def __init__(self):
        self.clock = ManualClock()
        self.count = 0
        self.computing_ms = 0
        self.recent = RecentDistributions(
            self.clock, self.clock, lambda: {("n", ()): self.now()}, lambda: self.computing_ms
        )
        self.recent.start()

    def now(self):
        return Distribution((), self.count, self.count, 0.0, 1.0)

    def minute(self, computing_ms=0):
        self.count += 1
        self.computing_ms += computing_ms
        self.clock.advance(INTERVAL_MS)


def test_at_first_all_that_came_is_recent():
    world = World()
    for _ in range(4):
        world.minute()
        assert world.recent.before("n", ()) is NOTHING


def test_later_it_is_what_came_in_the_last_five_minutes():
    world = World()
    for _ in range(20):
        world.minute()
    assert world.count - world.recent.before("n", ()).value_count == 4
    assert world.recent.before("other", ()) is NOTHING


def test_the_idle_share_is_that_of_the_last_minutes():
    world = World()
    assert world.recent.idle_share() == 1.0
    for _ in range(10):
        world.minute(INTERVAL_MS)
    assert world.recent.idle_share() == 0.0
    for _ in range(2):
        world.minute(INTERVAL_MS // 4)
    assert world.recent.idle_share() == 0.75


def test_nothing_is_remembered_after_the_end():
    world = World()
    world.recent.stop()
    for _ in range(20):
        world.minute()
    assert world.recent.before("n", ()) is NOTHING
