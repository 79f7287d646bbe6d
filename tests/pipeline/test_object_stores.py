"""Tables and checkpoints in an object store, by the address alone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.session import SessionOptions, session_for
from barnabas.pipeline.tables.delta_lake import storage_options
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import TableError, TableUnavailableError
from tests.docs.examples import Terminal, examples
from tests.patience import PATIENCE_S
from tests.pipeline.exactly_once import records_of, send_views
from tests.pipeline.object_store import ObjectStore, object_store
from tests.pipeline.site import Site
from tests.pipeline.test_tables import Place, offsets_in, races
from tests.spark import SHORT_LIVED_WORDS, shared_session


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as running:
        running.make_known_to(shared_session())
        yield running


@pytest.fixture
def bucket(store: ObjectStore, name: str) -> Iterator[str]:
    """A bucket of the test's own."""
    store.client.create_bucket(Bucket=name)
    yield name
    store.fault = None


class Load:
    """`barnabas pipeline run load` of one topic, in a process."""

    def __init__(self, site: Site, store: ObjectStore, place: str, topic: str, *more: str) -> None:
        words = ["run", "load", "--bootstrap-server", site.kafka.bootstrap_servers, "--topics", topic]
        words += ["--tables", f"{place}/tables", "--checkpoint", f"{place}/checkpoints", "--no-summary", *more]
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "barnabas.cli.main", "pipeline", *words, *SHORT_LIVED_WORDS],
            cwd=site.directory,
            env={**os.environ, **store.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)

    def wait_for(self, text: str) -> None:
        wait_until(lambda: self.has(text), lambda: "".join(self.lines), self.process)

    def has(self, text: str) -> bool:
        return any(text in line for line in list(self.lines))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.finish()

    def finish(self) -> int:
        with self.process:
            code = self.process.wait(2 * PATIENCE_S)
            self._reader.join(PATIENCE_S)
        return code


def wait_until(condition: Callable[[], bool], said: Callable[[], str], process: subprocess.Popen | None = None) -> None:
    deadline = time.monotonic() + 2 * PATIENCE_S
    while not condition():
        assert process is None or process.poll() is None or condition(), said()
        assert time.monotonic() < deadline, said()
        time.sleep(0.05)


@pytest.mark.whole
def test_a_load_whose_driver_is_killed_goes_on_by_the_address_alone(site: Site, store: ObjectStore, bucket: str):
    topic = site.topic("page_view")
    site.create(topic, 2)
    send_views(site, 1_000)
    place, name = f"s3a://{bucket}/lake", f"lake/tables/load/{topic}"
    location = f"s3a://{bucket}/{name}"
    first = Load(site, store, place, topic, "--max-messages-per-s", "200", "--trigger", "1")
    first.wait_for("load:")
    first.kill()

    # Packages that are asked for come beside those that are needed.
    package = ("--verbose", "--conf", "spark.jars.packages=org.postgresql:postgresql:42.7.7")
    again = Load(site, store, place.replace("s3a", "s3"), topic, "--once", *package)
    assert again.finish() == 0, "".join(again.lines)
    assert again.has("found org.postgresql#postgresql;42.7.7")

    rows = open_table(site.spark, location, "delta").read().select("_partition", "_offset", "id", "page").collect()
    assert sorted(tuple(row) for row in rows) == sorted(records_of(site, topic))
    options = {**store.environment, "AWS_ALLOW_HTTP": "true"}
    assert DeltaTable(location, storage_options=options).to_pyarrow_table().num_rows == 1_000
    # Its checkpoint is in the store as well.
    assert store.names(bucket, "lake/checkpoints") == [
        "lake/checkpoints/load/starts.json",
        "lake/checkpoints/load/status.json",
    ]


def test_the_way_from_nothing_to_a_table_in_a_bucket_as_it_is_documented(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = (Path(__file__).parents[2] / "docs/pipeline/object-stores.md").read_text()
    (way,) = (each for each in examples(text) if each.run_by == "tests/pipeline/test_object_stores.py")
    install, *commands = way.code.splitlines()
    assert install.startswith("pip install ")
    store.client.create_bucket(Bucket="lake")
    for variable, value in {**store.environment, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(variable, value)
    with closing(Terminal(tmp_path)) as terminal:
        *_, found = [terminal.run(command) for command in commands]
    assert re.findall(r"(/[ab]) +\S +(\d)", found) in ([("/a", "2"), ("/b", "1")], [("/b", "1"), ("/a", "2")])


def test_of_two_drivers_of_one_run_one_commits(store: ObjectStore, bucket: str):
    races(Place(shared_session(), "delta", f"s3a://{bucket}/table"), 2)


@pytest.mark.whole
def test_of_fifty_races_in_a_store_each_has_one_winner(store: ObjectStore, bucket: str):
    races(Place(shared_session(), "delta", f"s3a://{bucket}/table"), 50)


def test_what_a_store_refuses_is_one_sentence(site: Site, store: ObjectStore, bucket: str):
    topic = site.topic("page_view")
    site.create(topic)
    with pytest.raises(TableError, match=r"s3a://nosuch/tables/load/\S+: bucket nosuch does not exist: make it first"):
        site.run(find_job("load"), any_topics=(topic,), tables="s3a://nosuch/tables")
    table = open_table(site.spark, f"s3a://{bucket}/table", "delta")
    store.fault = ("403 Forbidden", "InvalidAccessKeyId")
    with pytest.raises(TableError, match="the store refuses: 403 InvalidAccessKeyId: as the test asked"):
        table.exists()
    store.fault = ("503 Slow Down", "SlowDown")
    with pytest.raises(TableUnavailableError, match="the store does not answer: 503 SlowDown"):
        table.exists()


def test_a_run_waits_for_a_store_that_does_not_answer(site: Site, store: ObjectStore, bucket: str):
    topic = site.topic("page_view")
    site.create(topic)

    def load() -> None:
        place = f"s3a://{bucket}"
        site.run(find_job("load"), any_topics=(topic,), tables=place, checkpoint=f"{place}/checkpoints")

    load()
    send_views(site, 10)
    store.fault = ("503 Service Unavailable", "ServiceUnavailable")

    def mend() -> None:
        wait_until(lambda: len(site.warnings) >= 2, lambda: str(site.warnings))
        store.fault = None

    mending = threading.Thread(target=mend)
    mending.start()
    load()
    mending.join()
    assert "the store does not answer: 503 ServiceUnavailable" in site.warnings[0]
    assert offsets_in(open_table(site.spark, f"s3a://{bucket}/load/{topic}", "delta"))
    # Its checkpoint is in the store as well.
    assert store.names(bucket, "checkpoints") == ["checkpoints/load/starts.json", "checkpoints/load/status.json"]


def test_a_file_of_a_checkpoint_takes_the_place_of_an_older_one(store: ObjectStore, bucket: str):
    directory = f"s3a://{bucket}/checkpoints/run"
    files = Files(directory, storage_options(shared_session(), directory))
    assert files.read("progress.json") is None
    files.write("progress.json", "first")
    files.write("progress.json", "second")
    assert files.read("progress.json") == "second"
    assert store.names(bucket) == ["checkpoints/run/progress.json"]
    files.remove()
    assert files.read("progress.json") is None


def test_azures_client_is_there():
    """No store that speaks as Azure's can be had here: its client is loaded, and no more."""
    jvm = shared_session().sparkContext._jvm
    configuration = shared_session()._jsparkSession.sessionState().newHadoopConf()
    configuration.set("fs.azure.account.auth.type", "SharedKey")
    configuration.set("fs.azure.account.key", "c2VjcmV0")
    configuration.set("fs.azure.account.hns.enabled", "true")
    files = jvm.org.apache.hadoop.fs.Path("abfss://files@account.dfs.core.windows.net/x").getFileSystem(configuration)
    assert files.getClass().getSimpleName() == "SecureAzureBlobFileSystem"


def test_parquet_is_refused_before_spark_is_started():
    options = SessionOptions("parquet", tables="s3a://lake/tables")
    with pytest.raises(TableError, match="must be on a local disk"), session_for(options, [], print):
        pass
