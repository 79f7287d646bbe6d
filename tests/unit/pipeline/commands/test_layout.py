"""How often a job's tables are compacted, and into how large files."""

import argparse

import pytest

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.layout import add_layout_options, compact_every, layout
from barnabas.pipeline.runner.maintenance import Every

MB = 1 << 20


@pytest.mark.parametrize(
    ("job", "table_format", "given", "every", "file_bytes"),
    [
        ("load", "delta", (), Every(batches=100), 128 * MB),
        ("ranking", "delta", (), Every(batches=20), 16 * MB),
        ("ranking", "iceberg", (), Every(batches=20), 16 * MB),
        ("ranking", "parquet", (), Every(), 16 * MB),
        ("ranking", "delta", ("--compact-every", "1h", "--file-size", "1g"), Every(seconds=3_600), 1_024 * MB),
        ("load", "delta", ("--compact-every", "0", "--file-size", "64m"), Every(), 64 * MB),
    ],
)
def test_files_that_a_refresh_opens_are_merged_more_often_unless_it_is_said_otherwise(
    job: str, table_format: str, given: tuple[str, ...], every: Every, file_bytes: int
) -> None:
    parser = argparse.ArgumentParser()
    add_layout_options(parser)
    arguments = parser.parse_args([*given])
    arguments.format = table_format
    found = find_job(job)
    assert (compact_every(arguments, found), layout(arguments, found).file_bytes) == (every, file_bytes)
