"""Iceberg's catalogs by name: the settings that Spark needs, from the user's own and from PyIceberg's configuration.

Source: Iceberg 1.10.0, `CatalogProperties`; PyIceberg 0.12, `pyiceberg.utils.config`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

PREFIX = "spark.sql.catalog."
_SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"

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


class CatalogError(Exception):
    """A catalog can't be used as it is named: one line that says why and what to do."""


def is_name(place: str) -> bool:
    """Tell whether a place is a name in a catalog (`lake.site`, `lake.site.views`), no directory."""
    return re.fullmatch(r"\w[\w-]*(\.[\w-]+)+", place) is not None


def catalog_settings(place: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return what Spark's settings lack for the catalog of a place; nothing for a directory.

    Args:
        place: A name in a catalog.
        settings: Of the user's. Where they say nothing of the catalog, PyIceberg's configuration does.

    Raises:
        CatalogError: nobody names the catalog, or it is one that Spark can't use.
    """
    if not is_name(place):
        return {}
    name = place.partition(".")[0]
    key = f"{PREFIX}{name}"
    if any(each.startswith(f"{key}.") for each in settings):
        return {} if key in settings else {key: _SPARK_CATALOG}
    found = _properties_of_pyiceberg(name)
    if not found:
        raise CatalogError(
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
        raise CatalogError(f"PyIceberg's configuration of the catalog {name}: {error}") from None
    if kind not in _TYPES:
        raise CatalogError(f"PyIceberg's catalog {name} is of the type {kind}; Spark can use {', '.join(_TYPES)}")
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
        return {**properties, "uri": f"jdbc:sqlite:{parts.path.removeprefix('/')}"}
    if kind != "postgresql" or not parts.hostname:
        raise CatalogError(f"PyIceberg's catalog {name} is in {kind or 'no'} database; known are SQLite, PostgreSQL")
    port = f":{parts.port}" if parts.port else ""
    query = f"?{parts.query}" if parts.query else ""
    properties["uri"] = f"jdbc:{kind}://{parts.hostname}{port}{parts.path}{query}"
    for key, value in (("jdbc.user", parts.username), ("jdbc.password", parts.password)):
        if value is not None:
            properties[key] = unquote(value)
    return properties
