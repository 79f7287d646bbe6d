"""Data of the report as plain values: small lists, from `collect.py` or from other code.

Fields have the names of the table's columns. Times are aware, or naive and in UTC; the page shows UTC. Texts are not
trusted: the page escapes them.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple


class Totals(NamedTuple):
    """Totals over all days; `session_length_p50_s` is None if there is no session."""

    first_event: datetime | None
    last_event: datetime | None
    views: int
    visitors: int
    sessions: int
    bounces: int
    session_length_p50_s: int | None
    bytes: int
    client_errors: int
    server_errors: int
    crawler_views: int
    left_out_views: int = 0


class Day(NamedTuple):
    """One day; `session_length_s` is the sum over its sessions."""

    day: date
    views: int
    visitors: int
    crawler_views: int
    sessions: int
    bounces: int
    session_length_s: int


class Hour(NamedTuple):
    """One hour; hours without a view may be missing."""

    hour: datetime
    views: int
    crawler_views: int
    status_4xx: int
    status_5xx: int


class Counted(NamedTuple):
    """A name and its count."""

    name: str
    number: int


class Ranking(NamedTuple):
    """The names with the highest counts; `total`, the whole for shares, includes names that are left out."""

    top: tuple[Counted, ...]
    total: int


class Verdict(NamedTuple):
    """A verdict of the security job: its subject, the accusation (`what`) and the reasons (`why`)."""

    subject: str
    what: str
    why: str
    first_seen: datetime | None
    last_seen: datetime | None
    until: datetime | None


class Alert(NamedTuple):
    """An alert; `resolved_at` is None while it fires."""

    alert: str
    subject: str
    since: datetime
    resolved_at: datetime | None
    sentence: str


class Item(NamedTuple):
    """An item of the ranking."""

    item: str
    score: float
    views: int
    clicks: int
    votes: int


class Lag(NamedTuple):
    """A job's lag in one partition, in records."""

    job: str
    topic: str
    partition: int
    records: int


@dataclass(frozen=True, slots=True)
class ReportData:
    """All parts of the page, each list in the order in which it is shown.

    A part that is None does not appear on the page; an empty part appears with a sentence that says so.
    """

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
