"""Causes of group rebalances: the members that began it, joined, left or joined last, and its duration. Pure.

A group's state machine emits a `Note` at each step. `Rebalances` stores them as rows, at most twenty per group. To make
room, it evicts rows of the group that has had no rebalance for the longest time.

Source: docs/explain.md; semantics, group coordinator.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from barnabas.broker.diagnostics import Row

MOST_OF_A_GROUP: Final = 20
MOST_IN_ALL: Final = 5_000
# Maximum number of members named in one row, per list; a character may take four bytes.
_MOST_NAMED: Final = 20
_ROW_BYTES, _NAMED_BYTES, _CHARACTER_BYTES = 1_200, 300, 4
# Memory per recorded load of a group; one eighth of the total is for all of them.
_LOADED_BYTES, _LOADED_PART = 150, 8
_WORDS: Final = ("group", "member", "client_id", "host", "instance")
# The fields of a row that this module reads.
_READ: Final = frozenset(("group", "began_ms", "outcome", "gather_ms", "came", "went"))


class Turn(Enum):
    """A step of a group's rebalance."""

    BEGAN = "began"
    CAME = "came"
    WENT = "went"
    GATHERED = "gathered"
    STABLE = "stable"
    EMPTY = "empty"
    LOADED = "loaded"
    MOVED = "moved"


class Reason(Enum):
    """Why a rebalance began, or a member left."""

    JOINED = "joined"
    LEFT = "left"
    REMOVED = "removed"
    SESSION_EXPIRED = "session_expired"
    POLL_INTERVAL_EXCEEDED = "poll_interval_exceeded"
    SUBSCRIPTION_CHANGED = "subscription_changed"
    LEADER_REJOINED = "leader_rejoined"
    STATIC_REPLACED = "static_replaced"
    ASSIGNMENT_NOT_STORED = "assignment_not_stored"
    TOO_MANY_MEMBERS = "too_many_members"


class Who(NamedTuple):
    """The identity of a member, for display.

    Attributes:
        group_instance_id: Only for a static member.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None


class Note(NamedTuple):
    """An event of a group: an effect of its state machine that only this module handles.

    Attributes:
        reason: Why the rebalance began, or a member left.
        who: The member that began it, joined or left; once all are gathered, the last to join.
        heard_ms: The last request of a member with an expired session; -1 for other events.
        generation: The group's generation, once all are gathered.
        member_count: The number of members, once all are gathered.
    """

    turn: Turn
    reason: Reason | None = None
    who: Who | None = None
    heard_ms: int = -1
    generation: int = -1
    member_count: int = 0


class Rebalances:
    """The rows of all groups that this broker coordinates, or coordinated recently.

    Attributes:
        kept_bytes: Their estimated memory.
        left_out: The number of rows evicted to make room.
        ended: Called with each row when its rebalance ends.
    """

    def __init__(self, most_bytes: int, most_rows: int = MOST_IN_ALL) -> None:
        self._most_bytes = most_bytes
        self._most_rows = most_rows
        self._row_count = self._loaded_bytes = 0
        self.kept_bytes = self.left_out = 0
        # By group; the group without a new rebalance for the longest time is first.
        self._rows: dict[str, deque[Row]] = {}
        self._loaded_ms: dict[str, int] = {}
        self.ended: Callable[[Row], object] = _nobody

    def note(self, group_id: str, note: Note, now_ms: int) -> None:
        """Record an event from a group's state machine."""
        rows = self._rows.get(group_id)
        row = rows[-1] if rows and rows[-1]["outcome"] is None else None
        match note.turn:
            case Turn.BEGAN:
                if row is not None:
                    self._end(row, "again", now_ms)
                self._begin(group_id, note, now_ms)
            case Turn.LOADED:
                self._loaded(group_id, now_ms)
            case _ if row is not None:
                self._go_on(row, note, now_ms)

    def rows(self, group_id: str) -> list[Row]:
        """Return a group's rebalances, oldest first; the last one may not have ended."""
        return [*self._rows.get(group_id, ())]

    def loaded_ms(self, group_id: str) -> int | None:
        """Return when this broker loaded the group from an earlier coordinator; None: not recently."""
        return self._loaded_ms.get(group_id)

    def restore(self, row: Row) -> None:
        """Store a row that `ended` received before the broker restarted; an unfinished rebalance stays the last.

        Raises:
            KeyError: The row is incomplete.
        """
        if not row.keys() >= _READ:
            raise KeyError(*(_READ - row.keys()))
        group_id = str(row["group"])
        self._add(group_id, row)
        rows = self._rows[group_id]
        if len(rows) > 1 and rows[-2]["outcome"] is None:
            rows[-1], rows[-2] = rows[-2], rows[-1]

    def _begin(self, group_id: str, note: Note, now_ms: int) -> None:
        row: Row = {
            "group": group_id,
            "began_ms": now_ms,
            "reason": _text(note.reason),
            **_named(note.who),
            "heard_ms": None if note.heard_ms < 0 else note.heard_ms,
            "came": [],
            "came_count": 0,
            "went": [],
            "went_count": 0,
            "last": None,
            "generation": None,
            "member_count": None,
            "gather_ms": None,
            "assign_ms": None,
            "outcome": None,
        }
        if note.who is not None:
            if note.reason is Reason.JOINED:
                _add_who(row, "came", note)
            elif note.reason in _GOES:
                _add_who(row, "went", note)
        self._add(group_id, row)

    def _go_on(self, row: Row, note: Note, now_ms: int) -> None:
        match note.turn:
            case Turn.CAME:
                self.kept_bytes += _add_who(row, "came", note)
            case Turn.WENT:
                self.kept_bytes += _add_who(row, "went", note)
            case Turn.GATHERED:
                row["gather_ms"] = now_ms - row["began_ms"]
                row["generation"], row["member_count"] = note.generation, note.member_count
                row["last"] = None if note.who is None else _named(note.who)
            case Turn.STABLE | Turn.EMPTY | Turn.MOVED:
                self._end(row, note.turn.value, now_ms)

    def _end(self, row: Row, outcome: str, now_ms: int) -> None:
        row["outcome"] = outcome
        taken_ms = now_ms - row["began_ms"]
        if row["gather_ms"] is None:
            row["gather_ms"] = taken_ms
        else:
            row["assign_ms"] = taken_ms - row["gather_ms"]
        self.ended(row)

    def _loaded(self, group_id: str, now_ms: int) -> None:
        self._forget_loaded(group_id)
        self._loaded_ms[group_id] = now_ms
        self._count_loaded(_bytes_of_loaded(group_id))
        while self._loaded_bytes > self._most_bytes // _LOADED_PART:
            self._forget_loaded(next(iter(self._loaded_ms)))

    def _forget_loaded(self, group_id: str) -> None:
        if self._loaded_ms.pop(group_id, None) is not None:
            self._count_loaded(-_bytes_of_loaded(group_id))

    def _count_loaded(self, more_bytes: int) -> None:
        self._loaded_bytes += more_bytes
        self.kept_bytes += more_bytes

    def _add(self, group_id: str, row: Row) -> None:
        rows = self._rows.pop(group_id, None)
        if rows is None:
            rows = deque()
        self._rows[group_id] = rows
        rows.append(row)
        self._row_count += 1
        self.kept_bytes += _bytes_of(row)
        if len(rows) > MOST_OF_A_GROUP:
            self._forget(group_id, rows)
        while self._row_count > self._most_rows or (self.kept_bytes > self._most_bytes and self._row_count > 1):
            oldest = next(iter(self._rows))
            self._forget(oldest, self._rows[oldest])

    def _forget(self, group_id: str, rows: deque[Row]) -> None:
        self.kept_bytes -= _bytes_of(rows.popleft())
        self._row_count -= 1
        self.left_out += 1
        if not rows:
            del self._rows[group_id]


_GOES: Final = (Reason.LEFT, Reason.REMOVED, Reason.SESSION_EXPIRED, Reason.POLL_INTERVAL_EXCEEDED)


def _nobody(row: Row) -> None:
    return


def _text(reason: Reason | None) -> str | None:
    return None if reason is None else reason.value


def _named(who: Who | None) -> Row:
    member_id, client_id, host, instance = (None, None, None, None) if who is None else who
    return {"member": member_id, "client_id": client_id, "host": host, "instance": instance}


def _add_who(row: Row, key: str, note: Note) -> int:
    """Add a member that joined or left, unless the list is full; return the bytes that it takes."""
    row[f"{key}_count"] = row[f"{key}_count"] + 1
    named = row[key]
    if len(named) >= _MOST_NAMED:
        return 0
    who = _named(note.who)
    named.append({**who, "why": _text(note.reason)})
    return _bytes_of_who(who)


def _bytes_of_who(who: Row) -> int:
    return _NAMED_BYTES + _bytes_of_words(who)


def _bytes_of(row: Row) -> int:
    named = [*row["came"], *row["went"]]
    return _ROW_BYTES + _bytes_of_words(row) + sum(_bytes_of_who(each) for each in named)


def _bytes_of_loaded(group_id: str) -> int:
    return _LOADED_BYTES + _CHARACTER_BYTES * len(group_id)


def _bytes_of_words(row: Row) -> int:
    words = (row.get(name) for name in _WORDS)
    return _CHARACTER_BYTES * sum(len(each) for each in words if isinstance(each, str))
