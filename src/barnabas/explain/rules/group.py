"""Causes of rebalances: the trigger, members that joined or left, frequency, and time without reading.

Barnabas's coordinators record the reasons of their decisions. Kafka's do not: for these the members of two snapshots
are compared, and the reason is unknown.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from barnabas.core.advised_commands import NAME, command
from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import count, duration, listed, times
from barnabas.explain.snapshot import Group, Row, Snapshot

# A group that rebalances this often, or is idle for this share of the time, has a problem.
_OFTEN: Final = 3
_OFTEN_MS: Final = 600_000
# A rebalance this soon after a change of the coordinator is probably its consequence.
_MOVED_MS: Final = 120_000
# Rebalances with these reasons are not: members continue with a new coordinator, and rejoin only if they did not find
# it or were joining.
_OF_THEIR_OWN_ACCORD: Final = ("left", "removed", "subscription_changed")
_IDLE_PART: Final = 0.1
# A member that misses a rebalance did not begin it: the rebalance waited for the member.
_MISSED: Final = "poll_interval_exceeded"
_STATES: Final = {
    "PreparingRebalance": "waits for its members to join",
    "CompletingRebalance": "waits for its leader to assign the partitions",
}


def _member(row: Row) -> str:
    return f"{row['client_id']} at {row['host']}" if row["client_id"] else "a member"


_REASONS: Final = {
    "joined": "{} joined",
    "left": "{} left",
    "removed": "{} was removed by an administrator",
    "session_expired": "no heartbeat of {} came within session.timeout.ms",
    "poll_interval_exceeded": "{} did not rejoin within max.poll.interval.ms: it takes too long to process its records",
    "subscription_changed": "{} changed its subscription",
    "leader_rejoined": "its leader {} requested it, for new partitions or topics",
    "static_replaced": "{} replaced another member with its group.instance.id",
    "assignment_not_stored": "the assignment of its leader could not be stored",
    "too_many_members": "no room for {}: the group has group.max.size members",
}
_ADVICE: Final = {
    "session_expired": "raise session.timeout.ms, or find out why the member stopped (crash, pause, network)",
    "poll_interval_exceeded": "lower max.poll.records, or raise max.poll.interval.ms",
    "joined": "with a group.instance.id, a member that returns within its session timeout causes no rebalance",
    "left": "with a group.instance.id, a member that returns within its session timeout causes no rebalance",
    "assignment_not_stored": "its partition of __consumer_offsets rejects acks=all: see `barnabas explain topic`",
    "too_many_members": "raise group.max.size, or run fewer members",
}


def reason_text(rebalance: Row) -> str:
    """Describe the trigger of a rebalance."""
    text = _REASONS.get(rebalance["reason"], f"{rebalance['reason']} ({{}})").format(_who(rebalance))
    heard_ms = rebalance.get("heard_ms")
    if heard_ms is None:
        return text
    return f"{text} (the last one came {duration(max(rebalance['began_ms'] - heard_ms, 0))} before)"


def _who(rebalance: Row) -> str:
    """Return the member that triggered a rebalance or, without one, the members that left for the same reason."""
    went = [_member(each) for each in rebalance.get("went", ()) if each["why"] == rebalance["reason"]]
    return listed(went) if went and not rebalance["client_id"] else _member(rebalance)


def explain_group(snapshot: Snapshot) -> list[Finding]:
    """Explain the rebalances of each group in the snapshot, the most severe first."""
    return worst_first(_group(snapshot, group) for group in snapshot.groups.values())


def _group(snapshot: Snapshot, group: Group) -> Finding:
    rows = list(snapshot.rows("groups", group=group.name))
    kept = [each for row in rows for each in row["rebalances"] if each["began_ms"] >= snapshot.since_ms]
    kept.sort(key=lambda each: int(each["began_ms"]))
    subject = f"group {group.name}"
    members = count(len(group.members), "member")
    next_step = command("groups", "--describe", ("--group", group.name), "--members")
    figures: dict[str, Figure] = {"state": group.state, "member_count": len(group.members)}
    if not rows:
        return _from_samples(snapshot, group, figures, next_step)
    if not kept:
        window = duration(snapshot.now_ms - snapshot.since_ms)
        text = f"group {group.name} is {group.state} with {members} and has not rebalanced in {window}"
        return Finding(subject, "at-rest", text, figures=figures, commands=(next_step,))
    disturbing = [each for each in kept if not _disturbs_nobody(each, len(group.members))]
    idle_ms = sum(_idle_ms(each, snapshot.now_ms) for each in disturbing)
    recent = sum(each["began_ms"] >= snapshot.now_ms - _OFTEN_MS for each in disturbing)
    idle_part = None
    if disturbing and (window_ms := snapshot.now_ms - int(disturbing[0]["began_ms"])) >= _OFTEN_MS:
        idle_part = min(idle_ms / window_ms, 1.0)
    figures |= {
        "rebalance_count": len(kept),
        "recent_count": recent,
        "idle_ms": idle_ms,
        "idle_part": idle_part,
    }
    is_on = group.state in _STATES
    text = f"group {group.name} rebalanced {times(len(kept))}"
    if recent > 1:
        text += f", and interrupted its members {times(recent)} in the last 10 min"
    if disturbing:
        text += f"; reading stopped for {duration(idle_ms)}"
    # For a single rebalance the share of time is meaningless.
    if idle_part is not None and len(disturbing) > 1:
        text += f", {idle_part:.0%} of the time since the first one"
    text += f"; {_last(kept[-1])}"
    if is_on:
        past = text.removeprefix(f"group {group.name} ")
        text = f"group {group.name} rebalances now and {_STATES[group.state]}; it {past}"
    is_bad = recent >= _OFTEN or (recent > 1 and idle_part is not None and idle_part >= _IDLE_PART)
    is_trouble = is_bad or (is_on and kept[-1] in disturbing)
    severity = Severity.PROBLEM if is_trouble else Severity.FINE
    since_ms = int(kept[-1]["began_ms"])
    causes = tuple(_causes(subject, kept, severity, dict(_moves(subject, rows, kept))))
    verdict = "rebalancing" if is_on else "rebalances-often" if is_bad else "rebalanced"
    return Finding(
        subject, verdict, text, severity, since_ms=since_ms, figures=figures, causes=causes, commands=(next_step,)
    )


def _disturbs_nobody(rebalance: Row, member_count: int) -> bool:
    """Return whether a rebalance interrupted no member: none was reading before it, or the group became empty.

    Args:
        member_count: The current number of members, for a rebalance in progress.
    """
    if rebalance["reason"] in ("left", "removed"):
        return bool(rebalance["outcome"] == "empty")
    gathered = rebalance["member_count"]
    members = member_count if gathered is None else gathered
    return rebalance["reason"] == "joined" and not rebalance["went"] and int(rebalance["came_count"]) >= int(members)


def _idle_ms(rebalance: Row, now_ms: int) -> int:
    """Return the time that a rebalance stopped reading; for one in progress, until now."""
    if rebalance["outcome"] is None:
        return max(now_ms - int(rebalance["began_ms"]), 0)
    return int(rebalance["gather_ms"] or 0) + int(rebalance["assign_ms"] or 0)


def _last(rebalance: Row) -> str:
    """Describe the newest rebalance: its trigger, and the member for which it waited."""
    text = f"the last one: {reason_text(rebalance)}"
    last = rebalance["last"]
    missed = [_member(each) for each in rebalance["went"] if each["why"] == _MISSED]
    if missed:
        text += f"; {listed(missed)} did not rejoin in {duration(rebalance['gather_ms'] or 0)}"
    elif last is not None and last["client_id"] and int(rebalance["gather_ms"] or 0) >= 1_000:
        text += f"; it waited longest for {_member(last)}, {duration(rebalance['gather_ms'])}"
    return text


def _reasons(rebalance: Row) -> Iterator[Row]:
    """Yield the reasons of a rebalance; first members that did not rejoin, because they took the most time."""
    for each in rebalance["went"]:
        if each["why"] == _MISSED:
            yield {**each, "reason": _MISSED, "began_ms": rebalance["began_ms"]}
    yield rebalance


def _causes(subject: str, kept: Sequence[Row], severity: Severity, moves: Mapping[str, Finding]) -> Iterator[Finding]:
    """Yield each reason once, the most frequent first, with count, members and last time.

    Args:
        moves: The probable cause of a reason.
    """
    reasons = [each for rebalance in kept for each in _reasons(rebalance)]
    counts = Counter(str(each["reason"]) for each in reasons)
    for reason, number in sorted(counts.items(), key=lambda each: (each[0] != _MISSED, -each[1])):
        of_reason = [each for each in reasons if str(each["reason"]) == reason]
        newest = of_reason[-1]
        who = Counter(_member(each) for each in of_reason if each["client_id"])
        text = f"{times(number)}: {reason_text(newest)}"
        if len(who) > 1:
            text += f" (in all {listed([f'{name}: {often}' for name, often in who.most_common()], 3)})"
        if reason in _ADVICE:
            text += f"; {_ADVICE[reason]}"
        figures: dict[str, Figure] = {"rebalance_count": number, "members": [name for name, _ in who.most_common(20)]}
        since_ms = int(newest["began_ms"])
        verdict = reason.replace("_", "-")
        causes = (moves[reason],) if reason in moves else ()
        yield Finding(subject, verdict, text, severity, since_ms=since_ms, figures=figures, causes=causes)


def _moves(subject: str, rows: Sequence[Row], kept: Sequence[Row]) -> Iterator[tuple[str, Finding]]:
    """Yield findings about brokers that became coordinator just before a rebalance, with the reason."""
    for row in rows:
        moved_ms = row["loaded_ms"]
        followed = [
            each
            for each in kept
            if moved_ms is not None
            and 0 <= each["began_ms"] - moved_ms <= _MOVED_MS
            and each["reason"] not in _OF_THEIR_OWN_ACCORD
        ]
        if followed:
            before = duration(followed[0]["began_ms"] - moved_ms)
            text = (
                f"broker {row['broker_id']} became its coordinator, or was started, {before} before a rebalance: "
                "members look for the coordinator and rejoin"
            )
            figures: dict[str, Figure] = {"broker_id": row["broker_id"], "rebalance_count": len(followed)}
            next_step = command("explain", "broker", (NAME, row["broker_id"]))
            yield (
                str(followed[0]["reason"]),
                Finding(
                    subject,
                    "coordinator-moved",
                    text,
                    certainty=Certainty.INFERRED,
                    since_ms=moved_ms,
                    figures=figures,
                    commands=(next_step,),
                ),
            )


def _from_samples(snapshot: Snapshot, group: Group, figures: dict[str, Any], next_step: str) -> Finding:
    """Return a finding from two snapshots, for a coordinator that records no reasons."""
    subject = f"group {group.name}"
    now = {each.member_id: each for each in group.members}
    then = {each.member_id: each for each in snapshot.members_before.get(group.name, group.members)}
    came = [f"{now[each].client_id} at {now[each].host}" for each in sorted(now.keys() - then.keys())]
    went = [f"{then[each].client_id} at {then[each].host}" for each in sorted(then.keys() - now.keys())]
    figures |= {"came": came, "went": went}
    text = f"group {group.name} is {group.state} with {count(len(now), 'member')}"
    text += f"; joined: {listed(came)}" if came else ""
    text += f"; left: {listed(went)}" if went else ""
    is_silent = group.coordinator_id in snapshot.silent
    why = "does not answer" if is_silent else "records no reasons"
    cause = Finding(
        subject,
        "unknown",
        f"the reasons of its rebalances are unknown: its coordinator, {snapshot.address(group.coordinator_id)}, {why}; "
        "see its log",
        certainty=Certainty.UNKNOWN,
        silent=(group.coordinator_id,) if is_silent else (),
    )
    is_on = group.state in _STATES
    if is_on:
        text += f": it {_STATES[group.state]}"
    severity = Severity.PROBLEM if is_on else Severity.FINE
    verdict = "rebalancing" if is_on else "members-changed" if came or went else "at-rest"
    return Finding(subject, verdict, text, severity, figures=figures, causes=(cause,), commands=(next_step,))
