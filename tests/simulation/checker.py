"""Judges what a cluster did, by what clients asked and were told, what leaders said, and what replicas hold. Pure.

What must hold, in histories without unclean elections and whose producers are idempotent and wait for all replicas:

    acknowledged    what was acknowledged stands where the acknowledgement said, and no record stands twice
    order           who was acknowledged before another one began stands before it; a producer's own stand in its order
    read            what a reader was given stands there in the end, and a reader skips nothing that stands
    leaders         one broker leads in an epoch, and epochs never go back along a log
    watermarks      of one leader, none of high watermark, last stable offset and log start goes back; nothing below a
                    high watermark is gone
    transactions    who reads what is committed sees all of a transaction that was, and nothing of another one
    replicas        all are equal: below the high watermark, and in the end wholly
    committed       a group finds nothing older than what it was told to be committed, and nothing that nobody committed

Times are of one clock, in any unit; an end that is None says that nobody was told. Each rule gives a line for each
thing that it finds wrong.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

T = TypeVar("T")

IN_THE_END = "in the end"


class Append(NamedTuple):
    """A record that a producer handed over; `offset` is None where nobody knows whether it was written.

    `producer` names one producer id: what follows after one that failed is another one's.
    """

    producer: str
    partition: str
    value: str
    begin: int
    end: int | None
    offset: int | None


class Read(NamedTuple):
    """A record that a reader was given; `reader` names one run from a position on."""

    reader: str
    partition: str
    offset: int
    value: str


class Commit(NamedTuple):
    """A group's offset that somebody wanted to be committed."""

    group: str
    partition: str
    offset: int
    begin: int
    end: int | None


class Found(NamedTuple):
    """A group's offset as somebody found it; 0 where there was none."""

    group: str
    partition: str
    offset: int
    begin: int
    end: int


class Led(NamedTuple):
    """What a leader said of its partition at a moment; `process` is another one after each start."""

    process: str
    broker: int
    partition: str
    epoch: int
    high_watermark: int
    log_start_offset: int
    at: int
    last_stable_offset: int = 0


class Transaction(NamedTuple):
    """What a producer wrote in one transaction; `is_committed` is None where nobody knows how it ended."""

    name: str
    values: tuple[str, ...]
    is_committed: bool | None


class Entry(NamedTuple):
    """A record as it stands in a log; without a value it is none of the producers'."""

    offset: int
    epoch: int
    value: str | None


class Replica(NamedTuple):
    """What a broker holds of a partition in the end; `entries` in the order of the log."""

    broker: int
    partition: str
    high_watermark: int
    log_start_offset: int
    log_end_offset: int
    entries: Sequence[Entry]


@dataclass(slots=True)
class Observed:
    """All that was seen of a history, each in the order in which it was noted.

    Attributes:
        committed: What readers of what is committed were given; the reader "in the end" all of it.
    """

    appends: list[Append] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    led: list[Led] = field(default_factory=list)
    replicas: list[Replica] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    committed: list[Read] = field(default_factory=list)


def violations(observed: Observed) -> list[str]:
    """Return what should hold and does not, a line for each."""
    logs = _logs(observed.replicas)
    return [
        *_acknowledged(observed.appends, logs),
        *_order(observed.appends, logs),
        *_read(observed.reads, logs),
        *_leaders(observed.led, observed.replicas),
        *_watermarks(observed.led),
        *_beyond_the_end(observed.led, logs),
        *_replicas(observed.replicas),
        *_transactions(observed),
        *_committed(observed.commits, observed.found),
    ]


class _Log:
    """A partition in the end: the longest of its replicas, where they differ."""

    def __init__(self, replica: Replica) -> None:
        self.start = replica.log_start_offset
        self.end = replica.log_end_offset
        self.values = {entry.offset: entry.value for entry in replica.entries if entry.value is not None}
        self.places: dict[str, list[int]] = {}
        for offset, value in self.values.items():
            self.places.setdefault(value, []).append(offset)


def _logs(replicas: Iterable[Replica]) -> dict[str, _Log]:
    longest: dict[str, Replica] = {}
    for replica in replicas:
        best = longest.get(replica.partition)
        if best is None or replica.log_end_offset > best.log_end_offset:
            longest[replica.partition] = replica
    return {partition: _Log(replica) for partition, replica in longest.items()}


def _by(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Put together what has the same key, in the order of its first."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _acknowledged(appends: Sequence[Append], logs: dict[str, _Log]) -> Iterator[str]:
    handed_over: dict[str, set[str]] = {}
    for append in appends:
        handed_over.setdefault(append.partition, set()).add(append.value)
        log = logs.get(append.partition)
        places = [] if log is None else log.places.get(append.value, [])
        if len(places) > 1:
            yield f"{append.value} stands in {append.partition} at {places}"
        if append.offset is None or append.offset in places or (log is not None and append.offset < log.start):
            continue
        yield f"{append.value} was acknowledged at {append.partition}:{append.offset} and stands at {places}"
    for partition, log in logs.items():
        for value in log.places:
            if value not in handed_over.get(partition, ()):
                yield f"{value} stands in {partition}, and nobody wrote it there"


class _Placed(NamedTuple):
    append: Append
    place: int


def _order(appends: Sequence[Append], logs: dict[str, _Log]) -> Iterator[str]:
    placed: list[_Placed] = []
    for append in appends:
        log = logs.get(append.partition)
        places = [] if log is None else log.places.get(append.value, [])
        if places:
            placed.append(_Placed(append, places[0]))
    for group in _by(placed, lambda each: each.append.partition):
        yield from _real_time_order(group)
    for group in _by(placed, lambda each: (each.append.producer, each.append.partition)):
        # Handed over in this order.
        for before, after in pairwise(group):
            if before.place > after.place:
                names = before.append.value, before.append.producer, after.append.value
                yield "{} was written by {} before {}, and stands behind it".format(*names)


def _real_time_order(placed: list[_Placed]) -> Iterator[str]:
    ended = sorted((each.append.end, each) for each in placed if each.append.end is not None)
    furthest: _Placed | None = None
    position = 0
    for each in sorted(placed, key=lambda each: each.append.begin):
        while position < len(ended) and ended[position][0] < each.append.begin:
            if furthest is None or ended[position][1].place > furthest.place:
                furthest = ended[position][1]
            position += 1
        if furthest is not None and furthest.place > each.place:
            earlier, later = furthest.append, each.append
            yield (
                f"{earlier.value} was acknowledged at {earlier.end}, {later.value} begun at {later.begin}, and it "
                f"stands before it in {later.partition}: {each.place}, {furthest.place}"
            )


def _read(reads: Sequence[Read], logs: dict[str, _Log]) -> Iterator[str]:
    for run in _by(reads, lambda each: (each.reader, each.partition)):
        before: Read | None = None
        for read in run:
            log = logs.get(read.partition)
            stands = None if log is None else log.values.get(read.offset)
            if stands != read.value and (log is None or read.offset >= log.start):
                yield f"{read.reader} read {read.value} at {read.partition}:{read.offset}, where {stands} stands"
            if before is not None and read.offset <= before.offset:
                yield f"{read.reader} read {read.partition}:{read.offset} after {before.offset}"
            elif before is not None and log is not None:
                skipped = [offset for offset in range(before.offset + 1, read.offset) if offset in log.values]
                if skipped:
                    yield f"{read.reader} skipped {read.partition}:{skipped}"
            before = read


def _leaders(led: Sequence[Led], replicas: Sequence[Replica]) -> Iterator[str]:
    for group in _by(led, lambda each: (each.partition, each.epoch)):
        brokers = sorted({each.broker for each in group})
        if len(brokers) > 1:
            yield f"{brokers} all led {group[0].partition} in epoch {group[0].epoch}"
    for replica in replicas:
        for before, after in pairwise(replica.entries):
            where = f"{replica.partition}:{after.offset} on {replica.broker}"
            if after.epoch < before.epoch:
                yield f"{where} is of epoch {after.epoch}, behind one of {before.epoch}"
            if after.offset <= before.offset:
                yield f"{where} stands behind {before.offset}"


def _watermarks(led: Sequence[Led]) -> Iterator[str]:
    for group in _by(led, lambda each: (each.process, each.partition, each.epoch)):
        for before, after in pairwise(group):
            for name in ("high_watermark", "last_stable_offset", "log_start_offset"):
                if getattr(after, name) < getattr(before, name):
                    yield (
                        f"{name} of {after.partition} at {after.process}, epoch {after.epoch}, went from "
                        f"{getattr(before, name)} to {getattr(after, name)} at {after.at}"
                    )


def _beyond_the_end(led: Sequence[Led], logs: dict[str, _Log]) -> Iterator[str]:
    for group in _by(led, lambda each: each.partition):
        highest = max(group, key=lambda each: each.high_watermark)
        log = logs.get(highest.partition)
        if log is None or log.end < highest.high_watermark:
            yield (
                f"{highest.partition} ends at {None if log is None else log.end}, and "
                f"{highest.process} had a high watermark of {highest.high_watermark} at {highest.at}"
            )


def _replicas(replicas: Sequence[Replica]) -> Iterator[str]:
    for first, *others in _by(replicas, lambda each: each.partition):
        partition = first.partition
        for other in others:
            names = f"{first.broker} and {other.broker}"
            start = max(first.log_start_offset, other.log_start_offset)
            ends = first.log_end_offset, other.log_end_offset
            if ends[0] != ends[1]:
                yield f"{partition} ends at {ends[0]} and {ends[1]} on {names}"
            if first.log_start_offset != other.log_start_offset:
                yield f"{partition} starts at {first.log_start_offset} and {other.log_start_offset} on {names}"
            ours, theirs = ([each for each in replica.entries if each.offset >= start] for replica in (first, other))
            different = next((pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]), None)
            if different is None:
                if len(ours) != len(theirs) and ends[0] == ends[1]:
                    yield f"{partition} has {len(ours)} and {len(theirs)} records on {names}"
                continue
            low = min(first.high_watermark, other.high_watermark)
            where = "below" if min(each.offset for each in different) < low else "above"
            yield f"{partition} differs on {names}, {where} the high watermark {low}: {different[0]}, {different[1]}"


def _transactions(observed: Observed) -> Iterator[str]:
    shown = Counter(read.value for read in observed.committed if read.reader == IN_THE_END)
    seen = {read.value for read in observed.committed}
    for transaction in observed.transactions:
        are_shown = [value in shown for value in transaction.values]
        if len(set(are_shown)) > 1:
            yield f"{transaction.name} can be read in part: {are_shown}"
        elif are_shown and transaction.is_committed not in (None, are_shown[0]):
            yield f"{transaction.name} was committed: {transaction.is_committed}; can be read: {are_shown[0]}"
        for value in transaction.values:
            if shown[value] > 1:
                yield f"{value} can be read {shown[value]} times"
            if value in seen and value not in shown:
                yield f"{value} was read as committed, and can't be read in the end"


def _committed(commits: Sequence[Commit], found: Sequence[Found]) -> Iterator[str]:
    asked: dict[tuple[str, str], list[Commit]] = {}
    for commit in commits:
        asked.setdefault((commit.group, commit.partition), []).append(commit)
    for each in found:
        known = asked.get((each.group, each.partition), [])
        told = max((one.offset for one in known if one.end is not None and one.end < each.begin), default=0)
        if each.offset < told:
            yield f"{each.group} found {each.partition} at {each.offset}, {told} was committed before"
        if each.offset and all(one.offset != each.offset or one.begin > each.end for one in known):
            yield f"{each.group} found {each.partition} at {each.offset}, which nobody had committed"
