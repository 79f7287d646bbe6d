"""Comparison of a run's or mirror's positions with the current content of its topics. Pure.

Possible losses in a partition while the reader was stopped:

| loss | cause | lost offsets |
| --- | --- | --- |
| OVERTAKEN | retention deleted unread records | offsets from the position up to the log's start |
| SHORTER | the log ends before the position: truncated, or the topic was deleted and recreated | unknown |
| REPLACED | the last read record's offset holds another record: the topic was deleted and recreated | unknown |
| GONE | the topic or the partition does not exist any more | unknown |
| OTHER_CLUSTER | the cluster has another id: it was replaced, or another one is read | unknown |
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Protocol, TypeVar

from barnabas.core.errors import BarnabasError

# By topic and partition: the offset of the next record to be read.
Offsets = dict[str, dict[int, int]]


class PlanError(BarnabasError):
    """A run or a mirror is impossible as configured: one line with the reason and the remedy."""


class OnDataLoss(Enum):
    """The reaction to records that were deleted before they were read."""

    STOP = "stop"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class Bound:
    """A start or an end: a time, or offsets; neither: the start or the end of the topics."""

    time_ms: int | None = None
    offsets: Mapping[str, Mapping[int, int]] | None = None
    is_latest: bool = False


class Loss(Enum):
    """A kind of loss; the value is its readable text."""

    OVERTAKEN = "deleted by retention before it was read"
    SHORTER = "the log ends before what was read: truncated, or the topic was deleted and made anew"
    REPLACED = "another record stands where the last one was read: the topic was deleted and made anew"
    GONE = "the partition does not exist any more"
    OTHER_CLUSTER = "the cluster is another one than the one that was read"


@dataclass(frozen=True, slots=True)
class LostRange:
    """Offsets of one partition that this run cannot read any more, `end_offset` excluded.

    For losses other than OVERTAKEN the lost offsets beyond the position are unknown; then `end_offset` is the position
    itself. `resume_offset` is where reading can resume; None if there is nothing to read.
    """

    topic: str
    partition: int
    loss: Loss
    start_offset: int
    end_offset: int
    resume_offset: int | None

    def __str__(self) -> str:
        """Describe the loss in one line."""
        place = f"{self.topic}-{self.partition}"
        if self.loss is Loss.OVERTAKEN:
            count = self.end_offset - self.start_offset
            return f"{place}: offsets {self.start_offset} to {self.end_offset - 1} ({count} records): {self.loss.value}"
        return f"{place}: read up to offset {self.start_offset}: {self.loss.value}"


@dataclass(frozen=True, slots=True)
class Extent:
    """The offsets in a partition, from `start_offset` to `end_offset`, which is excluded."""

    start_offset: int
    end_offset: int


class Mark(Protocol):
    """The identity of the last read record or batch of a partition, for comparison with the one now at its offset."""

    @property
    def offset(self) -> int: ...


M = TypeVar("M", bound=Mark)

Extents = Mapping[str, Mapping[int, Extent]]
Marks = Mapping[str, Mapping[int, Mark]]


def lost_ranges(
    positions: Offsets, extents: Extents, marks: Marks, found: Marks, is_same_cluster: bool = True
) -> list[LostRange]:
    """Return the losses of a run at `positions`.

    Args:
        positions: The positions of the run.
        extents: The offsets in the partitions; missing ones do not exist.
        marks: The last record that the run has read of each partition.
        found: The marks now at those offsets; unreadable ones are missing.
        is_same_cluster: Whether the cluster's id is still the one that was read.

    Returns:
        One range for each partition with a loss, in order; empty if all can continue.
    """
    return list(_lost(positions, extents, marks, found, is_same_cluster))


def _lost(
    positions: Offsets, extents: Extents, marks: Marks, found: Marks, is_same_cluster: bool
) -> Iterator[LostRange]:
    for topic, partitions in sorted(positions.items()):
        for partition, position in sorted(partitions.items()):
            extent = extents.get(topic, {}).get(partition)
            if extent is None:
                yield LostRange(topic, partition, Loss.GONE, position, position, None)
                continue
            mark = marks.get(topic, {}).get(partition)
            there = found.get(topic, {}).get(partition)
            start = extent.start_offset
            if not is_same_cluster:
                yield LostRange(topic, partition, Loss.OTHER_CLUSTER, position, position, start)
            elif mark is not None and there is not None and there != mark:
                yield LostRange(topic, partition, Loss.REPLACED, position, position, start)
            elif position > extent.end_offset:
                yield LostRange(topic, partition, Loss.SHORTER, position, position, start)
            elif position < start:
                yield LostRange(topic, partition, Loss.OVERTAKEN, position, start, start)


def readable_marks(marks: Mapping[str, Mapping[int, M]], extents: Extents) -> dict[str, dict[int, M]]:
    """Return the marks whose offsets can still be read."""
    return {
        topic: readable
        for topic, partitions in marks.items()
        if (
            readable := {
                partition: mark
                for partition, mark in partitions.items()
                if (extent := extents.get(topic, {}).get(partition)) is not None
                and extent.start_offset <= mark.offset < extent.end_offset
            }
        )
    }


def earliest_of(all_positions: list[Offsets]) -> Offsets:
    """Return, for each partition, the least of several positions.

    A partition that is missing in one of them begins at 0 there, so it is missing in the result as well.
    """
    if not all_positions:
        return {}
    shared = {(topic, partition) for topic, partitions in all_positions[0].items() for partition in partitions}
    for positions in all_positions[1:]:
        shared &= {(topic, partition) for topic, partitions in positions.items() for partition in partitions}
    result: Offsets = {}
    for topic, partition in sorted(shared):
        result.setdefault(topic, {})[partition] = min(positions[topic][partition] for positions in all_positions)
    return result


def merged(older: Offsets, newer: Offsets) -> Offsets:
    """Return the positions of `newer`, and positions of `older` for the partitions that `newer` does not name."""
    return {topic: {**older.get(topic, {}), **newer.get(topic, {})} for topic in sorted({*older, *newer})}


def clamped(ends: Offsets, targets: Offsets | None) -> Offsets:
    """Return `ends`, limited to their targets."""
    if targets is None:
        return ends
    return {
        topic: {
            partition: min(end, targets.get(topic, {}).get(partition, end)) for partition, end in partitions.items()
        }
        for topic, partitions in ends.items()
    }


def still_there(targets: Offsets, ends: Offsets) -> Offsets:
    """Return the targets of the partitions that have an end, limited to it: others were deleted since."""
    return {
        topic: {
            partition: min(target, ends[topic][partition])
            for partition, target in partitions.items()
            if partition in ends[topic]
        }
        for topic, partitions in targets.items()
        if topic in ends
    }


def is_before(ends: Offsets, positions: Offsets) -> bool:
    """Return whether a partition ends before its position."""
    return any(ends[topic][number] < place for topic, numbers in positions.items() for number, place in numbers.items())


def latest_of(ends: Offsets, positions: Offsets) -> Offsets:
    """Return the later of end and position of each partition."""
    return {
        topic: {number: max(end, positions[topic][number]) for number, end in numbers.items()}
        for topic, numbers in ends.items()
    }


def is_reached(positions: Offsets, targets: Offsets) -> bool:
    """Return whether all partitions of `targets` have been read up to there."""
    return all(
        positions.get(topic, {}).get(partition, 0) >= target
        for topic, partitions in targets.items()
        for partition, target in partitions.items()
    )


def offset_count(starts: Offsets, ends: Offsets) -> int:
    """Return the number of offsets between two positions of the same partitions."""
    return sum(end - starts[topic][number] for topic, numbers in ends.items() for number, end in numbers.items())


def lag_of(positions: Offsets, extents: Extents) -> dict[str, dict[int, int]]:
    """Return how many offsets of each partition are still to be read."""
    return {
        topic: {
            partition: max(0, extent.end_offset - max(positions.get(topic, {}).get(partition, 0), extent.start_offset))
            for partition, extent in partitions.items()
        }
        for topic, partitions in extents.items()
    }


def matching_topics(there: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Return the existing topics that match, each once.

    Args:
        there: The cluster's topics.
        wanted: Names; a text between slashes is a pattern that the whole name must match.
    """
    return [topic for topic in there if any(_is_wanted(topic, text) for text in wanted)]


def _is_wanted(topic: str, text: str) -> bool:
    if is_pattern(text):
        return re.fullmatch(text[1:-1], topic) is not None
    return text == topic


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern, and not a topic's name."""
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


def check_patterns(wanted: Iterable[str]) -> None:
    """Raise PlanError if a pattern is not a valid regular expression."""
    for text in wanted:
        try:
            re.compile(text[1:-1] if is_pattern(text) else "")
        except (re.error, OverflowError, RecursionError) as error:
            raise PlanError(f"{text} is not a valid regular expression: {error}") from None


def parse_bound(text: str) -> Bound:
    """Parse a start or an end: earliest, latest, a time, or offsets as JSON.

    Raises:
        PlanError: the text is none of these.
    """
    if text == "earliest":
        return Bound()
    if text == "latest":
        return Bound(is_latest=True)
    if text.lstrip().startswith("{"):
        return Bound(offsets=parse_offsets(text))
    return Bound(time_ms=parse_time(text))


def parse_time(text: str) -> int:
    """Parse a time to milliseconds since 1970: ISO 8601 (UTC by default), or such milliseconds.

    Raises:
        PlanError: the text is neither.
    """
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise PlanError(f"{text!r} is not a time; write 2026-11-17T14:00, with +01:00 if it is not UTC") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def parse_offsets(text: str) -> dict[str, dict[int, int]]:
    """Parse offsets in Spark's format: `{"topic": {"0": 12}}`.

    Raises:
        PlanError: the text has another form.
    """
    try:
        found = {
            topic: {int(number): int(offset) for number, offset in partitions.items()}
            for topic, partitions in json.loads(text).items()
        }
        # Spark's -2 and -1 for the first and the end offset would be read as offsets that no log has.
        if any(offset < 0 for partitions in found.values() for offset in partitions.values()):
            raise ValueError
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise PlanError(
            f'{text!r} are not offsets; write them as {{"topic": {{"0": 12}}}}, or earliest or latest for all'
        ) from None
    return found
