"""Problems of a client: the quota that throttles it and the sharers of that quota, slow requests, refusals.

Barnabas's brokers report the effective quota (`ExplainQuotas`). Kafka reports only the configured quotas; the effective
one follows from their order, with the same code as in brokers: `wire/quotas/levels.py`.
"""

from collections.abc import Iterator
from typing import Any, Final

from barnabas.core.advised_commands import NAME, command
from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import amount, count, duration, listed, times
from barnabas.explain.rules.broker import stalls
from barnabas.explain.rules.refused import lately_refused
from barnabas.explain.rules.slow import explain_slow
from barnabas.explain.snapshot import Row, Snapshot
from barnabas.wire.quotas.levels import Limits

_UNITS: Final = {
    "producer_byte_rate": "bytes/s",
    "consumer_byte_rate": "bytes/s",
    "request_percentage": "percent",
    "controller_mutation_rate": "partitions/s",
}
_RECEIVE_MEMORY: Final = "queued.max.request.bytes"


def explain_client(snapshot: Snapshot) -> list[Finding]:
    """Explain the throttling of a client: the one in the scope, or the caller."""
    found = [each for row in snapshot.limits for each in _limits(snapshot, row)]
    found += _throttles(snapshot)
    found += [each for each in explain_slow(snapshot) if each.severity]
    found += lately_refused(snapshot)
    found += stalls(snapshot)
    if not snapshot.limits and snapshot.scope.client_id is not None:
        found += _by_order(snapshot, snapshot.scope.user or "ANONYMOUS", snapshot.scope.client_id)
    if not any(each.severity for each in found):
        text = f"nothing throttles {_name(snapshot)}"
        certainty = Certainty.MEASURED if snapshot.limits or snapshot.reporters else Certainty.UNKNOWN
        found.append(Finding(f"client {_name(snapshot)}", "not-held", text, certainty=certainty))
    return worst_first(found)


def _name(snapshot: Snapshot) -> str:
    return snapshot.scope.client_id or "this client"


def _limits(snapshot: Snapshot, answer: Row) -> Iterator[Finding]:
    """Yield a finding for each quota that a broker reports as effective."""
    next_step = ("quotas", "explain", ("--user", answer["user"]), ("--client-id", answer["client_id"]))
    for quota in answer["quotas"]:
        if quota["limit"] is None:
            continue
        limit, unit = quota["limit"], quota["unit"]
        measured = amount(quota["rate"], unit) if quota["is_measured"] else "nothing yet"
        is_held = bool(quota["held_count"] or quota["throttle_ms"])
        state = f"{count(quota['held_count'], 'connection')} throttled now" if is_held else "nobody is throttled"
        if quota["throttle_ms"]:
            state = f"the next request waits {duration(quota['throttle_ms'])}"
        text = (
            f"{snapshot.address(answer['broker_id'])}: {quota['key']} is limited to {amount(limit, unit)} "
            f"({quota['why']}); measured {measured}, {state}"
        )
        others = [each["client_id"] or "-" for each in quota["sharers"] if each["client_id"] != answer["client_id"]]
        text += f"; {listed(others)} share{'s' if len(others) == 1 else ''} it" if others else ""
        figures: dict[str, Figure] = {
            "quota": quota["key"],
            "limit": limit,
            "level": quota["level"],
            "rate": quota["rate"],
            "throttle_ms": quota["throttle_ms"],
            "held_count": quota["held_count"],
        }
        severity = Severity.PROBLEM if is_held else Severity.FINE
        verdict = "held" if is_held else "limited"
        subject = f"client {answer['client_id'] or '-'}"
        yield Finding(subject, verdict, text, severity, figures=figures, commands=(command(*next_step),))


def _throttles(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield findings about the throttling of clients in the window: how often, and by which quota."""
    by_client: dict[tuple[str, str, str], list[Row]] = {}
    for row in snapshot.facts.get("holds", ()):
        if row["last_ms"] >= snapshot.since_ms and snapshot.scope.client_id in (None, row["client_id"]):
            by_client.setdefault((row["user"], row["client_id"] or "", row["quota"]), []).append(row)
    for (user, client_id, quota), rows in by_client.items():
        number = sum(int(row["count"]) for row in rows)
        total_ms = sum(int(row["total_ms"]) for row in rows)
        longest_ms = max(int(row["throttle_ms"]) for row in rows)
        text = (
            f"{client_id or 'a client without an id'} of {user} was throttled {times(number)} by {quota}: "
            f"{duration(total_ms)} in total, up to {duration(longest_ms)} at a time"
        )
        figures: dict[str, Figure] = {
            "quota": quota,
            "hold_count": number,
            "held_ms": total_ms,
            "longest_ms": longest_ms,
        }
        next_step = command("quotas", "explain", ("--user", user), ("--client-id", client_id))
        if quota == _RECEIVE_MEMORY:
            text += "; the broker had no memory left to receive its requests: raise the setting, or send less at once"
            next_step = command("explain", "broker", (NAME, rows[-1]["broker_id"]))
        since_ms = min(int(row["first_ms"]) for row in rows)
        subject = f"client {client_id or '-'}"
        yield Finding(
            subject, "was-held", text, Severity.NOTICE, since_ms=since_ms, figures=figures, commands=(next_step,)
        )


def throttled_clients(snapshot: Snapshot) -> list[Finding]:
    """Return findings about all throttled clients."""
    return list(_throttles(snapshot))


def _by_order(snapshot: Snapshot, user: str, client_id: str) -> Iterator[Finding]:
    """Yield the effective quotas according to their order; whether they throttle a client is unknown."""
    subject = f"client {client_id}"
    for key, unit in _UNITS.items():
        limits = Limits()
        for entity, values in snapshot.configured_quotas.items():
            if key in values:
                limits.set(entity, values[key])
        resolution = limits.resolve(user, client_id)
        if resolution.limit is not None:
            figures: dict[str, Any] = {"quota": key, "limit": resolution.limit, "level": resolution.level}
            text = (
                f"{key} is limited to {amount(resolution.limit, unit)} (level {resolution.level}, {resolution.entity})"
                "; Kafka does not report whether it throttles anybody"
            )
            next_step = command("quotas", "list")
            yield Finding(subject, "limited", text, certainty=Certainty.UNKNOWN, figures=figures, commands=(next_step,))
