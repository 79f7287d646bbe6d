"""All sources of a site in one stream, in the order in which their events arrive.

Most events arrive at once; a few are late by minutes or hours, as those of a phone without a network are, and some are
spoilt on the way. The number in an event's id is its place in the stream, from 1, spoilt ones counted, so whoever reads
the ids knows how far a stream has come.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush, merge
from operator import itemgetter

from barnabas.pipeline.events import EventType
from barnabas.pipeline.sources.social.actors import Actor, Happening, Source
from barnabas.pipeline.sources.social.broken import Broken, spoil
from barnabas.pipeline.sources.social.chance import early, seeded
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.population import populate

Event = tuple[EventType, dict[str, object]]
Generated = Event | Broken

LATE_MS = 60_000
_LATEST_MS = 6 * 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One thing that arrives.

    `time_ms` is when it happened and `arrival_ms` when it arrives (both milliseconds since 1970), `number` its place in
    the stream from 1, `actor` who of the ground truth did it.
    """

    arrival_ms: int
    time_ms: int
    number: int
    what: Generated
    actor: Actor | None

    @property
    def is_late(self) -> bool:
        """Whether it arrives a minute or more after it happened."""
        return self.arrival_ms - self.time_ms >= LATE_MS


def generate(plan: SitePlan) -> Iterator[Generated]:
    """Yield all that happens on a site, in the order of arrival."""
    for arrival in arrivals(plan, populate(plan)):
        yield arrival.what


def arrivals(plan: SitePlan, sources: list[Source]) -> Iterator[Arrival]:
    """Mix the sources of a plan (`populate`), which are used up by it."""
    random = seeded(plan.seed, "arrivals")
    mark = plan.mark
    late_share, broken_share = plan.shares.late, plan.shares.broken
    number = 0
    for arrival_ms, (time_ms, event_type, own_fields, actor) in _in_order_of_arrival(plan, sources, late_share):
        number += 1
        fields = {
            "type": event_type.name,
            "version": event_type.version,
            "id": f"{mark}:{number}",
            "time": _EPOCH + timedelta(milliseconds=time_ms),
            **own_fields,
        }
        yield Arrival(arrival_ms, time_ms, number, (event_type, fields), actor)
        if broken_share and random.random() < broken_share:
            number += 1
            broken = spoil(random, event_type, {**fields, "id": f"{mark}:{number}"})
            yield Arrival(arrival_ms, time_ms, number, broken, None)


def _in_order_of_arrival(plan: SitePlan, sources: list[Source], late_share: float) -> Iterator[tuple[int, Happening]]:
    random = seeded(plan.seed, "late")
    start_ms, end_ms = plan.start_ms, plan.end_ms
    latest_ms = min(_LATEST_MS, plan.duration_s * 500)
    # What will arrive: nothing that a source still gives can be before the moment at which its next burst begins.
    waiting: list[tuple[int, int, Happening]] = []
    sequence = 0
    for begin_ms, burst in merge(*(source.bursts for source in sources), key=itemgetter(0)):
        while waiting and waiting[0][0] < begin_ms:
            arrival_ms, _, happening = heappop(waiting)
            yield arrival_ms, happening
        for happening in burst:
            arrival_ms, _, fields, _ = happening
            if not start_ms <= arrival_ms < end_ms:
                continue
            # A view is noted when it has been answered, as servers do it: so views are out of order a little.
            latency_ms = fields.get("latency_ms")
            if isinstance(latency_ms, float):
                arrival_ms += int(latency_ms)
            if late_share and random.random() < late_share:
                # Minutes are more usual than hours.
                delay_ms = LATE_MS + int(early(random) * latest_ms)
                if arrival_ms + delay_ms < end_ms:
                    arrival_ms += delay_ms
            sequence += 1
            heappush(waiting, (arrival_ms, sequence, happening))
    while waiting:
        arrival_ms, _, happening = heappop(waiting)
        yield arrival_ms, happening


def pace(
    plan: SitePlan,
    now_s: Callable[[], float],
    sleep: Callable[[float], None],
    speed: float = 1.0,
    there_count: int = 0,
    elapsed_s: float = 0.0,
) -> Iterator[Generated]:
    """Yield what `generate` gives, each when it is due.

    Args:
        plan: With a start of now, event times are those of real time.
        now_s: A clock that only goes forward, in seconds.
        sleep: Waits for so many seconds.
        speed: 1: as in life; 60: an hour takes a minute; N / `plan.events_per_s`: N events a second on average.
        there_count: Do not wait for so many events, which are there already.
        elapsed_s: How long ago the stream began; what has become due since comes at once. 0: it went no further while
            nobody asked for it, so that the first new event is due now.
    """
    sources = populate(plan)
    begin_s = now_s() - elapsed_s
    for arrival in arrivals(plan, sources):
        if arrival.number <= there_count:
            yield arrival.what
            continue
        if there_count and not elapsed_s:
            begin_s, there_count = now_s() - (arrival.arrival_ms - plan.start_ms) / 1000 / speed, 0
        due_s = begin_s + (arrival.arrival_ms - plan.start_ms) / 1000 / speed
        # Sleeping for less than a hundredth of a second costs more than it is worth.
        while (left_s := due_s - now_s()) > 0.01:
            sleep(left_s)
        yield arrival.what
