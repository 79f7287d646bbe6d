"""Options for the layout and the maintenance of tables."""

import argparse
import re
from math import inf

from barnabas.pipeline.commands.options import Options, names, parse_duration
from barnabas.pipeline.job import Job
from barnabas.pipeline.runner.maintenance import Every
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.tables.layout import COMPACTED_FILE_BYTES, Layout, parse_divisions
from barnabas.pipeline.tables.table import MEGABYTE, TableError

_UNITS = {"": 1, "k": 1 << 10, "m": MEGABYTE, "g": 1 << 30}
_COMPACT_EVERY = 100
# A refresh opens all files of its source tables, and opening a small file costs as much as reading its rows. So these
# files are merged more often, but into smaller files: each byte is rewritten only as often as in other tables.
_COMPACT_SOURCES_EVERY = 20
_SOURCE_FILE_BYTES = 16 * MEGABYTE


def add_layout_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for table layout."""
    options = Options(parser, "table layout")
    options.value(
        "--partition-by",
        "WHAT,...",
        "partition columns of tables created by load: COLUMN, year(COLUMN), month(...), day(...), "
        "hour(...), truncate(N, COLUMN); for Iceberg also bucket(N, COLUMN)",
        "",
    )
    options.value("--sort-by", "COLUMN,...", "sort columns of the rows in a file", "")
    options.value(
        "--file-size",
        "SIZE",
        f"size of files after compaction ({COMPACTED_FILE_BYTES // MEGABYTE}m; of jobs that derive results "
        f"{_SOURCE_FILE_BYTES // MEGABYTE}m)",
    )
    options.value(
        "--compact-every",
        "N|TIME",
        f"merge small files after this many batches, or after 10m, 1h; 0 for never ({_COMPACT_EVERY}; of jobs that "
        f"derive results {_COMPACT_SOURCES_EVERY}; Parquet and PostgreSQL: 0)",
    )
    options.value(
        "--keep-history",
        "TIME|all",
        "time for which earlier versions of tables can be read; older versions are deleted by a compaction, at most "
        "once an hour (the table's properties: 7d for new Delta tables, 6h for Iceberg)",
    )


def layout(arguments: argparse.Namespace, job: Job) -> Layout:
    """Return the layout of a job's tables; raise PlanError if it is invalid."""
    try:
        partition_columns = parse_divisions(arguments.partition_by)
    except TableError as error:
        raise PlanError(f"--partition-by: {error}") from None
    if arguments.file_size is None:
        file_bytes = COMPACTED_FILE_BYTES if job.refresh is None else _SOURCE_FILE_BYTES
    else:
        file_bytes = _parse_size(arguments.file_size)
    return Layout(partition_columns, names(arguments.sort_by), file_bytes, _kept_s(arguments.keep_history))


def compact_every(arguments: argparse.Namespace, job: Job) -> Every:
    """Return how often the tables of a job are compacted."""
    if arguments.compact_every is None:
        if arguments.format not in ("delta", "iceberg"):
            return Every()
        return Every(batches=_COMPACT_EVERY if job.refresh is None else _COMPACT_SOURCES_EVERY)
    if arguments.compact_every.isdigit():
        return Every(batches=int(arguments.compact_every))
    return Every(seconds=parse_duration(arguments.compact_every) / 1000)


def _kept_s(text: str | None) -> float | None:
    if text is None:
        return None
    return inf if text == "all" else parse_duration(text) / 1000


def _parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d{1,9})([kmg]?)b?", text.lower())
    if match is None or int(match[1]) == 0:
        raise PlanError(f"--file-size {text!r}: must be a size such as 64m or 1g")
    return int(match[1]) * _UNITS[match[2]]
