"""Who is to be told from whom: misbehaviour and its innocent look-alikes, with what they have done."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from barnabas.pipeline.events import EventType


@dataclass(slots=True, eq=False)
class Actor:
    """One actor of the ground truth.

    Attributes:
        kind: What it is: "scraper", "vote_ring", ...
        name: Its own, in this site.
        subject: What tells its events from all others: "address+agent" (a pair of its `addresses` and `agents`),
            "user" (one of its `users`), "address" (one of its `addresses`); "" where nothing does.
        is_harmful: False for a look-alike, which must not be called by the name of any misbehaviour.
        is_declared: Whether its agent says what it is: being called a declared bot does it no wrong.
        traits: How strong it is, for people: pace, pool, ...
        items: What it voted for or wrote to.
        taken_over: Accounts that it got into with a stolen password.
        counts: Of its events by type, and of what is evidence among them.
        first_ms, last_ms: Time of its first and last event, milliseconds since 1970; None before there is one.
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
    counts: Counter[str] = field(default_factory=Counter)
    pages: set[str] = field(default_factory=set)
    names_tried: set[str] = field(default_factory=set)
    first_ms: int | None = None
    last_ms: int | None = None

    def saw(self, time_ms: int, event_type: EventType, fields: Mapping[str, object]) -> None:
        """Count one of its events."""
        if self.first_ms is None or time_ms < self.first_ms:
            self.first_ms = time_ms
        if self.last_ms is None or time_ms > self.last_ms:
            self.last_ms = time_ms
        counts = self.counts
        counts["events"] += 1
        counts[event_type.name] += 1
        match event_type.name:
            case "page_view":
                self.pages.add(str(fields["page"]))
                counts["robots_txt"] += fields["page"] == "/robots.txt"
                counts["without_referrer"] += fields["referrer"] is None
                counts["errors"] += int(str(fields["status"])) >= 400
            case "login":
                self.names_tried.add(str(fields["user"]))
                counts["logins_succeeded" if fields["is_success"] else "logins_failed"] += 1
                if fields["is_success"] and self.kind == "credential_stuffing":
                    self.taken_over.append(str(fields["user"]))
            case _:
                pass


# A time in milliseconds since 1970, what happened, the type's own fields, and who of the ground truth did it.
Happening = tuple[int, EventType, dict[str, object], Actor | None]

# What happens from one moment on: nothing in the list is before it, and the moments of one source never go back.
Burst = tuple[int, list[Happening]]


@dataclass(slots=True)
class Source:
    """Somebody whose events are mixed with those of all others; `expected` is about how many there will be."""

    bursts: Iterator[Burst]
    expected: int
    actor: Actor | None = None
