"""Small sites for the tests."""

from barnabas.pipeline.sources.social import Shares, SitePlan

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
