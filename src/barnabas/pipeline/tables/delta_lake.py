"""Tables of Delta Lake.

Invariants:
- Each commit of ours has in its `userMetadata` the `_Note` below: the progress of every run, as of the version that
  its writer had seen (`base`), with the run's own new one in it. Commits behind `base` that were written by others
  meanwhile are looked at one by one; so the newest note and what stands between `base` and it tell all, and a log whose
  older files Delta has cleaned up loses nothing.
- A commit has the transaction identifier of its run, with its sequence as version. Delta refuses the second of two
  that race, and a command skips without a word what comes later with a number that is there: so after each commit its
  note is read back, and one that is another writer's is an error.
- Rows are written by Delta's own writer, in a transaction that we begin. It is told that the run's identifier was read,
  which Delta's `txnVersion` option looks up in the state of the whole table, by Spark: three times the CPU of the rest.

Source: Delta protocol, commit provenance information, transaction identifiers; Delta 4.0.0, `WriteIntoDelta`,
`OptimisticTransaction`.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.tables.columns import aligned, literal, merged, quoted, widened, with_all_columns
from barnabas.pipeline.tables.hadoop import Directory
from barnabas.pipeline.tables.layout import PLAIN, Division, Layout
from barnabas.pipeline.tables.lease import hold
from barnabas.pipeline.tables.rules import (
    check_division,
    check_layout,
    check_sequence,
    condition_of_cut,
    is_later,
    moved,
)
from barnabas.pipeline.tables.table import USUAL_LIMITS, Compaction, Progress, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Java = Any  # Delta's own things, in the JVM, have no types here

_LOG = "_delta_log"
_NOTE_KEY = "barnabas"

# Characters that Parquet's own names of columns can't have; with them Delta must map names.
_ODD_CHARACTERS = set(" ,;{}()\n\t=")
_MAP_NAMES = {
    "delta.columnMapping.mode": "name",
    "delta.minReaderVersion": "2",
    "delta.minWriterVersion": "5",
}
# Delta's own 10 are for commits that are large: a checkpoint costs as much as several small ones.
_PROPERTIES = {"delta.checkpointInterval": "100"}
_WIDENING = "delta.enableTypeWidening"
_HISTORY = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
_USUAL_HISTORY_S = 7 * 86_400
_GENERATED = "delta.generationExpression"
# By what Delta finds out from a condition on the column itself which files can have such rows.
_GENERATIONS = {
    "year": ("INT", "YEAR({column})"),
    "month": ("STRING", "DATE_FORMAT({column}, 'yyyy-MM')"),
    "day": ("DATE", "CAST({column} AS DATE)"),
    "hour": ("STRING", "DATE_FORMAT({column}, 'yyyy-MM-dd-HH')"),
    "truncate": ("STRING", "SUBSTRING({column}, 1, {number})"),
}

_METADATA_CONF = "spark.databricks.delta.commitInfo.userMetadata"
_APPLICATION_CONF = "spark.databricks.delta.write.txnAppId"
_VERSION_CONF = "spark.databricks.delta.write.txnVersion"
# A session has one set of them, which Delta's writer reads, too: whatever commits takes turns.
_confs_in_use = threading.RLock()

# Another writer was faster, and Delta could not put both one after the other; the same again then may.
_TRIES = 10
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
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

    column_limits = USUAL_LIMITS

    def __init__(self, spark: SparkSession, location: str, layout: Layout = PLAIN) -> None:
        self._spark = spark
        self._directory = Directory(spark, location)
        self._location = location
        self._layout = layout
        # Columns of their own, by what Delta makes of them.
        self._generated = {each.name: _generation(each) for each in layout.divided_by if each.transform != "identity"}
        # Of tables that are replaced: a version, and its files. So Spark need not find them out from the log.
        self._files: tuple[int, list[Java]] | None = None

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
        snapshot = self._snapshot()
        version = int(snapshot.version())
        if version < 0:
            raise TableError(f"{self._location}: there is no Delta table")
        if self._files is not None and self._files[0] == version:
            return self._rows_of(snapshot, self._files[1])
        return self._spark.read.format("delta").load(self._directory.uri())

    def progress(self, run: str) -> Progress | None:
        return self._history().runs.get(run)

    def append(self, rows: DataFrame, progress: Progress) -> None:
        def write(transaction: Java, new: DataFrame, note: str) -> None:
            self._put(transaction, new, note, progress, mergeSchema="true")

        self._commit(progress, lambda: self._aligned(rows, widens=self.widens), write)

    def update(
        self, rows: DataFrame, key: Sequence[str], progress: Progress, gone: str = "", marks: Sequence[str] = ()
    ) -> None:
        if not self.exists():
            self.append(rows.where(f"NOT ({gone or 'false'})"), progress)
            return
        matched, new_row = "WHEN MATCHED", "WHEN NOT MATCHED"
        if gone:
            matched, is_gone = f"{matched} AND {is_later('new', 'there')}", f"new.{gone}"
            marked = ", ".join(f"there.{quoted(name)} = new.{quoted(name)}" for name in marks)
            matched = f"{matched} AND {is_gone} THEN {f'UPDATE SET {marked}' if marks else 'DELETE'} {matched}"
            new_row += f" AND NOT ({is_gone})"

        def write(_transaction: Java, new: DataFrame, note: str) -> None:
            spark = new.sparkSession
            view = f"barnabas_{uuid.uuid4().hex}"
            # The row takes the other one's place, whole: what it does not have is null then.
            whole = with_all_columns(new, self._schema())
            whole.drop(*_generated_columns(self._snapshot())).createOrReplaceTempView(view)
            same = " AND ".join(f"there.{quoted(name)} <=> new.{quoted(name)}" for name in key)
            try:
                # In this release `WITH SCHEMA EVOLUTION` in the command itself adds no column.
                with _settings(spark, note, progress, {"spark.databricks.delta.schema.autoMerge.enabled": "true"}):
                    spark.sql(
                        f"MERGE INTO {self._sql_name} AS there USING {view} AS new ON {same} "
                        f"{matched} THEN UPDATE SET * {new_row} THEN INSERT *"
                    )
            finally:
                spark.catalog.dropTempView(view)

        self._commit(progress, lambda: self._aligned(rows, widens=self.widens), write)

    def replace(self, rows: DataFrame, progress: Progress, where: str = "") -> None:
        if self._generated:
            raise TableError(f"{self._location}: rows that take others' place are divided by columns that they have")

        def prepare() -> DataFrame:
            self._set(self._for_names(rows.columns))
            return aligned(rows, None, self._location)

        def write(transaction: Java, new: DataFrame, note: str) -> None:
            is_new = transaction.readVersion() < 0
            if is_new or not (where or self._has_layout(new)):
                self._put(transaction, new, note, progress, mode="Overwrite", overwriteSchema="true")
                return
            # Delta's own way to replace has Spark look for these files in the state of the whole table, several times.
            snapshot = transaction.snapshot()
            files = self._files_of(snapshot)
            if where:
                named = self._rows_of(snapshot, files).where(where).select("_metadata.file_name").distinct().collect()
                names = {row[0] for row in named}
                files = [file for file in files if str(file.path()).rpartition("/")[2] in names]
                kept = self._rows_of(snapshot, files).where(f"NOT coalesce({where}, false)")
                new = kept.unionByName(new) if files else new
            self._put(transaction, new, note, progress, removed=files)

        self._commit(progress, prepare, write)

    def cut(self, offsets: Mapping[str, Mapping[int, int]], progress: Progress, where: str = "") -> int:
        if not self.exists():
            raise TableError(f"{self._location}: there is no Delta table")
        condition = where or condition_of_cut(offsets, self._schema(), self._location)
        count = 0

        def write(transaction: Java, nothing: DataFrame, note: str) -> None:
            nonlocal count
            with _settings(self._spark, note, progress):
                result = self._spark.sql(f"DELETE FROM {self._sql_name} WHERE {condition}").collect()
            count = int(result[0][0])
            if not count:
                # Delta makes no commit of a DELETE that changes nothing, and ours has the progress to hold.
                self._put(transaction, nothing, note, progress)

        self._commit(progress, lambda: self.read().where("false"), write)
        return count

    def compact(self) -> Compaction:
        """Write small files together, as Delta's OPTIMIZE does; the old ones stay until `trim_history`."""
        if not self.exists():
            raise TableError(f"{self._location}: there is no Delta table")
        sizes = {
            "spark.databricks.delta.optimize.maxFileSize": str(self._layout.file_bytes),
            "spark.databricks.delta.optimize.minFileSize": str(self._layout.file_bytes),
        }
        before = self._file_count()
        hold(self._spark, self._directory.uri())
        with _settings(self._spark, self._history().to_json(), None, sizes):
            self._spark.sql(f"OPTIMIZE {self._sql_name}")
        return Compaction(before, self._file_count())

    def trim_history(self) -> None:
        """Remove files that no version of the time has, as Delta's VACUUM does; Delta itself cuts its log, by days."""
        if self._layout.keep_history_s is not None:
            wanted = _history_properties(self._layout)
            self._alter({name: text for name, text in wanted.items() if self._property(name) != text})
        # Who has made it without has not asked for that.
        if self._layout.keep_history_s != inf and self._property(_HISTORY[0]) is not None:
            hold(self._spark, self._directory.uri())
            with _settings(self._spark, self._history().to_json(), None):
                self._spark.sql(f"VACUUM {self._sql_name}")

    @property
    def _sql_name(self) -> str:
        return f"delta.{quoted(self._directory.uri())}"

    def _log(self) -> Java:
        jvm: Java = self._spark.sparkContext._jvm
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._spark._jsparkSession, self._directory.uri())

    def _snapshot(self) -> Java:
        """Return the latest; its version is -1 where there is no table."""
        jvm: Java = self._spark.sparkContext._jvm
        nothing = jvm.scala.Option.empty()
        return self._log().update(False, nothing, nothing)

    def _schema(self) -> StructType:
        return self._spark.read.format("delta").load(self._directory.uri()).schema

    def _file_count(self) -> int:
        return int(self._spark.sql(f"DESCRIBE DETAIL {self._sql_name}").collect()[0]["numFiles"])

    def _aligned(self, rows: DataFrame, *, widens: bool = False) -> DataFrame:
        from pyspark.sql.types import StructType

        snapshot = self._snapshot()
        if int(snapshot.version()) < 0:
            new = aligned(rows, None, self._location)
            self._create_generated(new)
            return new
        divisions = _divisions(snapshot)
        check_division(divisions, self._layout, self._location)
        schema = self._schema()
        aligned_rows = aligned(rows, schema, self._location, widens=widens)
        # Rows must have what divides files, but for what Delta makes itself.
        divided = StructType([field for field in schema.fields if field.name in divisions])
        aligned_rows = with_all_columns(aligned_rows, divided).drop(*_generated_columns(snapshot))
        self._set(self._for_names(aligned_rows.columns))
        if widened(schema, aligned_rows.schema) != schema:
            self._set({_WIDENING: "true"})
        return aligned_rows

    def _for_names(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the properties of a table that has columns of these names."""
        return _MAP_NAMES if any(_ODD_CHARACTERS.intersection(name) for name in names) else {}

    def _of_new(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the properties that a table with columns of these names is made with."""
        return {**_PROPERTIES, **_history_properties(self._layout), **self._for_names(names)}

    def _set(self, properties: Mapping[str, str]) -> None:
        """Have the table be one that can hold what comes, when it is there and its first property says it is not.

        Not before: some readers of Delta can't read such a table.
        """
        if not properties or not self.exists() or self._property(next(iter(properties))) is not None:
            return
        self._alter(properties)

    def _alter(self, properties: Mapping[str, str]) -> None:
        if properties:
            self._spark.sql(f"ALTER TABLE {self._sql_name} SET TBLPROPERTIES ({_listed(properties)})")

    def _property(self, name: str) -> str | None:
        found = self._snapshot().metadata().configuration().get(name)
        return str(found.get()) if found.isDefined() else None

    def _put(
        self,
        transaction: Java,
        rows: DataFrame,
        note: str,
        progress: Progress,
        *,
        mode: str = "Append",
        removed: Sequence[Java] | None = None,
        **options: str,
    ) -> None:
        """Write rows as Delta's source for Spark does, and commit them with a note; files that they replace go."""
        jvm: Java = self._spark.sparkContext._jvm
        delta, session, option = jvm.org.apache.spark.sql.delta, self._spark._jsparkSession, jvm.scala.Option
        is_new = transaction.readVersion() < 0
        properties = self._of_new(rows.columns) if is_new else {}
        # What is there keeps its own, unless it is made anew.
        partition_by = self._divided_by(rows) if is_new or mode == "Overwrite" else []
        to_scala = jvm.org.apache.spark.api.python.PythonUtils
        save_mode, partitions = jvm.org.apache.spark.sql.SaveMode.valueOf(mode), to_scala.toSeq(partition_by)
        writer = delta.commands.WriteIntoDelta(
            transaction.deltaLog(),
            save_mode,
            delta.DeltaOptions(to_scala.toScalaMap(options), session.sessionState().conf()),
            partitions,
            to_scala.toScalaMap(properties),
            self._sorted(rows)._jdf,
            option.empty(),
            option.empty(),
        )
        transaction.readTxn().addOne(progress.run)
        # Another thread's command would have the writer record that command's run as its own.
        with _confs_in_use:
            actions = writer.writeAndReturnCommitData(transaction, session, option.empty(), False).actions()
        added = [action for action in _items(actions) if action.getClass().getSimpleName() == "AddFile"]
        if removed is not None:
            transaction.readWholeTable()
            save_mode = jvm.org.apache.spark.sql.SaveMode.Overwrite
        for file in removed or ():
            actions = actions.appended(file.remove())
        now_ms = option.apply(int(time.time() * 1000))
        actions = actions.appended(delta.actions.SetTransaction(progress.run, progress.sequence, now_ms))
        operation = getattr(delta, "DeltaOperations$Write")(
            save_mode, option.apply(partitions), option.empty(), option.apply(note)
        )
        read_version = int(transaction.readVersion())
        version = int(transaction.commit(actions, operation))
        if removed is not None and version == read_version + 1:
            gone = {str(file.path()) for file in removed}
            kept = [file for file in self._files_of(transaction.snapshot()) if str(file.path()) not in gone]
            self._files = version, kept + added

    def _files_of(self, snapshot: Java) -> list[Java]:
        """List the files of a version."""
        version = int(snapshot.version())
        if self._files is None or self._files[0] != version:
            self._files = version, list(snapshot.allFiles().collectAsList())
        return self._files[1]

    def _rows_of(self, snapshot: Java, files: Sequence[Java]) -> DataFrame:
        """Read some of a version's files."""
        from pyspark.sql import DataFrame

        jvm: Java = self._spark.sparkContext._jvm
        listed, nothing = jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(files)), jvm.scala.Option.empty()
        return DataFrame(self._log().createDataFrame(snapshot, listed, False, nothing), self._spark)

    def _has_layout(self, rows: DataFrame) -> bool:
        """Return whether a table has the columns of rows and its layout's partitions."""
        if _divisions(self._snapshot()) != self._divided_by(rows):
            return False
        there, new = ({field.name: field.dataType for field in each} for each in (self._schema(), rows.schema))
        return there == new

    def _divided_by(self, rows: DataFrame) -> list[str]:
        check_layout(self._layout, rows.columns, self._location)
        return [each.name for each in self._layout.divided_by]

    def _sorted(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        wanted = [name for name in self._layout.sorted_by if name in rows.columns]
        if not wanted:
            return rows
        # By what divides them first: so Spark need not sort them by that once more.
        divisions = [self._generated.get(each.name, ("", quoted(each.column)))[1] for each in self._layout.divided_by]
        return rows.sortWithinPartitions(*(F.expr(text) for text in (*divisions, *map(quoted, wanted))))

    def _create_generated(self, rows: DataFrame) -> None:
        """Make a table for rows that has columns of its own, as no writer can; it has no commit of a run then."""
        if not self._generated:
            return
        from delta.tables import DeltaTable

        names = self._divided_by(rows)
        table = DeltaTable.createIfNotExists(self._spark).location(self._directory.uri())
        table = table.addColumns(merged(None, rows.schema))
        for name, (kind, text) in self._generated.items():
            table = table.addColumn(name, kind, generatedAlwaysAs=text)
        for name, value in self._of_new(rows.columns).items():
            table = table.property(name, value)
        table.partitionedBy(*names).execute()

    def _commit(
        self, progress: Progress, prepare: Callable[[], DataFrame], write: Callable[[Java, DataFrame, str], None]
    ) -> None:
        """Have something written with a note of the progress, and see that it is there.

        Args:
            progress: The run's.
            prepare: Sees that the table can hold what comes, and gives it.
            write: Is given a transaction that nothing was done in yet, that, and the note; commits it, or by a command.

        Raises:
            TableMovedError: another writer has committed, or commits now, as the same run.
        """
        hold(self._spark, self._directory.uri())
        for last in range(_TRIES - 1, -1, -1):
            new = prepare()
            # Before the history is looked at: what the run's namesake commits after that is in its way.
            transaction = self._log().startTransaction()
            history = self._history()
            check_sequence(history.runs.get(progress.run), progress, self._location)
            writer = uuid.uuid4().hex
            note = _Note(
                history.base, {**history.runs, progress.run: progress}, {**history.writers, progress.run: writer}
            )
            try:
                write(transaction, new, note.to_json())
            except _spark_errors() as error:
                if _SAME_RUN_CONFLICT in str(error):
                    raise moved(progress, self._location) from error
                if not last or not _CONFLICT.search(str(error)):
                    raise
                # At random, so that writers that were in each other's way are so no more.
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (_TRIES - last))))
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


def _items(sequence: Java) -> Iterator[Java]:
    """Go over one of Scala's."""
    return (sequence.apply(place) for place in range(sequence.size()))


def _generation(division: Division) -> tuple[str, str]:
    """Return the type of the column that Delta divides files by, and as SQL what it makes it of."""
    kind, text = _GENERATIONS[division.transform]
    return kind, text.format(column=quoted(division.column), number=division.number)


def _divisions(snapshot: Java) -> list[str]:
    """Return the columns that a version's files are divided by."""
    return list(_items(snapshot.metadata().partitionColumns()))


def _generated_columns(snapshot: Java) -> list[str]:
    """Return the names of the columns that Delta makes of others: it does so for rows that do not have them."""
    fields = json.loads(snapshot.metadata().schemaString())["fields"]
    return [field["name"] for field in fields if _GENERATED in field["metadata"]]


def _history_properties(layout: Layout) -> dict[str, str]:
    kept_s = _USUAL_HISTORY_S if layout.keep_history_s is None else layout.keep_history_s
    return {} if kept_s == inf else dict.fromkeys(_HISTORY, f"interval {kept_s:.0f} seconds")


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())


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
