"""Exactly once, whatever is killed and when: a load into each kind of table, and a ranking, end as if nothing had been.

Here are the short forms, of which loads to Delta are always run; `scripts/soak --pipeline` kills 20 drivers and more of
each.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.compat.conftest import StartBroker
from tests.pipeline.exactly_once import Trial, key_trial, ranking_trial, table_trial
from tests.pipeline.postgresql_server import postgresql
from tests.pipeline.site import Site

__all__ = ["postgresql"]  # a fixture


SEED = 1922


@pytest.fixture
def trial_of(start_broker: StartBroker, site_of: Callable[..., Site], tmp_path: Path) -> Callable[..., Trial]:
    def make(kind: Callable[..., Trial], *arguments: str, **options: Any) -> Trial:
        broker = start_broker()
        return kind(site_of(broker), broker, tmp_path, *arguments, seed=SEED, **options)

    return make


def check(trial: Trial) -> None:
    missing, doubled = trial.compare()
    assert (missing, doubled) == (0, 0), f"{missing} missing, {doubled} doubled\n{trial.lives.said()}"


def test_a_load_to_delta_whose_driver_is_killed_beside_its_commits(trial_of):
    trial = trial_of(table_trial, "delta")
    # Four batches: one for each of the first two lives, two for the last.
    trial.lives.ask(records_per_batch=1_500)
    # The data is there, and Spark has not noted the batch; then the other way round.
    assert not trial.lives.live(*trial.own_kill(), kill_after_commit=1)
    assert not trial.lives.live(*trial.own_kill(), kill_before_commit=2)
    trial.lives.lose_the_checkpoint()
    trial.broker_away_during_a_life()
    check(trial)
    assert trial.lives.killed.driver_kill_count == 2
    # Each of the four kinds of damage was done.
    assert trial.lives.killed.checkpoint_loss_count == 1
    assert trial.lives.killed.broker_restart_count == 1


@pytest.mark.whole
@pytest.mark.parametrize(
    ("kind", "table_format", "asked"),
    [
        *((table_trial, each, {}) for each in ("parquet", "iceberg", "postgresql")),
        # Three batches: the second is there when the second life begins, and Spark has not noted it.
        *((key_trial, each, {"records_per_batch": 2_000}) for each in ("delta", "iceberg", "postgresql")),
    ],
)
def test_a_load_whose_driver_is_killed_right_after_its_commit(
    request: pytest.FixtureRequest, trial_of, kind: Callable[..., Trial], table_format: str, asked: dict[str, int]
):
    tables = request.getfixturevalue("postgresql").database_url() if table_format == "postgresql" else ""
    trial = trial_of(kind, table_format, tables=tables, **asked)
    assert not trial.lives.live(*trial.own_kill(), kill_after_commit=2)
    assert trial.lives.live(None)
    check(trial)


@pytest.mark.whole
def test_a_ranking_whose_driver_is_killed(trial_of):
    trial = trial_of(ranking_trial)
    assert not trial.lives.live(*trial.own_kill(), kill_after_commit=1)
    assert trial.lives.live(None)
    check(trial)
