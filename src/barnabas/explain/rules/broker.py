"""State of brokers, and whether one may be shut down now: silent brokers, event loop stalls, limits nearly reached.

`clients/cluster_state.py` decides whether a broker may be shut down, also for `barnabas cluster status`.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.clients.cluster_state import Broker, Cluster
from barnabas.core.advised_commands import command
from barnabas.explain.finding import Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import duration, silence, times
from barnabas.explain.snapshot import Snapshot

# An event loop stall of this length is reported: it delays every client.
_STALL_MS: Final = 200
# A limit is nearly reached from this share of it on.
_NEAR: Final = 0.8


def explain_broker(snapshot: Snapshot) -> list[Finding]:
    """Explain each broker, or the one in the scope, the most severe first."""
    cluster = snapshot.cluster
    assert cluster is not None
    found: list[Finding] = []
    for each in cluster.brokers.values():
        if snapshot.scope.name in (None, str(each.broker_id)):
            found += _broker(snapshot, cluster, each)
    if not found and snapshot.scope.name is not None:
        text = f"broker {snapshot.scope.name} is not registered, and no partition has a replica on it"
        next_step = command("cluster", "status")
        found.append(
            Finding(f"broker {snapshot.scope.name}", "not-there", text, Severity.NOTICE, commands=(next_step,))
        )
    return worst_first(found)


def silent_brokers(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield findings about brokers that do not answer."""
    failures = dict(snapshot.silent)
    for each in () if snapshot.cluster is None else snapshot.cluster.brokers.values():
        if each.failure:
            failures[each.broker_id] = each.failure
    for broker_id, failure in sorted(failures.items()):
        text = silence(snapshot.address(broker_id), failure)
        next_step = command("cluster", "status")
        yield Finding(
            f"broker {broker_id}", "silent", text, Severity.URGENT, commands=(next_step,), silent=(broker_id,)
        )


def _broker(snapshot: Snapshot, cluster: Cluster, broker: Broker) -> Iterator[Finding]:
    broker_id, subject = broker.broker_id, f"broker {broker.broker_id}"
    if broker.failure or broker_id in snapshot.silent:
        yield from (each for each in silent_brokers(snapshot) if each.subject == subject)
        return
    obstacles = cluster.obstacles(broker_id)
    next_step = command("cluster", "status", ("--broker", broker_id))
    if obstacles:
        text = f"{snapshot.address(broker_id)} may not stop now: {'; '.join(obstacles)}"
        figures = {"obstacles": obstacles}
        yield Finding(subject, "may-not-stop", text, Severity.FINE, figures=figures, commands=(next_step,))
    else:
        text = f"{snapshot.address(broker_id)} may stop now: other brokers have all of its data"
        yield Finding(subject, "may-stop", text, commands=(next_step,))
    yield from stalls(snapshot, broker_id)
    yield from near_limits(snapshot, broker_id)


def near_limits(snapshot: Snapshot, wanted_id: int | None = None) -> Iterator[Finding]:
    """Yield findings about nearly reached limits of brokers; at a limit a broker rejects or delays clients."""
    for row in snapshot.rows("broker"):
        broker_id = row["broker_id"]
        for limit in row["limits"] if wanted_id in (None, broker_id) else ():
            used, most = limit["used"], limit["most"]
            if used < _NEAR * most:
                continue
            text = f"{snapshot.address(broker_id)} has nearly reached {limit['name']}: {used:,} of {most:,}"
            figures: dict[str, Figure] = {"limit": limit["name"], "used": used, "most": most}
            yield Finding(f"broker {broker_id}", "near-limit", text, Severity.NOTICE, figures=figures)


def stalls(snapshot: Snapshot, broker_id: int | None = None) -> Iterator[Finding]:
    """Yield findings about stalls of a broker's event loop, with count and longest cause."""
    by_broker: dict[int, list[tuple[int, int, str]]] = {}
    for row in snapshot.facts.get("stalls", ()):
        if row["at_ms"] >= snapshot.since_ms and row["ms"] >= _STALL_MS and broker_id in (None, row["broker_id"]):
            by_broker.setdefault(row["broker_id"], []).append((row["ms"], row["at_ms"], row["what"]))
    for each, found in by_broker.items():
        longest_ms, at_ms, what = max(found)
        text = (
            f"the event loop of {snapshot.address(each)} stalled {times(len(found))}, for up to {duration(longest_ms)}"
            f"{f' ({what})' if what else ''}: requests had to wait meanwhile"
        )
        figures: dict[str, Figure] = {"stall_count": len(found), "longest_ms": longest_ms, "what": what or None}
        yield Finding(f"broker {each}", "stalled", text, Severity.NOTICE, since_ms=at_ms, figures=figures)
