"""Properties of Iceberg catalogs for PyIceberg, from Spark's settings or from PyIceberg's configuration.

Source: Iceberg 1.10.0, `CatalogProperties`; PyIceberg 0.12, `pyiceberg.utils.config`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

PREFIX = "spark.sql.catalog."

# Catalog types of Iceberg's Java library, and PyIceberg's names for them.
_TYPES = {"rest": "rest", "jdbc": "sql", "hive": "hive", "glue": "glue"}
# PyIceberg's S3 settings, and the corresponding settings of Hadoop's client, by which Spark reads files.
_S3 = {
    "s3.endpoint": "endpoint",
    "s3.access-key-id": "access.key",
    "s3.secret-access-key": "secret.key",
    "s3.session-token": "session.token",
    "s3.region": "endpoint.region",
}
_PATH_STYLE = "path.style.access"


class CatalogError(Exception):
    """A catalog's configuration can't be used; the message is one line with the reason and the remedy."""


def is_name(place: str) -> bool:
    """Return whether a location is a name in a catalog (`lake.site`, `lake.site.views`), and not a directory."""
    return re.fullmatch(r"\w[\w-]*(\.[\w-]+)+", place) is not None


def catalog_settings(place: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark settings to read the files of a catalog's tables in S3; no settings for a directory.

    Raises:
        CatalogError: the catalog has no settings, or has a type that is not supported.
    """
    if not is_name(place):
        return {}
    found = catalog_properties(place, settings)
    wanted = {f"spark.hadoop.fs.s3a.{own}": found[key] for key, own in _S3.items() if key in found}
    if "s3.endpoint" in found:
        is_virtual = found.get("s3.force-virtual-addressing", "false").lower() == "true"
        wanted[f"spark.hadoop.fs.s3a.{_PATH_STYLE}"] = str(not is_virtual).lower()
    if "://" in found.get("warehouse", ""):
        # The session loads the store's client for each setting that is a URL.
        wanted["spark.barnabas.warehouse"] = found["warehouse"]
    return {key: value for key, value in wanted.items() if key not in settings}


def catalog_properties(place: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return PyIceberg's properties of the catalog of a table or namespace, with its type.

    Args:
        place: A name in a catalog.
        settings: Spark's settings. PyIceberg's configuration applies if they do not configure the catalog.

    Raises:
        CatalogError: the catalog has no settings, or has a type that is not supported.
    """
    name = place.partition(".")[0]
    key = f"{PREFIX}{name}"
    own = {each.removeprefix(f"{key}."): value for each, value in settings.items() if each.startswith(f"{key}.")}
    if own:
        return _of_spark(own, name)
    try:
        from pyiceberg.catalog import infer_catalog_type
        from pyiceberg.utils.config import Config

        found = {each: str(value) for each, value in (Config().get_catalog_config(name) or {}).items()}
        if not found:
            raise CatalogError(
                f"{place}: catalog {name} does not exist: name one by --conf {key}.type=rest --conf {key}.uri=..., or "
                f"in PyIceberg's .pyiceberg.yaml; a directory of this name is ./{place}"
            )
        kind = found.get("type") or str(infer_catalog_type(name, dict(found))).rpartition(".")[2]
    except (ImportError, ValueError) as error:
        raise CatalogError(f"PyIceberg's configuration of the catalog {name}: {error}") from None
    if kind.lower() not in _TYPES.values():
        raise CatalogError(f"catalog {name} has the type {kind}, which is not supported: use {_listed()}")
    return {**found, "type": kind.lower()}


def _of_spark(own: Mapping[str, str], name: str) -> dict[str, str]:
    """Translate Spark's settings of a catalog into PyIceberg's properties."""
    kind = own.get("type", own.get("catalog-impl", "hive").rpartition(".")[2].removesuffix("Catalog").lower())
    if kind == "hadoop":
        raise CatalogError(
            f"catalog {name} has the type hadoop, which can't decide between two commits: use {_listed()}, or a local "
            "directory as --tables"
        )
    if kind not in _TYPES:
        raise CatalogError(f"catalog {name} has the type {kind}, which is not supported: use {_listed()}")
    found = {key: value for key, value in own.items() if not key.startswith(("jdbc.", "hadoop."))}
    found["type"] = _TYPES[kind]
    if kind == "jdbc":
        found["uri"] = _sqlalchemy_of(own, name)
    for key, hadoop_key in _S3.items():
        if value := own.get(f"hadoop.fs.s3a.{hadoop_key}"):
            found.setdefault(key, value)
    if "client.region" in own:
        found.setdefault("s3.region", found.pop("client.region"))
    if path_style := own.get("s3.path-style-access") or own.get(f"hadoop.fs.s3a.{_PATH_STYLE}"):
        found["s3.force-virtual-addressing"] = str(path_style.lower() != "true").lower()
    return found


def _sqlalchemy_of(own: Mapping[str, str], name: str) -> str:
    """Return SQLAlchemy's URL of the database of a JDBC URL."""
    parts = urlsplit(own.get("uri", "").removeprefix("jdbc:"))
    if parts.scheme == "sqlite":
        return f"sqlite:///{parts.path}"
    if parts.scheme != "postgresql":
        raise CatalogError(f"catalog {name} is in {parts.scheme or 'no'} database: use SQLite or PostgreSQL")
    user = ":".join(quote(own[f"jdbc.{key}"], "") for key in ("user", "password") if f"jdbc.{key}" in own)
    query = f"?{parts.query}" if parts.query else ""
    return f"postgresql+psycopg://{user}{'@' if user else ''}{parts.netloc}{parts.path}{query}"


def _listed() -> str:
    return "rest, sql (jdbc), hive or glue"
