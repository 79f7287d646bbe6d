"""Batches with rows that a table's system refuses: the other rows are written, whatever the delivery guarantee.

And batches that fail: the files that their tasks wrote are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from barnabas.pipeline.ingest.ingest import Request
from barnabas.pipeline.ingest.source import ReadError
from barnabas.pipeline.ingest.task import Result
from barnabas.pipeline.job import TableOutput, TopicInput
from barnabas.pipeline.jobs import load
from barnabas.pipeline.runner.batch import BatchRunner, facts_of
from barnabas.pipeline.runner.dead_letters import DeadLetter
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.tables.layout import PLAIN
from barnabas.pipeline.tables.table import (
    USUAL_LIMITS,
    Mark,
    Offsets,
    Progress,
    RowsRefusedError,
    TableError,
    TableUnavailableError,
)

REFUSED = 417
COLUMNS = StructType([StructField("id", LongType())])


class Numbers:
    """A table of offsets that refuses one of them."""

    location = "numbers"
    column_limits = USUAL_LIMITS

    def __init__(self, columns: StructType | None = None) -> None:
        self.rows: list[int] = []
        self.discarded: list[Any] = []
        self.stored: Progress | None = None
        self._columns = columns

    def progress(self, run: str) -> Progress | None:
        return self.stored

    def schema(self) -> StructType | None:
        return self._columns

    def discard(self, files: Any) -> None:
        self.discarded += files

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


def runner_of(
    kind: type[BatchRunner],
    tables: Mapping[str, Numbers],
    write_letters: Callable[[Any], Any],
    read: Any = None,
    delivery: Delivery = Delivery.EXACTLY_ONCE,
) -> BatchRunner:
    writers = {
        name: TableWriter(table, TableOutput(name, topic=name), f"load/{name}", "")  # type: ignore[arg-type]
        for name, table in tables.items()
    }
    none: Any = SimpleNamespace(clear=lambda: None, write=write_letters, run=read)
    inputs = {name: TopicInput(name, None, name) for name in tables}
    return kind(none, load.JOB, {}, inputs, "json", writers, {}, none, none, delivery, None, lambda output: PLAIN)


@pytest.mark.parametrize("delivery", Delivery)
@pytest.mark.parametrize("start", [0, 400])
def test_of_a_batch_with_a_row_that_is_refused_all_others_are_written(delivery: Delivery, start: int) -> None:
    table, letters = Numbers(), []
    runner = runner_of(Runner, {"a": table}, letters.extend, delivery=delivery)
    report = runner.run({}, {"a": {0: start}}, {"a": {0: 1_000}})
    assert sorted(table.rows) == [each for each in range(start, 1_000) if each != REFUSED]
    assert [each.offset for each in letters] == [REFUSED]
    assert (report.record_count, report.dead_letter_count) == (1_000 - start, 1)
    assert table.stored is not None
    assert table.stored.offsets == {"a": {0: 1_000}}


@pytest.mark.parametrize(
    ("failing", "error", "discarded"),
    [
        ("letters", OSError(), {"a": [1], "b": [2]}),
        ("a", OSError(), {"a": [], "b": [2]}),
        ("b", OSError(), {"a": [], "b": []}),
        # Deleting in a store that does not answer would take long.
        ("a", TableUnavailableError(), {"a": [], "b": []}),
    ],
)
def test_files_of_a_failed_batch_are_deleted_unless_their_commit_has_begun(
    failing: str, error: Exception, discarded: dict[str, list[int]]
) -> None:
    tables = {name: Numbers() for name in "ab"}

    class TwoTables(Runner):
        def _ingested(self, *arguments: Any) -> tuple[Result, dict[str, Any]]:
            refused, files = [DeadLetter("a", 0, 0, 0, None, None, "refused")], cast(Any, {"a": [1], "b": [2]})
            return Result(ends={}, files=files, refused=refused), {}

        def _written_at_once(self, known: Any) -> list[tuple[TableWriter, Any]]:
            return [(writer, None) for writer in self._writers.values()]

    def fail(*arguments: Any) -> None:
        raise error

    if failing in tables:
        setattr(tables[failing], "append_files", fail)  # noqa: B010  # mypy refuses the plain form
    runner = runner_of(TwoTables, tables, fail if failing == "letters" else list)
    with pytest.raises(type(error)):
        runner.run({}, {}, {})
    assert {name: table.discarded for name, table in tables.items()} == discarded


class Reader(BatchRunner):
    """Requests records, without tasks."""

    def _task_of(self, *arguments: Any) -> Any:
        return None


@pytest.mark.parametrize(("columns", "discarded"), [(COLUMNS, ["file"]), (None, [])])
def test_files_of_a_failed_read_are_deleted_from_the_table_unless_they_are_staged(
    columns: StructType | None, discarded: list[str]
) -> None:
    def read(consumer: Any, request: Request) -> Result:
        request.discard({"a": ["file"]})  # type: ignore[list-item]
        raise ReadError("the broker is gone")

    table = Numbers(columns)
    runner = runner_of(Reader, {"a": table}, list, read)
    with pytest.raises(ReadError):
        runner.run({}, {"a": {0: 0}}, {"a": {0: 9}})
    assert table.discarded == discarded


def test_a_batch_compares_the_last_record_that_the_table_of_a_topic_has() -> None:
    tables, marks = {name: Numbers(COLUMNS) for name in "ab"}, {"a": Mark(9, 1, 1), "b": Mark(19, 1, 1)}
    requests: list[Request] = []

    def read(consumer: Any, request: Request) -> Result:
        requests.append(request)
        raise ReadError("the broker is gone")

    for name, table in tables.items():
        # What a table notes of the topics of other tables may be older.
        older = {each: {0: Mark(30, 1, 0)} for each in tables}
        offsets = {each: {0: mark.offset + 1} for each, mark in marks.items()}
        table.stored = Progress(f"load/{name}", 1, "", offsets, older | {name: {0: marks[name]}})
    with pytest.raises(ReadError):
        runner_of(Reader, tables, list, read).run({}, {"a": {0: 10}, "b": {0: 20}}, {"a": {0: 11}, "b": {0: 20}})
    assert [each.marks for each in requests] == [{"a": {0: marks["a"]}, "b": {0: marks["b"]}}]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"id": [1], "size": [2.0]}, {"id": [1], "size": [2.0]}),
        ({"size": [2], "id": [1]}, {"id": [1], "size": [2.0]}),
        ({"id": [1]}, None),
        ({"id": [1], "size": [2.0], "more": [3]}, None),
    ],
)
def test_facts_have_the_columns_of_their_table(columns: dict[str, Any], expected: dict[str, Any] | None) -> None:
    schema = pa.schema({"id": pa.int64(), "size": pa.float64()})
    make = cast(Any, lambda name, events: pa.table(columns))
    if expected is None:
        # Not one of the errors that a task takes for an invalid record.
        with pytest.raises(TableError, match="facts returns other columns than without events"):
            facts_of(make, schema, "views", pa.table({}))
    else:
        rows = facts_of(make, schema, "views", pa.table({}))
        assert (rows.schema, rows.to_pydict()) == (schema, expected)
