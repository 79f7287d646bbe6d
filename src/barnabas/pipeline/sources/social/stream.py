"""All events of a site in one stream, in the order of arrival.

Most events arrive immediately. A few are late by minutes or hours, like those of a phone without a network. For some
events a broken record arrives in addition. An event's id ends with its number in the stream, from 1, which counts
broken records, too.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush, merge
from operator import itemgetter
from random import Random
from typing import NamedTuple

from barnabas.pipeline.events import EventType, Kind
from barnabas.pipeline.events.encode import dump
from barnabas.pipeline.sources.social.actors import Actor, Fields, Happening, Source
from barnabas.pipeline.sources.social.look_alikes import look_alikes
from barnabas.pipeline.sources.social.machines import machines
from barnabas.pipeline.sources.social.misbehaviour import misbehaviour
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.random_numbers import early, pick, seeded
from barnabas.pipeline.sources.social.site import Site
from barnabas.pipeline.sources.social.visits import ordinary_visits

LATE_MS = 60_000
_LATEST_MS = 6 * 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_JSON = (b"<html><body>502 Bad Gateway</body></html>", b"\x00\xff\xfe\x80", b"NULL", b"id=7;ok")
# Ordinary people make at least this share of the events, however much misbehaviour a plan has.
_LEAST_ORDINARY_SHARE = 0.1


class Arrival(NamedTuple):
    """A record that arrives.

    Attributes:
        arrival_ms, time_ms: Arrival time and event time, in milliseconds since 1970.
        number: Position in the stream, from 1.
        event_type: The type of the topic's events.
        fields: Names and values of the event, in declared order; for a broken record, the values before it was broken.
        actor: The actor of the ground truth, if there is one.
        reason: How the record is broken; empty if it is not.
        broken: Value of a broken record.
    """

    arrival_ms: int
    time_ms: int
    number: int
    event_type: EventType
    fields: Fields
    actor: Actor | None
    reason: str = ""
    broken: bytes = b""

    @property
    def id(self) -> bytes:
        """The event's id."""
        return str(self.fields["id"]).encode()

    @property
    def key(self) -> bytes:
        """The record's key."""
        key: str = self.fields[self.event_type.key]
        return key.encode()

    @property
    def value(self) -> bytes:
        """The record's value."""
        return self.broken if self.reason else dump(self.fields)

    @property
    def is_late(self) -> bool:
        """Whether it arrives at least a minute after it happened."""
        return self.arrival_ms - self.time_ms >= LATE_MS


def sources_of(plan: SitePlan) -> list[Source]:
    """Return everything that makes events on a site; `generate` consumes it."""
    site = Site(plan)
    sources = machines(site) + misbehaviour(site)
    if plan.has_look_alikes:
        sources += look_alikes(site)
    others = sum(source.expected for source in sources)
    ordinary = max(plan.event_count - others, int(plan.event_count * _LEAST_ORDINARY_SHARE), 1)
    return [*sources, Source(ordinary_visits(site, ordinary), ordinary)]


def generate(plan: SitePlan, sources: list[Source] | None = None) -> Iterator[Arrival]:
    """Yield all records of a site in the order of arrival, from `sources_of` the plan."""
    random = seeded(plan.seed, "arrivals")
    mark, broken_share = plan.mark, plan.shares.broken
    number = 0
    for arrival_ms, _, (time_ms, event_type, own_fields, actor) in _in_order_of_arrival(
        plan, sources or sources_of(plan)
    ):
        number += 1
        fields = {
            "type": event_type.name,
            "version": event_type.version,
            "id": f"{mark}:{number}",
            "time": _EPOCH + timedelta(milliseconds=time_ms),
            **own_fields,
        }
        yield Arrival(arrival_ms, time_ms, number, event_type, fields, actor)
        if broken_share and random.random() < broken_share:
            number += 1
            fields = {**fields, "id": f"{mark}:{number}"}
            reason, value = _broken(random, event_type, fields)
            yield Arrival(arrival_ms, time_ms, number, event_type, fields, None, reason, value)


def _in_order_of_arrival(plan: SitePlan, sources: list[Source]) -> Iterator[tuple[int, int, Happening]]:
    random, late_share = seeded(plan.seed, "late"), plan.shares.late
    start_ms, end_ms = plan.start_ms, plan.end_ms
    latest_ms = min(_LATEST_MS, plan.duration_s * 500)
    # A heap by time of arrival. Events that sources have not made yet arrive no earlier than their source's next burst.
    waiting: list[tuple[int, int, Happening]] = []
    sequence = 0
    for begin_ms, burst in merge(*(source.bursts for source in sources), key=itemgetter(0)):
        while waiting and waiting[0][0] < begin_ms:
            yield heappop(waiting)
        for happening in burst:
            arrival_ms = happening[0]
            if not start_ms <= arrival_ms < end_ms:
                continue
            # Servers log a view after its response, so views are out of order by their latency.
            arrival_ms += int(happening[2].get("latency_ms", 0))
            if late_share and random.random() < late_share:
                delay_ms = LATE_MS + int(early(random) * latest_ms)
                if arrival_ms + delay_ms < end_ms:
                    arrival_ms += delay_ms
            sequence += 1
            heappush(waiting, (arrival_ms, sequence, happening))
    while waiting:
        yield heappop(waiting)


def _broken(random: Random, event_type: EventType, fields: Fields) -> tuple[str, bytes]:
    """Break a record in one way; return the way and the record's value."""
    required = [field for field in event_type.fields if field.is_required]
    reason = pick(random, ("not JSON", "truncated", "missing field", "wrong type"))
    if reason == "not JSON":
        return reason, pick(random, _NOT_JSON)
    if reason == "truncated":
        value = dump(fields)
        return reason, value[: len(value) // 2]
    if reason == "missing field":
        return reason, dump({**fields, pick(random, required).name: None})
    # This text is not a valid number, time or boolean.
    name = pick(random, [field.name for field in required if field.kind is not Kind.STRING])
    return reason, dump({**fields, name: "n/a"})


def pace(
    plan: SitePlan,
    now_s: Callable[[], float],
    sleep: Callable[[float], None],
    speed: float = 1.0,
    there_count: int = 0,
    elapsed_s: float = 0.0,
) -> Iterator[Arrival]:
    """Yield the records of `generate`, each when it is due.

    Args:
        plan: Event times are current if the plan starts now.
        now_s: A monotonic clock, in seconds.
        sleep: Waits for some seconds.
        speed: 1 is real time, 60 is an hour per minute; N / `plan.events_per_s` is N events/s on average.
        there_count: Number of records to yield without waiting, because the topics have them already.
        elapsed_s: Seconds since the stream began; records already due are yielded immediately. 0: the stream paused
            while its reader was stopped, so the first new record is due now.
    """
    begin_s = now_s() - elapsed_s
    for arrival in generate(plan):
        if arrival.number > there_count:
            offset_s = (arrival.arrival_ms - plan.start_ms) / 1000 / speed
            if there_count and not elapsed_s:
                begin_s, there_count = now_s() - offset_s, 0
            # Sleeping for less than 10 ms costs more than it gains.
            while (left_s := begin_s + offset_s - now_s()) > 0.01:
                sleep(left_s)
        yield arrival
