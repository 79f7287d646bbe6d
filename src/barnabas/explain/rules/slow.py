"""Causes of slow requests: the slowest stage, the reason for its wait, and other work at that time."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import count, duration
from barnabas.explain.rules.broker import stalls
from barnabas.explain.snapshot import Row, Snapshot

_STAGES: Final = {
    "queue_ms": "waited in the queue: the broker served other requests",
    "local_ms": "needed processing: records were prepared, or read from the disk",
    "remote_ms": "waited for {}",
    "send_ms": "waited for the client to receive the response",
}
# By the reasons of `broker/requests/slow_requests.py`.
_WAITED_FOR: Final = {
    "append": "earlier records of its partition to be written",
    "controller": "the controller",
    "coordinator": "its coordinator, or other members of its group",
    "disk": "the disk: the data was not in memory",
    "executor": "a worker thread",
    "flush": "the flush of its records to disk (flush.messages)",
    "followers": "the followers to replicate its records (acks=all)",
    "records": "new records",
    "registry": "the cluster's registry",
}
_MOST_ROWS: Final = 10


class SlowKind(NamedTuple):
    """Slow requests of the same API, client, slowest stage and reason of the wait."""

    api: str
    client_id: str
    stage: str
    waited_for: str

    @property
    def why(self) -> str:
        """Return the cause of the slow stage, as a part of the sentence "they ..."."""
        return _STAGES[self.stage].format(_WAITED_FOR.get(self.waited_for, self.waited_for or "others"))


def slow_kinds(snapshot: Snapshot) -> list[tuple[SlowKind, list[Row]]]:
    """Return the slow requests by kind, in descending order of time; only the client's if the scope has a client."""
    wanted = snapshot.scope.client_id or snapshot.scope.name
    by_kind: dict[SlowKind, list[Row]] = {}
    for row in snapshot.facts.get("requests", ()):
        if row["at_ms"] >= snapshot.since_ms and wanted in (None, row["client_id"]):
            stage = max(_STAGES, key=lambda name: float(row[name] or 0))
            waited_for = row["waited_for"] or "" if stage == "remote_ms" else ""
            kind = SlowKind(row["api"], row["client_id"] or "", stage, waited_for)
            by_kind.setdefault(kind, []).append(row)
    return sorted(by_kind.items(), key=lambda each: -sum(float(row["total_ms"]) for row in each[1]))


def explain_slow(snapshot: Snapshot) -> list[Finding]:
    """Explain slow requests by API, client and stage, in descending order of time; see `slow_kinds`."""
    wanted = snapshot.scope.client_id or snapshot.scope.name
    found = [_slow(snapshot, *kind) for kind in slow_kinds(snapshot)[:_MOST_ROWS]]
    found += _without(snapshot)
    if not found and snapshot.reporters:
        window = duration(snapshot.now_ms - snapshot.since_ms)
        text = f"no request was slow in the last {window}"
        found.append(Finding(f"client {wanted}" if wanted else "cluster", "not-slow", text))
    return worst_first(found)


def _slow(snapshot: Snapshot, kind: SlowKind, rows: Sequence[Row]) -> Finding:
    api, client_id, stage, waited_for = kind
    longest = max(rows, key=lambda row: float(row["total_ms"]))
    in_stage_ms = sum(float(row[stage] or 0) for row in rows)
    total_ms = sum(float(row["total_ms"]) for row in rows)
    text = (
        f"{count(len(rows), f'{api} request')} of {client_id or 'clients without an id'} took {duration(total_ms)} in "
        f"total, up to {duration(longest['total_ms'])} each; {in_stage_ms / max(total_ms, 0.001):.0%} of that time "
        f"{'it' if len(rows) == 1 else 'they'} {kind.why}"
    )
    near = {row["broker_id"] for row in rows}
    held_ms = sum(float(row["throttle_ms"]) for row in rows)
    text += f"; then a quota throttled the client for {duration(held_ms)}" if held_ms else ""
    causes = tuple(each for broker_id in sorted(near) for each in stalls(snapshot, broker_id))
    figures: dict[str, Figure] = {
        "api": api,
        "client_id": client_id,
        "request_count": len(rows),
        "total_ms": total_ms,
        "slowest_ms": longest["total_ms"],
        "stage": stage,
        "stage_ms": in_stage_ms,
        "waited_for": waited_for or None,
        "held_ms": held_ms,
        "brokers": sorted(near),
    }
    since_ms = min(int(row["at_ms"]) for row in rows)
    verdict = f"slow-{stage.removesuffix('_ms')}"
    subject = f"client {client_id or '-'}"
    return Finding(subject, verdict, text, Severity.NOTICE, since_ms=since_ms, figures=figures, causes=causes)


def _without(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield the round-trip times of brokers that do not report stages of requests."""
    for broker_id, took_ms in sorted(snapshot.round_trips_ms.items()):
        if broker_id not in snapshot.reporters:
            text = (
                f"{snapshot.address(broker_id)} answers a trivial request in {took_ms:.1f} ms; the causes of slow "
                "requests are unknown: it does not report them"
            )
            figures: dict[str, Figure] = {"round_trip_ms": took_ms}
            yield Finding(f"broker {broker_id}", "round-trip", text, certainty=Certainty.UNKNOWN, figures=figures)
