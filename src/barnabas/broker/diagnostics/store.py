"""All diagnostic events, within one memory limit. Pure.

Each kind has its share of `barnabas.facts.max.bytes`, so frequent events only evict events of their own kind.

    kind            at most                                         `explain` subject
    ends, commits   10,000 rings each of `series.py`                `ends`, `groups`
    rebalances      5,000, 20 of a group (`rebalances.py`)          `groups`
    aborts          1,000 (`transactions.py`)                       `transactions`
    requests        2,000 above their API's threshold               `requests`
    full answers    of about 80 clients at a time (`events.py`)     `full_answers`
    all others      1,000 each (`events.py`)                        their own names
    minutes         60 of the broker's own rates                    `broker`

Source: docs/explain.md.
"""

import json
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from barnabas.broker.diagnostics import Row
from barnabas.broker.diagnostics.events import LONGEST_TEXT, Events, RepeatedEvents
from barnabas.broker.diagnostics.rebalances import Rebalances
from barnabas.broker.diagnostics.series import Series
from barnabas.broker.diagnostics.transactions import Aborts
from barnabas.core.types import TopicPartition

_MOST_SERIES: Final = 10_000
_MOST_REQUESTS: Final = 2_000
_MOST_EVENTS: Final = 1_000
_MOST_MINUTES: Final = 60

_OF_REFUSALS: Final = (
    *("kind", "user", "host", "client_id", "listener", "mechanism", "reason", "operation", "resource", "name"),
)

# Shares in percent.
_SERIES, _REBALANCES, _REQUESTS, _EVENTS, _STALLS, _FULL = 27, 17, 6, 4, 1, 1


class DiagnosticStore:
    """All diagnostic events of a broker. Owned by the event loop.

    Attributes:
        most_bytes: The memory limit for all events.
        kept_since_ms: The earliest time of a stored event.
        ends: Log end offsets of partitions led by this broker.
        commits: Committed offsets, by group and partition.
        segments: Deleted segments.
        minutes: The broker's own rates.
        full_answers: Fetches with full responses; not in the file, because clients that catch up cause many.
        ended: Called with each new event, by kind: a line for the file; see `set_listener`.
        figures: Returns other data about the broker: its start, its limits and their use.
    """

    def __init__(self, most_bytes: int, now_ms: int) -> None:
        def part(percent: int) -> int:
            return most_bytes * percent // 100

        self.most_bytes = most_bytes
        self.kept_since_ms = now_ms
        self.ends: Series[TopicPartition] = Series(_MOST_SERIES, part(_SERIES))
        self.commits: Series[tuple[str, TopicPartition]] = Series(_MOST_SERIES, part(_SERIES))
        self.rebalances = Rebalances(part(_REBALANCES))
        self.aborts = Aborts(part(_EVENTS))
        self.requests = Events(_MOST_REQUESTS, part(_REQUESTS))
        self.throttles = RepeatedEvents(_MOST_EVENTS, part(_EVENTS))
        self.refusals = RepeatedEvents(_MOST_EVENTS, part(_EVENTS))
        self.leaders = Events(_MOST_EVENTS, part(_EVENTS))
        self.segments = Events(_MOST_EVENTS, part(_EVENTS))
        self.stalls = Events(_MOST_EVENTS, part(_STALLS))
        self.minutes = Events(_MOST_MINUTES, part(_STALLS))
        self.full_answers = RepeatedEvents(_MOST_EVENTS, part(_FULL))
        self._early: deque[tuple[str, bytes]] = deque(maxlen=_MOST_EVENTS)
        self.ended: Callable[[str, bytes], object] = self._ended_early
        self.figures: Callable[[], Row] = dict
        self._events = {
            "requests": self.requests,
            "holds": self.throttles,
            "refusals": self.refusals,
            "leaders": self.leaders,
            "segments": self.segments,
            "stalls": self.stalls,
        }
        for kind, events in self._events.items():
            events.ended = partial(self._ended, kind)
        self.rebalances.ended = partial(self._row_ended, "rebalances")
        self.aborts.ended = partial(self._row_ended, "transactions")

    @property
    def kept_bytes(self) -> int:
        """The estimated memory of all events."""
        series = self.ends.kept_bytes + self.commits.kept_bytes
        events = sum(each.kept_bytes for each in (*self._events.values(), self.minutes, self.full_answers))
        return series + events + self.rebalances.kept_bytes + self.aborts.kept_bytes

    def left_out(self) -> dict[str, int]:
        """Return the number of entries without room, by kind: events since the start, series now."""
        told = {kind: each.left_out for kind, each in self._events.items()}
        told |= {"rebalances": self.rebalances.left_out, "transactions": self.aborts.left_out}
        told["full_answers"] = self.full_answers.left_out
        return told | {"ends": self.ends.left_out, "commits": self.commits.left_out}

    def note_refusal(
        self,
        now_ms: int,
        kind: str,
        *,
        host: str,
        reason: str,
        user: str | None = None,
        client_id: str | None = None,
        listener: str | None = None,
        mechanism: str | None = None,
        operation: str | None = None,
        resource: str | None = None,
        name: str | None = None,
    ) -> None:
        """Record a refusal; repetitions within a minute are counted.

        Args:
            kind: `login`, `acl` or `limit`.
            user: None if the user does not exist: the given name may be a password.
        """
        words = (kind, user, host, client_id, listener, mechanism, reason, operation, resource, name)
        # An open row keeps these texts as they are, so shorten them now.
        told = tuple(None if word is None else word[:LONGEST_TEXT] for word in words)
        self.refusals.note(told, now_ms).update(zip(_OF_REFUSALS, told, strict=True))

    def note_full_answer(self, now_ms: int, user: str, client_id: str, setting: str, most_bytes: int) -> None:
        """Count a fetch whose response is as large as a setting of its client, or of the broker, allows."""
        row = self.full_answers.note((user, client_id, setting), now_ms)
        row.update(user=user, client_id=client_id, setting=setting, most_bytes=most_bytes)

    def seal(self, now_ms: int) -> None:
        """Close the rows whose minute is over."""
        self.throttles.seal(now_ms)
        self.full_answers.seal(now_ms)
        self.refusals.seal(now_ms)

    def seal_all(self) -> None:
        """Close all rows that are written to the file, at the broker's shutdown."""
        self.throttles.seal_all()
        self.refusals.seal_all()

    def restore(self, kind: str, row: Row) -> None:
        """Store an event that `ended` received before the broker restarted.

        Raises:
            KeyError, TypeError, ValueError, AssertionError: The row does not fit the kind.
        """
        began_ms = row.get("first_ms", row.get("began_ms", row.get("at_ms")))
        if not isinstance(began_ms, int):
            raise TypeError(f"it began at {began_ms!r}")
        if kind == "rebalances":
            self.rebalances.restore(row)
        elif kind == "transactions":
            self.aborts.restore(row)
        else:
            self._events[kind].restore(json.dumps(row, separators=(",", ":")).encode())
        self.kept_since_ms = min(self.kept_since_ms, began_ms)

    def set_listener(self, ended: Callable[[str, bytes], object]) -> None:
        """Call `ended` with each new event from now on, after those recorded before this call."""
        self.ended = ended
        while self._early:
            ended(*self._early.popleft())

    def _ended_early(self, kind: str, line: bytes) -> None:
        self._early.append((kind, line))

    def _ended(self, kind: str, line: bytes) -> None:
        self.ended(kind, line)

    def _row_ended(self, kind: str, row: Row) -> None:
        self.ended(kind, json.dumps(row, separators=(",", ":")).encode())
