"""Batches with rows that a table's system refuses: the other rows are written, whatever the delivery guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.pipeline.ingest.task import Result
from barnabas.pipeline.job import TableOutput, TopicInput
from barnabas.pipeline.jobs import load
from barnabas.pipeline.runner.batch import BatchRunner
from barnabas.pipeline.runner.dead_letters import DeadLetter
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.tables.table import Offsets, Progress, RowsRefusedError

REFUSED = 417


class Numbers:
    """A table of offsets that refuses one of them."""

    location = "numbers"

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.stored: Progress | None = None

    def progress(self, run: str) -> Progress | None:
        return self.stored

    def append_files(self, files: Any, columns: Any, progress: Progress) -> None:
        assert progress.sequence == (self.stored.sequence if self.stored else 0) + 1
        if REFUSED in files:
            raise RowsRefusedError("violates a constraint")
        self.rows += files
        self.stored = progress


class Runner(BatchRunner):
    """Reads each offset as a row, without Spark."""

    def _ingested(
        self, consumer: Mapping[str, Any], starts: Offsets, ends: Offsets, refusal: str
    ) -> tuple[Result, dict[str, Any]]:
        offsets = list(range(starts["a"][0], ends["a"][0]))
        result = Result(ends=ends, record_count=len(offsets))
        if refusal:
            result.refused = [DeadLetter("a", 0, each, 0, None, None, refusal) for each in offsets]
        else:
            result.files = {"a": offsets}  # type: ignore[dict-item]  # the table takes them
        return result, {}

    def _written_at_once(self, known: Any) -> list[tuple[TableWriter, Any]]:
        return [(self._writers["a"], None)]

    def _write_staged(self, *arguments: Any) -> None:
        return


@pytest.mark.parametrize("delivery", Delivery)
@pytest.mark.parametrize("start", [0, 400])
def test_of_a_batch_with_a_row_that_is_refused_all_others_are_written(delivery: Delivery, start: int) -> None:
    table, letters = Numbers(), []
    writer = TableWriter(table, TableOutput("a", topic="a"), "load/a", "")  # type: ignore[arg-type]
    none: Any = SimpleNamespace(clear=lambda: None, write=letters.extend)
    inputs = {"a": TopicInput("a", None, "a")}
    runner = Runner(none, load.JOB, {}, inputs, "json", {"a": writer}, {}, none, none, delivery, None)
    report = runner.run({}, {"a": {0: start}}, {"a": {0: 1_000}})
    assert sorted(table.rows) == [each for each in range(start, 1_000) if each != REFUSED]
    assert [each.offset for each in letters] == [REFUSED]
    assert (report.record_count, report.dead_letter_count) == (1_000 - start, 1)
    assert writer.offsets == {"a": {0: 1_000}}
