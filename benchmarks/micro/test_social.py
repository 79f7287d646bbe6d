"""The cost of a generated event: `python -m pytest benchmarks/micro/test_social.py`. Divide by the plan's events."""

from collections import deque

from pytest_benchmark.fixture import BenchmarkFixture

from barnabas.pipeline.sources.social import SitePlan, generate, ground_truth

PLAN = SitePlan(duration_s=7_200, events_per_s=14)


def test_generate(benchmark: BenchmarkFixture) -> None:
    benchmark(lambda: deque(generate(PLAN), 0))


def test_ground_truth(benchmark: BenchmarkFixture) -> None:
    benchmark(ground_truth, PLAN)
