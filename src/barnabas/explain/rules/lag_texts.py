"""Sentences about the causes of lag, with their figures: one for each verdict of `lag.py`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from barnabas.core.advised_commands import NAME, command
from barnabas.core.types import TopicPartition
from barnabas.explain.finding import Certainty, Figure, Finding, Severity
from barnabas.explain.formatting import amount, count, duration, listed
from barnabas.explain.rules.group import reason_text
from barnabas.explain.rules.topic import why_offline
from barnabas.explain.rules.transaction import of_open
from barnabas.explain.snapshot import Group, Log, Member, Snapshot, UnreadRecords, still_since_ms

CONSUMING: Final = ("consumer_byte_rate", "request_percentage")
"""The quotas that throttle consumers."""
_MOST_PARTITIONS: Final = 20


class Behind(NamedTuple):
    """A partition that a group has not read to its end.

    Attributes:
        committed: None: no offset was committed.
        log: None: unknown.
        lag: Offsets; None: unknown.
        age_ms: The age of the first uncommitted record; None: no such record, or unknown.
        incoming, outgoing: Records per second that arrive, and that are committed; None: unknown.
    """

    name: TopicPartition
    committed: int | None
    log: Log | None
    unread: UnreadRecords | None
    owner: Member | None
    lag: int | None
    age_ms: int | None
    incoming: float | None
    outgoing: float | None

    @property
    def is_late(self) -> bool:
        """Return whether the partition needs a finding: it has lag, or its lag is unknown."""
        if self.committed is None or self.log is None:
            return True
        return self.committed != self.log.end_offset

    @property
    def record_count(self) -> int:
        """Return the number of records ahead; offsets whose records were not read count as records."""
        if self.unread is None or not self.unread.is_whole:
            return self.lag or 0
        open_count = 0 if self.log is None else self.log.end_offset - max(self.log.stable_offset, self.committed or 0)
        return self.unread.record_count + max(open_count, 0)


def describe(snapshot: Snapshot, group: Group, verdict: str, key: str, parts: Sequence[Behind]) -> Finding:
    """Return the finding for partitions with the same cause."""
    names = [each.name for each in parts]
    where = listed(names)
    records = sum(each.record_count for each in parts)
    figures: dict[str, Figure] = {
        "partitions": [str(each) for each in names[:_MOST_PARTITIONS]],
        "partition_count": len(names),
        "lag_records": records,
    }
    subject = f"group {group.name}"
    return _TEXTS[verdict](_Lag(snapshot, group, subject, verdict, key, parts, where, records, figures))


class _Lag(NamedTuple):
    """The input of a text."""

    snapshot: Snapshot
    group: Group
    subject: str
    verdict: str
    key: str
    parts: Sequence[Behind]
    where: str
    records: int
    figures: dict[str, Figure]

    def finding(
        self,
        text: str,
        severity: Severity,
        certainty: Certainty = Certainty.MEASURED,
        *,
        since_ms: int | None = None,
        causes: Iterable[Finding] = (),
        commands: Iterable[str] = (),
        **figures: Figure,
    ) -> Finding:
        found = self.figures | figures
        return Finding(
            self.subject, self.verdict, text, severity, certainty, since_ms, found, tuple(causes), tuple(commands)
        )


def _no_topic(of: _Lag) -> Finding:
    text = f"{of.where}: no such partition exists any more, so the committed offset is of no use"
    return of.finding(text, Severity.NOTICE, commands=[command("topics", "--list")])


def _no_leader(of: _Lag) -> Finding:
    causes = list(_reasons(of))
    text = f"{of.where}: there is no leader, so nothing can be read"
    return of.finding(text, Severity.URGENT, causes=causes, commands=[_explain("topic", of.parts[0].name[0])])


def _reasons(of: _Lag) -> Iterator[Finding]:
    for each in of.parts[:1]:
        yield from why_offline(of.snapshot, of.snapshot.partitions[each.name])


def _leader_silent(of: _Lag) -> Finding:
    leader_id = int(of.key)
    why = of.snapshot.silent.get(leader_id, "its answer was an error")
    text = f"{of.where}: the leader, {of.snapshot.address(leader_id)}, does not report the end offset: {why}"
    return of.finding(text, Severity.PROBLEM, Certainty.UNKNOWN, commands=[command("cluster", "status")])


def _never_committed(of: _Lag) -> Finding:
    text = (
        f"{of.where}: no offset was ever committed, or it has expired (offsets.retention.minutes); a member begins "
        f"by its auto.offset.reset: latest skips {count(of.records, 'record')}"
    )
    reset = ("groups", "--reset-offsets", ("--group", of.group.name), ("--topic", of.key), "--to-earliest")
    severity = Severity.NOTICE if of.records else Severity.FINE
    return of.finding(text, severity, commands=[command(*reset)])


def _behind_start(of: _Lag) -> Finding:
    lost = sum((each.log.start_offset if each.log else 0) - (each.committed or 0) for each in of.parts)
    text = (
        f"{of.where}: the log begins after the committed offset: {count(lost, 'record')} were deleted before the group "
        "read them; a member continues by its auto.offset.reset"
    )
    next_step = _explain("disk", of.key), command("configs", "--describe", ("--topic", of.key))
    return of.finding(text, Severity.URGENT, commands=next_step, lost_records=lost)


def _beyond_end(of: _Lag) -> Finding:
    text = (
        f"{of.where}: the committed offset is beyond the log's end: the topic was deleted and recreated, or its leader "
        "lost records; a member continues by its auto.offset.reset"
    )
    reset = ("groups", "--reset-offsets", ("--group", of.group.name), ("--topic", of.key), "--to-latest")
    return of.finding(text, Severity.PROBLEM, commands=[command(*reset)])


def _open_transaction(of: _Lag) -> Finding:
    causes = of_open(of.snapshot, {each.name for each in of.parts}, int(of.key) if of.key else None)
    text = f"{of.where}: read_committed consumers wait for the end of an open transaction"
    severity = max((each.severity for each in causes), default=Severity.NOTICE)
    return of.finding(text, max(severity, Severity.NOTICE), Certainty.INFERRED, causes=causes)


def _markers_only(of: _Lag) -> Finding:
    text = f"{of.where}: only transaction markers and aborted records are left, so there is no lag"
    return of.finding(text, Severity.FINE)


def _group_empty(of: _Lag) -> Finding:
    last = max(of.snapshot.rows("groups", group=of.group.name), key=lambda row: len(row["rebalances"]), default=None)
    went = [each for row in ([] if last is None else last["rebalances"][-1:]) for each in row["went"]]
    since_ms = None if last is None or not last["rebalances"] else last["rebalances"][-1]["began_ms"]
    names = listed([f"{each['client_id']} ({each['why']})" for each in went])
    who = f"; last to leave: {names}" if went else ""
    text = f"{of.where}: the group has no members, so nothing is read{who}"
    return of.finding(text, Severity.NOTICE, since_ms=since_ms, commands=[_explain("group", of.group.name)])


def _rebalancing(of: _Lag) -> Finding:
    rows = of.snapshot.rows("groups", group=of.group.name)
    last = next((each for row in rows for each in reversed(row["rebalances"])), None)
    why = "" if last is None else f": {reason_text(last)}"
    text = f"{of.where}: the group rebalances, and its members do not read until it is done{why}"
    since_ms = None if last is None else last["began_ms"]
    more = [_explain("group", of.group.name)]
    return of.finding(text, Severity.PROBLEM, since_ms=since_ms, commands=more)


def _not_assigned(of: _Lag) -> Finding:
    text = (
        f"{of.where}: assigned to none of the {count(len(of.group.members), 'member')} of the group, which is "
        f"{of.group.state}: they no longer subscribe to the topic, or do not know the partition yet "
        "(metadata.max.age.ms)"
    )
    next_step = command("groups", "--describe", ("--group", of.group.name), "--members", "--verbose")
    return of.finding(text, Severity.PROBLEM, Certainty.INFERRED, commands=[next_step])


def _throttled(of: _Lag) -> Finding:
    rows = [row for row in of.snapshot.rows("holds", client_id=of.key) if row["quota"] in CONSUMING]
    times = sum(row["count"] for row in rows)
    total_ms = sum(row["total_ms"] for row in rows)
    quotas = listed(sorted({row["quota"] for row in rows}))
    text = f"{of.where}: {of.key} is throttled by {quotas}: {times:,} times, {duration(total_ms)} in total"
    user = rows[-1]["user"]
    next_step = command("quotas", "explain", ("--user", user), ("--client-id", of.key))
    since_ms = min(row["first_ms"] for row in rows)
    return of.finding(
        text, Severity.PROBLEM, since_ms=since_ms, commands=[next_step], hold_count=times, held_ms=total_ms
    )


def _commits_nothing(of: _Lag) -> Finding:
    owner = of.parts[0].owner
    assert owner is not None
    stills = [still_since_ms(of.group.commits[each.name]) or of.snapshot.now_ms for each in of.parts]
    since_ms = max(stills)
    text = (
        f"{of.where}: {owner.client_id} at {owner.host} is assigned and alive, but has committed nothing for "
        f"{duration(of.snapshot.now_ms - since_ms)}: it is processing records, does not commit them, or is paused"
    )
    next_step = command("groups", "--describe", ("--group", of.group.name), "--members", "--verbose")
    return of.finding(text, Severity.PROBLEM, Certainty.INFERRED, since_ms=since_ms, commands=[next_step])


def _keeps_up(of: _Lag) -> Finding:
    return of.finding(f"{of.where}: the uncommitted records have just arrived", Severity.FINE)


def _rates(of: _Lag) -> tuple[float, float]:
    return sum(each.incoming or 0 for each in of.parts), sum(each.outgoing or 0 for each in of.parts)


def _catches_up(of: _Lag) -> Finding:
    incoming, outgoing = _rates(of)
    left_ms = of.records * 1_000 / (outgoing - incoming)
    text = (
        f"{of.where}: {amount(incoming, 'records/s')} arrive and {amount(outgoing, 'records/s')} are committed: at "
        f"this pace the group catches up in {duration(left_ms)}"
    )
    of.figures.update(incoming_per_s=incoming, committed_per_s=outgoing, done_in_ms=round(left_ms))
    return of.finding(text, Severity.NOTICE, Certainty.INFERRED)


def between_fetches_s(snapshot: Snapshot, broker_id: int, client_id: str) -> float | None:
    """Return the seconds between two non-empty fetches of a client; None: unknown."""
    fetched = snapshot.fetched.get((broker_id, client_id), [])
    count = sum(each > 0 for each in fetched)
    return len(fetched) / count if count else None


def _asks_seldom(of: _Lag) -> Finding:
    between_s = between_fetches_s(of.snapshot, of.snapshot.partitions[of.parts[0].name].leader_id, of.key) or 0
    of.figures.update(between_fetches_s=between_s)
    why = f"{of.key} fetches once in {between_s:.0f} s: processing or receiving the records takes that long"
    return _falls_behind(of, f"; {why}")


def _cold(of: _Lag) -> Finding:
    return _falls_behind(of, f"; fetches of {of.key} wait for the disk: the records are no longer in memory")


def _answers_full(of: _Lag) -> Finding:
    row = max(of.snapshot.rows("full_answers", client_id=of.key), key=lambda each: each["last_ms"])
    setting, most = row["setting"], amount(row["most_bytes"], "bytes")
    of.figures.update(setting=setting, most_bytes=row["most_bytes"])
    why = (
        f"; responses to {of.key} are full at {most} ({setting}): larger ones help if the network latency is high, but "
        "not if processing is slow"
    )
    return _falls_behind(of, why)


def _falls_behind(of: _Lag, why: str = "") -> Finding:
    incoming, outgoing = _rates(of)
    come = f"{amount(incoming, 'records/s')} arrive" if incoming else "nothing arrives"
    go = f"only {amount(outgoing, 'records/s')} are committed" if outgoing else "nothing is committed"
    text = f"{of.where}: {come} and {go}: at this pace the group never catches up{why}"
    next_step = command("groups", "--describe", ("--group", of.group.name), "--members", "--verbose")
    of.figures.update(incoming_per_s=incoming, committed_per_s=outgoing)
    return of.finding(text, Severity.PROBLEM, Certainty.INFERRED, commands=[next_step])


def _unknown(of: _Lag) -> Finding:
    text = f"{of.where}: the incoming and committed rates were not observed for long enough yet"
    again = command("explain", "lag", (NAME, of.group.name), "--watch")
    return of.finding(text, Severity.NOTICE, Certainty.UNKNOWN, commands=[again])


_TEXTS: Final = {
    "no-topic": _no_topic,
    "no-leader": _no_leader,
    "leader-silent": _leader_silent,
    "never-committed": _never_committed,
    "behind-start": _behind_start,
    "beyond-end": _beyond_end,
    "open-transaction": _open_transaction,
    "markers-only": _markers_only,
    "group-empty": _group_empty,
    "rebalancing": _rebalancing,
    "not-assigned": _not_assigned,
    "held": _throttled,
    "commits-nothing": _commits_nothing,
    "keeps-up": _keeps_up,
    "catches-up": _catches_up,
    "asks-seldom": _asks_seldom,
    "cold": _cold,
    "answers-full": _answers_full,
    "falls-behind": _falls_behind,
    "unknown": _unknown,
}


def _explain(question: str, name: str) -> str:
    return command("explain", question, (NAME, name))
