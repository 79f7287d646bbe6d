"""Where a run starts and ends while its topics change, and how far back it can go.

The job writes topics only, so no test needs Spark.
"""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import LongType, StructField, StructType

from barnabas.clients.positions import Extent
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.job import Job, TopicInput, TopicOutput
from barnabas.pipeline.jobs.load import JOB as LOAD
from barnabas.pipeline.runner import job_run
from barnabas.pipeline.runner.batch import BatchReport
from barnabas.pipeline.runner.batch_run import QueryStoppedError
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.cluster import Cluster, KafkaOptions
from barnabas.pipeline.runner.data_loss import DataLossError
from barnabas.pipeline.runner.job_run import JobRun
from barnabas.pipeline.runner.maintenance import Every
from barnabas.pipeline.runner.plan import Bound, OnDataLoss, PlanError, RunPlan
from barnabas.pipeline.runner.positions import Starts
from barnabas.pipeline.runner.progress_file import ProgressFile, Span
from barnabas.pipeline.runner.run_metrics import Metrics
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.table import Mark, Offsets, Progress, TableError

Topics = dict[str, dict[int, Extent]]

FORWARD = Job(
    "forward",
    "forwards views of two topics",
    tuple(TopicInput(name, EVENT_TYPES["page_view"], topic=name) for name in ("a", "b")),
    (TopicOutput("out", ("id",)),),
    lambda inputs, parameters: {"out": inputs["a"]},
)


class Offered:
    """A cluster that has these topics, with the same record at each offset of a partition."""

    def __init__(self, topics: Topics) -> None:
        self.there = topics
        # Another record in partitions that were created again.
        self.is_created_again = {0: False, 1: False}

    def cluster_id(self) -> str:
        return "cluster"

    def topics(self) -> list[str]:
        return sorted(self.there)

    def partitions(self, topics: Any) -> dict[str, list[int]]:
        return {topic: sorted(self.there[topic]) for topic in topics if topic in self.there}

    def extents(self, topics: Any) -> Topics:
        return {topic: dict(self.there[topic]) for topic in topics if topic in self.there}

    def log_ends(self, topics: Any) -> Offsets:
        return {
            topic: {number: extent.end_offset for number, extent in partitions.items()}
            for topic, partitions in self.extents(topics).items()
        }

    def create_topic(self, name: str, settings: Any) -> None:
        return

    def found_marks(self, marks: Any) -> dict[str, dict[int, Mark]]:
        return {
            topic: {number: Mark(mark.offset, 1, self.is_created_again[number]) for number, mark in partitions.items()}
            for topic, partitions in marks.items()
        }


class Place:
    """Runs of the job, one after the other, with one checkpoint."""

    def __init__(self, directory: Path) -> None:
        self.cluster = Offered({})
        self.time_s = 0.0
        self.warnings: list[str] = []
        self._directory = str(directory)

    def run(self, **fields: Any) -> JobRun:
        kafka = KafkaOptions("127.0.0.1:9092", {})
        names: dict[str, Any] = {"job": FORWARD, "table_format": "delta", "run": "forward", **fields}
        plan = RunPlan(kafka=kafka, tables=self._directory, checkpoint=self._directory, **names)
        cluster = cast(Cluster, self.cluster)
        args = cast(Any, None), plan, cluster, Metrics(), lambda figures: None, self.warnings.append
        return JobRun(*args, now_s=lambda: self.time_s)

    def progress(self) -> ProgressFile:
        return ProgressFile(Files(f"{self._directory}/forward", {}), "forward", "cluster")

    def read(self, offsets: Offsets) -> None:
        """Store that a batch has read up to these offsets."""
        marks = {
            topic: {number: Mark(offset - 1, 1, 0) for number, offset in partitions.items()}
            for topic, partitions in offsets.items()
        }
        self.progress().advance(Span({}, offsets, marks))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


BOTH: Topics = {"a": {0: Extent(0, 10)}, "b": {0: Extent(0, 1_000)}}
SHORTER: Topics = {"a": {0: Extent(0, 10)}, "b": {0: Extent(0, 5)}}
ONE: Topics = {"a": {0: Extent(0, 10)}}
ONCE = {"is_once": True}
UNTIL = {"until": Bound(offsets={"a": {0: 10}, "b": {0: 1_000}})}


@pytest.mark.parametrize(
    ("end", "before", "after", "look_times_s", "is_at_end"),
    [
        (ONCE, BOTH, BOTH, [0], False),
        (ONCE, BOTH, BOTH, [0, 30], False),
        (ONCE, BOTH, SHORTER, [], True),
        (ONCE, BOTH, SHORTER, [0], True),
        # A topic may be missing for a moment, for example from the metadata of a broker that starts.
        (ONCE, BOTH, ONE, [], False),
        (ONCE, BOTH, ONE, [0], False),
        (ONCE, BOTH, ONE, [0, 29], False),
        (ONCE, BOTH, ONE, [0, 29, 30], True),
        (UNTIL, BOTH, BOTH, [0, 30], False),
        (UNTIL, BOTH, ONE, [0], False),
        (UNTIL, BOTH, ONE, [0, 30], True),
        # The records up to the offset of --until may still come, and so may the topic.
        (UNTIL, BOTH, SHORTER, [0, 30], False),
        (UNTIL, ONE, ONE, [0, 30], False),
    ],
)
def test_a_run_with_an_end_does_not_wait_for_records_that_are_gone(
    place: Place, end: dict[str, Any], before: Topics, after: Topics, look_times_s: list[float], is_at_end: bool
):
    place.cluster.there = before
    run = place.run(**end)
    run._begin()
    place.cluster.there = after
    for place.time_s in look_times_s:
        run._look_for_partitions()
    # Time alone does not tell.
    place.time_s += 100
    read = {"a": {0: 10}, "b": {0: 5}}
    run.figures.positions = {topic: read[topic] for topic in run.figures.positions}
    run._measure_lag()
    assert run._is_at_end() == is_at_end


def test_an_end_in_offsets_leaves_the_other_partitions_unread(place: Place):
    place.cluster.there = {"a": {0: Extent(0, 10), 1: Extent(0, 10)}, "b": {0: Extent(2, 10)}}
    run = place.run(until=Bound(offsets={"a": {0: 5}}))
    run._begin()
    assert run._targets == {"a": {0: 5, 1: 0}, "b": {0: 0}}


@pytest.mark.parametrize(("end", "target"), [(ONCE, 7), ({"until": Bound(offsets={"a": {0: 10}})}, 0)])
def test_a_partition_that_is_created_later_has_an_end_too(place: Place, end: dict[str, Any], target: int):
    place.cluster.there = ONE
    run = place.run(**end)
    run._begin()
    for end_offset in (7, 9):
        place.cluster.there = {"a": {0: Extent(0, 20), 1: Extent(0, end_offset)}}
        run._begin()
        assert run._targets == {"a": {0: 10, 1: target}}


def test_a_topic_that_was_deleted_and_created_again_is_read_up_to_its_target_only(place: Place):
    place.cluster.there = BOTH
    run = place.run(**UNTIL)
    for there in (BOTH, ONE, {**BOTH, "b": {0: Extent(0, 3_000)}}):
        place.cluster.there = there
        run._begin()
    run.figures.positions = {"a": {0: 10}, "b": {0: 999}}
    assert not run._is_at_end()
    run.figures.positions = {"a": {0: 10}, "b": {0: 1_000}}
    assert run._is_at_end()


def test_a_run_that_is_started_again_knows_since_when_a_topic_is_missing(place: Place):
    place.cluster.there = BOTH
    run = place.run(**ONCE)
    run._begin()
    place.cluster.there = ONE
    for place.time_s in (0, 20, 30):
        run._begin()
        run.figures.positions = {"a": {0: 10}}
        assert run._is_at_end() == (place.time_s == 30)


def test_a_topic_that_returns_may_be_missing_again(place: Place):
    place.cluster.there = BOTH
    run = place.run(**ONCE)
    run._begin()
    for place.time_s, there in [(30, ONE), (60, BOTH), (90, ONE)]:
        place.cluster.there = there
        run._look_for_partitions()
        run.figures.positions = {topic: {0: 10} for topic in run.figures.positions}
        assert not run._is_at_end()


ALL: Topics = {"a": {0: Extent(0, 100), 1: Extent(0, 400)}}
# A broker that starts may name some of the partitions, or none.
WITHOUT: list[Topics] = [{"a": {0: Extent(0, 100)}}, {}]


@pytest.mark.parametrize("without", WITHOUT)
@pytest.mark.parametrize("on_data_loss", list(OnDataLoss))
@pytest.mark.parametrize(
    ("is_created_again", "extent", "position"),
    [
        (False, Extent(0, 400), 20),
        (True, Extent(0, 400), 0),
        (True, Extent(5, 400), 5),
        (True, Extent(0, 7), 0),
    ],
)
def test_a_partition_that_is_gone_is_lost_once_and_resumed_if_its_last_read_record_returns(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    without: Topics,
    on_data_loss: OnDataLoss,
    is_created_again: bool,
    extent: Extent,
    position: int,
):
    # The table of lost ranges needs Spark.
    kept: list[int] = []
    monkeypatch.setattr(job_run, "keep_losses", lambda *found: kept.extend(loss.partition for loss in found[-1]))
    start = Bound(offsets={"a": {0: 3, 1: 3}})
    place.cluster.there = ALL
    run = place.run(start=start)
    run._begin()
    assert run.figures.positions == {"a": {0: 3, 1: 3}}
    place.read({"a": {0: 20, 1: 20}})

    # The topic is named, its partitions are not.
    monkeypatch.setattr(place.cluster, "topics", lambda: ["a"])
    place.cluster.there = without
    with pytest.raises(DataLossError, match="a-1"):
        place.run(start=start)._begin()
    lost = [1] if without else [0, 1]
    for _ in range(2):
        place.run(start=start, on_data_loss=OnDataLoss.CONTINUE)._begin()
        assert kept == lost
    place.run(start=start)._begin()

    place.cluster.there = {"a": {**ALL["a"], 1: extent}}
    place.cluster.is_created_again[1] = is_created_again
    for _ in range(2):
        run = place.run(start=start, on_data_loss=on_data_loss)
        run._begin()
        assert run.figures.positions == {"a": {0: 20, 1: position}}
    assert kept == lost


ANY = replace(FORWARD, inputs=(TopicInput("any", None),))


@pytest.mark.parametrize(
    ("reads", "is_lost"),
    [
        ({}, True),
        ({"job": replace(FORWARD, inputs=FORWARD.inputs[:1])}, False),
        ({"job": replace(FORWARD, inputs=tuple(replace(each, event=None) for each in FORWARD.inputs))}, True),
        ({"job": ANY, "any_topics": ("a", "b")}, True),
        ({"job": ANY, "any_topics": ("/a|b/",)}, True),
        ({"job": ANY, "any_topics": ("a", "/c/")}, False),
    ],
)
def test_a_topic_that_the_run_no_longer_reads_may_be_deleted(place: Place, reads: dict[str, Any], is_lost: bool):
    place.cluster.there = ONE
    run = place.run(**reads)
    run._inputs = run._find_inputs()
    with pytest.raises(DataLossError, match="b-0") if is_lost else nullcontext():
        run._check_losses({"a": {0: 10}, "b": {0: 50}}, ONE, [], {})


def test_a_start_beyond_the_log_end_is_refused(place: Place):
    place.cluster.there = BOTH
    start = {"start": Bound(offsets={"a": {0: 11}})}
    for _ in range(2):
        with pytest.raises(PlanError, match=r"^--from-time: a-0: offset 11 is beyond the log end \(10\)"):
            place.run(**start)._begin()
    run = place.run(start=Bound(offsets={"a": {0: 10}}))
    run._begin()
    assert run.figures.positions == {"a": {0: 10}, "b": {0: 0}}
    # Its own progress counts then.
    place.read({"a": {0: 10}, "b": {0: 5}})
    place.run(**start)._begin()


LATEST: dict[str, Any] = {"start": Bound(is_latest=True)}


@pytest.mark.parametrize(("is_there_at_first", "is_found_later", "b_start"), [(True, False, 990), (False, True, 0)])
def test_a_topic_that_is_created_later_begins_at_its_first_record(
    place: Place, is_there_at_first: bool, is_found_later: bool, b_start: int
):
    place.cluster.there = {**ONE, **({"b": {0: Extent(0, 990)}} if is_there_at_first else {})}
    run = place.run(**LATEST)
    run._begin()
    place.read({"a": {0: 12}})
    place.cluster.there = {"a": {0: Extent(0, 20), 1: Extent(0, 5)}, "b": BOTH["b"]}
    if not is_found_later:
        run = place.run(**LATEST)
    run._begin()
    expected = {"a": {0: 12, 1: 0}, "b": {0: b_start}}
    assert run.figures.positions == expected
    # Until the first commit, the start stays.
    place.cluster.there["b"] = {0: Extent(0, 2_000)}
    run = place.run(**LATEST)
    run._begin()
    assert run.figures.positions == expected


def test_a_run_without_progress_begins_at_its_own_start(place: Place):
    place.cluster.there = BOTH
    place.run(**LATEST)._begin()
    for start, expected in ((Bound(), {"a": {0: 0}, "b": {0: 0}}), (LATEST["start"], {"a": {0: 10}, "b": {0: 1_000}})):
        run = place.run(start=start)
        run._begin()
        assert run.figures.positions == expected


@pytest.mark.parametrize(
    ("before", "after", "start"),
    [
        (("/x-.*/",), ("/x-.*/", "added"), 1_000),
        (("/x-.*/", "added"), ("/x-.*/", "added"), 0),
        (("/x-.*/",), ("/x-.*|added/",), 0),
    ],
)
def test_a_topic_that_is_added_by_name_begins_at_the_start(
    place: Place, tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...], start: int
):
    kafka, files = KafkaOptions("127.0.0.1:9092", {}), Files(str(tmp_path), {})
    job = Job("load", "loads", (TopicInput("any", None),), ())

    def find(any_topics: tuple[str, ...], there: Topics, read: tuple[str, ...]) -> Offsets:
        plan = RunPlan(job, kafka, "", "delta", "", "load", any_topics=any_topics, **LATEST)
        return Starts(plan, cast(Cluster, place.cluster), files).find(there, read, {})

    assert find(before, {"x-1": {0: Extent(0, 10)}}, ()) == {"x-1": {0: 10}}
    found = find(after, {"x-1": {0: Extent(0, 20)}, "added": {0: Extent(0, 1_000)}}, ("x-1",))
    assert found == {"x-1": {0: 10}, "added": {0: start}}


def test_a_run_goes_on_if_its_status_cannot_be_written(place: Place, tmp_path: Path):
    run, directory = place.run(), tmp_path / "forward"
    for count in (1, 2):
        directory.touch()
        run.finish()
        run.finish()
        assert len(place.warnings) == count
        directory.unlink()
        run.finish()
        (directory / "status.json").unlink()
        directory.rmdir()
    assert str(directory) in place.warnings[0]


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_rewind_below_the_log_start_is_refused(place: Place, is_dry: bool):
    place.cluster.there = {"a": {0: Extent(0, 1_000), 1: Extent(900, 1_000)}}
    place.read({"a": {0: 1_000, 1: 1_000}})
    with pytest.raises(PlanError, match=r"a-1: .* 899 .* 900$"):
        place.run(start=Bound(offsets={"a": {0: 5, 1: 899}})).rewind(is_dry)
    assert place.progress().offsets == {"a": {0: 1_000, 1: 1_000}}
    place.run(start=Bound(offsets={"a": {1: 900}})).rewind(is_dry)
    assert place.progress().offsets == {"a": {0: 1_000, 1: 1_000 if is_dry else 900}}


COLUMNS = StructType([StructField("id", LongType())])


@pytest.mark.parametrize(
    ("there", "run", "other_run", "is_refused"),
    [
        ([], "prod", "prod/load", False),
        (["load", "backfill"], "prod", "prod/load", False),
        (["prod/load"], "prod", "prod/load", True),
        (["prod"], "prod/load", "prod", True),
        (["prod", "prod/load"], "prod", "prod/load", False),
        (["prod/load"], "prod/load", "prod", False),
    ],
)
def test_a_table_that_only_the_other_form_of_the_name_has_written_is_refused(
    place: Place, tmp_path: Path, there: list[str], run: str, other_run: str, is_refused: bool
):
    place.cluster.there = {"orders": {0: Extent(0, 9)}}
    table = open_table(cast(Any, None), f"{tmp_path}/load/orders", "parquet")
    for name in there:
        table.append_files([], COLUMNS, Progress(f"{name}/orders", 1, "cluster", {"orders": {0: 9}}, {}))
    fields: dict[str, Any] = {"job": LOAD, "any_topics": ("orders",), "table_format": "parquet", **LATEST}
    for begin in (JobRun._begin, lambda job: job.rewind(is_dry=True)):
        with pytest.raises(PlanError, match=f"--as {other_run};") if is_refused else nullcontext():
            begin(place.run(run=run, other_run=other_run, **fields))


@pytest.mark.parametrize(
    ("table_format", "is_deriving", "compacted"),
    [
        ("delta", False, [0, 1, 1, 2]),
        ("delta", True, [0, 1, 1, 2]),
        ("parquet", False, [0, 1, 1, 2]),
        ("parquet", True, [0, 0, 1, 1]),
    ],
)
def test_parquet_tables_are_compacted_once_no_derivation_reads_them(
    place: Place, table_format: str, is_deriving: bool, compacted: list[int]
):
    is_derived, counts, found = Event(), [], []
    table = SimpleNamespace(exists=lambda: True, compact=lambda: counts.append(1), trim_history=lambda: None)
    run = place.run(table_format=table_format, compact_every=Every(batches=2))
    run._writers = {"facts": cast(Any, SimpleNamespace(table=table))}
    run._deriving = Thread(target=is_derived.wait)
    try:
        run._deriving.start()
        if not is_deriving:
            is_derived.set()
            run._deriving.join()
        for number in range(4):
            if number == 2:
                is_derived.set()
                run._deriving.join()
            run._take(BatchReport(1, 0, 1, 1.0, {"a": {0: number}}))
            found.append(len(counts))
        assert found == compacted
    finally:
        is_derived.set()


@pytest.mark.parametrize(("table_format", "error"), [("delta", TableError), ("parquet", QueryStoppedError)])
@pytest.mark.parametrize("condition", ["FAILED_READ_FILE.FILE_NOT_EXIST", "PATH_NOT_FOUND"])
def test_a_missing_file_of_a_parquet_table_may_have_been_replaced_meanwhile(
    place: Place, table_format: str, error: type[Exception], condition: str
):
    def fail(frames: Any, parameters: Any) -> Any:
        raise PySparkException(f"[{condition}] a file does not exist")

    run = place.run(job=replace(FORWARD, refresh=fail), table_format=table_format)
    with pytest.raises(error):
        run.refresh()
