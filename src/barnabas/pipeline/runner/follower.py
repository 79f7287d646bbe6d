"""Followers of a run's derived tables, such as enforcement: they receive the tables at each refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Follower(Protocol):
    """Something that acts upon what a job derives; no call but `follow` and `settle` takes long."""

    def start(self) -> None:
        """Begin; called each time that the run is started."""
        ...

    def follow(self, output: str, rows: DataFrame) -> None:
        """Take what a refresh gives for a derived table, right before it is written; the same may come again."""
        ...

    def poll(self) -> None:
        """Raise what ends the run."""
        ...

    def settle(self, timeout_s: float) -> None:
        """Wait until what was given is acted upon; raise what ends the run, or that it is not."""
        ...

    def close(self) -> None:
        """Stop, and let go of everything."""
        ...
