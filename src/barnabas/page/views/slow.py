"""Slow requests: by API and client with the slowest stage; the last ones with all stages."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.explain.finding import Finding
from barnabas.explain.questions import QUESTIONS
from barnabas.explain.rules.slow import slow_kinds
from barnabas.explain.snapshot import Row, Snapshot
from barnabas.page.view import Asked, RowRange, View, ViewKind, known, select_rows


class KindRow(NamedTuple):
    """Slow requests with the same slowest stage: it took `stage_ms` of their `total_ms`; `why` describes it."""

    api: str
    client_id: str
    request_count: int
    total_ms: int
    slowest_ms: int
    stage: str
    stage_ms: int
    why: str
    last_ms: int


class RequestRow(NamedTuple):
    """A slow request; `send_ms` is None if its response was not read yet."""

    at_ms: int
    broker_id: int
    api: str
    client_id: str
    user: str
    host: str
    total_ms: int
    queue_ms: int
    local_ms: int
    remote_ms: int
    send_ms: int | None
    held_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(View):
    """Slow requests of the last hour: all, or the search results."""

    findings: tuple[Finding, ...]
    kinds: RowRange[KindRow]
    requests: RowRange[RequestRow]


async def build(asked: Asked) -> Slow:
    """Read slow requests, and other work at that time. Raises KafkaError."""
    question = QUESTIONS["slow"]
    snapshot = await asked.cluster.collect(question)
    first = asked._replace(query={"find": asked.query.get("find", "")})
    requests = sorted(request_rows(snapshot), key=lambda row: -row.at_ms)
    return Slow(
        **known(snapshot)._asdict(),
        findings=tuple(question.rule(snapshot)),
        kinds=select_rows(list(kind_rows(snapshot)), first, lambda row: f"{row.api} {row.client_id}"),
        requests=select_rows(requests, asked, lambda row: f"{row.api} {row.client_id}"),
    )


def kind_rows(snapshot: Snapshot) -> Iterator[KindRow]:
    """Yield the kinds of slow requests, in descending order of time."""
    for kind, rows in slow_kinds(snapshot):
        yield KindRow(
            kind.api,
            kind.client_id,
            len(rows),
            sum(row["total_ms"] for row in rows),
            max(row["total_ms"] for row in rows),
            kind.stage.removesuffix("_ms"),
            sum(row[kind.stage] or 0 for row in rows),
            kind.why,
            max(row["at_ms"] for row in rows),
        )


def request_rows(snapshot: Snapshot) -> Iterator[RequestRow]:
    """Yield the slow requests of the last hour."""
    return (_request(row) for row in snapshot.rows("requests") if row["at_ms"] >= snapshot.since_ms)


def _request(row: Row) -> RequestRow:
    return RequestRow(
        row["at_ms"],
        row["broker_id"],
        row["api"],
        row["client_id"] or "",
        row["user"],
        row["host"],
        row["total_ms"],
        row["queue_ms"],
        row["local_ms"],
        row["remote_ms"],
        row["send_ms"],
        row["throttle_ms"],
    )


VIEW = ViewKind("/slow", "Slow requests", "slow.html.jinja", build, 5, "/slow")
