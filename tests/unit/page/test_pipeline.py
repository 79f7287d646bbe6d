"""What the pipeline's page makes of files and records, whatever is in them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from barnabas.page.views.pipeline import alert_rows, letter_rows, run_rows
from barnabas.pipeline.runner.run_metrics import Figures
from barnabas.pipeline.sources.run_status import KILLED, statuses
from barnabas.wire.records.record import Record

RUN = Figures("load", 9, 1, 2, state="running", batch_count=3, lag={"views": {0: 5, 1: 2}}, fresh_p99_s=1.5)


def write(directory: Path, text: str, name: str = "load") -> Path:
    file = directory / name / "status.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_a_run_is_told_as_status_tells_it(tmp_path: Path) -> None:
    file = write(tmp_path, RUN.to_json())
    (row,) = run_rows(tmp_path)
    assert (row.name, row.state, row.topics, row.lag, row.fresh_p99_ms) == ("load", "running", ("views",), 7, 1_500)
    assert (row.record_count, row.dead_letter_count, row.late_row_count) == (9, 1, 2)
    os.utime(file, (1, 1))
    assert [each.state for each in run_rows(tmp_path)] == [each["state"] for each in statuses(tmp_path)] == [KILLED]


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "{", "[]", "7", "null", "[" * 100_000, '{"run":"x"}', "\x00" * 2_000_000),
        *(
            json.dumps({**json.loads(RUN.to_json()), **each})
            for each in (
                *({"lag": 7}, {"lag": {"views": 7}}, {"lag": {"views": {"0": "x"}}}, {"positions": None}),
                *({"last_batch_time_s": "x"}, {"last_batch_time_s": float("inf")}, {"fresh_p99_s": float("nan")}),
            )
        ),
    ],
)
def test_what_is_no_status_is_left_out(tmp_path: Path, wrong: str) -> None:
    write(tmp_path, wrong, "wrong")
    write(tmp_path, RUN.to_json())
    assert [each.name for each in run_rows(tmp_path)] == ["load"]


def record(at_ms: int, key: bytes | None, value: Any, **headers: bytes | None) -> Record:
    data = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
    return Record(at_ms, at_ms, key, data, tuple(headers.items()))


def test_dead_letters_are_counted_by_reason() -> None:
    records = [record(1, None, b"", reason=b"no JSON")] * 2 + [record(1, None, b""), record(1, None, b"", reason=None)]
    assert [(row.reason, row.record_count) for row in letter_rows("t.dlq", records)] == [("no JSON", 2), ("", 2)]


def test_the_last_of_each_alert_is_told_and_those_that_fire_first() -> None:
    alert = {"alert": "lag", "subject": "a", "state": "firing", "since": None, "sentence": "It is late."}
    records = [
        record(3, b"a", {**alert, "state": "resolved"}),
        record(1, b"a", alert),
        record(2, b"b", {**alert, "subject": "b"}),
        *(record(4, bytes([n]), value) for n, value in enumerate((b"\xff", b"[" * 1_000, [], {"x": 1}, 7))),
        record(1, b"gone", alert),
        record(5, b"gone", None),
    ]
    assert [(row.state, row.subject) for row in alert_rows(records)] == [("firing", "b"), ("resolved", "a")]
