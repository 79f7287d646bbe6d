"""Incremental aggregates in one process: a refresh counts the facts of new data files, and finds all changes."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from barnabas.pipeline.job import Job, Mode, TableOutput
from barnabas.pipeline.runner.aggregates import KnownFiles
from barnabas.pipeline.runner.outputs import TableWriter
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import Span
from barnabas.pipeline.runner.refresh import refresh
from barnabas.pipeline.tables.formats import open_table
from tests.pipeline.postgresql_server import postgresql
from tests.spark import frame_of, shared_session

__all__ = ["postgresql"]  # a fixture


START = datetime(2026, 3, 6, 19, tzinfo=UTC)
FIRST = int(START.timestamp()) // 60
FACTS = "id STRING, time TIMESTAMP, address STRING, _topic STRING, _partition INT, _offset BIGINT, _timestamp TIMESTAMP"
AGGREGATES = ("minutes", "crowds")
WHOLE = pytest.mark.whole


class Life:
    """The tables of one job, and what its refreshes looked at.

    Attributes:
        facts: The facts that the table should have: offset, minute and address.
        busy: Addresses that the job leaves out, by the table of another job.
        is_stopping: Whether a refresh fails after its first commit.
    """

    def __init__(self, format_name: str, place: str) -> None:
        self.spark = shared_session()
        self.facts: list[tuple[int, int | None, str]] = []
        self.busy: list[str] = []
        self.is_stopping = False
        self.format_name = format_name
        self._places = {name: place + name for name in ("facts", "minutes", "crowds")}
        self._known = KnownFiles()
        self._counted: list[int] = []
        self._computed: list[int] = []
        self._job = Job(
            "minutes",
            "counts by minute",
            (),
            (TableOutput("facts"), *(TableOutput(name, Mode.AGGREGATE) for name in AGGREGATES)),
            refresh=lambda tables, parameters: {},
            aggregate=self._sum_up,
            mark=self._mark,
            window_s=60,
        )

    def _mark(self, facts, tables, parameters):
        self._counted.append(facts.count())
        return facts.join(tables["busy"].selectExpr("address", "address AS mark"), "address", "left")

    def _sum_up(self, tables, parameters):
        rows = tables["facts"].selectExpr("floor(unix_seconds(time) / 60) AS unit", "address")
        self._computed += sorted(row[0] - FIRST for row in rows.select("unit").distinct().collect())
        rows = rows.join(tables["busy"].selectExpr("address", "address AS mark"), "address", "left")
        minutes = rows.groupBy("unit").agg({"*": "count", "mark": "count"}).toDF("unit", "views", "left_out")
        # Most minutes have no row in this table.
        crowds = rows.groupBy("unit").count().where("count > 2")
        if self.is_stopping:
            crowds = crowds.selectExpr("unit", "CAST(raise_error('stopped') AS BIGINT) AS count")
        return {"minutes": minutes, "crowds": crowds}

    def writer(self, name: str, run: str = "run") -> TableWriter:
        table = open_table(self.spark, self._places[name], self.format_name)
        declared = TableOutput(name, Mode.APPEND if name == "facts" else Mode.AGGREGATE)
        return TableWriter(table, declared, f"{run}/{name}", "")

    def append(self, *facts: tuple[int | None, str], run: str = "run") -> None:
        """Add facts: minute and address."""
        start = max([offset + 1 for offset, _, _ in self.facts], default=0)
        new = [(start + number, minute, address) for number, (minute, address) in enumerate(facts)]
        rows = [
            {
                "id": str(offset),
                "time": None if minute is None else START + timedelta(minutes=minute),
                "address": address,
                "_topic": "views",
                "_partition": 0,
                "_offset": offset,
                "_timestamp": START + timedelta(minutes=minute or 0),
            }
            for offset, minute, address in new
        ]
        span = Span({}, {"views": {0: start + len(new)}}, {})
        self.writer("facts", run).write(frame_of(self.spark, rows, FACTS), span, Delivery.EXACTLY_ONCE)
        self.facts += new

    def rewind(self, offset: int) -> None:
        self.writer("facts").rewind({"views": {0: offset}})
        self.facts = [fact for fact in self.facts if fact[0] < offset]

    def lose_digest(self) -> None:
        self._places["minutes"] += "_again"

    def refresh(self) -> tuple[int | None, list[int]]:
        """Refresh, and check the aggregates.

        Returns:
            How many facts were counted (None: no file), and of which minutes the facts were summed up.
        """
        self._counted.clear()
        self._computed.clear()
        busy = frame_of(self.spark, [{"address": each} for each in self.busy], "address STRING")
        sources, derived = {"facts": self.writer("facts")}, {name: self.writer(name) for name in AGGREGATES}
        refresh(self._job, {}, sources, derived, {}, read={"busy": busy}, known=self._known)
        views = Counter(minute for _, minute, _ in self.facts if minute is not None)
        left_out = Counter(minute for _, minute, address in self.facts if address in self.busy)
        rows = derived["minutes"].table.read().select("unit", "views", "left_out").collect()
        expected = [(FIRST + minute, views[minute], left_out[minute]) for minute in sorted(views)]
        assert sorted(tuple(row) for row in rows) == expected
        rows = derived["crowds"].table.read().select("unit", "count").collect()
        crowds = [(FIRST + minute, count) for minute, count in sorted(views.items()) if count > 2]
        assert sorted(tuple(row) for row in rows) == crowds
        return self._counted[0] if self._counted else None, self._computed


@pytest.fixture(params=["delta", *(pytest.param(each, marks=WHOLE) for each in ("iceberg", "parquet", "postgresql"))])
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Life:
    if request.param == "postgresql":
        return Life(request.param, request.getfixturevalue("postgresql").table_url(tmp_path.name))
    return Life(request.param, f"{tmp_path}/")


def test_a_refresh_counts_the_facts_of_new_files_alone(life: Life):
    has_files = life.format_name != "postgresql"

    def refreshed(counted: int | None, *computed: int) -> None:
        assert life.refresh() == (counted if has_files else len(life.facts), list(computed))

    life.append((0, "a"), (0, "a"), (1, "b"), (2, "c"))
    refreshed(4, 0, 1, 2)
    refreshed(None)
    # A late fact, and those of another run.
    life.append((0, "b"))
    refreshed(1, 0)
    life.append((1, "a"), (3, "a"), run="backfill")
    refreshed(2, 1, 3)
    # Other words of another job count for all facts, the same words for new ones.
    life.busy = ["b"]
    refreshed(7, 0, 1)
    life.append((2, "b"))
    refreshed(1, 2)
    life.busy = ["c"]
    refreshed(8, 0, 1, 2)
    # A compaction writes other files, but changes no aggregate.
    life.writer("facts").table.compact()
    assert life.refresh()[1] == []
    refreshed(None)
    # As many facts as before in other minutes.
    life.rewind(5)
    life.append((4, "c"), (4, "a"), (4, "b"))
    assert life.refresh()[1] == [1, 2, 4]
    life.lose_digest()
    refreshed(None, 0, 1, 2, 4)
    refreshed(None)
    # More windows at once than a query lists.
    life.append(*((minute, "a") for minute in range(10, 160)))
    refreshed(150, *range(10, 160))


def test_facts_without_a_time_are_in_no_window(life: Life):
    life.append((0, "a"), (None, "a"))
    life.refresh()
    life.append((1, "a"), (None, "b"))
    assert life.refresh()[1] == [1]


def test_a_refresh_that_stopped_between_its_commits_is_completed(life: Life):
    life.append((0, "a"), (0, "a"), (0, "b"))
    life.refresh()
    # Another run's facts: this run's offsets do not change.
    life.append((1, "a"), (1, "a"), (1, "b"), run="backfill")
    life.is_stopping = True
    with pytest.raises(PySparkException, match="stopped"):
        life.refresh()
    assert life.writer("minutes").table.read().count() == 2
    life.is_stopping = False
    assert life.refresh()[1] == [0, 1]
    assert life.refresh()[1] == []
