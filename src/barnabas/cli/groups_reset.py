"""`barnabas groups --reset-offsets`: shows or commits the new offsets of groups.

Source: cli page, kafka-consumer-groups; KIP-122.
"""

import csv
import time
from collections.abc import Mapping, Sequence

from barnabas.cli.output import note, print_csv, print_json, print_table
from barnabas.clients.admin import Admin
from barnabas.clients.offset_resets import Reset, check_no_members, plan_reset, within_logs
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition


async def reset_offsets(
    admin: Admin,
    names: Sequence[str],
    topics: Sequence[str] | None,
    reset: Reset,
    *,
    from_file: str | None = None,
    execute: bool,
    output: str,
) -> None:
    """Reset the offsets of groups, or show the result of a reset.

    Args:
        admin: Admin client of the cluster.
        names: Names of the groups; those that have members are reported and not reset.
        topics: `name` or `name:0,1`; None for all topics with offsets of the group.
        reset: The target of the reset.
        from_file: A file of offsets written by --export, instead of `topics` and `reset`.
        execute: Commit the offsets.
        output: `csv`, `json` or `table`.

    Raises:
        BarnabasError: Some groups could not be reset; the message names them.
    """
    planned, failures = {}, []
    for name in names:
        described = await admin.describe_group(name)
        try:
            check_no_members(described)
        except BarnabasError as refused:
            failures.append(str(refused))
            continue
        if from_file is None:
            planned[name] = await plan_reset(admin, name, topics, reset, now_ms=time.time_ns() // 1_000_000, tell=note)
        else:
            planned[name] = await within_logs(admin, _read_file(from_file, name), note)
    if execute:
        for name, new_offsets in planned.items():
            await admin.commit_offsets(name, new_offsets)
    if planned:
        _show_reset(planned, output)
        if not execute and output != "csv":
            note("Nothing was changed. Add --execute to reset the offsets.")
    if failures:
        raise BarnabasError("; ".join(failures))


def _read_file(path: str, group: str) -> dict[TopicPartition, int]:
    """Read lines `topic,partition,offset`, or `group,topic,partition,offset`."""
    wanted: dict[TopicPartition, int] = {}
    # Text that is not valid UTF-8 fails the checks of numbers and topic names below.
    with open(path, newline="", encoding="utf-8", errors="backslashreplace") as file:
        rows = csv.reader(file)
        try:
            for row in rows:
                cells = [cell.strip() for cell in row]
                if len(cells) == 4 and cells[0] != group:
                    continue
                # ValueError: too few or many cells, or a number with thousands of digits.
                name, partition, offset = cells[-3:] if len(cells) == 4 else cells
                if not (partition.isdecimal() and offset.isdecimal()):
                    raise ValueError
                wanted[TopicPartition(name, int(partition))] = int(offset)
        except (csv.Error, ValueError):
            raise BarnabasError(f"{path}:{rows.line_num}: must have the form topic,partition,offset") from None
    if not wanted:
        raise BarnabasError(f"{path} has no offsets of group {group}")
    return wanted


def _show_reset(planned: Mapping[str, Mapping[TopicPartition, int]], output: str) -> None:
    rows: list[tuple[str, str, int, int]] = [
        (name, topic, partition, offset)
        for name, offsets in planned.items()
        for (topic, partition), offset in sorted(offsets.items())
    ]
    if output == "csv":
        first = 0 if len(planned) > 1 else 1
        print_csv(row[first:] for row in rows)
    elif output == "json":
        print_json([{"group": g, "topic": t, "partition": p, "new_offset": o} for g, t, p, o in rows])
    else:
        print_table(["group", "topic", "partition", "new offset"], rows)
