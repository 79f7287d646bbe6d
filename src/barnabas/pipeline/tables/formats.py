"""The table formats, and opening of tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from barnabas.core.build import install_hint
from barnabas.pipeline.spark.object_stores import scheme_of
from barnabas.pipeline.tables.layout import PLAIN, Layout, check_divisions
from barnabas.pipeline.tables.table import Table, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLASSES = {
    "delta": ("delta_lake", "DeltaLakeTable"),
    "iceberg": ("iceberg", "IcebergTable"),
    "parquet": ("parquet", "ParquetTable"),
    "postgresql": ("postgresql", "PostgresqlTable"),
}
FORMATS = tuple(_CLASSES)


def open_table(spark: SparkSession, location: str, format_name: str, layout: Layout = PLAIN) -> Table:
    """Return the table of a format at a location; the table need not exist yet.

    Args:
        spark: The session.
        location: A path or URI of a directory; for PostgreSQL a URL with `?table=`; for Iceberg also a name in a
            catalog, `lake.site.views`.
        format_name: One of `FORMATS`.
        layout: Layout of the table if it is created, and of its compactions.

    Raises:
        TableError: the format does not exist, does not support the layout or the location, or needs packages that are
            not installed.
    """
    check_location(format_name, location)
    check_divisions(layout.partition_columns, format_name)
    # Imported here, as the packages of an unused format need not be installed.
    module, class_name = _CLASSES[format_name]
    try:
        made_by = getattr(import_module(f"barnabas.pipeline.tables.{module}"), class_name)
    except ImportError as error:
        raise TableError(f"{format_name} tables need more packages ({error}): {install_hint(format_name)}") from None
    table: Table = made_by(spark, location, layout)
    return table


def check_location(format_name: str, location: str) -> None:
    """Raise TableError if a format does not exist, or does not support a location."""
    if format_name not in _CLASSES:
        raise TableError(f"table format {format_name!r} does not exist: use one of {', '.join(FORMATS)}")
    if format_name == "parquet" and scheme_of(location) not in ("", "file"):
        raise TableError(f"{location}: a Parquet table must be on a local disk: use --format delta there")
