"""The actors of the ground truth: abusers, and innocent actors that look like abusers."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from barnabas.pipeline.events import EventType

Fields = dict[str, Any]

_SHOWN = ("kind", "name", "subject", "is_declared", "addresses", "agents", "users", "items", "taken_over", "traits")


@dataclass(slots=True, eq=False)
class Actor:
    """One actor of the ground truth.

    Attributes:
        kind: "scraper", "vote_ring", ...
        name: The actor's name on this site.
        subject: The fields that identify the actor's events: "address+agent" (one of its `addresses` and of its
            `agents`), "user", "address", or "" if no field does.
        is_harmful: False for a look-alike, which must not be accused of any misbehaviour.
        is_declared: Whether the agent says that it is a bot. To call such an actor a declared bot is correct.
        traits: Strength of the behaviour: pace, pool, ...
        items: Items that the actor votes for.
        taken_over: Accounts that the actor logged in to with stolen passwords.
        counts: The actor's events by type, and signs of misbehaviour among them.
        pages, names_tried: Distinct pages that the actor requested; names that it tried to log in with.
        first_ms, last_ms: Times of the actor's first and last event in milliseconds since 1970.
    """

    kind: str
    name: str
    subject: str
    is_harmful: bool = True
    is_declared: bool = False
    addresses: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    taken_over: list[str] = field(default_factory=list)
    traits: dict[str, object] = field(default_factory=dict)
    event_count: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    pages: set[str] = field(default_factory=set)
    names_tried: set[str] = field(default_factory=set)
    first_ms: int = 1 << 62
    last_ms: int = -1

    def count(self, time_ms: int, event_type: EventType, fields: Fields) -> None:
        """Count one of the actor's events."""
        self.first_ms, self.last_ms = min(self.first_ms, time_ms), max(self.last_ms, time_ms)
        self.event_count += 1
        self.counts[event_type.name] += 1
        if event_type.name == "page_view":
            self.pages.add(fields["page"])
            self.counts["robots_txt"] += fields["page"] == "/robots.txt"
            self.counts["without_referrer"] += fields["referrer"] is None
            self.counts["errors"] += fields["status"] >= 400
        elif event_type.name == "login":
            self.names_tried.add(fields["user"])
            self.counts["logins_succeeded" if fields["is_success"] else "logins_failed"] += 1
            if fields["is_success"] and self.kind == "credential_stuffing":
                self.taken_over.append(fields["user"])

    def to_json(self) -> Fields:
        """Return the actor as the ground truth shows it; at least one event must have been counted."""
        evidence = {name: count for name, count in sorted(self.counts.items()) if count}
        return {
            **{name: getattr(self, name) for name in _SHOWN},
            "first": iso_time(self.first_ms),
            "last": iso_time(self.last_ms),
            "events": self.event_count,
            "evidence": evidence | {"distinct_pages": len(self.pages), "names_tried": len(self.names_tried)},
        }


# An event before it arrives: its time in milliseconds since 1970, its type and own fields, its actor if it has one.
Happening = tuple[int, EventType, Fields, Actor | None]
# A time, and happenings at that time or later. The times of one source never decrease.
Burst = tuple[int, list[Happening]]


class Source(NamedTuple):
    """One origin of events, and the approximate number of its events."""

    bursts: Iterator[Burst]
    expected: int
    actor: Actor | None = None


# Assigns an actor its addresses, users and traits; yields the approximate number of its events, then its bursts.
Behaviour = Iterator[Any]


def source_of(actor: Actor, behaviour: Behaviour) -> Source:
    """Return the events of an actor as a source."""
    return Source(behaviour, next(behaviour), actor)


def iso_time(time_ms: int) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601, with three digits of the second's fraction."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
