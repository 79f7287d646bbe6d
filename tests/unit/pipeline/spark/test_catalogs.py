"""Catalogs as Spark's settings and PyIceberg's configuration name them."""

from pathlib import Path

import pytest

from barnabas.pipeline.spark.catalogs import CatalogError, catalog_settings, is_name
from barnabas.pipeline.tables.places import POSTGRESQL, packages_of_catalogs

LAKE = "spark.sql.catalog.lake"
SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    return tmp_path


def of_lake(settings: dict[str, str]) -> dict[str, str]:
    """Give the properties of the catalog `lake`."""
    assert settings.pop(LAKE) == SPARK_CATALOG
    return {name.removeprefix(f"{LAKE}."): value for name, value in settings.items()}


def test_a_name_has_a_dot_and_no_slash() -> None:
    assert all(map(is_name, ("lake.site", "lake.site.page-views")))
    assert not any(map(is_name, ("lake", "./a.b", "/a.b", "s3://a.b", "..", ".a.b")))


def test_what_spark_is_told_of_a_catalog_holds_and_the_class_is_added() -> None:
    given = {f"{LAKE}.type": "rest", f"{LAKE}.uri": "http://here"}
    assert catalog_settings("lake.site", given) == {LAKE: SPARK_CATALOG}
    assert catalog_settings("lake.site", {**given, LAKE: "another"}) == {}


def test_a_catalog_that_nobody_names_is_refused_with_what_to_do() -> None:
    with pytest.raises(CatalogError, match=r"no catalog lake: name one by --conf spark\.sql\.catalog\.lake\.type=rest"):
        catalog_settings("lake.site", {"spark.sql.catalog.other.type": "rest"})
    assert catalog_settings("/data/warehouse", {}) == {}


def test_pyiceberg_names_a_rest_catalog(home: Path) -> None:
    (home / ".pyiceberg.yaml").write_text(
        "catalog:\n  lake:\n    uri: https://here/rest\n    warehouse: site\n    credential: id:secret\n"
        "    s3.endpoint: http://store\n    s3.region: eu-1\n    s3.access-key-id: key\n"
    )
    assert of_lake(catalog_settings("lake.site", {})) == {
        "type": "rest",
        "uri": "https://here/rest",
        "warehouse": "site",
        "credential": "id:secret",
        "s3.endpoint": "http://store",
        "client.region": "eu-1",
        "s3.access-key-id": "key",
        "s3.path-style-access": "true",
        "hadoop.fs.s3a.endpoint": "http://store",
        "hadoop.fs.s3a.endpoint.region": "eu-1",
        "hadoop.fs.s3a.access.key": "key",
        "hadoop.fs.s3a.path.style.access": "true",
    }


@pytest.mark.parametrize(
    ("uri", "properties"),
    [
        (
            "postgresql+psycopg2://me:a%20%2F@here:5433/site?sslmode=require",
            {
                "uri": "jdbc:postgresql://here:5433/site?sslmode=require",
                "jdbc.user": "me",
                "jdbc.password": "a /",
            },
        ),
        ("sqlite:////data/catalog.db", {"uri": "jdbc:sqlite:/data/catalog.db"}),
    ],
)
def test_pyiceberg_names_a_database_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, uri: str, properties: dict[str, str]
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
    settings = catalog_settings("lake.site", {})
    assert packages_of_catalogs(settings) == ([POSTGRESQL] if "postgresql" in uri else [])
    assert of_lake(settings) == {"type": "jdbc", "jdbc.schema-version": "V1", **properties}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("TYPE", "in-memory", "type in-memory"), ("URI", "file:///a", "Could not infer"), ("TYPE", "sql", "no database")],
)
def test_a_catalog_that_spark_cannot_use_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, error: str
) -> None:
    monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    with pytest.raises(CatalogError, match=error):
        catalog_settings("lake.site", {})
