"""`barnabas pipeline status` on a terminal."""

import json
import re
import time
from pathlib import Path

import pytest

from barnabas.pipeline.commands.main import main
from barnabas.pipeline.runner.run_metrics import Figures

RUNS = ("backfill-of-november/load", "operations", "reporting")
TOPIC = "orders-of-the-whole-company-and-of-all-that-it-has-bought-since.v2"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for run in RUNS:
        figures = Figures(run, state="running", record_count=12_854_959, batch_count=1_234, lag={TOPIC: {0: 4}})
        figures.last_batch_time_s = time.time() - 3_541
        figures.fresh_p50_s = figures.fresh_p99_s = 1_239.9
        figures.positions = {TOPIC: {0: 854_959}}
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "status.json").write_text(figures.to_json())
    return tmp_path


@pytest.mark.parametrize(("width", "line_count"), [(80, 3), (200, 1)])
def test_names_are_whole_and_times_on_one_line_however_wide_it_is(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, line_count: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["status", "--checkpoint", str(directory)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= width
    for run in RUNS:
        own = [line for line in lines if line.startswith(f"{run} ")]
        assert len(own) == line_count
        assert re.search(r"running .*12,854,959 .*3,54\d s ago .* 1,239\.9 s .*1,239\.9 s", " ".join(own))


@pytest.mark.parametrize("name", ["backfill-of-november", "backfill-of-november/load"])
def test_a_run_of_several_jobs_is_found_by_its_name(
    directory: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["status", name, "--json", "--checkpoint", str(directory)]) == 0
    assert [each["run"] for each in json.loads(capsys.readouterr().out)] == ["backfill-of-november/load"]


def test_a_long_name_of_a_topic_is_broken_and_no_number_is(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["status", "reporting", "--partitions", "--checkpoint", str(directory)]) == 0
    first, second = capsys.readouterr().out.splitlines()[-2:]
    run, topic, *numbers = first.split()
    assert (run, topic + second.strip(), numbers) == ("reporting", TOPIC, ["0", "854,959", "4"])
