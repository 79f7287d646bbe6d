"""A decoded request for diagnostic events, for the functions that answer it."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from barnabas.broker.diagnostics import Row
from barnabas.broker.diagnostics.series import TICK_MS
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.slices import Step


class DiagnosticQuery:
    """One request, as a subject sees it.

    Attributes:
        since_ms: Events that ended before this time are omitted; -1: no event is omitted.
        names: The requested names that may be described; None: all.
        left_out: The number of names and commits that may not be described, plus the number of omitted rows.
        diagnostics: The stored events.
    """

    def __init__(self, ctx: RequestContext, since_ms: int, names: frozenset[str] | None) -> None:
        self.ctx = ctx
        self.since_ms = since_ms
        self.names = names
        self.left_out = 0
        self.diagnostics = ctx.services.diagnostics or DiagnosticStore(0, ctx.services.clock.now_ms())

    def concerns(self, name: str) -> bool:
        """Return whether the request asks about a name."""
        return self.names is None or name in self.names

    def hosted(self) -> Iterator[Partition]:
        """Yield the requested partitions that this broker hosts."""
        for partition in list(self.ctx.services.replicas.partitions):
            if self.concerns(partition.topic_partition.topic):
                yield partition

    @property
    def tick(self) -> int:
        """The last completed tick of the series."""
        return self.ctx.services.clock.now_ms() // TICK_MS - 1

    def points(self, points: list[tuple[int, int]]) -> list[Any]:
        """Return the requested points of a series, after its value at their beginning."""
        before = sum(at_ms < self.since_ms for at_ms, _ in points)
        return [[at_ms, value] for at_ms, value in points[max(before - 1, 0) :]]


Found: TypeAlias = Iterator[Row | bytes | Step]
"""Rows, or JSON lines of one row each; a `Step` lets the event loop run other work."""
