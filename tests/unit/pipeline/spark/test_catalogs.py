"""Catalogs as Spark's settings and PyIceberg's configuration name them."""

from pathlib import Path

import pytest

from barnabas.pipeline.spark.catalogs import CatalogError, catalog_properties, catalog_settings, is_name

LAKE = "spark.sql.catalog.lake"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    return tmp_path


def in_spark(**properties: str) -> dict[str, str]:
    """Give Spark's settings of the catalog `lake`."""
    return {f"{LAKE}.{key.replace('__', '.').replace('_', '-')}": value for key, value in properties.items()}


def test_a_name_has_a_dot_and_no_slash() -> None:
    assert all(map(is_name, ("lake.site", "lake.site.page-views")))
    assert not any(map(is_name, ("lake", "./a.b", "/a.b", "s3://a.b", "..", ".a.b")))


def test_spark_names_a_rest_catalog() -> None:
    given = in_spark(type="rest", uri="http://here", s3__endpoint="http://store", s3__path_style_access="true")
    given |= in_spark(client__region="eu-1", hadoop__fs__s3a__secret__key="secret", warehouse="s3://lake/site")
    assert catalog_properties("lake.site", {LAKE: "a class", **given}) == {
        "type": "rest",
        "uri": "http://here",
        "warehouse": "s3://lake/site",
        "s3.endpoint": "http://store",
        "s3.region": "eu-1",
        "s3.secret-access-key": "secret",
        "s3.path-style-access": "true",
        "s3.force-virtual-addressing": "false",
    }
    # Spark's client of S3 reads the files.
    assert catalog_settings("lake.site", given) == {
        "spark.hadoop.fs.s3a.endpoint": "http://store",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-1",
        "spark.hadoop.fs.s3a.secret.key": "secret",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.barnabas.warehouse": "s3://lake/site",
    }


@pytest.mark.parametrize(
    ("settings", "uri"),
    [
        (
            {
                "uri": "jdbc:postgresql://here:5433/site?sslmode=require",
                "jdbc__user": "me",
                "jdbc__password": "a /",
                "jdbc__schema_version": "V1",
            },
            "postgresql+psycopg://me:a%20%2F@here:5433/site?sslmode=require",
        ),
        ({"uri": "jdbc:postgresql://here/site"}, "postgresql+psycopg://here/site"),
        ({"uri": "jdbc:sqlite:/data/catalog.db"}, "sqlite:////data/catalog.db"),
    ],
)
def test_spark_names_a_database(settings: dict[str, str], uri: str) -> None:
    assert catalog_properties("lake.site", in_spark(type="jdbc", **settings)) == {"type": "sql", "uri": uri}


def test_pyiceberg_names_a_catalog_unless_spark_does(home: Path) -> None:
    (home / ".pyiceberg.yaml").write_text("catalog:\n  lake:\n    uri: https://here/rest\n    warehouse: site\n")
    named = {"type": "rest", "uri": "https://here/rest", "warehouse": "site"}
    assert catalog_properties("lake.site", {}) == named
    assert catalog_settings("lake.site", {}) == {}
    assert catalog_properties("lake.site", in_spark(type="hive", uri="thrift://there"))["uri"] == "thrift://there"


def test_a_catalog_that_nobody_names_is_refused_with_what_to_do() -> None:
    with pytest.raises(CatalogError, match=r"lake does not exist: name one by --conf spark\.sql\.catalog\.lake\.type="):
        catalog_settings("lake.site", {"spark.sql.catalog.other.type": "rest"})
    assert catalog_settings("/data/warehouse", {}) == {}


@pytest.mark.parametrize(
    ("name", "value", "error"), [("TYPE", "in-memory", "type in-memory"), ("URI", "file:///a", "Could not infer")]
)
def test_a_type_of_pyiceberg_that_is_not_supported_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, error: str
) -> None:
    monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    with pytest.raises(CatalogError, match=error):
        catalog_settings("lake.site", {})


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"type": "hadoop"}, "can't decide between two commits"),
        ({"catalog_impl": "org.apache.iceberg.nessie.NessieCatalog"}, "type nessie"),
        ({"type": "jdbc", "uri": "jdbc:mysql://here/site"}, "in mysql database"),
    ],
)
def test_a_type_of_spark_that_is_not_supported_is_refused(settings: dict[str, str], error: str) -> None:
    with pytest.raises(CatalogError, match=error):
        catalog_settings("lake.site", in_spark(**settings))
