"""A made-up site's events in files: JSON lines by topic with the ground truth beside them, or an access log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from io import BufferedWriter
from json import dumps
from pathlib import Path

from barnabas.pipeline.events.types import EVENT_TYPES, PAGE_VIEW
from barnabas.pipeline.sources.access_log import MONTHS
from barnabas.pipeline.sources.social.broken import Broken
from barnabas.pipeline.sources.social.encoding import to_json
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.stream import generate
from barnabas.pipeline.sources.social.truth import Truth

GROUND_TRUTH = "ground-truth.json"


def write_jsonl(plan: SitePlan, directory: Path) -> dict[str, object]:
    """Write a file for each topic, `<topic>.jsonl`, with the records' values in order of arrival, a line each.

    Broken records are at their places; one that is no text at all has its bytes there. `ground-truth.json` is written
    last.

    Returns:
        The ground truth.

    Raises:
        OSError: a file can't be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    truth = Truth(plan)
    with ExitStack() as stack:
        files: dict[str, BufferedWriter] = {
            event.topic: stack.enter_context((directory / f"{event.topic}.jsonl").open("wb"))
            for event in EVENT_TYPES.values()
        }
        for arrival in truth.arrivals():
            match arrival.what:
                case Broken(topic=topic, value=value):
                    files[topic].write(value + b"\n")
                case event_type, fields:
                    files[event_type.topic].write(to_json(fields) + b"\n")
    found = truth.to_json()
    (directory / GROUND_TRUTH).write_text(dumps(found, indent=1) + "\n")
    return found


def access_log_lines(plan: SitePlan) -> Iterator[str]:
    """Give the site's page views as lines of the combined log format, without line ends, in order of arrival."""
    for event in generate(plan):
        if isinstance(event, Broken):
            continue
        event_type, fields = event
        if event_type is PAGE_VIEW:
            yield _line(fields)


def _line(fields: dict[str, object]) -> str:
    time = fields["time"]
    assert isinstance(time, datetime)
    clf_time = f"{time:%d}/{MONTHS[time.month - 1]}/{time:%Y:%H:%M:%S} +0000"
    size = "-" if fields["bytes"] is None else fields["bytes"]
    return (
        f"{fields['address']} - {fields['user'] or '-'} [{clf_time}] "
        f'"{fields["method"]} {fields["page"]} HTTP/1.1" {fields["status"]} {size} '
        f'"{fields["referrer"] or "-"}" "{fields["agent"] or "-"}"'
    )
