"""The plan of a made-up site. The same plan gives the same events on every machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from json import dumps

SITE = "social.example"
# Part of a plan's mark: increase it whenever a change of the generator changes a plan's events.
_GENERATOR_VERSION = 2


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of all events by kind of misbehaviour, and shares of late and broken events; 0 disables a kind.

    A share above 0 creates at least one actor, even if the share has too few events for it.
    """

    crawlers: float = 0.04
    scrapers: float = 0.05
    spammers: float = 0.01
    vote_rings: float = 0.01
    mass_followers: float = 0.005
    credential_stuffing: float = 0.02
    late: float = 0.005
    broken: float = 0.001


NOBODY_MISBEHAVES = Shares(0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site and what happens there.

    Attributes:
        seed: Another seed gives another site.
        start: Time of the first minute, with a time zone.
        duration_s: At least 60.
        events_per_s: The mean; nights have fewer events, evenings more.
        users: People with an account; three times as many visit without one.
        items: Posts that exist at the start.
        shares: Shares of misbehaviour, late and broken events.
        has_look_alikes: Whether innocent actors look like abusers.
        has_outage: Whether a part of the requests fails for some minutes.
        has_silence: Whether one service logs nothing for some minutes.
        metric_interval_s: Seconds between two values of a host's metric.
    """

    seed: int = 1922
    start: datetime = datetime(2026, 3, 6, tzinfo=UTC)
    duration_s: int = 86_400
    events_per_s: float = 5.0
    users: int = 2_000
    items: int = 5_000
    shares: Shares = field(default_factory=Shares)
    has_look_alikes: bool = True
    has_outage: bool = True
    has_silence: bool = True
    metric_interval_s: int = 60

    def __post_init__(self) -> None:
        """Check the values. Raises ValueError with the reason if one is invalid."""
        if self.start.tzinfo is None:
            raise ValueError("the start time needs a time zone")
        if self.duration_s < 60 or self.events_per_s <= 0 or self.metric_interval_s < 1:
            raise ValueError(
                "the site needs a duration of at least 60 s, a rate above 0 events/s, and at least 1 s between "
                "the values of a metric"
            )
        if self.users < 100 or self.items < 100:
            raise ValueError("the site needs at least 100 users and 100 items")
        each = asdict(self.shares).values()
        if min(each) < 0 or sum(each) > 0.8:
            raise ValueError("shares must be at least 0, and their sum at most 0.8")

    @property
    def start_ms(self) -> int:
        """The start in milliseconds since 1970."""
        return (self.start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)

    @property
    def end_ms(self) -> int:
        """The end (excluded) in milliseconds since 1970."""
        return self.start_ms + self.duration_s * 1000

    @property
    def event_count(self) -> int:
        """The approximate number of events."""
        return int(self.duration_s * self.events_per_s)

    @property
    def outage_ms(self) -> tuple[int, int]:
        """Begin and end (excluded) of the outage, in whole minutes; an empty interval if there is none."""
        return self._interval(self.has_outage, 0.6, min(900, max(60, self.duration_s // 10)))

    @property
    def silence_ms(self) -> tuple[int, int]:
        """Begin and end (excluded) of the silence of a service; an empty interval if there is none."""
        return self._interval(self.has_silence, 0.25, min(2_700, max(60, self.duration_s // 6)))

    @property
    def mark(self) -> str:
        """Twelve hexadecimal digits, unique to this plan, that the ids of its events begin with."""
        values = asdict(self) | {"start": self.start_ms, "generator": _GENERATOR_VERSION}
        return sha256(dumps(values, sort_keys=True).encode()).hexdigest()[:12]

    def quiet(self) -> SitePlan:
        """Return the same site on a day without misbehaviour, outage or silence."""
        return replace(self, shares=NOBODY_MISBEHAVES, has_look_alikes=False, has_outage=False, has_silence=False)

    def _interval(self, exists: bool, place: float, length_s: int) -> tuple[int, int]:
        begin_ms = self.start_ms + int(self.duration_s * place) // 60 * 60_000
        return begin_ms, begin_ms + (length_s // 60 * 60_000 if exists else 0)
