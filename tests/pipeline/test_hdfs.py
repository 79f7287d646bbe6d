"""Tables on HDFS in Parquet, Delta and Iceberg: the life of one, of `test_tables.py`; kills of its writer; restarts."""

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
    test_a_table_of_another_format_commits_rows_and_progress_in_one_step,
)
from tests.spark import forgets_sockets, forgotten_sockets
from tools.hadoop.server import Hdfs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Fixtures of the tests here, and the test that is run here again.
__all__ = [
    "forgotten_sockets",
    "spark",
    "test_a_table_of_another_format_commits_rows_and_progress_in_one_step",
]

pytestmark = forgets_sockets

FORMATS = ["parquet", *(pytest.param(each, marks=pytest.mark.whole) for each in ("delta", "iceberg"))]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


@pytest.fixture(params=FORMATS)
def other_place(request: pytest.FixtureRequest, spark: SparkSession, hdfs: Hdfs, tmp_path: Path) -> Place:
    return Place(spark, request.param, f"{hdfs.uri}/{tmp_path.name}/table")


def test_nodes_may_restart_between_commits(other_place: Place, hdfs: Hdfs) -> None:
    place = other_place
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


# The second is a commit's own move; the fourth, a compaction's, is made under the lock, with `swap.json` written.
@pytest.mark.whole
@pytest.mark.parametrize("move", [2, 4])
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
