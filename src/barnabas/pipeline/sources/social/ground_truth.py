"""The ground truth of a made-up site, to verify the results of jobs; and its events in files."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from json import dumps
from pathlib import Path

from barnabas.pipeline.events.types import EVENT_TYPES, PAGE_VIEW
from barnabas.pipeline.sources.access_log import MONTHS
from barnabas.pipeline.sources.social.actors import Fields, iso_time
from barnabas.pipeline.sources.social.machines import SILENT_SERVICE
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.stream import Arrival, generate, sources_of

GROUND_TRUTH = "ground-truth.json"

_TOP = 20

# By pair of names: time, number and value of the last event.
_Last = dict[tuple[str, str], tuple[int, int, int]]


class Truth:
    """Counts a plan's records while they are generated: `arrivals` yields them, then `to_json` returns the truth."""

    def __init__(self, plan: SitePlan) -> None:
        self.plan = plan
        self._sources = sources_of(plan)
        self._counts: Counter[str] = Counter()
        self._late_counts: Counter[str] = Counter()
        self._broken_counts: Counter[str] = Counter()
        self._views: Counter[str] = Counter()
        self._votes: _Last = {}
        self._follows: _Last = {}

    def arrivals(self) -> Iterator[Arrival]:
        """Yield all records; can be called once."""
        for arrival in generate(self.plan, self._sources):
            self._count(arrival)
            yield arrival

    def _count(self, arrival: Arrival) -> None:
        if arrival.reason:
            self._broken_counts[arrival.reason] += 1
            return
        name, fields = arrival.event_type.name, arrival.fields
        self._counts[name] += 1
        if arrival.is_late:
            self._late_counts[name] += 1
        if arrival.actor is not None:
            arrival.actor.count(arrival.time_ms, arrival.event_type, fields)
        if name == "page_view":
            self._views[fields["page"].partition("?")[0]] += 1
        elif name == "vote":
            _keep_last(self._votes, (fields["user"], fields["item"]), arrival, fields["value"])
        elif name == "follow":
            _keep_last(self._follows, (fields["user"], fields["followee"]), arrival, fields["is_following"])

    def to_json(self) -> Fields:
        """Return the ground truth; docs/pipeline/generator.md explains its keys."""
        plan = self.plan
        scores: Counter[str] = Counter()
        for (_, item), (_, _, value) in self._votes.items():
            scores[item] += value
        actors = [source.actor for source in self._sources if source.actor is not None and source.actor.event_count]
        return {
            "seed": plan.seed,
            "start": iso_time(plan.start_ms),
            "end": iso_time(plan.end_ms),
            "event_counts": dict(sorted(self._counts.items())),
            "late_counts": dict(sorted(self._late_counts.items())),
            "broken_counts": dict(sorted(self._broken_counts.items())),
            "actors": [actor.to_json() for actor in actors if actor.is_harmful],
            "look_alikes": [actor.to_json() for actor in actors if not actor.is_harmful],
            "outage": _interval(plan.outage_ms),
            "silence": _interval(plan.silence_ms, service=SILENT_SERVICE),
            "top_items_by_votes": _top(scores),
            "top_pages_by_views": _top(self._views),
            "follows": sorted(pair for pair, (_, _, is_following) in self._follows.items() if is_following),
        }


def ground_truth(plan: SitePlan) -> Fields:
    """Generate all records of a plan and return its ground truth."""
    truth = Truth(plan)
    for _ in truth.arrivals():
        pass
    return truth.to_json()


def write_jsonl(plan: SitePlan, directory: Path) -> Fields:
    """Write the records' values in order of arrival to `<topic>.jsonl`, one per line, and `ground-truth.json` last.

    Broken records are included; one that is not text is written as its bytes.
    Return the ground truth; raise OSError if a file can't be written.
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
    """Write `access_log_lines` to a file, which appears only when it is complete; return the number of lines."""
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


def _keep_last(last: _Last, pair: tuple[str, str], arrival: Arrival, value: int) -> None:
    now = arrival.time_ms, arrival.number, value
    last[pair] = max(last.get(pair, now), now)


def _interval(interval_ms: tuple[int, int], **more: str) -> dict[str, str] | None:
    begin_ms, end_ms = interval_ms
    return {"begin": iso_time(begin_ms), "end": iso_time(end_ms), **more} if begin_ms < end_ms else None


def _top(counts: Counter[str]) -> list[list[object]]:
    return [[name, count] for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_TOP]]
