"""Delta and Parquet tables on HDFS: what `test_tables.py` asks of a table; kills of its writer, restarts of nodes."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from barnabas.pipeline.tables.places import open_table
from tests.pipeline.appending import RUN, expected_offsets
from tests.pipeline.test_table_kills import Driver
from tests.pipeline.test_tables import (
    Place,
    offsets_in,
    progress_of,
    rows_at,
    spark,
    table,
    test_a_batch_without_rows_moves_the_progress,
    test_a_commit_out_of_turn_is_refused,
    test_a_failed_batch_leaves_nothing,
    test_a_table_is_made_by_its_first_commit,
    test_columns_may_have_any_name,
    test_compact_makes_fewer_files_of_the_same_rows,
    test_cut_takes_away_what_was_read_from_an_offset_on,
    test_one_of_two_that_take_themselves_for_the_same_run_goes_on,
    test_replace_takes_rows_read_from_the_table_itself,
    test_runs_at_the_same_time_lose_nothing,
)
from tests.spark import forgets_sockets, forgotten_sockets
from tools.hadoop.server import Hdfs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Fixtures of the tests here, and the tests that are run here again.
__all__ = [
    "forgotten_sockets",
    "spark",
    "table",
    "test_a_batch_without_rows_moves_the_progress",
    "test_a_commit_out_of_turn_is_refused",
    "test_a_failed_batch_leaves_nothing",
    "test_a_table_is_made_by_its_first_commit",
    "test_columns_may_have_any_name",
    "test_compact_makes_fewer_files_of_the_same_rows",
    "test_cut_takes_away_what_was_read_from_an_offset_on",
    "test_one_of_two_that_take_themselves_for_the_same_run_goes_on",
    "test_replace_takes_rows_read_from_the_table_itself",
    "test_runs_at_the_same_time_lose_nothing",
]

pytestmark = forgets_sockets

FORMATS = ["parquet", pytest.param("delta", marks=pytest.mark.whole)]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


@pytest.fixture(params=FORMATS)
def place(request: pytest.FixtureRequest, spark: SparkSession, hdfs: Hdfs, tmp_path: Path) -> Place:
    return Place(spark, request.param, f"{hdfs.uri}/{tmp_path.name}/table")


def test_nodes_may_restart_between_commits(place: Place, hdfs: Hdfs) -> None:
    table = place.open()
    table.append(rows_at(place.spark, 0, 10), place.next(end=10))
    hdfs.restart_data_node()
    table.append(rows_at(place.spark, 10, 20), place.next(end=20))
    hdfs.restart_name_node()
    with contextlib.suppress(Py4JJavaError):
        # HDFS's client tells that its connection has ended, and makes another one the next time.
        table.exists()
    table.append(rows_at(place.spark, 20, 30), place.next(end=30))
    assert offsets_in(place.open()) == list(range(30))
    assert place.open().progress("load") == progress_of("load", 3, 30)


# The second is a commit's own move; the fourth, a compaction's, is made under the lock, with the journal written.
@pytest.mark.parametrize("move", [2, pytest.param(4, marks=pytest.mark.whole)])
def test_a_kill_between_staging_and_rename_loses_and_doubles_nothing(
    spark: SparkSession, hdfs: Hdfs, tmp_path: Path, move: int
) -> None:
    location = f"{hdfs.uri}/{tmp_path.name}/table"
    assert Driver("parquet", location, 6, tmp_path / "scratch", 0, move).finish() == -signal.SIGKILL
    seen = open_table(spark, location, "parquet")
    done = seen.progress(RUN).sequence
    assert done < 6
    assert offsets_in(seen) == expected_offsets(done)
    assert Driver("parquet", location, 6, tmp_path / "scratch").finish() == 0
    assert offsets_in(seen) == expected_offsets(6)
