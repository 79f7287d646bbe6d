"""What the report shows, as plain values: small lists, made by `collect.py` or by hand.

A part that is None was not asked for and does not appear; one that is empty appears and says so. Times are UTC and
aware or naive alike; they are shown as they stand. Text may be anything: the page makes it harmless.
"""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Totals:
    """Over the whole time; `median_length_s` of a session, None where there is none."""

    first_event: datetime | None
    last_event: datetime | None
    views: int
    visitors: int
    sessions: int
    bounces: int
    median_length_s: int | None
    bytes: int
    client_errors: int
    server_errors: int
    crawler_views: int


@dataclass(frozen=True, slots=True)
class Day:
    """One day; `session_length_s` is of all its sessions together."""

    day: date
    views: int
    visitors: int
    crawler_views: int
    sessions: int
    bounces: int
    session_length_s: int


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour in which something was viewed; hours without a view may be missing."""

    hour: datetime
    views: int
    crawler_views: int
    client_errors: int
    server_errors: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A name and how often it was."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """The names with the most; `total` counts those that are left out, too, and is what shares are of."""

    top: tuple[Counted, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict of the security job: who is taken for what, and why."""

    subject: str
    what: str
    why: str
    first_seen: datetime | None
    last_seen: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that was wrong; `resolved_at` None: it still is."""

    name: str
    subject: str
    since: datetime
    resolved_at: datetime | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the ranking."""

    name: str
    score: float
    views: int
    clicks: int
    votes: int


@dataclass(frozen=True, slots=True)
class Lag:
    """A job's lag in one partition, in records."""

    job: str
    topic: str
    partition: int
    records: int


@dataclass(frozen=True, slots=True)
class ReportData:
    """All parts of the page, in the page's order; lists are in the order in which they are shown."""

    title: str = "Activity report"
    made_at: datetime | None = None
    totals: Totals | None = None
    days: tuple[Day, ...] | None = None
    hours: tuple[Hour, ...] | None = None
    pages: Ranking | None = None
    entry_pages: Ranking | None = None
    exit_pages: Ranking | None = None
    missing_pages: Ranking | None = None
    referrers: Ranking | None = None
    searches: Ranking | None = None
    crawlers: Ranking | None = None
    funnel: tuple[Counted, ...] | None = None
    depth: tuple[Counted, ...] | None = None
    verdicts: tuple[Verdict, ...] | None = None
    verdict_count: int = 0
    alerts: tuple[Alert, ...] | None = None
    items: tuple[Item, ...] | None = None
    lags: tuple[Lag, ...] | None = None
