"""A made-up site's events in files: JSON lines by topic with the ground truth beside them, or an access log."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from json import dumps
from pathlib import Path

from barnabas.pipeline.events.types import EVENT_TYPES, PAGE_VIEW
from barnabas.pipeline.sources.access_log import MONTHS
from barnabas.pipeline.sources.social.actors import Fields
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.stream import generate
from barnabas.pipeline.sources.social.truth import Truth

GROUND_TRUTH = "ground-truth.json"


def write_jsonl(plan: SitePlan, directory: Path) -> Fields:
    """Write the records' values in order of arrival to `<topic>.jsonl`, one per line, and `ground-truth.json` last.

    Broken records are included; one that is not text is written as its bytes.

    Returns:
        The ground truth.

    Raises:
        OSError: a file can't be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    truth = Truth(plan)
    with ExitStack() as stack:
        files = {
            topic: stack.enter_context((directory / f"{topic}.jsonl").open("wb"))
            for topic in (event.topic for event in EVENT_TYPES.values())
        }
        for arrival in truth.arrivals():
            files[arrival.event_type.topic].write(arrival.value + b"\n")
    found = truth.to_json()
    (directory / GROUND_TRUTH).write_text(dumps(found, indent=1) + "\n")
    return found


def access_log_lines(plan: SitePlan) -> Iterator[str]:
    """Yield the page views as a web server logs them, in the combined format, without line ends.

    No line is late or broken; lines are out of order by at most some seconds.
    """
    for arrival in generate(replace(plan, shares=replace(plan.shares, late=0, broken=0))):
        if arrival.event_type is PAGE_VIEW:
            yield _line(arrival.fields)


def write_access_log(plan: SitePlan, path: Path) -> int:
    """Write `access_log_lines` to a file, which appears only when it is complete.

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


def _line(fields: Fields) -> str:
    time = fields["time"]
    clf_time = f"{time:%d}/{MONTHS[time.month - 1]}/{time:%Y:%H:%M:%S} +0000"
    size = "-" if fields["bytes"] is None else fields["bytes"]
    return (
        f"{fields['address']} - {fields['user'] or '-'} [{clf_time}] "
        f'"{fields["method"]} {fields["page"]} HTTP/1.1" {fields["status"]} {size} '
        f'"{fields["referrer"] or "-"}" "{fields["agent"] or "-"}"'
    )
