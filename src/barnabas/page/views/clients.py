"""Clients and quotas: who uses how much, who is held now and was held of late by which limit, and all limits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.explain.gather import Part
from barnabas.explain.questions import Question
from barnabas.explain.rules.client import held_clients
from barnabas.explain.seen import Seen
from barnabas.page.view import Asked, Cut, View, ViewKind, cut, known

_QUESTION: Final = Question("who is held", frozenset({Part.USE}), ("holds",), held_clients)


class UseRow(NamedTuple):
    """What a user's clients of one id use of a broker.

    Attributes:
        user: None: all those together that are too small to be remembered one by one.
        rates: By the names of limits, of ten seconds.
        parts: How much of a limit that is in force is used by all who share it, over its windows; 1 is all of it.
        held_count: How many connections are held now.
        throttle_ms: How long who asks now would be held.
    """

    broker_id: int
    user: str | None
    client_id: str
    rates: Mapping[str, float]
    parts: Mapping[str, float]
    held_count: int
    throttle_ms: int


class HoldRow(NamedTuple):
    """How often a limit held a user's clients of one id in the last hour, and for how long."""

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
    """A limit: where it stands, for whom."""

    level: int
    whom: str
    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients(View):
    """All clients and limits, or those that are looked for; `holds` are the last ones."""

    clients: Cut[UseRow]
    holds: tuple[HoldRow, ...]
    limits: Cut[LimitRow]


async def build(asked: Asked) -> Clients:
    """Ask for what clients use, for holds and for limits. Raises KafkaError."""
    seen = await asked.cluster.see(_QUESTION)
    told = known(seen)
    if not seen.tellers:
        told = told._replace(not_told=(*told.not_told, "who uses how much, and who is held: no broker tells"))
    first = asked._replace(query={"find": asked.query.get("find", "")})
    holds = cut(sorted(hold_rows(seen), key=lambda row: -row.last_ms), first, lambda row: f"{row.user} {row.client_id}")
    return Clients(
        **told._asdict(),
        clients=cut(use_rows(seen), asked, lambda row: f"{row.user} {row.client_id}"),
        holds=holds.rows,
        limits=cut(list(limit_rows(seen)), first, lambda row: row.whom),
    )


def use_rows(seen: Seen) -> list[UseRow]:
    """Return what clients use, those first that are held, then by how much."""
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
        for broker_id, clients in sorted(seen.use.items())
        for row in clients
    ]
    return sorted(rows, key=lambda row: (-row.held_count, -row.throttle_ms))


def hold_rows(seen: Seen) -> Iterator[HoldRow]:
    """Yield the holds of the last hour."""
    for row in seen.rows("holds"):
        if row["last_ms"] >= seen.since_ms:
            yield HoldRow(
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


def limit_rows(seen: Seen) -> Iterator[LimitRow]:
    """Yield all limits, from the first level to the last."""
    for entity, values in seen.configured.items():
        for name, value in sorted(values.items()):
            yield LimitRow(int(entity.level), str(entity), name, value)


VIEW = ViewKind("/clients", "Clients", "clients.html.jinja", build, 5, "/clients")
