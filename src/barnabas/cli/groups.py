"""`barnabas groups`: consumer groups and their offsets, with the options of kafka-consumer-groups."""

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from barnabas.cli.options import DEFAULT_SERVER, AsJson, BootstrapServer, flag, paragraphs, run_async
from barnabas.cli.output import Cell, note, print_json, print_table
from barnabas.clients import Admin, Pool
from barnabas.clients.admin import EARLIEST, LATEST, GroupDescription
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition

HELP = paragraphs(
    """List and describe consumer groups, and reset their offsets.

One of --list, --describe and --reset-offsets says what to do. A reset only shows what it would do until --execute is
given, and needs a group without running consumers.

Examples:

  barnabas groups --describe --group report

  barnabas groups --reset-offsets --group report --topic views:0,1 --to-earliest --execute
"""
)

_RESETS = "--to-offset, --to-earliest, --to-latest, --to-current, --shift-by, --to-datetime, --by-duration, --from-file"


@dataclass(slots=True)
class _Reset:
    """Where offsets shall go; exactly one is set."""

    to_offset: int | None
    to_earliest: bool
    to_latest: bool
    to_current: bool
    shift_by: int | None
    to_datetime: str | None
    by_duration: str | None
    from_file: str | None

    def count(self) -> int:
        """How many are set."""
        values = (self.to_offset, self.shift_by, self.to_datetime, self.by_duration, self.from_file)
        return sum(value is not None for value in values) + self.to_earliest + self.to_latest + self.to_current


def groups(
    list_: Annotated[bool, flag("--list", "Print the names of all groups.")] = False,
    describe: Annotated[bool, flag("--describe", "Show a group's offsets and lag, or its members or state.")] = False,
    reset_offsets: Annotated[bool, flag("--reset-offsets", "Set a group's offsets anew.")] = False,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="NAME", help="The group; may be repeated.")
    ] = None,
    all_groups: Annotated[bool, flag("--all-groups", "All groups instead of --group.")] = False,
    offsets: Annotated[bool, flag("--offsets", "With --describe: offsets and lag (the default).")] = False,
    members: Annotated[bool, flag("--members", "With --describe: members and what they are assigned.")] = False,
    state: Annotated[bool, flag("--state", "With --describe or --list: the group's state.")] = False,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="NAME[:0,1]",
            help="With --reset-offsets: a topic, or some of its partitions; may be repeated.",
        ),
    ] = None,
    all_topics: Annotated[
        bool, flag("--all-topics", "With --reset-offsets: all topics that the group has offsets of.")
    ] = False,
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", min=0, metavar="N", help="Reset to this offset.")
    ] = None,
    to_earliest: Annotated[bool, flag("--to-earliest", "Reset to the first record.")] = False,
    to_latest: Annotated[bool, flag("--to-latest", "Reset to after the last record.")] = False,
    to_current: Annotated[bool, flag("--to-current", "Reset to what is committed now.")] = False,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", metavar="N", help="Move by so many records, back when negative.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(
            "--to-datetime",
            metavar="TIME",
            help="Reset to the first record of this time (2026-11-21T08:00:00.000, UTC unless it says otherwise).",
        ),
    ] = None,
    by_duration: Annotated[
        str | None,
        typer.Option("--by-duration", metavar="PnDTnHnMnS", help="Reset to the first record of so long ago."),
    ] = None,
    from_file: Annotated[
        str | None,
        typer.Option("--from-file", metavar="CSV", help="Reset to the offsets in a file that --export wrote."),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Only show what a reset would do (the default).")] = False,
    execute: Annotated[bool, flag("--execute", "Do the reset.")] = False,
    export: Annotated[bool, flag("--export", "Print the reset's offsets as CSV.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    as_json: AsJson = False,
) -> None:
    reset = _Reset(to_offset, to_earliest, to_latest, to_current, shift_by, to_datetime, by_duration, from_file)
    if list_ + describe + reset_offsets != 1:
        raise BarnabasError("say what to do: one of --list, --describe, --reset-offsets")
    if not list_ and bool(group) == all_groups:
        raise BarnabasError("say which groups: --group NAME, or --all-groups")
    if offsets + members + state > 1:
        raise BarnabasError("--offsets, --members and --state exclude each other")
    if reset_offsets:
        if reset.count() != 1:
            raise BarnabasError(f"say where to: one of {_RESETS}")
        if from_file is None and bool(topic) == all_topics:
            raise BarnabasError("say which topics: --topic NAME, or --all-topics")
        if dry_run and execute:
            raise BarnabasError("--dry-run and --execute exclude each other")

    async def work() -> None:
        async with Pool(bootstrap_server, "barnabas-groups") as pool:
            admin = Admin(pool)
            if list_:
                await _list(admin, state, as_json)
                return
            names = list(await admin.groups()) if all_groups else list(dict.fromkeys(group or []))
            if describe:
                await _describe(admin, names, "members" if members else "state" if state else "offsets", as_json)
                return
            planned = {}
            for name in names:
                await _require_inactive(admin, name)
                planned[name] = await _plan(admin, name, topic, reset)
            if execute:
                for name, new_offsets in planned.items():
                    await admin.commit_offsets(name, new_offsets)
            _show_reset(planned, export, as_json)
            if not execute and not export:
                note("Nothing was changed: --execute does it.")

    run_async(work())


async def _list(admin: Admin, with_state: bool, as_json: bool) -> None:
    known = await admin.groups()
    if as_json:
        print_json([{"group": name, "state": state, "protocol_type": kind} for name, (state, kind) in known.items()])
    elif with_state:
        print_table(["group", "state"], [[name, state] for name, (state, _) in known.items()])
    else:
        for name in known:
            print(name)


async def _describe(admin: Admin, names: Sequence[str], what: str, as_json: bool) -> None:
    shown = []
    for index, name in enumerate(names):
        described = await admin.describe_group(name)
        committed = await admin.committed_offsets(name)
        if described.state == "Dead" and not committed:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"consumer group {name} does not exist; barnabas groups --list shows those that do",
            )
        rows = await _rows(admin, described, committed, what)
        if as_json:
            shown.append({"group": name, "state": described.state, what: rows} if what != "state" else rows[0])
            continue
        if index:
            print()
        if what != "state" and described.state in ("Empty", "Dead"):
            note(f"Consumer group '{name}' has no active members.")
        elif what != "state" and described.state in ("PreparingRebalance", "CompletingRebalance"):
            note(f"Warning: Consumer group '{name}' is rebalancing.")
        if rows:
            print_table([column.replace("_", " ") for column in rows[0]], [list(row.values()) for row in rows])
    if as_json:
        print_json(shown)


async def _rows(
    admin: Admin, described: GroupDescription, committed: Mapping[TopicPartition, int], what: str
) -> list[dict[str, Cell]]:
    if what == "state":
        return [
            {
                "group": described.group_id,
                "coordinator": described.coordinator,
                "assignor": described.assignor or None,
                "state": described.state,
                "members": len(described.members),
            }
        ]
    if what == "members":
        return [
            {
                "group": described.group_id,
                "consumer_id": member.member_id,
                "host": member.host,
                "client_id": member.client_id,
                "partitions": len(member.assignment),
                "assignment": _assigned(member.assignment) or None,
            }
            for member in described.members
        ]
    owners = {part: member for member in described.members for part in member.assignment}
    partitions = sorted(committed.keys() | owners.keys())
    ends = await _ends(admin, partitions)
    rows: list[dict[str, Cell]] = []
    for partition in partitions:
        current, end, owner = committed.get(partition), ends.get(partition), owners.get(partition)
        rows.append(
            {
                "group": described.group_id,
                "topic": partition.topic,
                "partition": partition.partition,
                "current_offset": current,
                "log_end_offset": end,
                "lag": None if current is None or end is None else max(end - current, 0),
                "consumer_id": owner.member_id if owner else None,
                "host": owner.host if owner else None,
                "client_id": owner.client_id if owner else None,
            }
        )
    return rows


async def _ends(admin: Admin, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Log end offsets; of topics that were deleted there are none."""
    known = await admin.topics(sorted({part.topic for part in partitions})) if partitions else {}
    there = [part for part in partitions if part.topic in known and part.partition in known[part.topic].partitions]
    return await admin.offsets(there, LATEST)


def _assigned(partitions: Sequence[TopicPartition]) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(str(partition))
    return ", ".join(f"{topic}({','.join(indexes)})" for topic, indexes in by_topic.items())


async def _require_inactive(admin: Admin, name: str) -> None:
    described = await admin.describe_group(name)
    if described.state not in ("Empty", "Dead"):
        raise BarnabasError(f"group {name} is {described.state}: stop its consumers before its offsets are reset")


async def _plan(admin: Admin, name: str, topics: Sequence[str] | None, reset: _Reset) -> dict[TopicPartition, int]:
    """The offsets that a reset gives, within what the logs hold."""
    committed = await admin.committed_offsets(name)
    if reset.from_file is not None:
        wanted = _read_file(reset.from_file, name)
    else:
        partitions = sorted(committed) if topics is None else await _partitions(admin, topics)
        if not partitions:
            raise BarnabasError(f"group {name} has no offsets: say which topics with --topic")
        wanted = await _wanted(admin, name, partitions, committed, reset)
    first, end = await admin.offsets(wanted, EARLIEST), await admin.offsets(wanted, LATEST)
    for partition, offset in wanted.items():
        bounded = min(max(offset, first[partition]), end[partition])
        if bounded != offset:
            note(f"New offset {offset} of {partition} is outside the log: it becomes {bounded}.")
            wanted[partition] = bounded
    return wanted


async def _wanted(
    admin: Admin,
    name: str,
    partitions: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, int],
    reset: _Reset,
) -> dict[TopicPartition, int]:
    if reset.to_offset is not None:
        return dict.fromkeys(partitions, reset.to_offset)
    if reset.to_earliest:
        return await admin.offsets(partitions, EARLIEST)
    if reset.to_latest:
        return await admin.offsets(partitions, LATEST)
    if reset.shift_by is not None:
        missing = [part for part in partitions if part not in committed]
        if missing:
            raise BarnabasError(f"group {name} has no offset of {missing[0]} to shift: use another reset for it first")
        return {part: committed[part] + reset.shift_by for part in partitions}
    if reset.to_current:
        ends = await admin.offsets([part for part in partitions if part not in committed], LATEST)
        return {part: committed[part] if part in committed else ends[part] for part in partitions}
    if reset.to_datetime is not None:
        timestamp_ms = _timestamp_ms(reset.to_datetime)
    else:
        assert reset.by_duration is not None
        age_ms = round(parse_duration(reset.by_duration).total_seconds() * 1000)
        timestamp_ms = max(0, round(datetime.now(UTC).timestamp() * 1000) - age_ms)
    found = await admin.offsets(partitions, timestamp_ms)
    ends = await admin.offsets([part for part in partitions if found[part] < 0], LATEST)
    return found | ends


async def _partitions(admin: Admin, texts: Sequence[str]) -> list[TopicPartition]:
    wanted = {}
    for text in texts:
        name, colon, indexes = text.partition(":")
        if colon and not re.fullmatch(r"\d+(,\d+)*", indexes):
            raise BarnabasError(f"--topic {text}: write partitions as {name}:0,1")
        wanted[name] = sorted({int(index) for index in indexes.split(",")}) if colon else None
    known = await admin.topics(list(wanted))
    partitions = []
    for name, chosen in wanted.items():
        if known[name].error_code is not ErrorCode.NONE:
            raise KafkaError(known[name].error_code, f"topic {name} does not exist")
        for index in chosen if chosen is not None else known[name].partitions:
            if index not in known[name].partitions:
                raise BarnabasError(
                    f"topic {name} has no partition {index}: it has {len(known[name].partitions)}, counted from 0"
                )
            partitions.append(TopicPartition(name, index))
    return partitions


def _read_file(path: str, group: str) -> dict[TopicPartition, int]:
    """Lines `topic,partition,offset`, or with the group before them."""
    wanted: dict[TopicPartition, int] = {}
    # What is no UTF-8 is no number either, and no name of a topic.
    with open(path, newline="", encoding="utf-8", errors="backslashreplace") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            cells = [cell.strip() for cell in row]
            if len(cells) == 4 and cells[0] != group:
                continue
            if len(cells) not in (3, 4) or not (cells[-2].isdecimal() and cells[-1].isdecimal()):
                raise BarnabasError(f"{path}:{number}: write topic,partition,offset")
            wanted[TopicPartition(cells[-3], int(cells[-2]))] = int(cells[-1])
    if not wanted:
        raise BarnabasError(f"{path} has no offsets of group {group}")
    return wanted


def _show_reset(planned: Mapping[str, Mapping[TopicPartition, int]], export: bool, as_json: bool) -> None:
    rows: list[tuple[str, str, int, int]] = [
        (name, topic, partition, offset)
        for name, offsets in planned.items()
        for (topic, partition), offset in sorted(offsets.items())
    ]
    if export:
        first = 0 if len(planned) > 1 else 1
        csv.writer(sys.stdout, lineterminator="\n").writerows(row[first:] for row in rows)
    elif as_json:
        print_json([{"group": g, "topic": t, "partition": p, "new_offset": o} for g, t, p, o in rows])
    else:
        print_table(["group", "topic", "partition", "new offset"], rows)


def _timestamp_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BarnabasError(f"--to-datetime {text}: write it as 2026-11-21T08:00:00.000") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_duration(text: str) -> timedelta:
    """Read an ISO 8601 duration of days, hours, minutes and seconds. Raises BarnabasError."""
    match = re.fullmatch(
        r"P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", text.strip().upper()
    )
    if match is None:
        raise BarnabasError(f"--by-duration {text}: write it as P1DT2H30M (one day, two hours and a half)")
    days, hours, minutes, seconds = (float(part) if part else 0.0 for part in match.groups())
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        raise BarnabasError(f"--by-duration {text}: at most {timedelta.max.days} days") from None
