"""When offsets are sampled, and what remains of the samples after the clock was wrong."""

from barnabas.broker.diagnostics.sampler import Sampler
from barnabas.broker.diagnostics.series import TICK_MS
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.core.types import TopicPartition
from barnabas.testing import ManualClock

PARTITION = TopicPartition("t", 0)


class WrongClock(ManualClock):
    """A clock whose time of day may be wrong."""

    ahead_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms


def test_samples_of_a_clock_that_was_ahead_are_discarded() -> None:
    clock = WrongClock()
    end_offset = 0
    minutes: list[int] = []
    diagnostics = DiagnosticStore(2**20, clock.now_ms())
    sampler = Sampler(
        *(diagnostics, clock, clock),
        ends=lambda: [(PARTITION, end_offset)],
        commits=lambda: [(("group", PARTITION), end_offset)],
        note_minute=lambda: minutes.append(clock.now_ms()),
    )
    sampler.start()
    for ahead_ms in (0, 7_200_000, 0):
        clock.ahead_ms = ahead_ms
        minutes.clear()
        for _ in range(24):
            end_offset += 1
            clock.advance(TICK_MS)
    # The tick that ends now is not sampled yet.
    tick = clock.now_ms() // TICK_MS - 2
    for points in (diagnostics.ends.points(PARTITION, tick), diagnostics.commits.points(("group", PARTITION), tick)):
        assert points[-1] == ((tick + 1) * TICK_MS, end_offset)
        assert len(points) > 20
    assert len(minutes) == 4
