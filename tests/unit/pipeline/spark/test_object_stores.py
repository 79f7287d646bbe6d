"""Object stores: what an address asks for, and where a store's endpoint comes from."""

import pytest

from barnabas.pipeline.spark.object_stores import clients_for, is_object_store


def test_a_place_in_no_store_needs_nothing() -> None:
    assert clients_for(["/data/tables", "hdfs://host/tables", "postgresql://host/db", ""], {}) == ((), (), {})


def test_a_store_whose_client_the_user_names_gets_none() -> None:
    assert clients_for(["oss://lake/tables"], {}) == ((), (), {})
    assert is_object_store("oss://lake/tables")


@pytest.mark.parametrize("location", ["s3a://lake/tables", "s3://lake/tables", "S3://lake"])
def test_s3_comes_by_its_scheme_without_the_bundle(location: str) -> None:
    packages, excludes, settings = clients_for([location, "/data/checkpoints"], {})
    assert packages[0].startswith("org.apache.hadoop:hadoop-aws:")
    assert "software.amazon.awssdk:bundle" in excludes
    assert settings["spark.hadoop.fs.s3.impl"] == "org.apache.hadoop.fs.s3a.S3AFileSystem"
    # Amazon's own endpoint and region are the client's to find.
    assert not [name for name in settings if "endpoint" in name]
    assert is_object_store(location)


def test_googles_keys_are_found_by_its_own_chain_unless_there_is_an_emulator() -> None:
    def settings(**environment: str) -> tuple[str | None, ...]:
        found = clients_for(["gs://lake"], environment).settings
        return tuple(found.get(f"spark.hadoop.fs.gs.{name}") for name in ("auth.type", "storage.root.url"))

    assert settings() == ("APPLICATION_DEFAULT", None)
    assert settings(STORAGE_EMULATOR_HOST="127.0.0.1:80") == ("UNAUTHENTICATED", "http://127.0.0.1:80/")
    assert settings(STORAGE_EMULATOR_HOST="http://host") == ("UNAUTHENTICATED", "http://host/")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AZURE_STORAGE_KEY": "s"}, {"key": "${env.AZURE_STORAGE_KEY}"}),
        ({}, {"auth.type": "OAuth", "oauth.provider.type": "MsiTokenProvider"}),
        (
            {"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t", "AZURE_CLIENT_SECRET": "s"},
            {
                "auth.type": "OAuth",
                "oauth.provider.type": "ClientCredsTokenProvider",
                "oauth2.client.id": "c",
                "oauth2.client.endpoint": "https://login.microsoftonline.com/t/oauth2/token",
                "oauth2.client.secret": "${env.AZURE_CLIENT_SECRET}",
            },
        ),
        (
            {"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t", "AZURE_FEDERATED_TOKEN_FILE": "f"},
            {
                "auth.type": "OAuth",
                "oauth.provider.type": "WorkloadIdentityTokenProvider",
                "oauth2.client.id": "c",
                "oauth2.msi.tenant": "t",
                "oauth2.token.file": "f",
            },
        ),
    ],
)
def test_a_secret_of_azures_is_named_and_not_told(environment: dict[str, str], expected: dict[str, str]) -> None:
    settings = clients_for(["abfss://files@account.dfs.core.windows.net/x"], environment).settings
    found = {name.removeprefix("spark.hadoop.fs.azure.account."): value for name, value in settings.items()}
    assert {name: value.removeprefix("org.apache.hadoop.fs.azurebfs.oauth2.") for name, value in found.items()} == (
        expected
    )


def test_stores_are_needed_together_without_losing_one() -> None:
    packages, excludes, settings = clients_for(["abfss://x", "s3a://y", "gs://z", "s3://y"], {})
    assert len(packages) == len(set(packages)) == 7
    assert len(excludes) == len(set(excludes))
    assert {"spark.hadoop.fs.s3.impl", "spark.hadoop.fs.gs.impl"} < settings.keys()


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
