"""One Spark session for all tests of a run: it takes seconds to start, and a process can hold one."""

from __future__ import annotations

import atexit
import gc
import json
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.spark.object_stores import clients_for
from barnabas.pipeline.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Spark's bridge to its JVM leaves sockets to the garbage collector.
forgets_sockets = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
    "ignore:unclosed <socket:ResourceWarning",
)

# A JVM that lives for minutes spends half of its time on compiling for hours that it does not have, and on collectors
# that want more cores: with these eight commits to a Delta table take 20 s of CPU instead of 38.
# One compiler alone would have a cache of 48 MB for its code, which is full after a few hundred queries.
# Nor is it worth while to write and compile a class for each stage of a query on ten rows: that is a third of a run of
# one batch. The demo and what is pasted from the documents have the settings of a user. VACUUM lists files in as many
# tasks as the last setting says.
SHORT_LIVED = {
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
# Spark's own Kafka client, and Delta's and Iceberg's own readers and writers for Spark, with a driver for Iceberg's
# catalogs in SQLite: tests hold Barnabas against them.
KAFKA_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
DELTA = "io.delta:delta-spark_2.13:4.0.0"
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0,org.xerial:sqlite-jdbc:3.50.3.0"
# For commands of `barnabas pipeline` in processes of their own.
SHORT_LIVED_WORDS = tuple(word for name, value in SHORT_LIVED.items() for word in ("--conf", f"{name}={value}"))


@pytest.fixture(scope="module", autouse=True)
def forgotten_sockets() -> Iterator[None]:
    """Collect them at a file's end, so that they are not held against a test of another one."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@cache
def shared_session() -> SparkSession:
    """Give the session; it ends with the process."""
    # At the very end the bridge says that it closes, to a stream that pytest has closed by then.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    stack = ExitStack()
    atexit.register(stack.close)
    scratch = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    clients = clients_for(["s3a://", "gs://", "abfss://"], {})
    packages = ",".join([KAFKA_CONNECTOR, DELTA, ICEBERG, *clients.packages])
    settings = {**clients.settings, **SHORT_LIVED, "spark.jars.excludes": ",".join(clients.excludes)}
    settings |= DELTA_SETTINGS
    return stack.enter_context(
        spark_session("barnabas-tests", scratch=Path(scratch), packages=packages, settings=settings)
    )


def connector_options(kafka: KafkaOptions) -> dict[str, str]:
    """Give a cluster's options as Spark's Kafka connector takes them."""
    return {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "kafka.isolation.level": kafka.isolation_level,
        **{f"kafka.{name}": value for name, value in kafka.options.items()},
    }


def frame_of(spark: SparkSession, rows: Sequence[Mapping[str, object]], ddl: str) -> DataFrame:
    """Give rows as a frame, without a job and without a Python worker, as `createDataFrame` has; a time has its zone.

    Args:
        spark: The session.
        rows: By column; what is left out is null.
        ddl: The columns' names and types.
    """
    from pyspark.sql import functions as F

    found = spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows, default=_iso)), f"ARRAY<STRUCT<{ddl}>>")))
    # Of no rows the optimizer leaves nothing to be done.
    return found if rows else found.where("false")


def _iso(value: object) -> str:
    assert isinstance(value, datetime)
    return value.astimezone(UTC).isoformat()


def plan_of(rows: DataFrame) -> str:
    """Give what Spark's optimizer has made of a query, in words and whole."""
    spark = rows.sparkSession
    spark.conf.set("spark.sql.debug.maxToStringFields", 10_000)
    try:
        return str(rows._jdf.queryExecution().optimizedPlan().toString())
    finally:
        spark.conf.unset("spark.sql.debug.maxToStringFields")
