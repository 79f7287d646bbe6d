"""Causes of partitions that are offline, under-replicated or below min.insync.replicas, for each missing replica."""

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from barnabas.clients.cluster_state import Cluster, Partition, Trouble, named, troubles
from barnabas.core.advised_commands import command
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import count, silence
from barnabas.explain.snapshot import Row, Snapshot

_UNCLEAN: Final = "unclean.leader.election.enable"
_THROTTLED: Final = "follower.replication.throttled.replicas"
_MOST_PARTITIONS: Final = 20


# Reasons of a leader to remove a replica from the in-sync replicas.
_SHRUNK: Final = {
    "follower behind": ": its leader removed it from the in-sync replicas: it was behind for replica.lag.time.max.ms",
    "broker gone": ": its leader removed it from the in-sync replicas: its broker was gone",
}


class _Missing(NamedTuple):
    """The reason why a replica is not in sync; equal reasons of one broker become one finding."""

    verdict: str
    broker_id: int


def explain_topic(snapshot: Snapshot) -> list[Finding]:
    """Explain degraded partitions, the most severe first; only the topic's if the scope has a topic."""
    cluster = snapshot.cluster
    assert cluster is not None
    topic = snapshot.scope.name
    looked_at = [each for each in cluster.partitions if topic in (None, each.name.topic)]
    found = []
    for trouble in (Trouble.OFFLINE, Trouble.UNDER_MIN_ISR, Trouble.UNDER_REPLICATED):
        lacking = [each for each in looked_at if troubles(each)[:1] == [trouble]]
        if lacking:
            found.append(_lacking(snapshot, trouble, lacking))
    if cluster.controller_id < 0:
        text = "there is no controller: no leaders are elected, and no topics are created"
        next_step = command("cluster", "status")
        found.append(Finding("cluster", "no-controller", text, Severity.URGENT, commands=(next_step,)))
    if not found:
        subject = "cluster" if topic is None else f"topic {topic}"
        text = f"{subject}: {count(len(looked_at), 'partition')}, each with a leader and all its replicas in sync"
        found.append(Finding(subject, "in-sync", text, figures={"partition_count": len(looked_at)}))
    return worst_first(found)


_LACKING: Final = {
    Trouble.OFFLINE: (Severity.URGENT, "{} offline: all reads and writes fail"),
    Trouble.UNDER_MIN_ISR: (Severity.URGENT, "{} below min.insync.replicas: writes with acks=all fail"),
    Trouble.UNDER_REPLICATED: (Severity.PROBLEM, "{} under-replicated: records have fewer copies than they should"),
}


def _lacking(snapshot: Snapshot, trouble: Trouble, lacking: list[Partition]) -> Finding:
    """Return the finding for partitions in the same degraded state, with causes."""
    severity, text = _LACKING[trouble]
    names = [each.name for each in lacking]
    topics = sorted({each.topic for each in names})
    causes: list[Finding] = []
    if trouble is Trouble.OFFLINE:
        by_text: dict[str, Finding] = {}
        for each in lacking:
            for why in why_offline(snapshot, each):
                by_text.setdefault(why.text.partition(": ")[2], why)
        causes += by_text.values()
    causes += _missing(snapshot, lacking)
    # A damaged log first, because it is the reason why the other replicas wait.
    causes.sort(key=lambda each: each.verdict != "log-damaged")
    since = [row["at_ms"] for row in snapshot.facts.get("leaders", ()) if _name(row) in names]
    figures: dict[str, Figure] = {
        "partitions": [str(each) for each in names[:_MOST_PARTITIONS]],
        "partition_count": len(names),
    }
    verb = "is" if len(names) == 1 else "are"
    return Finding(
        f"topic {topics[0]}" if len(topics) == 1 else f"{len(topics)} topics",
        trouble.name.lower().replace("_", "-"),
        text.format(f"{named(names)} {verb}"),
        severity,
        since_ms=max(since, default=None),
        figures=figures,
        causes=tuple(causes),
        commands=(command("topics", "--describe", ("--topic", topics[0])), command("cluster", "status")),
        silent=tuple(sorted(snapshot.silent)),
    )


def _name(row: Row) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def why_offline(snapshot: Snapshot, partition: Partition) -> Iterator[Finding]:
    """Yield the reasons why a partition has no leader, for each candidate."""
    cluster = snapshot.cluster
    assert cluster is not None
    settings = snapshot.settings.get(partition.name.topic, {})
    waits_for = [snapshot.address(each) for each in partition.isr]
    others = [each for each in partition.replicas if each not in partition.isr and not _is_away(cluster, each)]
    subject = f"partition {partition.name}"
    figures: dict[str, Figure] = {"isr": partition.isr, "replicas": partition.replicas}
    if others and _UNCLEAN in settings and settings[_UNCLEAN].value == "false":
        elect = ("elect-leaders", ("--election-type", "unclean"), ("--topic", partition.name.topic))
        text = (
            f"{partition.name}: only {' and '.join(waits_for) or 'no replica'} had all records; replicas "
            f"{', '.join(map(str, others))} are available but may lack records, so they are not elected "
            f"({_UNCLEAN}=false, by {settings[_UNCLEAN].where})"
        )
        commands = (command(*elect, ("--partition", partition.name.partition)),)
        yield Finding(subject, "unclean-election-off", text, Severity.URGENT, figures=figures, commands=commands)
    elif waits_for:
        text = f"{partition.name}: it waits for {' or '.join(waits_for)}, which had all records"
        yield Finding(subject, "waits-for-replica", text, Severity.URGENT, figures=figures)


def _is_away(cluster: Cluster, broker_id: int) -> bool:
    broker = cluster.brokers.get(broker_id)
    return broker is None or bool(broker.failure)


def _missing(snapshot: Snapshot, lacking: list[Partition]) -> Iterator[Finding]:
    """Yield the reasons why replicas are not in sync, once for each broker and reason."""
    assert snapshot.cluster is not None
    by_reason: dict[_Missing, list[TopicPartition]] = {}
    damaged = snapshot.bad_logs("damaged")
    for each in lacking:
        out = set(each.replicas) - set(each.isr)
        if each.leader_id < 0:
            out |= set(each.isr)
        for broker_id in sorted(out):
            by_reason.setdefault(_reason(snapshot, each, broker_id, damaged), []).append(each.name)
    for reason, names in sorted(by_reason.items()):
        yield _replica(snapshot, reason, names)


def _reason(
    snapshot: Snapshot, partition: Partition, broker_id: int, damaged: Collection[tuple[int, TopicPartition]]
) -> _Missing:
    cluster = snapshot.cluster
    assert cluster is not None
    if broker_id in partition.adding:
        return _Missing("being-added", broker_id)
    if _is_away(cluster, broker_id):
        return _Missing("broker-gone", broker_id)
    own = [each for each in snapshot.directories if each.broker_id == broker_id]
    there = [each for each in own if partition.name in each.logs]
    if (broker_id, partition.name) in damaged:
        return _Missing("log-damaged", broker_id)
    if any(each.failure for each in own) and not there:
        return _Missing("directory-failed", broker_id)
    if own and not there:
        return _Missing("no-log", broker_id)
    throttled = snapshot.settings.get(partition.name.topic, {}).get(_THROTTLED)
    is_throttled = throttled is not None and (
        throttled.value == "*" or f"{partition.name.partition}:{broker_id}" in throttled.value.split(",")
    )
    if is_throttled:
        return _Missing("throttled", broker_id)
    if partition.leader_id < 0:
        return _Missing("not-elected", broker_id)
    return _Missing("follower-behind", broker_id)


def _replica(snapshot: Snapshot, reason: _Missing, names: list[TopicPartition]) -> Finding:
    """Return the finding about a broker's replicas that are not in sync."""
    cluster = snapshot.cluster
    assert cluster is not None
    broker_id = reason.broker_id
    broker, where = cluster.brokers.get(broker_id), named(names)
    own = [each for each in snapshot.directories if each.broker_id == broker_id]
    behind = max((each.behind.get(name, 0) for each in own for name in names), default=0)
    changes = [row for row in snapshot.facts.get("leaders", ()) if _name(row) in names and row["what"] == "isr"]
    why = _SHRUNK.get(changes[-1]["reason"], "") if changes else ""
    since_ms = changes[-1]["at_ms"] if changes else None
    figures: dict[str, Figure] = {"broker": broker_id, "partition_count": len(names)}
    severity, certainty, commands = Severity.PROBLEM, Certainty.MEASURED, (command("cluster", "status"),)
    address = snapshot.address(broker_id)
    match reason.verdict:
        case "broker-gone":
            failure = broker.failure if broker is not None else "is not registered"
            text = f"{silence(address, failure)}; it has a replica of {where}"
        case "directory-failed":
            failed = next(each for each in own if each.failure)
            text = f"{address}: its log directory {failed.path} failed ({failed.failure}); it had {where}"
            commands = (command("log-dirs", "--describe", ("--broker-list", broker_id)),)
        case "log-damaged":
            text = (
                f"{address} can't open its log of {where}, which is damaged: "
                f"{snapshot.bad_logs('damaged')[broker_id, names[0]]}; if another replica has all records, stop that "
                "broker, move the log's directory away and start it again: it copies the log"
            )
            commands = (command("log-dirs", "--describe", ("--broker-list", broker_id)),)
        case "no-log":
            text = f"{address} answers and has no log of {where}: its directory was replaced, or it is still starting"
            certainty = Certainty.INFERRED
        case "being-added":
            text = f"{address} is being added to {where} and copies it: {count(behind, 'record')} left{why}"
            severity, commands = Severity.NOTICE, (command("topics", "--describe", ("--topic", names[0].topic)),)
        case "throttled":
            text = f"{address} copies {where} no faster than its replication throttle: {count(behind, 'record')} left"
            commands = (command("configs", "--describe", ("--topic", names[0].topic)),)
        case "not-elected":
            text = f"{address} answers and has {where}, but does not lead it{why}"
        case _:
            text = f"{address} answers and is {count(behind, 'record')} behind in {where}{why}"
            text += "" if why else ": it is slow, has stopped copying, or is catching up after a restart"
            certainty = Certainty.MEASURED if why else Certainty.INFERRED
            commands = (command("log-dirs", "--describe", ("--broker-list", broker_id)),)
            figures["behind_records"] = behind
    subject = f"broker {broker_id}"
    return Finding(
        subject, reason.verdict, text, severity, certainty, since_ms=since_ms, figures=figures, commands=commands
    )
