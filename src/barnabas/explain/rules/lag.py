"""Causes of consumer lag in each partition of a group.

Lag is the distance of the committed offset from the partition's end. It includes transaction markers and aborted
records, which consumers never get. Therefore readable records are counted too, up to a limit, and the age of the first
one is reported.

Each partition has one cause, the first of these that is true:

    no leader, or the leader does not answer  the partition cannot be read, or its lag is unknown
    never committed                           auto.offset.reset decides the start
    committed below the log start             the group loses the records in between
    committed above the log end               the topic was recreated, or the log lost its end
    committed at the last stable offset       an open transaction begins there
    only markers ahead                        no lag
    the group has no members, or rebalances   no member reads
    no member has the partition               no member reads this partition
    throttled by a quota                      responses to its member are delayed
    has a member, but no commits              the member does not read, or does not commit
    incoming rate above the outgoing one      never caught up: its fetches wait for the disk, or are rare, or its
                                              responses are full, or the cause is unknown
    incoming rate below the outgoing one      the time to catch up
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from barnabas.core.advised_commands import command
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import count, duration
from barnabas.explain.rules.lag_texts import CONSUMING, Behind, between_fetches_s, describe
from barnabas.explain.snapshot import Group, Member, Snapshot, rate_per_s, still_since_ms

# Members commit every 5 s by default, so a shorter silence proves nothing.
_SILENT_MS: Final = 30_000
# Throttling and waits for the disk are a cause only if they happened within this time.
_LATELY_MS: Final = 20_000
# A group whose lag is younger than this keeps up.
_FRESH_MS: Final = 10_000
# A partition gets its own finding from this share of a topic's lag on, if the lag is large enough.
_MOST_OF_IT: Final = 0.8
_MANY: Final = 100
# A member that is behind and fetches less often than this is busy with processing.
_SELDOM_S: Final = 3
_PACES: Final = ("falls-behind", "asks-seldom", "cold", "answers-full", "catches-up", "unknown")
_REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance")


def explain_lag(snapshot: Snapshot) -> list[Finding]:
    """Explain the lag of each group in the snapshot, the most severe first."""
    return worst_first(_group(snapshot, group) for group in snapshot.groups.values())


def _group(snapshot: Snapshot, group: Group) -> Finding:
    owners = group.owners
    names = group.committed.keys() | owners.keys() | _unknown_to(snapshot, owners)
    parts = [_behind(snapshot, group, each, owners.get(each)) for each in sorted(names)]
    late = [each for each in parts if each.is_late]
    causes: dict[tuple[str, str], list[Behind]] = {}
    for each in late:
        causes.setdefault(_cause(snapshot, group, each), []).append(each)
    findings = worst_first(describe(snapshot, group, *which, behind) for which, behind in causes.items())
    if any(each.verdict in _PACES for each in findings):
        findings = [*_single(parts, findings), *findings]
    subject = f"group {group.name}"
    lag = sum(each.lag or 0 for each in late)
    records = sum(each.record_count for each in late)
    age_ms = max((each.age_ms for each in late if each.age_ms is not None), default=None)
    figures: dict[str, Figure] = {
        "lag_offsets": lag,
        "lag_records": records,
        "is_lag_exact": all(each.unread is not None and each.unread.is_whole for each in late),
        "oldest_ms": age_ms,
        "partition_count": len(parts),
        "late_partition_count": len(late),
    }
    next_step = command("groups", "--describe", ("--group", group.name))
    if not parts:
        text = f"group {group.name} has committed nothing, and its members have no partitions"
        return Finding(subject, "reads-nothing", text, Severity.NOTICE, figures=figures, commands=(next_step,))
    if not records and not any(each.severity for each in findings):
        text = f"group {group.name} has read all of its {count(len(parts), 'partition')}"
        return Finding(subject, "no-lag", text, figures=figures, causes=tuple(findings))
    age = "" if age_ms is None else f"; the oldest record that it has not committed is {duration(age_ms)} old"
    text = f"group {group.name} is {count(records, 'record')} behind in {len(late)} of {len(parts)} partitions{age}"
    return Finding(
        subject,
        "behind",
        text,
        max((each.severity for each in findings), default=Severity.FINE),
        figures=figures,
        causes=tuple(findings),
        commands=(next_step,),
        silent=tuple(sorted(snapshot.silent)) if any(each.log is None for each in late) else (),
    )


def _unknown_to(snapshot: Snapshot, owners: Collection[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions with records of topics that members read, because some may be unassigned."""
    topics = {each.topic for each in owners}
    names = (name for topic in topics for name in snapshot.logs_of(topic))
    return {name for name in names if snapshot.logs[name].end_offset > snapshot.logs[name].start_offset}


def _behind(snapshot: Snapshot, group: Group, name: TopicPartition, owner: Member | None) -> Behind:
    committed, log = group.committed.get(name), snapshot.logs.get(name)
    if log is None:
        return Behind(name, committed, None, None, owner, None, None, None, None)
    lag = max(log.end_offset - max(log.start_offset, committed or 0), 0)
    unread = snapshot.unread.get((group.name, name))
    first_ms = None if unread is None else unread.first_ms
    if unread is not None and not unread.record_count:
        first_ms = min((each.started_ms for each in snapshot.open_transactions if each.partition == name), default=None)
    age_ms = None if first_ms is None else max(snapshot.now_ms - first_ms, 0)
    outgoing = rate_per_s(group.commits.get(name, []), snapshot.now_ms)
    return Behind(name, committed, log, unread, owner, lag, age_ms, rate_per_s(log.ends, snapshot.now_ms), outgoing)


def _cause(snapshot: Snapshot, group: Group, part: Behind) -> tuple[str, str]:
    """Return the cause of one partition's lag: a verdict, and its subject; equal ones become one finding."""
    name, committed, log = part.name, part.committed, part.log
    if log is None:
        known = snapshot.partitions.get(name)
        if known is None:
            return ("no-topic", name.topic)
        return ("no-leader" if known.leader_id < 0 else "leader-silent", str(known.leader_id))
    if committed is None:
        is_missed = part.owner is None and bool(group.members) and group.state not in _REBALANCING
        return ("not-assigned" if is_missed else "never-committed", name.topic)
    if committed < log.start_offset:
        return ("behind-start", name.topic)
    if committed > log.end_offset:
        return ("beyond-end", name.topic)
    is_at_stable = committed <= log.stable_offset and part.unread is not None and part.unread.is_whole
    if is_at_stable and part.unread is not None and not part.unread.record_count:
        if log.stable_offset == log.end_offset:
            return ("markers-only", "")
        # A consumer stops exactly here only because of the open transaction.
        return ("open-transaction", _opener(snapshot, name))
    return _of_members(snapshot, group, part)


def _of_members(snapshot: Snapshot, group: Group, part: Behind) -> tuple[str, str]:
    if not group.members and (_was_left(snapshot, group) or not part.outgoing):
        return ("group-empty", "")
    if group.state in _REBALANCING:
        return ("rebalancing", "")
    if part.owner is None and group.members:
        return ("not-assigned", part.name.topic)
    client_id = part.owner.client_id if part.owner else None
    for row in snapshot.rows("holds", client_id=client_id):
        until_ms = row["last_ms"] + row["throttle_ms"]
        if row["quota"] in CONSUMING and until_ms >= max(snapshot.since_ms, snapshot.now_ms - _LATELY_MS):
            return ("held", row["client_id"])
    since_ms = still_since_ms(group.commits.get(part.name, []))
    if (
        part.owner
        and since_ms is not None
        and snapshot.now_ms - since_ms >= _SILENT_MS
        and (part.age_ms or 0) >= _SILENT_MS
    ):
        return ("commits-nothing", part.owner.member_id)
    if part.age_ms is not None and part.age_ms <= _FRESH_MS:
        return ("keeps-up", "")
    if part.incoming is None or part.outgoing is None:
        return ("unknown", "")
    if part.outgoing > part.incoming:
        return ("catches-up", "")
    return _slowness(snapshot, part)


def _slowness(snapshot: Snapshot, part: Behind) -> tuple[str, str]:
    """Return the cause of a member's slowness, if its fetches show it."""
    if part.owner is None:
        return ("falls-behind", "")
    client_id, leader_id = part.owner.client_id, snapshot.partitions[part.name].leader_id
    for row in snapshot.rows("requests", client_id=client_id, broker_id=leader_id, api="Fetch", waited_for="disk"):
        if row["at_ms"] + row["total_ms"] >= snapshot.now_ms - _LATELY_MS:
            return ("cold", client_id)
    between_s = between_fetches_s(snapshot, leader_id, client_id)
    if between_s is not None and between_s >= _SELDOM_S:
        return ("asks-seldom", client_id)
    for row in snapshot.rows("full_answers", client_id=client_id, broker_id=leader_id):
        if row["last_ms"] >= snapshot.now_ms - _LATELY_MS:
            return ("answers-full", client_id)
    return ("falls-behind", "")


def _was_left(snapshot: Snapshot, group: Group) -> bool:
    """Return whether the group's last member has left; consumers with manual assignment commit without members."""
    ended = [row["rebalances"][-1] for row in snapshot.rows("groups", group=group.name) if row["rebalances"]]
    return any(each["outcome"] == "empty" for each in ended)


def _opener(snapshot: Snapshot, name: TopicPartition) -> str:
    """Return the id, as text, of the producer whose open transaction blocks the last stable offset; empty: unknown."""
    there = [(each.first_offset, each.producer_id) for each in snapshot.open_transactions if each.partition == name]
    return str(min(there)[1]) if there else ""


def _single(all_parts: Sequence[Behind], findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings about single partitions that have nearly all of a topic's lag, with a possible reason."""
    by_topic: dict[str, list[Behind]] = {}
    for each in all_parts:
        by_topic.setdefault(each.name.topic, []).append(each)
    for topic, parts in by_topic.items():
        total = sum(each.record_count for each in parts)
        worst = max(parts, key=lambda each: each.record_count)
        if (
            len(parts) < 3
            or worst.record_count < max(_MOST_OF_IT * total, _MANY)
            or all(not each.severity for each in findings)
        ):
            continue
        coming = sum(each.incoming or 0 for each in parts)
        part_of_it = (worst.incoming or 0) / coming if coming else None
        why = ""
        if part_of_it is not None:
            is_hot = part_of_it >= _MOST_OF_IT
            why = f", and {part_of_it:.0%} of the incoming records: " + (
                "most keys are written there" if is_hot else "its reader is slower than the others"
            )
        text = f"{worst.name} alone has {worst.record_count / total:.0%} of the lag of {topic}{why}"
        figures: dict[str, Figure] = {
            "partition": str(worst.name),
            "part_of_lag": worst.record_count / total,
            "part_of_incoming": part_of_it,
        }
        certainty = Certainty.MEASURED if part_of_it is None else Certainty.INFERRED
        yield Finding(f"topic {topic}", "one-partition", text, Severity.NOTICE, certainty, figures=figures)
