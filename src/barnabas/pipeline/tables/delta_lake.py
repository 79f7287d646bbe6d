"""Tables of Delta Lake.

Invariants:
- Each commit of ours has in its `userMetadata` the `_Note` below: the progress of every run, as of the version that
  its writer had seen (`base`), with the run's own new one in it. Commits behind `base` that were written by others
  meanwhile are looked at one by one; so the newest note and what stands between `base` and it tell all, and a log whose
  older files Delta has cleaned up loses nothing.
- A commit has `txnAppId` = run and `txnVersion` = sequence. Delta refuses the second of two that race, and skips
  without a word one that comes later with a number that is there: so after each commit its note is read back, and one
  that is another writer's is an error.

Source: Delta protocol, commit provenance information, transaction identifiers; Delta 4.0.0, `DeltaOptions`.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.tables.columns import aligned, literal, quoted, widened, with_all_columns
from barnabas.pipeline.tables.hadoop import Directory
from barnabas.pipeline.tables.rules import check_sequence, condition_of_cut, moved
from barnabas.pipeline.tables.table import COMPACTED_FILE_BYTES, Compaction, Progress, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

_LOG = "_delta_log"
_NOTE_KEY = "barnabas"

# Characters that Parquet's own names of columns can't have; with them Delta must map names.
_ODD_CHARACTERS = set(" ,;{}()\n\t=")
_MAP_NAMES = {
    "delta.columnMapping.mode": "name",
    "delta.minReaderVersion": "2",
    "delta.minWriterVersion": "5",
}
_WIDENING = "delta.enableTypeWidening"

_METADATA_CONF = "spark.databricks.delta.commitInfo.userMetadata"
_APPLICATION_CONF = "spark.databricks.delta.write.txnAppId"
_VERSION_CONF = "spark.databricks.delta.write.txnVersion"
# A session has one set of them: commands that are given them so take turns.
_confs_in_use = threading.RLock()

# Another writer was faster, and Delta could not put both one after the other; the same again then may.
_TRIES = 10
_CONFLICT = re.compile(
    r"\b(ConcurrentAppend|ConcurrentDeleteRead|ConcurrentDeleteDelete|MetadataChanged|ProtocolChanged)"
)
_SAME_RUN_CONFLICT = "ConcurrentTransaction"


@dataclass(frozen=True, slots=True)
class _Note:
    """A commit's note: each run's progress as of version `base`, and which attempt of its writer made it."""

    base: int
    runs: dict[str, Progress]
    writers: dict[str, str]

    def to_json(self) -> str:
        return json.dumps(
            {
                _NOTE_KEY: 1,
                "base": self.base,
                "runs": [progress.to_json() for progress in self.runs.values()],
                "writers": self.writers,
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> _Note | None:
        """Read one; None where somebody else's words stand."""
        try:
            found = json.loads(text)
        except ValueError:
            return None
        if not isinstance(found, dict) or _NOTE_KEY not in found:
            return None
        all_progress = [Progress.from_json(progress) for progress in found["runs"]]
        return cls(found["base"], {progress.run: progress for progress in all_progress}, found["writers"])


class DeltaLakeTable:
    """A Delta table in a directory."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        self._spark = spark
        self._directory = Directory(spark, location)
        self._location = location

    @property
    def location(self) -> str:
        return self._location

    @property
    def widens(self) -> bool:
        """Whether `append` widens columns of numbers: unless the table's owner has said that it is not to."""
        return self._property(_WIDENING) != "false"

    def exists(self) -> bool:
        return int(self._snapshot().version()) >= 0

    def read(self) -> DataFrame:
        if not self.exists():
            raise TableError(f"{self._location}: there is no Delta table")
        return self._spark.read.format("delta").load(self._directory.uri())

    def progress(self, run: str) -> Progress | None:
        return self._history().runs.get(run)

    def append(self, rows: DataFrame, progress: Progress, partition_by: Sequence[str] = ()) -> None:
        def write(note: str) -> None:
            aligned_rows = self._aligned(rows, widens=self.widens)
            writer = self._writer(aligned_rows, note, progress).mode("append").option("mergeSchema", "true")
            writer.partitionBy(*partition_by).save(self._directory.uri())

        self._commit(progress, write)

    def update(self, rows: DataFrame, key: Sequence[str], progress: Progress) -> None:
        if not self.exists():
            self.append(rows, progress)
            return

        def write(note: str) -> None:
            aligned_rows = self._aligned(rows)
            spark = aligned_rows.sparkSession
            view = f"barnabas_{uuid.uuid4().hex}"
            # The row takes the other one's place, whole: what it does not have is null then.
            with_all_columns(aligned_rows, self._schema()).createOrReplaceTempView(view)
            same = " AND ".join(f"there.{quoted(name)} <=> new.{quoted(name)}" for name in key)
            try:
                # In this release `WITH SCHEMA EVOLUTION` in the command itself adds no column.
                with _settings(spark, note, progress, {"spark.databricks.delta.schema.autoMerge.enabled": "true"}):
                    spark.sql(
                        f"MERGE INTO {self._sql_name} AS there USING {view} AS new ON {same} "
                        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
                    )
            finally:
                spark.catalog.dropTempView(view)

        self._commit(progress, write)

    def replace(self, rows: DataFrame, progress: Progress, partition_by: Sequence[str] = (), where: str = "") -> None:
        def write(note: str) -> None:
            self._set(self._for_names(rows.columns))
            writer = self._writer(aligned(rows, None, self._location), note, progress).mode("overwrite")
            writer = writer.option("replaceWhere", where) if where else writer.option("overwriteSchema", "true")
            writer.partitionBy(*partition_by).save(self._directory.uri())

        self._commit(progress, write)

    def cut(self, offsets: Mapping[str, Mapping[int, int]], progress: Progress, where: str = "") -> int:
        if not self.exists():
            raise TableError(f"{self._location}: there is no Delta table")
        condition = where or condition_of_cut(offsets, self._schema(), self._location)
        count = 0

        def write(note: str) -> None:
            nonlocal count
            with _settings(self._spark, note, progress):
                result = self._spark.sql(f"DELETE FROM {self._sql_name} WHERE {condition}").collect()
            count = int(result[0][0])
            if not count:
                # Delta makes no commit of a DELETE that changes nothing, and ours has the progress to hold.
                nothing = self.read().where("false")
                self._writer(nothing, note, progress).mode("append").save(self._directory.uri())

        self._commit(progress, write)
        return count

    def compact(self, target_file_bytes: int = COMPACTED_FILE_BYTES) -> Compaction:
        """Write small files together, as Delta's OPTIMIZE does; the old ones stay for time travel until `vacuum`."""
        if not self.exists():
            raise TableError(f"{self._location}: there is no Delta table")
        sizes = {
            "spark.databricks.delta.optimize.maxFileSize": str(target_file_bytes),
            "spark.databricks.delta.optimize.minFileSize": str(target_file_bytes),
        }
        before = self._file_count()
        with _settings(self._spark, self._history().to_json(), None, sizes):
            self._spark.sql(f"OPTIMIZE {self._sql_name}")
        return Compaction(before, self._file_count())

    def vacuum(self, hours: float = 168) -> None:
        """Remove files that no version of the last hours has: time travel ends there.

        Args:
            hours: Delta refuses less than 168 (a week) unless its check is switched off: a reader or a writer that
                takes longer would lose its files.
        """
        self._spark.sql(f"VACUUM {self._sql_name} RETAIN {hours} HOURS")

    @property
    def _sql_name(self) -> str:
        return f"delta.{quoted(self._directory.uri())}"

    def _snapshot(self) -> Any:  # Delta's own, in the JVM; its version is -1 where there is no table
        jvm: Any = self._spark.sparkContext._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog
        return log.forTableWithSnapshot(self._spark._jsparkSession, self._directory.uri())._2()

    def _schema(self) -> StructType:
        return self._spark.read.format("delta").load(self._directory.uri()).schema

    def _file_count(self) -> int:
        return int(self._spark.sql(f"DESCRIBE DETAIL {self._sql_name}").collect()[0]["numFiles"])

    def _aligned(self, rows: DataFrame, *, widens: bool = False) -> DataFrame:
        if not self.exists():
            return aligned(rows, None, self._location)
        schema = self._schema()
        aligned_rows = aligned(rows, schema, self._location, widens=widens)
        self._set(self._for_names(aligned_rows.columns))
        if widened(schema, aligned_rows.schema) != schema:
            self._set({_WIDENING: "true"})
        return aligned_rows

    def _for_names(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the properties of a table that has columns of these names."""
        return _MAP_NAMES if any(_ODD_CHARACTERS.intersection(name) for name in names) else {}

    def _set(self, properties: Mapping[str, str]) -> None:
        """Have the table be one that can hold what comes, when it is there and its first property says it is not.

        Not before: some readers of Delta can't read such a table.
        """
        if not properties or not self.exists() or self._property(next(iter(properties))) is not None:
            return
        listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())
        self._spark.sql(f"ALTER TABLE {self._sql_name} SET TBLPROPERTIES ({listed})")

    def _property(self, name: str) -> str | None:
        found = self._snapshot().metadata().configuration().get(name)
        return str(found.get()) if found.isDefined() else None

    def _writer(self, rows: DataFrame, note: str, progress: Progress) -> DataFrameWriter:
        writer = rows.write.format("delta").option("userMetadata", note)
        if not self.exists():
            writer = writer.options(**self._for_names(rows.columns))
        return writer.option("txnAppId", progress.run).option("txnVersion", str(progress.sequence))

    def _commit(self, progress: Progress, write: Callable[[str], None]) -> None:
        """Have something written with a note of the progress, and see that it is there.

        Raises:
            TableMovedError: another writer has committed, or commits now, as the same run.
        """
        for last in range(_TRIES - 1, -1, -1):
            history = self._history()
            check_sequence(history.runs.get(progress.run), progress, self._location)
            writer = uuid.uuid4().hex
            note = _Note(
                history.base, {**history.runs, progress.run: progress}, {**history.writers, progress.run: writer}
            )
            try:
                write(note.to_json())
            except _spark_errors() as error:
                if _SAME_RUN_CONFLICT in str(error):
                    raise moved(progress, self._location) from error
                if not last or not _CONFLICT.search(str(error)):
                    raise
                continue
            if self._history().writers.get(progress.run) != writer:
                raise moved(progress, self._location)
            return

    def _history(self) -> _Note:
        """Read the newest commits, back to the version that the notes found so far account for.

        Returns:
            The note that would be right for the latest version, which is its base.

        Raises:
            TableError: the log's older part was cleaned up, and its newer part does not say how far the runs came.
        """
        snapshot = self._snapshot()
        head = int(snapshot.version())
        runs: dict[str, Progress] = {}
        writers: dict[str, str] = {}
        known_until = -1
        version = head
        while version > known_until:
            try:
                note = self._note(version)
            except FileNotFoundError:
                # Delta keeps the numbers of transactions for ever, and not our notes.
                if snapshot.setTransactions().isEmpty():
                    break
                raise TableError(
                    f"{self._location}: commits of other writers alone are left in {_LOG}, so that it does not say how "
                    "far the runs have come: restore an older copy of the log, or start a new table"
                ) from None
            version -= 1
            if note is None:
                continue
            known_until = max(known_until, note.base)
            for run, progress in note.runs.items():
                if run not in runs or runs[run].sequence < progress.sequence:
                    runs[run] = progress
                    writers[run] = note.writers[run]
        return _Note(head, runs, writers)

    def _note(self, version: int) -> _Note | None:
        for line in self._directory.read_text(f"{_LOG}/{version:020}.json").splitlines():
            if '"commitInfo"' in line:
                action = json.loads(line)
                if "commitInfo" in action:
                    text = action["commitInfo"].get("userMetadata")
                    return _Note.from_json(text) if text else None
        return None


@contextmanager
def _settings(
    spark: SparkSession, note: str, progress: Progress | None, more: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Set what a command of SQL writes into its commit, for the time of a block."""
    wanted = {_METADATA_CONF: note, **(more or {})}
    if progress:
        wanted |= {_APPLICATION_CONF: progress.run, _VERSION_CONF: str(progress.sequence)}
    with _confs_in_use:
        before = {name: spark.conf.get(name, None) for name in wanted}
        try:
            for name, value in wanted.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, value_before in before.items():
                if value_before is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, value_before)


def _spark_errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JJavaError)
