"""Iceberg tables in REST, JDBC and Hive catalogs: the life of one, of `test_tables.py`; kills; lost answers."""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Transaction
from pyiceberg.table.update import AddSnapshotUpdate
from pyiceberg.utils.config import Config

from barnabas.pipeline.spark.catalogs import catalog_settings
from barnabas.pipeline.tables.iceberg import IcebergTable
from barnabas.pipeline.tables.table import TableUnavailableError
from tests.patience import PATIENCE_S
from tests.pipeline.kills import KILL_COUNT, kill_at_random, offsets_of
from tests.pipeline.postgresql_server import postgresql
from tests.pipeline.test_tables import (
    Place,
    commit_rows_and_progress_in_one_step,
    offsets_in,
    progress_of,
    rows_at,
    take_all_values_and_new_columns,
    write_at_the_same_time,
)
from tools.iceberg.server import HiveMetastore, RestCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["postgresql"]  # a fixture


# How often two writers commit at the same moment.
RACE_COUNT = int(os.environ.get("BARNABAS_RACES", "5"))
CATALOGS = ["rest", *(pytest.param(name, marks=pytest.mark.whole) for name in ("postgresql", "hive"))]


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalog]:
    with RestCatalog(tmp_path_factory.mktemp("rest")) as running:
        yield running


@pytest.fixture(scope="module")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    with HiveMetastore(tmp_path_factory.mktemp("hive")) as running:
        yield running


@pytest.fixture
def name_catalog(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Name a catalog as PyIceberg does, for it and for us."""

    def name_it(name: str, **properties: str) -> None:
        for key, value in properties.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__{key.upper()}", value)
        for key, value in catalog_settings(f"{name}.site", {}).items():
            spark.conf.set(key, value)

    return name_it


@pytest.fixture(params=CATALOGS)
def any_place(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, name_catalog: Callable[..., None]
) -> Place:
    if request.param == "rest":
        name_catalog("lake", uri=request.getfixturevalue("rest").uri)
        return Place(spark, "iceberg", f"lake.site.{tmp_path.name}")
    if request.param == "hive":
        server = request.getfixturevalue("hive")
        # Spark's metastore is one of Hive 2.
        name_catalog(
            "metastore",
            uri=server.uri,
            warehouse=str(server.directory / "warehouse"),
            **{"hive.hive2-compatible": "true"},
        )
        return Place(spark, "iceberg", f"metastore.site.{tmp_path.name}")
    database = request.getfixturevalue("postgresql").database_url()
    name_catalog("base", uri=database.replace("://", "+psycopg://"), warehouse=str(tmp_path / "warehouse"))
    return Place(spark, "iceberg", f"base.site.{tmp_path.name}")


@pytest.mark.whole
def test_a_table_commits_rows_and_progress_in_one_step(any_place: Place) -> None:
    commit_rows_and_progress_in_one_step(any_place)


@pytest.mark.whole
def test_a_table_takes_all_values_and_new_columns(any_place: Place) -> None:
    take_all_values_and_new_columns(any_place)


def test_pyiceberg_reads_and_writes_by_the_same_catalog(any_place: Place) -> None:
    table = any_place.open()
    table.append(rows_at(any_place.spark, 0, 10), progress_of("load", 1, 10))
    catalog, _, name = any_place.location.partition(".")
    # A process of its own would read the configuration by itself.
    configuration = {key: str(value) for key, value in (Config().get_catalog_config(catalog) or {}).items()}
    # Connections that it left open would be held against a later test.
    with load_catalog(catalog, **configuration) as opened:
        theirs = opened.load_table(name)
        assert sorted(theirs.scan().to_arrow()["_offset"].to_pylist()) == list(range(10))
        theirs.delete("_offset < 5")
    assert table.progress("load") == progress_of("load", 1, 10)
    table.append(rows_at(any_place.spark, 10, 20), progress_of("load", 2, 20))
    assert offsets_in(table) == list(range(5, 20))


class LosesAnswers(ThreadingHTTPServer):
    """A proxy before a catalog; it can let an answer to a commit be lost, on the way there or back.

    Args:
        port: The catalog's.
    """

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Forwarding)
        self.catalog_port = port
        self.lost_commits: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Forwarding(BaseHTTPRequestHandler):
    server: LosesAnswers

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_commit = b'"add-snapshot"' in body
        how = self.server.lost_commits.pop() if is_commit and self.server.lost_commits else ""
        if how == "before":
            self.send_error(504)
            return
        there = http.client.HTTPConnection("127.0.0.1", self.server.catalog_port)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        there.request(self.command, self.path, body, headers)
        answer = there.getresponse()
        data = answer.read()
        there.close()
        if how == "after":
            self.send_error(504)
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_HEAD = do_DELETE = _forward  # noqa: N815  # as the server calls them

    def log_message(self, *_: object) -> None:
        pass


def test_a_commit_whose_answer_is_lost_counts_once(
    spark: SparkSession, rest: RestCatalog, tmp_path: Path, name_catalog: Callable[..., None]
) -> None:
    with LosesAnswers(rest.port) as proxy:
        name_catalog("proxied", uri=proxy.uri)
        table = IcebergTable(spark, f"proxied.site.{tmp_path.name}")
        for sequence in (1, 2):
            proxy.lost_commits.append("after")
            end = 10 * sequence
            table.append(rows_at(spark, end - 10, end), progress_of("load", sequence, end))
            assert not proxy.lost_commits
            assert table.progress("load") == progress_of("load", sequence, end)
        proxy.lost_commits.append("before")
        with pytest.raises(TableUnavailableError, match="does not answer"):
            table.append(rows_at(spark, 20, 30), progress_of("load", 3, 30))
        assert table.progress("load") == progress_of("load", 2, 20)
        table.append(rows_at(spark, 20, 30), progress_of("load", 3, 30))
        assert offsets_in(table) == list(range(30))
        proxy.shutdown()


@pytest.mark.timeout(600 + 60 * KILL_COUNT)
@pytest.mark.whole
def test_rows_are_there_once_however_the_driver_is_killed(any_place: Place) -> None:
    if any_place.location.startswith("metastore."):
        pytest.skip("a killed driver leaves its lock in Hive's metastore")
    table = any_place.open()
    commit_count = kill_at_random("iceberg", table, any_place.location, seed=20_264)
    assert offsets_in(table) == offsets_of(commit_count)


@pytest.mark.whole
def test_of_two_commits_of_a_run_at_the_same_moment_one_is_refused(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = any_place.open()
    table.append(rows_at(any_place.spark, 0, 10), progress_of("load", 1, 0))
    both, commit = threading.Barrier(2), Transaction.commit_transaction

    def commit_with_the_other(transaction: Transaction) -> object:
        if any(isinstance(update, AddSnapshotUpdate) for update in transaction._updates):
            both.wait(PATIENCE_S)
        return commit(transaction)

    monkeypatch.setattr(Transaction, "commit_transaction", commit_with_the_other)
    written = [0]
    for sequence in range(2, RACE_COUNT + 2):
        outcomes = write_at_the_same_time(any_place, (1_000 * sequence, 1_000 * sequence + 100), sequence)
        starts = [int(outcome.removeprefix("written ")) for outcome in outcomes if outcome != "refused"]
        assert (len(outcomes), len(starts)) == (2, 1), outcomes
        written += starts
    assert offsets_in(table) == [start + offset for start in written for offset in range(10)]
    assert table.progress("load") == progress_of("load", RACE_COUNT + 1, written[-1])


@pytest.mark.whole
def test_a_lock_that_a_killed_driver_has_left_in_hive_s_metastore_is_told_of(
    spark: SparkSession, hive: HiveMetastore, tmp_path: Path, name_catalog: Callable[..., None]
) -> None:
    name_catalog(
        "locked", type="hive", uri=hive.uri, warehouse=str(hive.directory / "warehouse"), **{"lock-check-retries": "2"}
    )
    table = IcebergTable(spark, f"locked.site.{tmp_path.name}")
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    jvm: Any = spark.sparkContext._jvm
    metastore = jvm.org.apache.hadoop.hive.metastore
    configuration = jvm.org.apache.hadoop.hive.conf.HiveConf()
    configuration.set("hive.metastore.uris", hive.uri)
    client = metastore.HiveMetaStoreClient(configuration)
    lock = metastore.LockComponentBuilder().setExclusive().setDbName("site").setTableName(tmp_path.name).build()
    held = client.lock(metastore.LockRequestBuilder("killed").setUser("killed").addLockComponent(lock).build())
    with pytest.raises(TableUnavailableError, match="metastore has a lock on the table"):
        table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    assert table.progress("load") == progress_of("load", 1, 10)
    client.unlock(held.getLockid())
    client.close()
    table.append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    assert offsets_in(table) == list(range(20))
