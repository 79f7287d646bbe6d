"""The entry of an Iceberg table in a catalog, through PyIceberg.

A catalog decides which of two commits on the same metadata succeeds. A table `lake.site.views` is in the catalog
`lake`, configured in Spark's settings or in PyIceberg's configuration. A local directory `/data/warehouse/site/views`
is the table `site.views` of the SQLite catalog `barnabas` in `/data/warehouse/catalog.db`.

Source: PyIceberg 0.12, `Catalog`, `SqlCatalog`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock, get_ident
from typing import TYPE_CHECKING

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchNamespaceError,
    NoSuchTableError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    WaitingForLockException,
)

from barnabas.pipeline.spark.catalogs import CatalogError, catalog_properties, is_name
from barnabas.pipeline.spark.object_stores import scheme_of
from barnabas.pipeline.tables.table import TableError, TableUnavailableError

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.sorting import SortOrder

_OWN_NAME = "barnabas"
_DATABASE = "catalog.db"
_BUSY_TIMEOUT_S = 60
# Two threads that open a new database at the same time would both create its tables.
_CATALOGS_LOCK = Lock()
_SILENT = (OSError, CommitStateUnknownException, ServerError, ServiceUnavailableError)
_VERSION = re.compile(r"v(\d+)(\.gz)?\.metadata\.json")
_LOCK_HELD = (
    "Hive's metastore has a lock on the table: of a writer at work, or of a killed one, which stays until the "
    "metastore removes it; docs/pipeline/iceberg.md says how to remove it"
)


class CatalogEntry:
    """The entry of one table in its catalog.

    Attributes:
        location: Location for messages.
    """

    def __init__(self, settings: Mapping[str, str], location: str) -> None:
        """Refer to a table by its name in a catalog or by its directory, without reading it.

        Args:
            settings: Spark's settings, which may configure the catalog.
            location: The name or the directory.

        Raises:
            TableError: the catalog does not exist, or the directory is not local.
        """
        self._directory: Path | None = None
        self.location = location
        if is_name(location):
            self._name, *identifier = location.split(".")
            self._identifier = tuple(identifier)
            try:
                self._properties = catalog_properties(location, settings)
            except CatalogError as error:
                raise TableError(f"{location}: {error}") from None
            return
        if (scheme := scheme_of(location) or "file") != "file":
            raise TableError(
                f"{location}: Iceberg tables on {scheme} need a catalog to decide between two commits: name one "
                "(CATALOG.NAMESPACE) of the type rest, sql, hive or glue, or write Delta"
            )
        directory = Path(location.removeprefix("file://").removeprefix("file:")).absolute()
        self._directory, warehouse = directory, directory.parents[1]
        self._name, self._identifier = _OWN_NAME, (directory.parent.name, directory.name)
        self._properties = {
            "type": "sql",
            "uri": f"sqlite:///{warehouse / _DATABASE}?timeout={_BUSY_TIMEOUT_S}",
            "warehouse": str(warehouse),
        }

    def load(self) -> Table | None:
        """Load the current version of the table; return None if the table does not exist."""
        older = self._older_version()
        if self._directory is not None and not older and not (self._directory.parents[1] / _DATABASE).exists():
            # Reading must not create the database.
            return None
        with self.reported():
            catalog = self._catalog()
            try:
                return catalog.load_table(self._identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                if older is None:
                    return None
            except FileNotFoundError:
                if self._directory is None or self._directory.exists():
                    raise
                # The directory was moved away or deleted: `create` removes the entry.
                return None
            # An earlier release wrote the table without a catalog.
            self._make_namespace(catalog)
            with suppress(TableAlreadyExistsError):
                # Another writer may register it first.
                catalog.register_table(self._identifier, str(older))
            return catalog.load_table(self._identifier)

    def create(self, schema: Schema, spec: PartitionSpec, order: SortOrder, properties: Mapping[str, str]) -> None:
        """Create the table without rows, and its namespace if it is missing; another writer may create it first."""
        with self.reported():
            catalog = self._catalog()
            self._make_namespace(catalog)
            location = None if self._directory is None else str(self._directory)
            if self._directory is not None and not self._directory.exists():
                with suppress(NoSuchTableError):
                    catalog.drop_table(self._identifier)
            with suppress(TableAlreadyExistsError):
                catalog.create_table(self._identifier, schema, location, spec, order, dict(properties))

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Convert errors of the catalog and the store into table errors.

        Raises:
            TableUnavailableError: the catalog or the store does not answer, or the table is locked; retry later.
            TableError: the catalog refuses the request, or a file can't be accessed.
        """
        from requests.exceptions import RequestException
        from sqlalchemy.exc import OperationalError

        try:
            yield
        except (CommitFailedException, WaitingForLockException) as error:
            if not is_locked(error):
                raise
            raise TableUnavailableError(f"{self.location}: {_LOCK_HELD}") from error
        except (FileNotFoundError, PermissionError) as error:
            raise TableError(f"{self.location}: {error}") from error
        except (*_SILENT, RequestException, OperationalError) as error:
            raise TableUnavailableError(
                f"{self.location}: the catalog or the store does not answer: {error}"
            ) from error
        except RESTError as error:
            raise TableError(f"{self.location}: the catalog refuses: {error}") from error
        except Exception as error:
            # Hive's errors are converted because they can't leave a context manager: Python can't set their traceback.
            names = {each.__name__ for each in type(error).__mro__}
            if "TTransportException" in names:
                raise TableUnavailableError(f"{self.location}: the metastore does not answer: {error}") from error
            if "TException" in names:
                raise TableError(f"{self.location}: the metastore refuses: {error}") from error
            raise

    def _catalog(self) -> Catalog:
        if self._directory is not None:
            self._directory.parents[1].mkdir(parents=True, exist_ok=True)
        key = self._name, tuple(sorted(self._properties.items()))
        with _CATALOGS_LOCK:
            catalog = _catalog_of(*key)
            # One for each thread: Hive's client has one connection, which another thread would close.
            return _catalog_of(*key, get_ident()) if type(catalog).__name__ == "HiveCatalog" else catalog

    def _make_namespace(self, catalog: Catalog) -> None:
        for count in range(1, len(self._identifier)):
            namespace = self._identifier[:count]
            if not catalog.namespace_exists(namespace):
                try:
                    catalog.create_namespace(namespace)
                except Exception:
                    # Another writer may create it first; catalogs report that by different errors.
                    if not catalog.namespace_exists(namespace):
                        raise

    def _older_version(self) -> Path | None:
        """Return the newest metadata of a table that an earlier release wrote without a catalog."""
        if self._directory is None:
            return None
        found = {
            int(match[1]): path
            for path in self._directory.glob("metadata/v*.metadata.json")
            if (match := _VERSION.fullmatch(path.name))
        }
        return found[max(found)] if found else None


def is_locked(error: Exception) -> bool:
    """Return whether a commit failed because the table is locked in Hive's metastore."""
    return isinstance(error, WaitingForLockException) or isinstance(error.__cause__, WaitingForLockException)


@lru_cache
def _catalog_of(name: str, properties: tuple[tuple[str, str], ...], _thread: int = 0) -> Catalog:
    """Return the catalog of a name, with its connections: one for all tables of the process, or one for each thread."""
    return load_catalog(name, **dict(properties))
