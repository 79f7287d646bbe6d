"""A made-up site's events in files: JSON lines by topic with the ground truth beside them, or an access log."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from io import BufferedWriter
from json import dumps
from pathlib import Path

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.events.types import EVENT_TYPES, PAGE_VIEW
from barnabas.pipeline.sources.access_log import MONTHS
from barnabas.pipeline.sources.social.broken import Broken
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
                    files[event_type.topic].write(encode_json(event_type, fields) + b"\n")
    found = truth.to_json()
    (directory / GROUND_TRUTH).write_text(dumps(found, indent=1) + "\n")
    return found


def access_log_lines(plan: SitePlan) -> Iterator[str]:
    """Yield the site's page views as a web server would log them: lines of the combined format, without line ends.

    None is late or broken, as a server's log is written where it happens; they are out of order by seconds at the most.
    """
    for event in generate(replace(plan, shares=replace(plan.shares, late=0, broken=0))):
        if not isinstance(event, Broken) and event[0] is PAGE_VIEW:
            yield _line(event[1])


def write_access_log(plan: SitePlan, path: Path) -> int:
    """Write `access_log_lines` to a file, which appears whole or not at all.

    Returns:
        The number of lines.

    Raises:
        OSError: it can't be written.
    """
    partial = path.with_name(path.name + ".partial")
    count = 0
    with partial.open("w", encoding="utf-8") as file:
        for line in access_log_lines(plan):
            file.write(line + "\n")
            count += 1
    partial.replace(path)
    return count


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
