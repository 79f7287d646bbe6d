"""`barnabas pipeline compact JOB`: merge the small files of a job's tables into larger ones.

A run compacts by itself at intervals (`run --compact-every`), except for Parquet, where other readers may see a table
between two steps (docs/pipeline/tables.md): stop the run before you compact a Parquet table.
"""

import argparse

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.options import (
    Options,
    add_spark_options,
    add_table_options,
    session_options,
    tables_root,
)
from barnabas.pipeline.job import TableOutput
from barnabas.pipeline.runner.outputs import table_location
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.runner.session import session_for
from barnabas.pipeline.tables.formats import open_table
from barnabas.pipeline.tables.layout import COMPACTED_FILE_BYTES, Layout
from barnabas.pipeline.tables.table import MEGABYTE


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.add("job", help="a job's name, or a .py file that declares one")
    options.values("--table", "NAME", "only this table; tables of load are named by topic")
    options.value("--target-mb", "N", "size of the new files", COMPACTED_FILE_BYTES // MEGABYTE)
    add_table_options(parser)
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; raise PlanError if the job has no such table, or none of the tables exists."""
    job = find_job(arguments.job)
    names = [each.name for each in job.outputs if isinstance(each, TableOutput)]
    if "*" in names:
        if not arguments.table:
            raise PlanError(f"job {job.name} has a table per topic: name them with --table")
        names = arguments.table
    elif unknown := set(arguments.table) - set(names):
        raise PlanError(f"job {job.name} has no table {', '.join(unknown)}; it has {', '.join(names)}")
    if arguments.target_mb < 1:
        raise PlanError(f"--target-mb {arguments.target_mb}: must be at least 1")
    layout = Layout(file_bytes=arguments.target_mb * MEGABYTE)
    with session_for(session_options(arguments), [], print) as (spark, _):
        count = 0
        for name in arguments.table or names:
            location = table_location(tables_root(arguments), arguments.format, job.name, name)
            table = open_table(spark, location, arguments.format, layout)
            if table.exists():
                count += 1
                done = table.compact()
                print(f"{name}: {done.files_before:,} files before, {done.files_after:,} after")
    if not count:
        raise PlanError(f"{arguments.tables} contains no {arguments.format} table of job {job.name}")
    return 0
