"""What a made-up site is made by. The same plan gives the same events everywhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from json import dumps

SITE = "social.example"


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of all events that each kind of misbehaviour makes, or that is spoilt; 0 switches one off.

    A share above 0 brings one actor at least, however few events it leaves for it.
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
        seed: Another one gives another site.
        start: Of the first minute, with a time zone.
        duration_s: How long; 60 at the least.
        events_per_s: Mean; over a day there are fewer by night and more in the evening.
        users: With an account; three times as many come without one.
        items: Posts and pages that are there at the start.
        shares: Who misbehaves how much.
        has_look_alikes: Whether there are innocents who look like misbehaviour.
        has_outage: Whether part of the requests fail for some minutes.
        has_silence: Whether one service stops saying anything for some minutes.
        metric_interval_s: Between two figures of the same kind of a host.
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
        """Refuse what can't be. Raises ValueError, which says what."""
        if self.start.tzinfo is None:
            raise ValueError("the start of a made-up site needs a time zone")
        if self.duration_s < 60 or self.events_per_s <= 0 or self.metric_interval_s < 1:
            raise ValueError("a made-up site needs 60 s, some events per second and a second between figures")
        if self.users < 100 or self.items < 100:
            raise ValueError("a made-up site needs 100 users and 100 items")
        each = [getattr(self.shares, part.name) for part in fields(self.shares)]
        if min(each) < 0 or sum(each) > 0.8:
            raise ValueError("shares are 0 or more, and leave a fifth of the events to ordinary people")

    @property
    def start_ms(self) -> int:
        """The start in milliseconds since 1970."""
        return (self.start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)

    @property
    def end_ms(self) -> int:
        """The end (not included) in milliseconds since 1970."""
        return self.start_ms + self.duration_s * 1000

    @property
    def event_count(self) -> int:
        """About how many events there will be."""
        return int(self.duration_s * self.events_per_s)

    @property
    def outage_ms(self) -> tuple[int, int]:
        """From when to when (not included) part of the requests fail; whole minutes, empty where there is no outage."""
        return self._interval(self.has_outage, 0.6, min(900, max(60, self.duration_s // 10)))

    @property
    def silence_ms(self) -> tuple[int, int]:
        """From when to when (not included) one service says nothing; empty where there is no silence."""
        return self._interval(self.has_silence, 0.25, min(2_700, max(60, self.duration_s // 6)))

    @property
    def mark(self) -> str:
        """Twelve hexadecimal digits that are in the ids of this plan's events, and of no other's."""
        values = asdict(self) | {"start": self.start_ms}
        return sha256(dumps(values, sort_keys=True).encode()).hexdigest()[:12]

    def quiet(self) -> SitePlan:
        """Return the same site on a day on which nothing bad happens."""
        return replace(self, shares=NOBODY_MISBEHAVES, has_look_alikes=False, has_outage=False, has_silence=False)

    def _interval(self, is_there: bool, place: float, length_s: int) -> tuple[int, int]:
        begin_ms = self.start_ms + int(self.duration_s * place) // 60 * 60_000
        return (begin_ms, begin_ms + length_s // 60 * 60_000) if is_there else (begin_ms, begin_ms)
