"""What a batch adds to a run's progress, and when that is noted where no table keeps it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql.types import StructType

from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.ingest.task import Result
from barnabas.pipeline.job import Job, TopicInput, TopicOutput
from barnabas.pipeline.runner import batch
from barnabas.pipeline.runner.batch import BatchRunner
from barnabas.pipeline.runner.plan import Delivery
from barnabas.pipeline.runner.progress_file import ProgressFile, Span, advanced, rebased
from barnabas.pipeline.tables.table import Mark, Offsets, Progress

OLDER = Progress("r", 3, "c", {"t": {0: 100, 1: 10}}, {"t": {0: Mark(99, 1, 2)}})


def test_a_table_that_is_beyond_a_batchs_end_stays_there():
    span = Span({"t": {0: 50, 1: 10}}, {"t": {0: 80, 1: 20}}, {"t": {0: Mark(79, 5, 6), 1: Mark(19, 7, 8)}})
    after = advanced(OLDER, "r", "c", span)
    assert (after.sequence, after.offsets) == (4, {"t": {0: 100, 1: 20}})
    assert after.marks == {"t": {0: Mark(99, 1, 2), 1: Mark(19, 7, 8)}}


def test_going_on_elsewhere_goes_back_as_well_and_forgets_what_was_read_there():
    after = rebased(OLDER, "r", "c", {"t": {0: 5}})
    assert (after.offsets, after.marks) == ({"t": {0: 5, 1: 10}}, {"t": {}})


VIEWS = TopicInput("views", EVENT_TYPES["page_view"])
FORWARD = Job(
    "forward",
    "forwards",
    (VIEWS,),
    (TopicOutput("out", ("id",)),),
    lambda inputs, parameters: {"out": inputs["views"]},
)


@pytest.mark.parametrize(
    ("delivery", "when_written"), [(Delivery.EXACTLY_ONCE, {}), (Delivery.AT_MOST_ONCE, {"views": {0: 9}})]
)
def test_a_batch_of_topics_alone_is_noted_when_it_is_written_or_before(
    monkeypatch: pytest.MonkeyPatch, delivery: Delivery, when_written: Offsets
):
    monkeypatch.setattr(batch, "_ddl", lambda ddl: StructType())
    texts: dict[str, str] = {}
    files = SimpleNamespace(read=texts.get, write=texts.__setitem__)
    progress_file = ProgressFile(cast(Any, files), "forward", "cluster")
    noted: list[Offsets] = []
    parts: dict[str, Any] = {
        # What reads, keeps and writes rows needs Spark: here nothing is in a batch but its offsets.
        "shared": SimpleNamespace(run=lambda consumer, request: Result(ends={"views": {0: 9}})),
        "topics": {
            "out": SimpleNamespace(
                declared=FORWARD.outputs[0], write=lambda rows: noted.append(dict(progress_file.offsets))
            )
        },
        "staging": SimpleNamespace(sink=lambda: None, read=lambda files, columns: "rows", clear=lambda: None),
    }
    runner = BatchRunner(
        job=FORWARD,
        parameters={},
        inputs={"views": VIEWS},
        event_format="json",
        writers={},
        dead_letters=cast(Any, None),
        delivery=delivery,
        progress_file=progress_file,
        layout_of=cast(Any, None),
        **parts,
    )
    runner.run({}, {"views": {0: 0}}, {"views": {0: 10}})
    assert noted == [when_written]
    # As the next start finds it.
    assert ProgressFile(cast(Any, files), "forward", "cluster").offsets == {"views": {0: 9}}
