"""How good the job "security" is; `tests/pipeline/security_scores.py` makes the tables of its results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.security_scores import HELD_OUT_SEEDS, TUNED_SEEDS, log_score, log_tables, plan_of, site_scores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "2026-11-28-security.md"


@pytest.mark.whole
@pytest.mark.parametrize("seed", HELD_OUT_SEEDS)
def test_verdicts_hold_against_the_truth_of_sites_that_they_were_not_tuned_on(spark: SparkSession, seed: int):
    assert seed not in TUNED_SEEDS
    scores = site_scores(spark, plan_of(seed))
    for group, score in scores.items():
        assert score.precision >= 0.95, (group, sorted(score.wrong))
        assert score.recall >= 0.95, (group, sorted(score.missed))


@pytest.mark.whole
def test_a_real_log_s_bots_are_found_by_what_they_say_and_most_by_what_they_do(
    spark: SparkSession, real_access_log: Path
):
    score = log_score(spark, real_access_log)
    assert score.undeclared == []
    assert len(score.missed) <= 0.2 * len(score.bots), score.missed
    assert log_tables(score) in RESULTS.read_text()
