"""Reset a group's offsets: the same as `barnabas groups --reset-offsets`, whose dry run is the preview."""

import time
from typing import Final

from barnabas.clients.admin import Admin
from barnabas.clients.offset_resets import Reset, check_no_members, plan_reset
from barnabas.core.advised_commands import Word, command
from barnabas.core.errors import BarnabasError
from barnabas.page.changes.change import Change, Field, Plan, Row, choice, needed, number, text
from barnabas.page.view import Asked

_GROUP: Final = Field("group", "Group")
_TOPICS: Final = Field(
    "topics", "Topics", "As name or name:0,1, separated by blanks. Empty: all topics with offsets.", is_optional=True
)
_WHERE: Final = Field(
    "to",
    "Target",
    choices=("to-earliest", "to-latest", "to-current", "to-offset", "shift-by", "to-datetime", "by-duration"),
)
_VALUE: Final = Field(
    "value",
    "Value",
    "An offset; a number of records (back: -100); a time (2026-11-21T08:00:00); a duration (PT2H30M).",
    is_optional=True,
)
# A plan is kept in memory.
_MOST_PARTITIONS: Final = 1_000


async def preview(asked: Asked) -> Plan:
    """Compute the group's new offsets."""
    name, admin = needed(asked, _GROUP), asked.cluster.admin(Admin)
    topics = text(asked, _TOPICS.name).split() or None
    where, value = choice(asked, _WHERE), text(asked, _VALUE.name)
    notes: list[str] = []
    check_no_members(await admin.describe_group(name))
    reset = _reset(asked, where, value)
    planned = await plan_reset(admin, name, topics, reset, now_ms=time.time_ns() // 1_000_000, tell=notes.append)
    if len(planned) > _MOST_PARTITIONS:
        raise BarnabasError(f"{len(planned)} partitions exceed the page's limit: name up to {_MOST_PARTITIONS}")
    committed = await admin.committed_offsets(name, planned)

    async def carry_out() -> str:
        check_no_members(await admin.describe_group(name))
        await admin.commit_offsets(name, planned)
        return f"The offsets of group {name} were reset."

    options: list[Word] = ["--all-topics"] if topics is None else [("--topic", each) for each in topics]
    options += [f"--{where}" if where in _WHERE.choices[:3] else f"--{where}={value}", "--execute"]
    return Plan(
        tuple(Row(str(each), str(committed.get(each, "")), str(planned[each])) for each in sorted(planned)),
        command("groups", "--reset-offsets", ("--group", name), *options),
        carry_out,
        tuple(notes),
    )


def _reset(asked: Asked, where: str, value: str) -> Reset:
    if where not in _WHERE.choices[:3] and not value:
        raise BarnabasError(f"{_VALUE.label}: {where} requires one")
    return Reset(
        number(asked, _VALUE, 0) if where == "to-offset" else None,
        where == "to-earliest",
        where == "to-latest",
        where == "to-current",
        number(asked, _VALUE, -(2**63)) if where == "shift-by" else None,
        value if where == "to-datetime" else None,
        value if where == "by-duration" else None,
    )


CHANGE = Change("/change/reset-offsets", "Reset a group's offsets", (_GROUP, _TOPICS, _WHERE, _VALUE), preview)
