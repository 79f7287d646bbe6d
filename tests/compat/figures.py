"""What the tests that hand directories over saw, as figures for a person: a table at the end of the run.

A row stands for what one broker showed to clients: how many topics were read, how many records in them, where each log
ends, and the offsets that groups have committed.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, Protocol

import pytest

PROPERTY = "handed over"
"""Under this name a row stands in the report of its test."""


class Row(NamedTuple):
    """What a broker showed.

    Attributes:
        story: Which hand-over: its version, its end.
        who: The broker, and at what time.
        end_offsets: By topic.
        committed: By group and topic.
    """

    story: str
    who: str
    topic_count: int
    record_count: int
    end_offsets: Mapping[str, int]
    committed: Mapping[str, int]


class Tell(Protocol):
    """Note what a broker showed."""

    def __call__(self, who: str, records: Mapping[str, Sequence[int]], committed: Mapping[str, int]) -> None:
        """Args:
        who: The broker, and at what time.
        records: The offsets that were read, by topic.
        committed: By group and topic.
        """
        ...


def rows_in(reports: Iterable[pytest.TestReport]) -> list[Row]:
    """What tests noted, those that failed too; their reports may come from another process, as plain values."""
    return [
        Row(*value)
        for report in reports
        for name, value in report.user_properties
        if name == PROPERTY and report.when == "call"
    ]


def table(rows: Iterable[Row]) -> list[str]:
    """The lines of a table of all rows, below the name of each story."""
    lines: list[str] = []
    for story, told in groupby(sorted(rows, key=attrgetter("story")), attrgetter("story")):
        lines += ["", story]
        cells = [("who", "topics", "records", "end offsets", "committed")]
        for row in told:
            ends, committed = (
                " ".join(f"{name}={offset}" for name, offset in each.items())
                for each in (row.end_offsets, row.committed)
            )
            cells.append((row.who, str(row.topic_count), str(row.record_count), ends, committed))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines += [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        ]
    return lines
