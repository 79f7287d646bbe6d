"""One group: causes of its lag and rebalances, lag by partition, members, rebalances."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.charts.time_plot import TimePlot
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.collector import Part
from barnabas.explain.finding import Finding, worst_first
from barnabas.explain.questions import Question
from barnabas.explain.rules.group import explain_group, reason_text
from barnabas.explain.rules.lag import explain_lag
from barnabas.explain.snapshot import Group as SnapshotGroup
from barnabas.explain.snapshot import Row, Scope, Snapshot, rate_per_s
from barnabas.page.plots import lag_plot
from barnabas.page.view import Asked, View, ViewKind, known


def _explain(snapshot: Snapshot) -> list[Finding]:
    return worst_first([*explain_lag(snapshot), *explain_group(snapshot)])


_QUESTION: Final = Question(
    frozenset({Part.GROUPS, Part.LAG, Part.SETTINGS}),
    ("groups", "ends", "holds"),
    _explain,
)


class PartitionRow(NamedTuple):
    """A partition that a group reads; unknown values are None.

    `stable_offset` is the last stable offset; rates are over the last half minute.
    """

    partition: TopicPartition
    committed: int | None
    stable_offset: int | None
    end_offset: int | None
    lag: int | None
    oldest_ms: int | None
    in_per_s: float | None
    out_per_s: float | None
    member: str


class MemberRow(NamedTuple):
    """A member and its assignment."""

    client_id: str
    host: str
    member_id: str
    partitions: tuple[TopicPartition, ...]


class RebalanceRow(NamedTuple):
    """A rebalance; `took_ms` is None while it runs."""

    began_ms: int
    reason: str
    took_ms: int | None
    member_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(View):
    """A group."""

    name: str
    state: str
    coordinator_id: int
    findings: tuple[Finding, ...]
    lag: TimePlot | None
    partitions: tuple[PartitionRow, ...]
    members: tuple[MemberRow, ...]
    rebalances: tuple[RebalanceRow, ...]


async def build(asked: Asked) -> Group:
    """Read the group named by `?name=`. Raises KafkaError (GROUP_ID_NOT_FOUND)."""
    name = asked.query.get("name", "")
    snapshot = await asked.cluster.collect(_QUESTION, Scope(name))
    group = snapshot.groups.get(name)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"consumer group {name} does not exist")
    return Group(
        **known(snapshot)._asdict(),
        name=name,
        state=group.state,
        coordinator_id=group.coordinator_id,
        findings=tuple(_explain(snapshot)),
        lag=lag_plot(snapshot, group),
        partitions=tuple(partition_rows(snapshot, group)),
        members=tuple(
            MemberRow(each.client_id, each.host, each.member_id, tuple(each.assignment)) for each in group.members
        ),
        rebalances=tuple(
            sorted(
                (_rebalance(each) for row in snapshot.rows("groups", group=name) for each in row["rebalances"]),
                key=lambda each: -each.began_ms,
            )
        ),
    )


def partition_rows(snapshot: Snapshot, group: SnapshotGroup) -> Iterator[PartitionRow]:
    """Yield the partitions that a group reads, by name."""
    owners = group.owners
    for name in sorted(group.committed.keys() | owners.keys()):
        log, committed, unread = (
            snapshot.logs.get(name),
            group.committed.get(name),
            snapshot.unread.get((group.name, name)),
        )
        owner = owners.get(name)
        yield PartitionRow(
            name,
            committed,
            None if log is None else log.stable_offset,
            None if log is None else log.end_offset,
            None if log is None or committed is None else max(log.end_offset - committed, 0),
            None if unread is None else unread.first_ms,
            None if log is None else rate_per_s(log.ends, snapshot.now_ms),
            rate_per_s(group.commits[name], snapshot.now_ms) if name in group.commits else None,
            "" if owner is None else f"{owner.client_id} at {owner.host}",
        )


def _rebalance(row: Row) -> RebalanceRow:
    took_ms = None if row["outcome"] is None else (row["gather_ms"] or 0) + (row["assign_ms"] or 0)
    return RebalanceRow(row["began_ms"], reason_text(row), took_ms, row["member_count"])


VIEW = ViewKind("/group", "Group", "group.html.jinja", build, 5, "/groups")
