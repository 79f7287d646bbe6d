"""The catalogs that Iceberg's tables are kept in: those that Spark's settings name, or one beside the tables.

A catalog decides which of two commits on the same metadata holds. A table `lake.site.views` is in the catalog `lake`
that Spark's settings name. A directory `/data/warehouse/site/views` is the table `site.views` of a catalog of its
warehouse: on a local disk one in SQLite, `catalog.db`, as PyIceberg's `SqlCatalog` has them, under the name `barnabas`;
on HDFS, whose rename never replaces a file, Hadoop's.

Source: Iceberg 1.10.0, `CatalogUtil`, `JdbcCatalog`, `HadoopCatalog`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.spark.catalogs import PREFIX, is_name
from barnabas.pipeline.spark.stores import is_object_store, scheme_of
from barnabas.pipeline.tables.iceberg_files import Java
from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_OWN_NAME = "barnabas"
_DATABASE = "catalog.db"
_SQLITE = "jdbc:sqlite:"
_BUSY_TIMEOUT_MS = 60_000
# Iceberg's, in the version that PyIceberg has, too.
_TABLES_OF_A_CATALOG = """
CREATE TABLE IF NOT EXISTS iceberg_tables (
    catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
    metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name));
CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
    catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255),
    property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key));
"""


class CatalogEntry:
    """The place of one table in its catalog.

    Attributes:
        location: For people.
        is_hadoop: Whether a rename decides between two commits.
    """

    def __init__(self, spark: SparkSession, location: str) -> None:
        """Name a table, by a name in a catalog or by a directory; nothing is looked at yet.

        Raises:
            TableError: there is no such catalog, or nothing can decide between two commits there.
        """
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "the session has ended"
        self._context = spark.sparkContext
        self._iceberg: Java = jvm.org.apache.iceberg
        self._configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self.location = location
        self._directory: Path | None = None
        if is_name(location):
            self._name, *self._namespace, self._table = location.split(".")
            prefix = f"{PREFIX}{self._name}."
            found = {key[len(prefix) :]: value for key, value in spark.conf.getAll.items() if key.startswith(prefix)}
            if not found:
                raise TableError(f"{location}: Spark's settings name no catalog {self._name} ({prefix}type, ...)")
            self._properties = found
            self._check_rename(found.get("warehouse", ""), is_local_allowed=False)
        else:
            self._properties = {"type": "hadoop"}
            self._check_rename(location, is_local_allowed=True)
            path = jvm.org.apache.hadoop.fs.Path(location)
            path = path.getFileSystem(self._configuration).makeQualified(path)
            self.location = str(path.toString())
            self._name, self._namespace, self._table = _OWN_NAME, [str(path.getParent().getName())], str(path.getName())
            self._properties["warehouse"] = str(path.getParent().getParent().toString())
            if path.toUri().getScheme() == "file":
                self._directory = Path(path.toUri().getPath())
                self._properties |= {"type": "jdbc", "uri": f"{_SQLITE}{self._directory.parents[1] / _DATABASE}"}
        self._identifier = self._identifier_in(self._namespace)
        self.is_hadoop = self._properties.get("type") == "hadoop"

    def load(self) -> Java | None:
        """Return the table as it is now, None when there is none; nobody else has this object."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        is_older = self._directory is not None and any(self._directory.glob("metadata/v*.metadata.json"))
        if self._directory is not None and not is_older and not (self._directory.parents[1] / _DATABASE).exists():
            # Who only looks makes no database.
            return None
        catalog = self._catalog()
        try:
            return catalog.loadTable(self._identifier)
        except Py4JJavaError as error:
            if exception_name(error) not in ("NoSuchTableException", "NoSuchNamespaceException"):
                raise
        if not is_older:
            return None
        # Of a release that had no catalog.
        older = self._iceberg.hadoop.HadoopTables(self._configuration).load(self.location)
        self._make_namespace()
        try:
            return catalog.registerTable(self._identifier, older.operations().current().metadataFileLocation())
        except Py4JJavaError:
            # Another writer may have been first; if none was, this fails.
            return catalog.loadTable(self._identifier)

    def create(self, schema: Java, spec: Java, order: Java, properties: Mapping[str, str]) -> Java:
        """Begin a transaction that makes the table, and its namespace if need be."""
        self._make_namespace()
        builder = self._catalog().buildTable(self._identifier, schema).withPartitionSpec(spec).withSortOrder(order)
        if self._directory is not None:
            builder = builder.withLocation(self.location)
        return builder.withProperties(dict(properties)).createTransaction()

    def _check_rename(self, place: str, *, is_local_allowed: bool) -> None:
        # Two commits could both succeed: a rename in a store is a copy, on a local disk it replaces what is there.
        is_local = (scheme_of(place) or "file") == "file" and not is_local_allowed
        if self._properties.get("type") == "hadoop" and (is_local or is_object_store(place)):
            raise TableError(
                f"{self.location}: tables in files without a catalog need an atomic rename, as HDFS has one; "
                f"{scheme_of(place) or 'file'} has none: name a catalog (REST, JDBC, Hive), or write Delta there"
            )

    def _catalog(self) -> Java:
        return _catalog_of(self._context, self._name, tuple(sorted(self._properties.items())))

    def _identifier_in(self, namespace: list[str]) -> Java:
        text = json.dumps({"namespace": namespace, "name": self._table})
        return self._iceberg.catalog.TableIdentifierParser.fromJson(text)

    def _make_namespace(self) -> None:
        from py4j.protocol import Py4JJavaError

        catalog = self._catalog()
        for count in range(1, len(self._namespace) + 1):
            namespace = self._identifier_in(self._namespace[:count]).namespace()
            if not catalog.namespaceExists(namespace):
                try:
                    catalog.createNamespace(namespace)
                except Py4JJavaError:
                    # Another writer may have been first; what a server makes of that differs.
                    if not catalog.namespaceExists(namespace):
                        raise


@lru_cache
def _catalog_of(context: SparkContext, name: str, properties: tuple[tuple[str, str], ...]) -> Java:
    """Return the catalog of a name, with its connections: one in a session, for all tables."""
    from pyspark.sql import SparkSession

    jvm = context._jvm
    assert jvm is not None, "the session has ended"
    iceberg: Java = jvm.org.apache.iceberg
    session: Java = SparkSession.builder.getOrCreate()._jsparkSession
    given = dict(properties)
    if given.get("uri", "").startswith(_SQLITE):
        database = Path(given["uri"].removeprefix(_SQLITE))
        database.parent.mkdir(parents=True, exist_ok=True)
        # Iceberg would leave a read open when it has looked for these tables, and nobody else could write any more.
        with closing(sqlite3.connect(database, _BUSY_TIMEOUT_MS / 1000)) as connection:
            connection.executescript(_TABLES_OF_A_CATALOG)
        given = {"jdbc.busy_timeout": str(_BUSY_TIMEOUT_MS), "jdbc.init-catalog-tables": "false", **given}
    configuration = iceberg.spark.SparkUtil.hadoopConfCatalogOverrides(session, name)
    return iceberg.CatalogUtil.buildIcebergCatalog(name, given, configuration)


def exception_name(error: Any) -> str:  # py4j has no types
    """Return the name of an exception of Java's, without its package."""
    return str(error.java_exception.getClass().getSimpleName())


def is_lock_held(error: Any) -> bool:  # py4j has no types
    """Return whether a commit failed because Hive's metastore gave no lock in time; nothing was committed then."""
    cause = error.java_exception.getCause()
    # A lock that is lost within a commit is the cause of another exception.
    is_refused = exception_name(error) == "CommitFailedException" and cause is not None
    return is_refused and str(cause.getClass().getSimpleName()) == "LockException"
