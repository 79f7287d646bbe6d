"""Object stores by URL scheme: the packages and settings that Spark needs to access them.

This is the only place with the versions of the stores' clients. Hadoop's S3 client depends on Amazon's SDK as one jar
of more than 500 MB, but needs only the SDK modules listed here. The next Hadoop 3.4 is built with their version 2.29,
which is also the last one that does not require checksums, which some stores lack.

Source: Hadoop 3.4.1, `hadoop-aws`, `hadoop-azure`, `Configuration.substituteVars`; AWS SDKs and tools, settings by
environment variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

_HADOOP = "3.4.1"
_AWS_SDK = "2.29.52"

_JARS_OF_S3 = (
    f"org.apache.hadoop:hadoop-aws:{_HADOOP}",
    *(f"software.amazon.awssdk:{module}:{_AWS_SDK}" for module in ("s3-transfer-manager", "sts", "sso", "ssooidc")),
)
_JARS_OF_AZURE = (f"org.apache.hadoop:hadoop-azure:{_HADOOP}",)
_JAR_OF_GCS = "com.google.cloud.bigdataoss:gcs-connector:3.1.3"
# Amazon's SDK as one jar, dependencies of Azure's older client, and libraries that Spark contains.
_EXCLUDED = (
    "software.amazon.awssdk:bundle",
    "com.microsoft.azure:azure-storage",
    "org.eclipse.jetty:*",
    "commons-codec:commons-codec",
    "commons-logging:commons-logging",
    "io.netty:*",
    "org.apache.hadoop.thirdparty:*",
    "org.apache.httpcomponents:*",
    "org.slf4j:slf4j-api",
)


class StoreClient(NamedTuple):
    """The requirements of a store: Maven coordinates, excluded dependencies, and settings."""

    packages: tuple[str, ...]
    excludes: tuple[str, ...]
    settings: dict[str, str]


# Stores whose client users configure themselves.
_OTHERS = ("s3n", "oss", "cosn", "obs", "wasb", "wasbs")


def scheme_of(location: str) -> str:
    """Return the scheme of a URL in lower case; empty for a path."""
    return location.partition("://")[0].lower() if "://" in location else ""


def is_object_store(location: str) -> bool:
    """Return whether a location is in an object store, where renames may not be atomic and each request costs money."""
    return scheme_of(location) in (*_CLIENTS, *_OTHERS)


def clients_for(locations: Iterable[str], environment: Mapping[str, str]) -> StoreClient:
    """Return the requirements of all stores of these locations.

    Args:
        locations: Paths and URLs; those outside of object stores are ignored.
        environment: Environment variables with endpoint and region, as used by the stores' other tools.
    """
    packages: dict[str, None] = {}
    excludes: dict[str, None] = {}
    settings: dict[str, str] = {}
    for make in dict.fromkeys(_CLIENTS[scheme] for scheme in map(scheme_of, locations) if scheme in _CLIENTS):
        client = make(environment)
        packages |= dict.fromkeys(client.packages)
        excludes |= dict.fromkeys(client.excludes)
        settings |= client.settings
    return StoreClient(tuple(packages), tuple(excludes), settings)


def _s3(environment: Mapping[str, str]) -> StoreClient:
    provider = "org.apache.hadoop.fs.s3a"
    settings = {
        "fs.s3.impl": f"{provider}.S3AFileSystem",
        "fs.AbstractFileSystem.s3.impl": f"{provider}.S3A",
        # Keys in settings first, then Amazon's own chain: environment, profile, role. Hadoop's chain reads no profiles.
        "fs.s3a.aws.credentials.provider": f"{provider}.TemporaryAWSCredentialsProvider,"
        f"{provider}.SimpleAWSCredentialsProvider,software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
    }
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if endpoint:
        # Few stores other than Amazon's have a host name for each bucket.
        settings |= {"fs.s3a.endpoint": endpoint, "fs.s3a.path.style.access": "true"}
    if endpoint or region:
        settings["fs.s3a.endpoint.region"] = region or "us-east-1"
    return StoreClient(_JARS_OF_S3, _EXCLUDED, _for_hadoop(settings))


def _gcs(environment: Mapping[str, str]) -> StoreClient:
    provider = "com.google.cloud.hadoop.fs.gcs"
    settings = {
        "fs.gs.impl": f"{provider}.GoogleHadoopFileSystem",
        "fs.AbstractFileSystem.gs.impl": f"{provider}.GoogleHadoopFS",
        # Google's own chain: GOOGLE_APPLICATION_CREDENTIALS, gcloud's login, the machine's service account.
        "fs.gs.auth.type": "APPLICATION_DEFAULT",
    }
    if emulator := environment.get("STORAGE_EMULATOR_HOST"):
        url = emulator if "://" in emulator else f"http://{emulator}"
        settings |= {"fs.gs.storage.root.url": f"{url.rstrip('/')}/", "fs.gs.auth.type": "UNAUTHENTICATED"}
    return StoreClient((_JAR_OF_GCS,), (), _for_hadoop(settings))


def _azure(environment: Mapping[str, str]) -> StoreClient:
    # The part of Azure's own chain that Hadoop's client supports: a key, a secret, a workload's token, the machine's
    # identity. Settings refer to secrets by environment variable, because the list of processes shows settings.
    provider, login = "org.apache.hadoop.fs.azurebfs.oauth2", "fs.azure.account.oauth2"
    if environment.get("AZURE_STORAGE_KEY"):
        return StoreClient(_JARS_OF_AZURE, _EXCLUDED, _for_hadoop({"fs.azure.account.key": "${env.AZURE_STORAGE_KEY}"}))
    settings = {"fs.azure.account.auth.type": "OAuth"}
    tenant, client = environment.get("AZURE_TENANT_ID", ""), environment.get("AZURE_CLIENT_ID", "")
    if client:
        settings[f"{login}.client.id"] = client
    if environment.get("AZURE_CLIENT_SECRET"):
        settings |= {
            "fs.azure.account.oauth.provider.type": f"{provider}.ClientCredsTokenProvider",
            f"{login}.client.endpoint": f"https://login.microsoftonline.com/{tenant}/oauth2/token",
            f"{login}.client.secret": "${env.AZURE_CLIENT_SECRET}",
        }
    elif file := environment.get("AZURE_FEDERATED_TOKEN_FILE"):
        settings |= {
            "fs.azure.account.oauth.provider.type": f"{provider}.WorkloadIdentityTokenProvider",
            f"{login}.msi.tenant": tenant,
            f"{login}.token.file": file,
        }
    else:
        settings["fs.azure.account.oauth.provider.type"] = f"{provider}.MsiTokenProvider"
    return StoreClient(_JARS_OF_AZURE, _EXCLUDED, _for_hadoop(settings))


def _for_hadoop(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"spark.hadoop.{name}": value for name, value in settings.items()}


_CLIENTS: dict[str, Callable[[Mapping[str, str]], StoreClient]] = {
    "s3": _s3,
    "s3a": _s3,
    "gs": _gcs,
    "abfs": _azure,
    "abfss": _azure,
}
