"""Views: a value that a template shows as HTML, or that is returned as JSON; and its query."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeVar

from barnabas.core.advised_commands import options
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Finding
from barnabas.explain.snapshot import Snapshot
from barnabas.page.cluster import Cluster

T = TypeVar("T")

MOST_ROWS: Final = 200
# The default address of commands.
DEFAULT_SERVER: Final = "127.0.0.1:9092"


class Asked(NamedTuple):
    """The query of a window.

    Attributes:
        cluster: The cluster with the user's rights.
        query: The parameters of the query, each name once.
    """

    cluster: Cluster
    query: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The fields that all views have.

    Attributes:
        now_ms: The time of the snapshot.
        silent: By broker id, the reason why a broker did not answer.
        not_told: The data that is missing, with the reason, for example a right that the user needs.
    """

    now_ms: int
    silent: Mapping[int, str]
    not_told: tuple[str, ...]

    @property
    def is_final(self) -> bool:
        """Return whether the view will never change."""
        return False


class ViewKind(NamedTuple):
    """A kind of view.

    Attributes:
        path: Relative to the cluster's path; `/` is the first view.
        title: The title of the page and of the menu entry.
        template: The file in templates/.
        build: Computes the value. Raises KafkaError: it is not available now.
        every_s: The time that a value is valid; if it has viewers, it is computed again then.
        menu: The path of its menu entry; empty: no entry.
    """

    path: str
    title: str
    template: str
    build: Callable[[Asked], Awaitable[View]]
    every_s: float
    menu: str


@dataclass(frozen=True, slots=True)
class RowRange(Generic[T]):
    """A page of rows.

    Attributes:
        begin: The number of the first shown row, from 0.
        count: The number of matches.
        find: The text searched for in names.
    """

    rows: tuple[T, ...]
    begin: int
    count: int
    find: str

    @property
    def end(self) -> int:
        return self.begin + len(self.rows)


def select_rows(rows: Sequence[T], asked: Asked, name_of: Callable[[T], str]) -> RowRange[T]:
    """Return the rows whose name contains `?find=`: at most `MOST_ROWS`, from number `?from=` on."""
    find = asked.query.get("find", "").strip()[:200]
    found = [each for each in rows if find.casefold() in name_of(each).casefold()] if find else rows
    number = asked.query.get("from", "")
    begin = int(number) if number.isascii() and number.isdecimal() and len(number) < 9 else 0
    begin = min(begin, max(len(found) - 1, 0) // MOST_ROWS * MOST_ROWS)
    return RowRange(tuple(found[begin : begin + MOST_ROWS]), begin, len(found), find)


class Known(NamedTuple):
    """The fields of `View` that come from a snapshot; pass them as `**known(snapshot)._asdict()`."""

    now_ms: int
    silent: Mapping[int, str]
    not_told: tuple[str, ...]


def known(snapshot: Snapshot) -> Known:
    """Return the time of the snapshot, the silent brokers, and the refusals, each once."""
    whats: dict[str, dict[str, None]] = {}
    for text in snapshot.refused:
        what, _, why = text.rpartition(": ")
        whats.setdefault(why, {})[what] = None
    not_told = (f"{', '.join(filter(None, each))}: {why}".removeprefix(": ") for why, each in whats.items())
    return Known(snapshot.now_ms, dict(sorted(snapshot.silent.items())), tuple(not_told))


def as_json(value: object) -> object:
    """Return the JSON form of a view or a part of one."""
    match value:
        case Finding():
            return value.as_dict()
        case TopicPartition():
            return str(value)
        case Enum():
            return value.name.lower()
        case datetime():
            return f"{value.isoformat()}Z"
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {str(name): as_json(each) for name, each in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return as_json(value._asdict())
        case tuple() | list():
            return [as_json(each) for each in value]
    if is_dataclass(value):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    return value


def reason(error: BarnabasError) -> str:
    """Return the text of an error for users."""
    return error.message if isinstance(error, KafkaError) else str(error)


def connection(servers: str) -> str:
    """Return the options that connect a `barnabas` command to a cluster."""
    return "" if servers == DEFAULT_SERVER else options(("--bootstrap-server", servers))


def timestamp(timestamp_ms: int | None) -> str:
    """Return a time in UTC, with the date unless it is today; empty for None."""
    if timestamp_ms is None:
        return ""
    try:
        at, now = time.gmtime(timestamp_ms / 1_000), time.gmtime()
        return time.strftime("%H:%M:%S UTC" if at[:3] == now[:3] else "%Y-%m-%d %H:%M:%S UTC", at)
    except (OverflowError, ValueError, OSError):
        # A timestamp may be any number.
        return str(timestamp_ms)
