"""How a table resumes at other offsets after a loss."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql.types import StructType

from barnabas.pipeline.job import Mode, TableOutput
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.tables.table import Mark, Progress, Table, TableError

# Here nothing of Spark is needed but an empty frame.
SPARK = cast(Any, SimpleNamespace(createDataFrame=lambda rows, schema: schema))
READ = Progress("load/b", 4, "cluster", {"b": {0: 20, 1: 20}}, {"b": {0: Mark(19, 1, 2), 1: Mark(19, 3, 4)}})


class Appended:
    """A table that keeps the progress of its appends."""

    location = "/tables/load/b"

    def __init__(self, progress: Progress | None) -> None:
        self.commits = [] if progress is None else [progress]

    def progress(self, run: str) -> Progress | None:
        return self.commits[-1] if self.commits else None

    def schema(self) -> StructType | None:
        return StructType() if self.commits else None

    def append(self, rows: Any, progress: Progress) -> None:
        self.commits.append(progress)


def writer_of(table: Appended, mode: Mode) -> TableWriter:
    return TableWriter(cast(Table, table), TableOutput("b", mode, topic="b"), "load/b", "cluster")


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.LATEST])
def test_a_loss_of_another_topic_creates_no_table(mode: Mode):
    table = Appended(None)
    writer_of(table, mode).rebase(SPARK, {"a": {0: 33}})
    assert table.commits == []


@pytest.mark.parametrize("offset", [0, 19])
def test_a_table_by_key_does_not_go_back(offset: int):
    table = Appended(READ)
    with pytest.raises(TableError, match="/tables/load/b"):
        writer_of(table, Mode.LATEST).rebase(SPARK, {"b": {1: offset}})
    assert table.commits == [READ]
