"""Consumer groups: lag, number of readers, and the trigger of the last rebalance."""

import asyncio
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.explain.collector import Part
from barnabas.explain.finding import Finding, Severity
from barnabas.explain.questions import Question
from barnabas.explain.rules.group import explain_group, reason_text
from barnabas.explain.snapshot import Group, Snapshot
from barnabas.page.view import Asked, RowRange, View, ViewKind, known, select_rows

_QUESTION: Final = Question(frozenset({Part.GROUPS, Part.LOGS}), ("groups", "ends"), explain_group)


class GroupRow(NamedTuple):
    """A group; unknown values are None, `finding` is a problem with its rebalances."""

    name: str
    state: str
    member_count: int
    partition_count: int
    topics: tuple[str, ...]
    lag: int | None
    last_rebalance_ms: int | None
    last_reason: str
    finding: Finding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups(View):
    """All groups, or the search results."""

    groups: RowRange[GroupRow]


async def build(asked: Asked) -> Groups:
    """Read the groups, their offsets and their recent events. Raises KafkaError."""
    snapshot = await asked.cluster.collect(_QUESTION)
    rows = await asyncio.to_thread(group_rows, snapshot)
    return Groups(**known(snapshot)._asdict(), groups=select_rows(rows, asked, lambda row: row.name))


def group_rows(snapshot: Snapshot) -> list[GroupRow]:
    """Return the groups by name."""
    wrong = {each.subject: each for each in explain_group(snapshot) if each.severity > Severity.FINE}
    last = {
        row["group"]: max(row["rebalances"], key=lambda each: int(each["began_ms"]))
        for row in snapshot.rows("groups")
        if row["rebalances"]
    }
    rows = []
    for name, group in sorted(snapshot.groups.items()):
        rebalance = last.get(name)
        rows.append(
            GroupRow(
                name,
                group.state,
                len(group.members),
                len(group.committed.keys() | group.owners.keys()),
                tuple(sorted({each.topic for each in (*group.committed, *group.owners)})),
                lag_of(snapshot, group),
                None if rebalance is None else rebalance["began_ms"],
                "" if rebalance is None else reason_text(rebalance),
                wrong.get(f"group {name}"),
            )
        )
    return rows


def lag_of(snapshot: Snapshot, group: Group) -> int | None:
    """Return the total lag of a group; None: a log end offset is unknown, or the group never committed."""
    lags = [
        max(log.end_offset - offset, 0)
        for name, offset in group.committed.items()
        if (log := snapshot.logs.get(name)) is not None
    ]
    return sum(lags) if lags and len(lags) == len(group.committed) else None


VIEW = ViewKind("/groups", "Groups", "groups.html.jinja", build, 5, "/groups")
