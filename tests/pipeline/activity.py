"""Events as a job's inputs: tables with the event's columns and the place's, from a few fields or from a generator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pyarrow as pa

from barnabas.pipeline.events import EventType
from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.job import Job, TopicInput
from tests.pipeline.generated_events import table_of

START = datetime(2026, 3, 6, 8, tzinfo=UTC)

Event = tuple[EventType, Mapping[str, object]]


def tables_of(job: Job, events: Iterable[Event]) -> dict[str, pa.Table]:
    """Give the events of all the job's inputs as a task has them. An event that has no id gets its number."""
    inputs = [each for each in job.inputs if isinstance(each, TopicInput) and each.event is not None]
    values: dict[str, list[bytes]] = {each.name: [] for each in inputs}
    for number, (event_type, fields) in enumerate(events):
        if event_type.name in values:
            values[event_type.name].append(encode_json(event_type, {"id": str(number), **fields}))
    return {each.name: table_of(each.event, values[each.name]) for each in inputs if each.event is not None}
