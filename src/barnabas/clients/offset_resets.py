"""Offset resets of a group within the logs' bounds, for commands and the page.

Source: cli page, kafka-consumer-groups; KIP-122.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from barnabas.clients.admin import EARLIEST, LATEST, Admin, GroupDescription
from barnabas.clients.pool import check_topic
from barnabas.core.errors import BarnabasError
from barnabas.core.types import TopicPartition

# Maximum number of members named in the error.
_NAMED: Final = 10


@dataclass(slots=True)
class Reset:
    """The target of an offset reset; at most one field is set."""

    to_offset: int | None
    to_earliest: bool
    to_latest: bool
    to_current: bool
    shift_by: int | None
    to_datetime: str | None
    by_duration: str | None

    def count(self) -> int:
        """Count the fields that are set."""
        values = (self.to_offset, self.shift_by, self.to_datetime, self.by_duration)
        return sum(value is not None for value in values) + self.to_earliest + self.to_latest + self.to_current


def check_no_members(described: GroupDescription) -> None:
    """Raise BarnabasError if the group has members, which would overwrite the reset."""
    if described.state in ("Empty", "Dead"):
        return
    members = [member.member_id for member in described.members]
    others = f" and {len(members) - _NAMED} others" if len(members) > _NAMED else ""
    raise BarnabasError(
        f"group {described.group_id} is {described.state}: stop its consumers before its offsets are reset "
        f"({', '.join(members[:_NAMED])}{others})"
    )


async def plan_reset(
    admin: Admin,
    name: str,
    topics: Sequence[str] | None,
    reset: Reset,
    *,
    now_ms: int,
    tell: Callable[[str], object],
) -> dict[TopicPartition, int]:
    """Return the offsets to which a reset moves a group, within the logs' bounds.

    Args:
        admin: The cluster's admin client.
        name: The group.
        topics: `name` or `name:0,1`; None: all topics with committed offsets of the group.
        reset: The target of the reset.
        now_ms: The current time, from which `by_duration` counts back.
        tell: Called with one line for each offset that was moved into the log's bounds.

    Raises:
        BarnabasError: The partitions or offsets do not exist.
    """
    committed = await admin.committed_offsets(name)
    partitions = sorted(committed) if topics is None else await topic_partitions(admin, topics)
    if not partitions:
        raise BarnabasError(f"group {name} has no offsets: name topics with --topic")
    return await within_logs(admin, await _wanted(admin, name, partitions, committed, reset, now_ms), tell)


async def within_logs(
    admin: Admin, wanted: Mapping[TopicPartition, int], tell: Callable[[str], object]
) -> dict[TopicPartition, int]:
    """Limit offsets to the logs' bounds and report the changed ones. Raises KafkaError."""
    first, end = await admin.offsets(wanted, EARLIEST), await admin.offsets(wanted, LATEST)
    bounded = {part: min(max(offset, first[part]), end[part]) for part, offset in wanted.items()}
    for partition, offset in wanted.items():
        if bounded[partition] != offset:
            tell(f"New offset {offset} of {partition} is outside the log: it becomes {bounded[partition]}.")
    return bounded


async def _wanted(
    admin: Admin,
    name: str,
    partitions: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, int],
    reset: Reset,
    now_ms: int,
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
        timestamp_ms = max(0, now_ms - age_ms)
    found = await admin.offsets(partitions, timestamp_ms)
    ends = await admin.offsets([part for part in partitions if found[part] < 0], LATEST)
    return found | ends


def parse_topics(texts: Sequence[str]) -> dict[str, list[int] | None]:
    """Parse `name` (None: all of its partitions) and `name:0,1`. Raises BarnabasError."""
    wanted: dict[str, list[int] | None] = {}
    for text in texts:
        name, colon, indexes = text.partition(":")
        if colon and not re.fullmatch(r"\d+(,\d+)*", indexes):
            raise BarnabasError(f"--topic {text}: write partitions as {name}:0,1")
        wanted[name] = sorted({int(index) for index in indexes.split(",")}) if colon else None
    return wanted


async def topic_partitions(admin: Admin, texts: Sequence[str]) -> list[TopicPartition]:
    """Return the partitions named by `name` and `name:0,1`. Raises KafkaError; BarnabasError: one does not exist."""
    wanted = parse_topics(texts)
    known = await admin.topics(list(wanted))
    partitions = []
    for name, chosen in wanted.items():
        check_topic(name, known[name])
        for index in chosen if chosen is not None else known[name].partitions:
            if index not in known[name].partitions:
                raise BarnabasError(
                    f"topic {name} has no partition {index}: it has {len(known[name].partitions)}, counted from 0"
                )
            partitions.append(TopicPartition(name, index))
    return partitions


def _timestamp_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BarnabasError(f"--to-datetime {text}: write it as 2026-11-21T08:00:00.000") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_duration(text: str) -> timedelta:
    """Parse an ISO 8601 duration of days, hours, minutes and seconds. Raises BarnabasError."""
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
