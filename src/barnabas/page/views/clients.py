"""Clients and quotas: usage, current and recent throttling with the responsible quota, and all quotas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.explain.collector import Part
from barnabas.explain.questions import Question
from barnabas.explain.rules.client import throttled_clients
from barnabas.explain.snapshot import Snapshot
from barnabas.page.view import Asked, RowRange, View, ViewKind, known, select_rows

_QUESTION: Final = Question(frozenset({Part.USE}), ("holds",), throttled_clients)


class UseRow(NamedTuple):
    """The usage of the clients with one user and client id on a broker.

    Attributes:
        user: None: the sum of all clients that are too small to be recorded separately.
        rates: By quota name, over ten seconds.
        parts: By quota name, the used part of the effective quota over its windows, by all clients that share it; 1 is
            the whole quota.
        held_count: Number of connections throttled now.
        throttle_ms: The throttle time of a request sent now.
    """

    broker_id: int
    user: str | None
    client_id: str
    rates: Mapping[str, float]
    parts: Mapping[str, float]
    held_count: int
    throttle_ms: int


class ThrottleRow(NamedTuple):
    """How often and how long a quota throttled the clients with one user and client id in the last hour."""

    broker_id: int
    user: str
    client_id: str
    quota: str
    hold_count: int
    held_ms: int
    longest_ms: int
    first_ms: int
    last_ms: int


class LimitRow(NamedTuple):
    """A quota: its level and its entity."""

    level: int
    whom: str
    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients(View):
    """All clients and quotas, or the search results; `holds` are the most recent throttles."""

    clients: RowRange[UseRow]
    holds: tuple[ThrottleRow, ...]
    limits: RowRange[LimitRow]


async def build(asked: Asked) -> Clients:
    """Read usage, throttling and quotas. Raises KafkaError."""
    snapshot = await asked.cluster.collect(_QUESTION)
    told = known(snapshot)
    if not snapshot.reporters:
        told = told._replace(not_told=(*told.not_told, "usage and throttling: no broker reports them"))
    first = asked._replace(query={"find": asked.query.get("find", "")})
    holds = select_rows(
        sorted(throttle_rows(snapshot), key=lambda row: -row.last_ms), first, lambda row: f"{row.user} {row.client_id}"
    )
    return Clients(
        **told._asdict(),
        clients=select_rows(use_rows(snapshot), asked, lambda row: f"{row.user} {row.client_id}"),
        holds=holds.rows,
        limits=select_rows(list(limit_rows(snapshot)), first, lambda row: row.whom),
    )


def use_rows(snapshot: Snapshot) -> list[UseRow]:
    """Return usage, by number of throttled connections, then by throttle time, descending."""
    rows = [
        UseRow(
            broker_id,
            row["user"],
            row["client_id"] or "",
            row["rates"],
            row.get("parts_of_limits", {}),
            row.get("held_count", 0),
            row.get("throttle_ms", 0),
        )
        for broker_id, clients in sorted(snapshot.use.items())
        for row in clients
    ]
    return sorted(rows, key=lambda row: (-row.held_count, -row.throttle_ms))


def throttle_rows(snapshot: Snapshot) -> Iterator[ThrottleRow]:
    """Yield the throttled clients of the last hour."""
    for row in snapshot.rows("holds"):
        if row["last_ms"] >= snapshot.since_ms:
            yield ThrottleRow(
                row["broker_id"],
                row["user"],
                row["client_id"],
                row["quota"] or "",
                row["count"],
                row["total_ms"],
                row["throttle_ms"],
                row["first_ms"],
                row["last_ms"],
            )


def limit_rows(snapshot: Snapshot) -> Iterator[LimitRow]:
    """Yield all quotas, by level."""
    for entity, values in snapshot.configured_quotas.items():
        for name, value in sorted(values.items()):
            yield LimitRow(int(entity.level), str(entity), name, value)


VIEW = ViewKind("/clients", "Clients", "clients.html.jinja", build, 5, "/clients")
