"""Rates, token buckets and throttle times against those that Kafka 2.7.2 made of the same events."""

import json
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.quotas.token_bucket import TokenBucket
from barnabas.core.windowed_rate import WindowedRate

RECORDED = json.loads((Path(__file__).parents[3] / "golden" / "quota_sums.json").read_text())


@pytest.mark.parametrize("recorded", [each for each in RECORDED if not each["tokens"]])
def test_a_rate_and_its_throttle_times_are_kafkas(recorded: dict[str, Any]) -> None:
    rate = WindowedRate(recorded["window_ms"], recorded["samples"])
    for now_ms, value, throttle_ms, rate_per_s in recorded["steps"]:
        rate.record(now_ms, value)
        assert rate.excess_ms(now_ms, recorded["limit"]) == throttle_ms
        if rate.measured_ms(now_ms):
            # Where nothing was measured yet Kafka divides by nothing.
            assert rate.rate_per_s(now_ms) == pytest.approx(rate_per_s, rel=1e-12)


@pytest.mark.parametrize("recorded", [each for each in RECORDED if each["tokens"]])
def test_a_token_bucket_and_its_throttle_times_are_kafkas(recorded: dict[str, Any]) -> None:
    bucket = TokenBucket(recorded["samples"] * recorded["window_ms"] / 1_000)
    limit = recorded["limit"]
    for now_ms, value, throttle_ms, tokens in recorded["steps"]:
        bucket.take(now_ms, limit, value)
        assert bucket.wait_ms(now_ms, limit) == throttle_ms
        assert bucket.tokens(now_ms, limit) == pytest.approx(tokens, abs=1e-6)
