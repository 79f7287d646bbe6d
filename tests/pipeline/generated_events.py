"""The made-up site's events as a job's inputs, read from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from barnabas.pipeline.events import EventType
from barnabas.pipeline.ingest.parse import event_parser
from barnabas.pipeline.ingest.source import Records
from barnabas.pipeline.job import Job, TopicInput


def inputs_from(job: Job, directory: Path) -> dict[str, pa.Table]:
    """Give what a job makes facts of, from what `sources.social.write_jsonl` wrote without broken records."""
    tables = {}
    for each in job.inputs:
        if isinstance(each, TopicInput):
            assert each.event is not None
            values = (directory / f"{each.event.topic}.jsonl").read_bytes().splitlines()
            tables[each.name] = table_of(each.event, values)
    return tables


def table_of(event: EventType, values: Sequence[bytes]) -> pa.Table:
    """Give good records of one partition as a task has them; each has its event's time."""
    count = len(values)
    nothing: list[bytes | None] = [None] * count
    records = Records(event.topic, [0] * count, list(range(count)), [0] * count, nothing, list(values))
    rows, refusals = event_parser(event, "json").parse(records)
    assert not refusals
    return rows.set_column(rows.schema.get_field_index("_timestamp"), "_timestamp", rows["time"])
