"""What really happened on a made-up site: what jobs are measured against."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from barnabas.pipeline.sources.social.actors import Actor
from barnabas.pipeline.sources.social.broken import Broken
from barnabas.pipeline.sources.social.machines import SILENT_SERVICE
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.population import populate
from barnabas.pipeline.sources.social.stream import Arrival, arrivals

_TOP = 20


class Truth:
    """Counts along while a plan's events are made: `arrivals` gives them, `to_json` what is known at their end."""

    def __init__(self, plan: SitePlan) -> None:
        self.plan = plan
        self._sources = populate(plan)
        self.actors: list[Actor] = [source.actor for source in self._sources if source.actor is not None]
        self._counts: Counter[str] = Counter()
        self._broken: Counter[str] = Counter()
        self._late_counts: Counter[str] = Counter()
        self._views: Counter[str] = Counter()
        # By (user, item) and (user, followee): time and number of the latest, and what it said.
        self._votes: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._follows: dict[tuple[str, str], tuple[int, int, bool]] = {}

    def arrivals(self) -> Iterator[Arrival]:
        """Yield all that arrives; can be used once."""
        for arrival in arrivals(self.plan, self._sources):
            self._note(arrival)
            yield arrival

    def _note(self, arrival: Arrival) -> None:
        if isinstance(arrival.what, Broken):
            self._broken[arrival.what.reason] += 1
            return
        event_type, fields = arrival.what
        name = event_type.name
        self._counts[name] += 1
        if arrival.is_late:
            self._late_counts[name] += 1
        if arrival.actor is not None:
            arrival.actor.saw(arrival.time_ms, event_type, fields)
        if name == "page_view":
            self._views[str(fields["page"]).partition("?")[0]] += 1
        elif name == "vote":
            pair = str(fields["user"]), str(fields["item"])
            latest = (arrival.time_ms, arrival.number, int(str(fields["value"])))
            self._votes[pair] = max(self._votes.get(pair, latest), latest)
        elif name == "follow":
            pair = str(fields["user"]), str(fields["followee"])
            now = (arrival.time_ms, arrival.number, bool(fields["is_following"]))
            self._follows[pair] = max(self._follows.get(pair, now), now)

    def to_json(self) -> dict[str, object]:
        """Return the ground truth; what a key means is in docs/pipeline/generator.md."""
        plan = self.plan
        scores: Counter[str] = Counter()
        for (_, item), (_, _, value) in self._votes.items():
            scores[item] += value
        seen = [actor for actor in self.actors if actor.counts["events"]]
        return {
            "seed": plan.seed,
            "start": _time(plan.start_ms),
            "end": _time(plan.end_ms),
            "event_counts": dict(sorted(self._counts.items())),
            "late_counts": dict(sorted(self._late_counts.items())),
            "broken_counts": dict(sorted(self._broken.items())),
            "actors": [_actor(actor) for actor in seen if actor.is_harmful],
            "look_alikes": [_actor(actor) for actor in seen if not actor.is_harmful],
            "outage": _interval(plan.outage_ms),
            "silence": _interval(plan.silence_ms, service=SILENT_SERVICE),
            "top_items_by_votes": _top(scores),
            "top_pages_by_views": _top(self._views),
            "follows": sorted(pair for pair, (_, _, is_following) in self._follows.items() if is_following),
        }


def ground_truth(plan: SitePlan) -> dict[str, object]:
    """Make all events of a plan and give what is true of them; `Truth` does it beside making them."""
    truth = Truth(plan)
    for _ in truth.arrivals():
        pass
    return truth.to_json()


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _interval(interval_ms: tuple[int, int], **more: object) -> dict[str, object] | None:
    begin_ms, end_ms = interval_ms
    return {"begin": _time(begin_ms), "end": _time(end_ms), **more} if begin_ms < end_ms else None


def _top(counts: Counter[str]) -> list[list[object]]:
    return [[name, count] for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_TOP]]


def _actor(actor: Actor) -> dict[str, object]:
    assert actor.first_ms is not None
    assert actor.last_ms is not None
    evidence = {name: count for name, count in sorted(actor.counts.items()) if name != "events" and count}
    return {
        "kind": actor.kind,
        "name": actor.name,
        "subject": actor.subject,
        "is_declared": actor.is_declared,
        "addresses": actor.addresses,
        "agents": actor.agents,
        "users": actor.users,
        "items": actor.items,
        "taken_over": actor.taken_over,
        "traits": actor.traits,
        "first": _time(actor.first_ms),
        "last": _time(actor.last_ms),
        "events": actor.counts["events"],
        "evidence": evidence | {"distinct_pages": len(actor.pages), "names_tried": len(actor.names_tried)},
    }
