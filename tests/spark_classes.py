"""Spark's classes as its JVM maps them: a process that starts Spark and writes files needs a third less CPU.

`python -m tests.spark_classes` lets one Spark work and keeps its classes in `.cache/`. Whatever is started by tests
with `use_archive` takes them from there, in processes of its own as well; where they do not fit, the JVM does without.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.kafka.jars import CACHE

# Spark's script gives them to the JVM of the driver.
_VARIABLE = "SPARK_SUBMIT_OPTS"


def class_archive() -> Path | None:
    """Return where the mapped classes are for the Spark and the JVM that are installed, if they are; None: no Spark."""
    spark = importlib.util.find_spec("pyspark")
    if spark is None or spark.origin is None:
        return None
    java = Path(shutil.which("java") or "java").resolve()
    jvm = f"{java} {java.stat().st_mtime_ns}" if java.exists() else str(java)
    digest = hashlib.sha256(f"{jvm} {spark.origin}".encode() + Path(__file__).read_bytes()).hexdigest()[:12]
    return CACHE / "java-classes" / f"spark-{digest}.jsa"


def use_archive() -> None:
    """Have each Spark that is started from now on take the mapped classes, where there are some."""
    archive = class_archive()
    if archive is not None and archive.exists():
        # Of an archive that does not fit the JVM would warn, among the lines of what is tested.
        os.environ[_VARIABLE] = f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off"


def archive_classes() -> None:
    """Let Spark read and write once, and keep its classes, unless that was done."""
    archive = class_archive()
    if archive is None or archive.exists():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    os.environ[_VARIABLE] = "-XX:+RecordDynamicDumpInfo -Xlog:cds*=off"
    from barnabas.pipeline.spark.session import spark_session
    from tests.spark import KAFKA_CONNECTOR, SHORT_LIVED, frame_of

    staging = archive.with_name(f"{archive.name}.{os.getpid()}")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory,
        spark_session(
            "barnabas-classes",
            scratch=Path(directory, "scratch"),
            packages=KAFKA_CONNECTOR,
            settings=SHORT_LIVED,
            log=Path(directory, "log"),
        ) as spark,
    ):
        table = str(Path(directory, "table"))
        for number in range(2):
            rows = frame_of(spark, [{"id": number, "name": "a"}, {"id": number, "name": "b"}], "id LONG, name STRING")
            rows.dropDuplicates(["id"]).write.mode("append").parquet(table)
        spark.read.parquet(table).groupBy("id").count().orderBy("id").collect()
        pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        command = ["jcmd", str(pid), "VM.cds", "dynamic_dump", str(staging)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if not staging.exists():
        sys.exit(f"the classes of Spark can't be mapped:\n{result.stdout}{result.stderr}")
    staging.rename(archive)


if __name__ == "__main__":
    archive_classes()
