"""The same count in plain Python: what the Spark job must come out at, to the last view.

It shares no parser with the pipeline on purpose: a line is cut at its quotes and brackets, so that a fault in the one
way of reading a log shows as a difference.

Format of a result file: CSV with the head `minute,page,views`; minutes as `2015-05-17T10:05:00Z`, sorted by minute and
page.
"""

import csv
import gzip
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

HEAD = ("minute", "page", "views")

# Views per (minute, page).
Counts = Counter[tuple[str, str]]


def count_views(lines: Iterable[str]) -> Counts:
    """Count the lines of an access log per minute and page; what is no view is left out."""
    counts: Counts = Counter()
    for line in lines:
        key = _minute_and_page(line)
        if key is not None:
            counts[key] += 1
    return counts


def count_file(path: Path) -> Counts:
    """Count the views in a log file, gzip or not."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    return count_views(line.decode("utf-8", "backslashreplace") for line in data.split(b"\n"))


def totals_per_page(counts: Counts) -> Counter[str]:
    """Add up the minutes: views per page."""
    totals: Counter[str] = Counter()
    for (_, page), views in counts.items():
        totals[page] += views
    return totals


def write_counts(path: Path, counts: Counts) -> None:
    """Write a result file; it appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        writer.writerows((minute, page, views) for (minute, page), views in sorted(counts.items()))
    partial.replace(path)


def read_counts(path: Path) -> Counts:
    """Read a result file back.

    A row that stands twice counts twice, so that a doubled window shows as a difference.
    """
    counts: Counts = Counter()
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        if tuple(next(rows, ())) != HEAD:
            raise ValueError(f"{path} does not start with {','.join(HEAD)}")
        for minute, page, views in rows:
            counts[minute, page] += int(views)
    return counts


def _minute_and_page(line: str) -> tuple[str, str] | None:
    try:
        before, request = line.split('"', 2)[:2]
        stamp = before[before.index("[") + 1 : before.rindex("]")]
        words = request.split(" ")
        page = words[1]
        minute = datetime.strptime(stamp, "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
    except (ValueError, IndexError):
        return None
    if not page:
        return None
    return f"{minute:%Y-%m-%dT%H:%M}:00Z", page
