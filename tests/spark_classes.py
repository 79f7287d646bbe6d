"""Spark's classes as its JVM maps them, for all processes that tests start.

`python -m tests.spark_classes` has one Spark read and write, and the JVM write the file for the virtual environment.
"""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from barnabas.pipeline.spark.class_archive import archive_path
from barnabas.pipeline.spark.java import JavaNotFoundError, find_java_home

# Spark's script gives them to the JVM of the driver. A process that finds a file named here writes none of its own.
_VARIABLE = "SPARK_SUBMIT_OPTS"


def use_archive() -> None:
    """Have each Spark that is started from now on take the file, if there is one."""
    with suppress(JavaNotFoundError):
        archive = archive_path(find_java_home())
        if archive is not None and archive.exists():
            os.environ[_VARIABLE] = f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off"


def write_archive() -> None:
    """Let Spark read and write once, with the Kafka connector, so that the file has the classes of these."""
    from barnabas.pipeline.spark.session import spark_session
    from tests.spark import KAFKA_CONNECTOR, SHORT_LIVED, frame_of

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory,
        spark_session(
            "barnabas-classes",
            scratch=Path(directory, "scratch"),
            packages=KAFKA_CONNECTOR,
            settings=SHORT_LIVED,
            log=Path(directory, "log"),
            on_archive=print,
        ) as spark,
    ):
        table = str(Path(directory, "table"))
        for number in range(2):
            rows = frame_of(spark, [{"id": number, "name": "a"}, {"id": number, "name": "b"}], "id LONG, name STRING")
            rows.dropDuplicates(["id"]).write.mode("append").parquet(table)
        spark.read.parquet(table).groupBy("id").count().orderBy("id").collect()


if __name__ == "__main__":
    found = archive_path(find_java_home())
    if found is not None and not found.exists():
        write_archive()
        if not found.exists():
            sys.exit(f"Spark's JVM did not write its classes; to try again: rm -r {found.parent}")
