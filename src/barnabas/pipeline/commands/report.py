"""`barnabas pipeline report`: write the results of the jobs to a self-contained HTML page."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.catalogue import built_in_jobs
from barnabas.pipeline.commands.options import (
    Options,
    add_spark_options,
    add_table_options,
    session_options,
    tables_root,
)
from barnabas.pipeline.job import TableOutput
from barnabas.pipeline.report.collect import collect
from barnabas.pipeline.report.data import Lag
from barnabas.pipeline.report.page import render
from barnabas.pipeline.runner.outputs import table_location
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.runner.session import session_for
from barnabas.pipeline.sources.run_status import statuses
from barnabas.pipeline.tables.formats import open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


TITLE = "Activity report"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.value("--output", "FILE", "", Path("report.html"), type=Path)
    options.value("--title", "", "title of the page", TITLE)
    add_table_options(parser)
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; raise PlanError if no table of a job exists."""
    with session_for(session_options(arguments), [], print) as (spark, _):
        tables = _tables(spark, tables_root(arguments), arguments.format)
        if not tables:
            raise PlanError(f"{arguments.tables} contains no {arguments.format} table of a job: run jobs first")
        print(write_report(arguments.output, tables, arguments.checkpoint, arguments.title))
    return 0


def write_report(output: Path, tables: Mapping[str, DataFrame], checkpoint: str, title: str = TITLE) -> str:
    """Write a page with these tables and the lag of a checkpoint's runs; return a one-line message for the user."""
    lags = _lags(Path(checkpoint)) if "://" not in checkpoint else []
    page = render(collect(tables, title=title, made_at=datetime.now(UTC), lags=lags))
    output.write_text(page, encoding="utf-8")
    return f"{output}: {len(page) // 1024} KB, from {len(tables)} tables"


def _tables(spark: SparkSession, place: str, table_format: str) -> dict[str, DataFrame]:
    """Return all existing tables of the built-in jobs, by name."""
    found = {}
    for job in built_in_jobs().values():
        for output in job.outputs:
            if isinstance(output, TableOutput) and output.name != "*":
                location = table_location(place, table_format, job.name, output.name)
                table = open_table(spark, location, table_format)
                if table.exists():
                    found[output.name] = table.read()
    return found


def _lags(checkpoint: Path) -> list[Lag]:
    """Return the last reported lag of the runs of a checkpoint directory."""
    return [
        Lag(status["run"], topic, int(number), count)
        for status in statuses(checkpoint)
        for topic, partitions in sorted(status["lag"].items())
        for number, count in sorted(partitions.items(), key=lambda item: int(item[0]))
    ]
