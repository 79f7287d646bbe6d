"""The catalogs that Iceberg's tables are kept in: named by Spark's settings or PyIceberg's, or one beside the tables.

A catalog decides which of two commits on the same metadata holds. A table `lake.site.views` is in the catalog `lake`
that Spark's settings name. A directory `/data/warehouse/site/views` is the table `site.views` of a catalog of its
warehouse: on a local disk one in SQLite, `catalog.db`, as PyIceberg's `SqlCatalog` has them, under the name `barnabas`;
on HDFS, whose rename never replaces a file, Hadoop's.

Source: Iceberg 1.10.0, `CatalogUtil`, `JdbcCatalog`, `HadoopCatalog`; PyIceberg 0.12, `pyiceberg.utils.config`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from barnabas.pipeline.tables.iceberg_files import Java
from barnabas.pipeline.tables.table import TableError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
_PREFIX = "spark.sql.catalog."
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

# PyIceberg's types of catalogs, and Java's.
_TYPES = {"rest": "rest", "sql": "jdbc", "hive": "hive", "glue": "glue"}
# PyIceberg's settings of S3, and those of Hadoop's client, which reads and writes where Iceberg's own is not there.
_S3 = {
    "s3.endpoint": "endpoint",
    "s3.access-key-id": "access.key",
    "s3.secret-access-key": "secret.key",
    "s3.session-token": "session.token",
    "s3.region": "endpoint.region",
}
# Two commits could both succeed there: a rename replaces what is there, or is a copy.
_WITHOUT_RENAME = ("file", "s3", "s3a", "s3n", "gs", "oss", "cosn", "obs", "wasb", "wasbs")


def is_name(place: str) -> bool:
    """Tell whether a place is a name in a catalog (`lake.site`, `lake.site.views`), no directory."""
    return re.fullmatch(r"\w[\w-]*(\.[\w-]+)+", place) is not None


def catalog_settings(place: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return what Spark's settings lack for the catalog of a place; nothing for a directory.

    Args:
        place: A name in a catalog.
        settings: Of the user's. Where they say nothing of the catalog, PyIceberg's configuration does.

    Raises:
        TableError: nobody names the catalog, or it is one that Spark can't use.
    """
    if not is_name(place):
        return {}
    name = place.partition(".")[0]
    key = f"{_PREFIX}{name}"
    if any(each.startswith(f"{key}.") for each in settings):
        return {} if key in settings else {key: _SPARK_CATALOG}
    found = _properties_of_pyiceberg(name)
    if not found:
        raise TableError(
            f"{place}: there is no catalog {name}: name one by --conf {key}.type=rest --conf {key}.uri=..., or in "
            f"PyIceberg's .pyiceberg.yaml; a directory of this name is ./{place}"
        )
    return {key: _SPARK_CATALOG, **{f"{key}.{each}": value for each, value in found.items()}}


def _properties_of_pyiceberg(name: str) -> dict[str, str]:
    """Translate what PyIceberg's configuration says of a catalog into Java's properties."""
    try:
        from pyiceberg.catalog import infer_catalog_type
        from pyiceberg.utils.config import Config

        found: dict[str, Any] = dict(Config().get_catalog_config(name) or {})
        if not found:
            return {}
        kind = str(found.pop("type", None) or infer_catalog_type(name, found)).rpartition(".")[2].lower()
    except (ImportError, ValueError) as error:
        raise TableError(f"PyIceberg's configuration of the catalog {name}: {error}") from None
    if kind not in _TYPES:
        raise TableError(f"PyIceberg's catalog {name} is of the type {kind}; Spark can use {', '.join(_TYPES)}")
    properties = {"type": _TYPES[kind], **{key: str(value) for key, value in found.items()}}
    if kind == "sql":
        properties |= _jdbc_of(str(found.get("uri", "")), name)
    for key, hadoop_key in _S3.items():
        if key in properties:
            properties[f"hadoop.fs.s3a.{hadoop_key}"] = properties[key]
    if "s3.region" in properties:
        properties["client.region"] = properties.pop("s3.region")
    if "s3.endpoint" in properties:
        is_virtual = properties.pop("s3.force-virtual-addressing", "false").lower() == "true"
        for key in ("s3.path-style-access", "hadoop.fs.s3a.path.style.access"):
            properties[key] = str(not is_virtual).lower()
    return properties


def _jdbc_of(uri: str, name: str) -> dict[str, str]:
    """Return Java's properties of a database that SQLAlchemy's address names."""
    parts = urlsplit(uri)
    kind = parts.scheme.partition("+")[0]
    # The catalog's tables are those that PyIceberg makes.
    properties = {"jdbc.schema-version": "V1"}
    if kind == "sqlite":
        return {**properties, "uri": f"{_SQLITE}{parts.path.removeprefix('/')}"}
    if kind not in ("postgresql", "mysql") or not parts.hostname:
        raise TableError(f"PyIceberg's catalog {name} is in {kind or 'no'} database; Spark can use PostgreSQL, SQLite")
    port = f":{parts.port}" if parts.port else ""
    query = f"?{parts.query}" if parts.query else ""
    properties["uri"] = f"jdbc:{kind}://{parts.hostname}{port}{parts.path}{query}"
    for key, value in (("jdbc.user", parts.username), ("jdbc.password", parts.password)):
        if value is not None:
            properties[key] = unquote(value)
    return properties


class CatalogEntry:
    """The place of one table in its catalog."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        """Name a table; nothing is looked at yet.

        Args:
            spark: A session.
            location: A name in a catalog, or a directory.

        Raises:
            TableError: nothing can decide between two commits there.
        """
        self._spark = spark
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "the session has ended"
        self._jvm: Java = jvm
        self._iceberg: Java = jvm.org.apache.iceberg
        self._configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self.location, self._directory, self._database = location, "", ""
        if is_name(location):
            self._name, *namespace, table = location.split(".")
            self._properties = self._properties_of_spark()
        else:
            path = jvm.org.apache.hadoop.fs.Path(location)
            if path.toUri().getScheme() not in (None, "file"):
                self._check_rename(location)
            path = path.getFileSystem(self._configuration).makeQualified(path)
            self.location = self._directory = str(path.toString())
            self._name, namespace, table = _OWN_NAME, [str(path.getParent().getName())], str(path.getName())
            self._properties = self._properties_of_directory(path.getParent().getParent())
        self._levels = namespace
        self._identifier: Java = self._iceberg.catalog.TableIdentifier.of(self._namespace(len(namespace)), table)
        self.is_hadoop = self._properties.get("type") == "hadoop"
        if self.is_hadoop:
            self._check_rename(self._properties.get("warehouse", ""))

    def load(self) -> Java | None:
        """Return the table as it is now, None when there is none; nobody else has this object."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types

        if self._database and not Path(self._database).exists() and not self._has_older_metadata():
            # Who only looks makes no database.
            return None
        try:
            return self._catalog().loadTable(self._identifier)
        except Py4JJavaError as error:
            if exception_name(error) not in ("NoSuchTableException", "NoSuchNamespaceException"):
                raise
        if not self._has_older_metadata():
            return None
        self._take_over()
        return self._catalog().loadTable(self._identifier)

    def create(self, schema: Java, spec: Java, properties: Mapping[str, str]) -> Java:
        """Begin a transaction that makes the table, and its namespace if need be."""
        self._make_namespace()
        builder = self._catalog().buildTable(self._identifier, schema).withPartitionSpec(spec)
        if self._database:
            builder = builder.withLocation(self._directory)
        return builder.withProperties(dict(properties)).createTransaction()

    def _check_rename(self, place: str) -> None:
        scheme = urlsplit(place).scheme or "file"
        if scheme in _WITHOUT_RENAME:
            raise TableError(
                f"{self.location}: tables in files without a catalog need an atomic rename, as HDFS has one; "
                f"{scheme} has none: name a catalog (REST, JDBC, Hive), or write Delta there"
            )

    def _catalog(self) -> Java:
        return _catalog_of(self._spark.sparkContext, self._name, tuple(sorted(self._properties.items())))

    def _make_namespace(self) -> None:
        from py4j.protocol import Py4JJavaError

        catalog = self._catalog()
        for count in range(1, len(self._levels) + 1):
            namespace = self._namespace(count)
            if not catalog.namespaceExists(namespace):
                try:
                    catalog.createNamespace(namespace)
                except Py4JJavaError:
                    # Another writer may have been first; what a server makes of that differs.
                    if not catalog.namespaceExists(namespace):
                        raise

    def _namespace(self, count: int) -> Java:
        gateway = self._spark.sparkContext._gateway
        assert gateway is not None, "the session has ended"
        levels = gateway.new_array(self._jvm.java.lang.String, count)
        for place in range(count):
            levels[place] = self._levels[place]
        return self._iceberg.catalog.Namespace.of(levels)

    def _has_older_metadata(self) -> bool:
        """Tell whether the directory is a table without a catalog: one that an earlier release has made."""
        return bool(self._database) and any(self._local_path().glob("metadata/v*.metadata.json"))

    def _take_over(self) -> None:
        """Enter a table that an earlier release has made into the catalog."""
        from py4j.protocol import Py4JJavaError

        older = self._iceberg.hadoop.HadoopTables(self._configuration).load(self._directory)
        self._make_namespace()
        try:
            self._catalog().registerTable(self._identifier, older.operations().current().metadataFileLocation())
        except Py4JJavaError:
            if not self._catalog().tableExists(self._identifier):
                raise

    def _local_path(self) -> Path:
        return Path(urlsplit(self._directory).path)

    def _properties_of_spark(self) -> dict[str, str]:
        prefix = f"{_PREFIX}{self._name}."
        found = {
            key.removeprefix(prefix): value for key, value in self._spark.conf.getAll.items() if key.startswith(prefix)
        }
        if not found:
            raise TableError(f"{self.location}: Spark's settings name no catalog {self._name} ({prefix}type, ...)")
        return found

    def _properties_of_directory(self, warehouse: Java) -> dict[str, str]:
        if warehouse is None:
            raise TableError(f"{self.location}: a table's directory is the second below that of the warehouse")
        if warehouse.toUri().getScheme() != "file":
            return {"type": "hadoop", "warehouse": str(warehouse.toString())}
        self._database = f"{warehouse.toUri().getPath().rstrip('/')}/{_DATABASE}"
        return {
            "type": "jdbc",
            "uri": f"{_SQLITE}{self._database}",
            "warehouse": str(warehouse.toString()),
        }


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


def reason(error: Any) -> str:
    """Return what an exception of Java's says, and the last of its causes."""
    first = last = error.java_exception
    while last.getCause() is not None:
        last = last.getCause()
    return str(first.toString()) if first.equals(last) else f"{first.toString()}: {last.toString()}"
