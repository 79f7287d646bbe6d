"""What runs say of themselves, and the figures of it: who falls behind, and who says nothing any more."""

import json
import os
import time
from pathlib import Path

from barnabas.pipeline.sources.run_status import run_figures, run_look, statuses


def write(directory: Path, run: str, age_s: float = 0.0, **fields: object) -> None:
    file = directory / run / "status.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"run": run, "state": "running", "lag": {}, **fields}))
    os.utime(file, (time.time() - age_s,) * 2)


def test_who_should_go_on_and_says_nothing_is_killed_or_stuck(tmp_path: Path) -> None:
    write(tmp_path, "a/load")
    write(tmp_path, "feed", 3_600)
    write(tmp_path, "ranking", 3_600, state="stopped")
    for foreign in ('{"run"', "[]", '{"state": "up"}'):
        (tmp_path / str(len(foreign))).mkdir()
        (tmp_path / str(len(foreign)) / "status.json").write_text(foreign)
    found = {each["run"]: (each["state"], each["seconds_since_status"] >= 3_600) for each in statuses(tmp_path)}
    assert found == {"a/load": ("running", False), "feed": ("killed, or stuck", True), "ranking": ("stopped", True)}
    told = {what: (kind.name, fields["value"] != 0) for kind, what, fields in run_look(tmp_path)()}
    assert told == {
        **{f"run%20{run}:lag": ("broker_metric", False) for run in ("a/load", "feed", "ranking")},
        **{f"run%20{run}:silent_s": ("broker_metric", run == "feed") for run in ("a/load", "feed", "ranking")},
    }


def test_lag_is_of_all_partitions_and_names_the_one_that_is_furthest_behind() -> None:
    status = {"run": "load", "state": "running", "seconds_since_status": 1.5, "fresh_p99_s": 2.5}
    figures = run_figures({**status, "lag": {"clicks": {"0": 5}, "views": {"0": 1, "3": 7}}})
    assert [(each.broker, each.metric, each.value, each.unit, each.examples) for each in figures] == [
        ("run load", "lag", 13.0, "records", "views-3 is furthest behind"),
        ("run load", "silent_s", 0.0, "s", None),
        ("run load", "fresh_p99_s", 2.5, "s", None),
    ]
