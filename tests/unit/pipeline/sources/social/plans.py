"""Small sites for the tests; what happens on the larger ones is made once."""

from functools import cache
from typing import Any, NamedTuple

from barnabas.pipeline.sources.social import Arrival, Shares, SitePlan, Truth

HOUR = SitePlan(seed=1, duration_s=3_600, events_per_s=2, users=200, items=300)
# Everything happens more than once.
BUSY = SitePlan(
    seed=5,
    duration_s=7_200,
    events_per_s=5,
    users=400,
    items=500,
    shares=Shares(0.08, 0.08, 0.05, 0.05, 0.03, 0.08, 0.01, 0.01),
)
QUIET_DAY = SitePlan(seed=11, duration_s=86_400, events_per_s=1.2, users=600, items=1_000).quiet()


class Made(NamedTuple):
    """What a plan makes: events in order of arrival, without their types; broken records; and what is true of them."""

    events: list[dict[str, Any]]
    broken: list[Arrival]
    truth: dict[str, Any]

    def of_type(self, name: str) -> list[dict[str, Any]]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == name]


@cache
def made(plan: SitePlan) -> Made:
    """All of a plan; not to be changed."""
    truth = Truth(plan)
    arrivals = list(truth.arrivals())
    events = [arrival.fields for arrival in arrivals if not arrival.reason]
    return Made(events, [arrival for arrival in arrivals if arrival.reason], truth.to_json())
