"""Which kinds of table there are, what Spark needs for each, and how one is opened.

The versions of what Maven Central has for tables stand here and nowhere else; `delta-spark` in `pyproject.toml` is the
same release's Python side.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from barnabas.core.build import install_hint
from barnabas.pipeline.spark.stores import is_object_store
from barnabas.pipeline.tables.layout import PLAIN, Layout, check_divisions
from barnabas.pipeline.tables.table import Table, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELTA = "io.delta:delta-spark_2.13:4.0.0"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0"
POSTGRESQL = "org.postgresql:postgresql:42.7.7"
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"

_EXTENSIONS = "spark.sql.extensions"


class Requirements(NamedTuple):
    """Maven coordinates and settings that a session must be started with."""

    packages: tuple[str, ...]
    settings: dict[str, str]


_REQUIREMENTS = {
    "delta": Requirements(
        (DELTA,),
        {
            _EXTENSIONS: "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # Of the list of a table's files; Delta's own 50 are for millions of files, and cost a second each time.
            "spark.databricks.delta.snapshotPartitions": "2",
        },
    ),
    "iceberg": Requirements(
        (ICEBERG, SQLITE),
        {
            _EXTENSIONS: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            # As Iceberg sets them in the session that is active when it is first used.
            "spark.sql.catalog.default_iceberg": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.default_iceberg.type": "hive",
            "spark.sql.catalog.default_iceberg.default-namespace": "default",
            "spark.sql.catalog.default_iceberg.cache-enabled": "false",
            "spark.sql.catalog.default_cache_iceberg": "org.apache.iceberg.spark.SparkCachedTableCatalog",
        },
    ),
    "parquet": Requirements((), {}),
    "postgresql": Requirements((POSTGRESQL,), {}),
}
FORMATS = tuple(_REQUIREMENTS)

_CLASSES = {
    "delta": ("delta_lake", "DeltaLakeTable"),
    "iceberg": ("iceberg", "IcebergTable"),
    "parquet": ("parquet", "ParquetTable"),
    "postgresql": ("postgresql", "PostgresqlTable"),
}


def requirements_of(*formats: str) -> Requirements:
    """Return what a session needs for tables of all these formats together.

    Raises:
        TableError: there is no such format.
    """
    packages: dict[str, None] = {}
    settings: dict[str, str] = {}
    extensions: dict[str, None] = {}
    for name in formats:
        _check_format(name)
        packages |= dict.fromkeys(_REQUIREMENTS[name].packages)
        settings |= _REQUIREMENTS[name].settings
        if _EXTENSIONS in _REQUIREMENTS[name].settings:
            extensions[_REQUIREMENTS[name].settings[_EXTENSIONS]] = None
    if extensions:
        settings[_EXTENSIONS] = ",".join(extensions)
    return Requirements(tuple(packages), settings)


def packages_of_catalogs(settings: Mapping[str, str]) -> list[str]:
    """Return the Maven coordinates that Iceberg's catalogs need, which Spark's settings name."""
    databases = [value for name, value in settings.items() if name.startswith("spark.sql.catalog.")]
    return [POSTGRESQL] if any(value.startswith("jdbc:postgresql:") for value in databases) else []


def open_table(spark: SparkSession, location: str, format_name: str, layout: Layout = PLAIN) -> Table:
    """Return the table of a format at a place; it need not be there yet.

    Args:
        spark: A session that was started with what `requirements_of` gives for the format.
        location: A path or URI of a directory; for PostgreSQL a URL with `?table=`; for Iceberg also a name in a
            catalog, `lake.site.views`.
        format_name: One of `FORMATS`.
        layout: How it is to lie if it is made, and what its compactions go by.

    Raises:
        TableError: there is no such format, it can't lie like that or be at that place, or what it needs is not
            installed.
    """
    check_place(format_name, location)
    check_divisions(layout.divided_by, format_name)
    # What a format imports need not be installed where it is not used.
    module, class_name = _CLASSES[format_name]
    try:
        made_by = getattr(import_module(f"barnabas.pipeline.tables.{module}"), class_name)
    except ImportError as error:
        raise TableError(f"{format_name} tables need more packages ({error}): {install_hint(format_name)}") from None
    table: Table = made_by(spark, location, layout)
    return table


def check_place(format_name: str, location: str) -> None:
    """Find that a table of a format can't be at a place, before anything is started for it.

    Raises:
        TableError: there is no such format; or it commits by a rename, and the place has none that is one step.
    """
    _check_format(format_name)
    if format_name == "parquet" and is_object_store(location):
        raise TableError(
            f"{location}: a Parquet table needs a file system with an atomic rename (a local disk, HDFS), and an "
            "object store has none: take --format delta there, or Iceberg in a catalog"
        )


def _check_format(name: str) -> None:
    if name not in _REQUIREMENTS:
        raise TableError(f"there is no table format {name!r}; there are {', '.join(FORMATS)}")
