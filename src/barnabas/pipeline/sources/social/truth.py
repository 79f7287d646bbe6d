"""The ground truth of a made-up site: what happened in fact, to compare the results of jobs with."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from barnabas.pipeline.sources.social.actors import iso_time
from barnabas.pipeline.sources.social.machines import SILENT_SERVICE
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.stream import Arrival, generate, sources_of

_TOP = 20

# By pair of names: time and number of the last event, and its value.
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

    def to_json(self) -> dict[str, Any]:
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


def ground_truth(plan: SitePlan) -> dict[str, Any]:
    """Generate all records of a plan and return its ground truth."""
    truth = Truth(plan)
    for _ in truth.arrivals():
        pass
    return truth.to_json()


def _keep_last(last: _Last, pair: tuple[str, str], arrival: Arrival, value: int) -> None:
    now = arrival.time_ms, arrival.number, value
    last[pair] = max(last.get(pair, now), now)


def _interval(interval_ms: tuple[int, int], **more: str) -> dict[str, str] | None:
    begin_ms, end_ms = interval_ms
    return {"begin": iso_time(begin_ms), "end": iso_time(end_ms), **more} if begin_ms < end_ms else None


def _top(counts: Counter[str]) -> list[list[object]]:
    return [[name, count] for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_TOP]]
