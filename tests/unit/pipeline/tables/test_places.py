import re
import tomllib
from pathlib import Path

import pytest

from barnabas.pipeline.tables.places import DELTA, FORMATS, requirements_of
from barnabas.pipeline.tables.table import TableError

PROJECT = Path(__file__).parents[4] / "pyproject.toml"


def test_both_sides_of_delta_are_of_one_release() -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    (pinned,) = (match[1] for line in extras["delta"] if (match := re.fullmatch(r"delta-spark==(.*)", line)))
    assert DELTA.rpartition(":")[2] == pinned


def test_formats_are_needed_together_without_losing_one() -> None:
    packages, settings = requirements_of("delta", "iceberg", "parquet", "delta")
    assert [package.split(":")[0] for package in packages] == ["io.delta", "org.apache.iceberg", "org.xerial"]
    assert [name.rpartition(".")[2] for name in settings["spark.sql.extensions"].split(",")] == [
        "DeltaSparkSessionExtension",
        "IcebergSparkSessionExtensions",
    ]


def test_parquet_needs_nothing() -> None:
    assert requirements_of("parquet") == ((), {})
    assert requirements_of() == ((), {})


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TableError, match="'csv'; there are " + ", ".join(FORMATS)):
        requirements_of("delta", "csv")
