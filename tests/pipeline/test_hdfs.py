"""Tables on HDFS in Delta: the life of one, of `test_tables.py`; restarts of HDFS.

In `scripts/test` tables are in S3 (`test_object_stores.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import TableError
from tests.pipeline.test_tables import Place, commit_rows_and_progress_in_one_step, offsets_in, progress_of, rows_at
from tools.hadoop.server import Hdfs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.whole

FORMATS = ["delta"]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


@pytest.fixture(params=FORMATS)
def any_place(request: pytest.FixtureRequest, spark: SparkSession, hdfs: Hdfs, tmp_path: Path) -> Place:
    return Place(spark, request.param, f"{hdfs.uri}/{tmp_path.name}/table")


def test_a_table_commits_rows_and_progress_in_one_step(any_place: Place) -> None:
    commit_rows_and_progress_in_one_step(any_place)


def test_nodes_may_restart_between_commits(any_place: Place, hdfs: Hdfs) -> None:
    place = any_place
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


def test_a_parquet_table_is_refused(spark: SparkSession) -> None:
    with pytest.raises(TableError, match="must be on a local disk: use --format delta"):
        open_table(spark, "hdfs://name-node:8020/table", "parquet")
