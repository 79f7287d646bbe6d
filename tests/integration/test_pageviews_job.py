"""The page views job in Spark, on events from files: what counts, what does not, and when rows are written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline.jobs.pageviews import WINDOW_S, count_views
from barnabas.pipeline.line_events import SCHEMA, encode_marker, encode_unreadable, encode_view
from barnabas.pipeline.sources.access_log import View
from tests.spark import forgets_sockets, forgotten_sockets, shared_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["forgotten_sockets"]  # a fixture of every test here

pytestmark = forgets_sockets

WATERMARK_S = 60
START_S = int(datetime(2026, 3, 6, 19, 0, tzinfo=UTC).timestamp())


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


def view(line: int, second: int, page: str = "/a") -> bytes:
    return encode_view(View(line, START_S + second, "192.0.2.1", "GET", page, 200, 1, None, None))


class Stream:
    """The job as a query that reads files and keeps its rows in memory; each `feed` is one batch."""

    def __init__(self, spark: SparkSession, directory: Path, name: str) -> None:
        self._spark = spark
        self._directory = directory
        self._name = name
        self._file_numbers = count()
        (directory / "in").mkdir()
        events = spark.readStream.schema(SCHEMA).json(str(directory / "in"))
        query = count_views(events, WATERMARK_S).writeStream.format("memory").queryName(name).outputMode("append")
        self.query: StreamingQuery = query.start()

    def feed(self, *events: bytes) -> None:
        partial = self._directory / "partial"
        partial.write_bytes(b"\n".join(events))
        partial.rename(self._directory / "in" / f"{next(self._file_numbers):04}.json")
        self.query.processAllAvailable()

    def rows(self) -> Counter[tuple[str, str, int]]:
        """Rows written so far, as (hour:minute, page, views)."""
        table = self._spark.sql(f"SELECT date_format(minute, 'HH:mm') AS minute, page, views FROM {self._name}")
        return Counter((row["minute"], row["page"], row["views"]) for row in table.collect())


_names = count()


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Iterator[Stream]:
    made = Stream(spark, tmp_path, f"pageviews_{next(_names)}")
    yield made
    made.query.stop()


def test_row_is_written_when_the_watermark_has_passed_its_minute(stream: Stream):
    stream.feed(view(1, 0), view(2, 59), view(3, 30, "/b"), view(4, 60))
    assert stream.rows() == Counter()
    stream.feed(view(5, 119))
    assert stream.rows() == Counter()
    stream.feed(view(6, 120))
    assert stream.rows() == Counter([("19:00", "/a", 2), ("19:00", "/b", 1)])


def test_marker_writes_the_last_minutes_and_counts_nowhere(stream: Stream):
    stream.feed(view(1, 0), view(2, 60))
    stream.feed(encode_marker(3, START_S + 60 + WINDOW_S + WATERMARK_S))
    assert stream.rows() == Counter([("19:00", "/a", 1), ("19:01", "/a", 1)])
    # Later events write the marker's own minute out: there is no row of it.
    stream.feed(view(4, 100_000), encode_marker(5, START_S + 200_000))
    assert stream.rows().total() == 3


def test_view_59_s_out_of_order_counts(stream: Stream):
    stream.feed(view(1, 118))
    stream.feed(view(2, 59), view(3, 118 - 59))
    stream.feed(encode_marker(4, START_S + 118 + WINDOW_S + WATERMARK_S))
    assert stream.rows() == Counter([("19:00", "/a", 2), ("19:01", "/a", 1)])


@pytest.mark.parametrize("gap_s", [0, 59, 60, 61, 119, 120, 121, 3_600])
def test_repeated_line_counts_once_however_late_it_comes(stream: Stream, gap_s: int):
    stream.feed(view(1, 0), view(1, 0))
    stream.feed(view(1, 0), view(2, gap_s))
    stream.feed(view(1, 0), view(2, gap_s))
    stream.feed(view(1, 0))
    marker = encode_marker(3, START_S + gap_s + WINDOW_S + WATERMARK_S)
    stream.feed(marker)
    stream.feed(view(1, 0), view(2, gap_s), marker)
    minutes = Counter(f"19:{second // 60:02}" if second < 3_600 else "20:00" for second in (0, gap_s))
    assert stream.rows() == Counter((minute, "/a", views) for minute, views in minutes.items())


def test_equal_views_of_different_lines_all_count(stream: Stream):
    stream.feed(*(view(line, 5) for line in range(1, 8)))
    stream.feed(encode_marker(8, START_S + 5 + WINDOW_S + WATERMARK_S))
    assert stream.rows() == Counter([("19:00", "/a", 7)])


def test_what_is_no_view_counts_nowhere(stream: Stream):
    stream.feed(view(1, 0), encode_unreadable(2, "?"), b"{", json.dumps({"line": 3}).encode())
    stream.feed(encode_marker(4, START_S + WINDOW_S + WATERMARK_S))
    assert stream.rows() == Counter([("19:00", "/a", 1)])


def test_rows_of_a_table_that_nobody_streams(spark: SparkSession):
    rows = [
        ("view", 1, datetime.fromtimestamp(START_S, UTC), "/a"),
        ("view", 2, datetime.fromtimestamp(START_S + 61, UTC), "/a"),
        ("marker", 3, datetime.fromtimestamp(START_S + 500, UTC), None),
    ]
    events = spark.createDataFrame(rows, "type STRING, line BIGINT, time TIMESTAMP, page STRING")
    assert [row["views"] for row in count_views(events, WATERMARK_S).orderBy("minute").collect()] == [1, 1]
