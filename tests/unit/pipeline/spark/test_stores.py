"""Object stores: what an address asks for, and where a store's endpoint comes from."""

import pytest

from barnabas.pipeline.spark.stores import clients_for, is_object_store


def test_a_place_in_no_store_needs_nothing() -> None:
    assert clients_for(["/data/tables", "hdfs://host/tables", "postgresql://host/db", ""], {}) == ((), (), {})


@pytest.mark.parametrize("location", ["s3a://lake/tables", "s3://lake/tables", "S3://lake"])
def test_s3_comes_by_its_scheme_without_the_bundle(location: str) -> None:
    packages, excludes, settings = clients_for([location, "/data/checkpoints"], {})
    assert packages[0].startswith("org.apache.hadoop:hadoop-aws:")
    assert "software.amazon.awssdk:bundle" in excludes
    assert settings["spark.hadoop.fs.s3.impl"] == "org.apache.hadoop.fs.s3a.S3AFileSystem"
    # Amazon's own endpoint and region are the client's to find.
    assert not [name for name in settings if "endpoint" in name]
    assert is_object_store(location)


def test_an_endpoint_is_where_the_environment_says() -> None:
    def settings(**environment: str) -> tuple[str | None, ...]:
        found = clients_for(["s3a://lake"], environment).settings
        return tuple(
            found.get(f"spark.hadoop.fs.s3a.{name}") for name in ("endpoint", "path.style.access", "endpoint.region")
        )

    assert settings(AWS_ENDPOINT_URL="http://store:9000") == ("http://store:9000", "true", "us-east-1")
    both = {"AWS_ENDPOINT_URL": "http://other", "AWS_ENDPOINT_URL_S3": "http://store", "AWS_REGION": "eu-west-1"}
    assert settings(**both) == ("http://store", "true", "eu-west-1")
    assert settings(AWS_DEFAULT_REGION="eu-west-1") == (None, None, "eu-west-1")
