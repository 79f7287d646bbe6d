"""Options of how tables lie, and of what is done that they stay quick to read."""

import argparse
import re
from math import inf

from barnabas.pipeline.commands.options import Options, names, parse_duration
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.runner.upkeep import Every
from barnabas.pipeline.tables.layout import COMPACTED_FILE_BYTES, Layout, parse_divisions
from barnabas.pipeline.tables.table import MEGABYTE, TableError

_UNITS = {"": 1, "k": 1 << 10, "m": MEGABYTE, "g": 1 << 30}
_COMPACT_EVERY = 100


def add_layout_options(parser: argparse.ArgumentParser) -> None:
    """Add how tables lie."""
    options = Options(parser, "how tables lie")
    options.value(
        "--partition-by",
        "WHAT,...",
        "what divides the files of tables that load makes: COLUMN, year(COLUMN), month(...), day(...), "
        "hour(...), truncate(N, COLUMN); for Iceberg also bucket(N, COLUMN)",
        "",
    )
    options.value("--sort-by", "COLUMN,...", "what sorts the rows in a file", "")
    options.value("--file-size", "SIZE", "of files after compaction", f"{COMPACTED_FILE_BYTES // MEGABYTE}m")
    options.value(
        "--compact-every",
        "N|TIME",
        "write small files together after so many batches, or after 10m, 1h; 0: never (100; Parquet and PostgreSQL: 0)",
    )
    options.value(
        "--keep-history",
        "TIME|all",
        "for how long tables can be read as they were: older states go with a compaction, at most once an hour "
        "(as the table's properties say: 7d for new ones of Delta, 6h of Iceberg)",
    )


def layout(arguments: argparse.Namespace) -> Layout:
    """Return how tables are to lie; raise PlanError if they can't."""
    try:
        divided_by = parse_divisions(arguments.partition_by)
    except TableError as error:
        raise PlanError(f"--partition-by: {error}") from None
    return Layout(
        divided_by,
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
        raise PlanError(f"--file-size {text!r} is no size: write 64m or 1g")
    return int(match[1]) * _UNITS[match[2]]
