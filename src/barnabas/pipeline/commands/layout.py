"""Options for the layout and the maintenance of tables."""

import argparse
import re
from math import inf

from barnabas.pipeline.commands.options import Options, names, parse_duration
from barnabas.pipeline.runner.maintenance import Every
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.tables.layout import COMPACTED_FILE_BYTES, Layout, parse_divisions
from barnabas.pipeline.tables.table import MEGABYTE, TableError

_UNITS = {"": 1, "k": 1 << 10, "m": MEGABYTE, "g": 1 << 30}
_COMPACT_EVERY = 100


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
    options.value("--file-size", "SIZE", "size of files after compaction", f"{COMPACTED_FILE_BYTES // MEGABYTE}m")
    options.value(
        "--compact-every",
        "N|TIME",
        "merge small files after this many batches, or after 10m, 1h; 0 for never (100; Parquet and PostgreSQL: 0)",
    )
    options.value(
        "--keep-history",
        "TIME|all",
        "time for which earlier versions of tables can be read; older versions are deleted by a compaction, at most "
        "once an hour (the table's properties: 7d for new Delta tables, 6h for Iceberg)",
    )


def layout(arguments: argparse.Namespace) -> Layout:
    """Return the layout of tables; raise PlanError if it is invalid."""
    try:
        partition_columns = parse_divisions(arguments.partition_by)
    except TableError as error:
        raise PlanError(f"--partition-by: {error}") from None
    return Layout(
        partition_columns,
        names(arguments.sort_by),
        _parse_size(arguments.file_size),
        _kept_s(arguments.keep_history),
    )


def compact_every(arguments: argparse.Namespace) -> Every:
    """Return how often the tables are compacted."""
    if arguments.compact_every is None:
        return Every(batches=_COMPACT_EVERY if arguments.format in ("delta", "iceberg") else 0)
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
