"""Copies rows to and from PostgreSQL in Spark's Python workers, by `COPY` in CSV, which pyarrow writes and parses.

Each task copies its rows into its own staging table, in one transaction: a failed task leaves no table. A task that
Spark runs twice creates two staging tables; the driver commits the one that Spark reports.

A server's error does not fail the task. The task returns it in `DataFile.statistics`, so that the driver can
distinguish rejected rows from an unavailable server.

| DataFile | for a staging table | for an error |
| --- | --- | --- |
| path | the staging table's name | empty |
| statistics, JSON | `filled`: columns with values, `_nul` if one has a NUL | `error`, `is_refusal`, `is_passing` |

`is_passing`: a retry may succeed.

Source: PostgreSQL 15, "COPY", CSV format; "PostgreSQL Error Codes".
"""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from io import BytesIO
from math import isfinite
from typing import Any, LiteralString

import orjson
import psycopg
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types
from psycopg import sql
from pyarrow import csv

from barnabas.pipeline.tables.data_files import DataFile
from barnabas.pipeline.tables.postgresql_server import execute, is_refusal, reason_of
from barnabas.pipeline.tables.postgresql_types import NUL_COLUMN, without_nul

# A task connects when it has this much data for a table, or at its end. So few connections are open at a time.
_BUFFER_BYTES = 4 << 20
_READ_BYTES = 4 << 20
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


@dataclass(frozen=True, slots=True)
class PostgresqlSink:
    """Copies rows into staging tables.

    Attributes:
        conninfo: Connection parameters, with the password.
        schema: The schema of the staging tables.
        prefix: Prefix of their names.
        columns: Names and PostgreSQL types.
    """

    conninfo: str = field(repr=False)
    schema: str
    prefix: str
    columns: tuple[tuple[str, str], ...]

    def open(self) -> _Writer:
        return _Writer(self)


class _Writer:
    """The staging table of one task."""

    def __init__(self, sink: PostgresqlSink) -> None:
        self._sink = sink
        self._name = sink.prefix + uuid.uuid4().hex[:16]
        self._stack = ExitStack()
        self._copy: psycopg.Copy | None = None
        self._pending: list[bytes] = []
        self._pending_bytes = self._sent_bytes = self._row_count = 0
        self._filled: set[str] = set()
        self._failure: dict[str, Any] = {}

    def write(self, rows: pa.Table) -> None:
        if self._failure or not rows.num_rows:
            return
        try:
            data = self._lines(rows)
            self._pending.append(data)
            self._pending_bytes += len(data)
            self._row_count += rows.num_rows
            if self._pending_bytes >= _BUFFER_BYTES:
                self._send()
        except (psycopg.Error, orjson.JSONEncodeError) as error:
            self._fail(error)

    def close(self) -> list[DataFile]:
        if not self._failure:
            try:
                if self._pending:
                    self._send()
                self._stack.close()
            except psycopg.Error as error:
                self._fail(error)
        if self._failure:
            return [DataFile("", 0, 0, {}, json.dumps(self._failure))]
        if not self._row_count:
            return []
        statistics = json.dumps({"filled": sorted(self._filled)})
        return [DataFile(self._name, self._sent_bytes, self._row_count, {}, statistics)]

    def abort(self) -> None:
        error = InterruptedError("the task was aborted")
        with suppress(psycopg.Error):
            self._stack.__exit__(InterruptedError, error, None)

    def _fail(self, error: psycopg.Error | orjson.JSONEncodeError) -> None:
        self.abort()
        if isinstance(error, psycopg.Error):
            is_passing = isinstance(error, psycopg.OperationalError)
            self._failure = {"error": reason_of(error), "is_refusal": is_refusal(error), "is_passing": is_passing}
        else:
            reason = f"a value cannot be written as JSON: {error}"
            self._failure = {"error": reason, "is_refusal": True, "is_passing": False}

    def _send(self) -> None:
        if self._copy is None:
            connection = self._stack.enter_context(psycopg.connect(self._sink.conninfo))
            cursor = connection.cursor()
            execute(cursor, "SET timezone = 'UTC'")
            table = sql.Identifier(self._sink.schema, self._name)
            columns = [
                sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
                for name, kind in ((NUL_COLUMN, "jsonb"), *self._sink.columns)
            ]
            create = "CREATE UNLOGGED TABLE {} ({}) WITH (autovacuum_enabled = false)"
            execute(cursor, create, table, sql.SQL(", ").join(columns))
            statement = sql.SQL("COPY {} FROM STDIN (FORMAT csv, FREEZE)").format(table)
            self._copy = self._stack.enter_context(cursor.copy(statement))
        for data in self._pending:
            self._copy.write(data)
        self._sent_bytes += self._pending_bytes
        self._pending, self._pending_bytes = [], 0

    def _lines(self, rows: pa.Table) -> bytes:
        for (name, _), column in zip(self._sink.columns, rows.columns, strict=True):
            if column.null_count < rows.num_rows:
                self._filled.add(name)
        columns = [_plain(column.combine_chunks()) for column in rows.columns]
        data = _csv([pa.nulls(rows.num_rows, pa.string()), *columns])
        # `\u0000` is a NUL in JSON, but may also be part of a text.
        if b"\0" not in data and b"\\u0000" not in data:
            return data
        kept: list[dict[str, str]] = [{} for _ in range(rows.num_rows)]
        for number, (name, kind) in enumerate(self._sink.columns):
            if kind not in ("text", "jsonb"):
                continue
            texts = columns[number].to_pylist()
            for place, text in enumerate(texts):
                stored = text and without_nul(text, kind)
                if stored != text:
                    kept[place][name] = b64encode(text.encode()).decode()
                    texts[place] = stored
            columns[number] = pa.array(texts, pa.string())
        if any(kept):
            self._filled.add(NUL_COLUMN)
        return _csv([pa.array([json.dumps(each) if each else None for each in kept], pa.string()), *columns])


def _csv(columns: list[pa.Array]) -> bytes:
    out = BytesIO()
    table = pa.Table.from_arrays(columns, [f"c{number}" for number in range(len(columns))])
    csv.write_csv(table, out, csv.WriteOptions(include_header=False))
    return out.getvalue()


def _plain(array: pa.Array) -> pa.Array:
    """Return values that pyarrow writes to CSV in the form that PostgreSQL reads."""
    kind = array.type
    if pa.types.is_nested(kind):
        values = _json_values(array)
        return pa.array([None if value is None else orjson.dumps(value) for value in values], pa.binary()).cast(
            pa.string()
        )
    if pa.types.is_timestamp(kind):
        # With a zone, pyarrow writes wrong values for years after 32767; without a zone, PostgreSQL rejects them.
        return array.cast(pa.timestamp("us"))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in array.to_pylist()], pa.string())
    return array


def _json_values(array: pa.Array) -> list[Any]:
    """Return values for orjson, in the form of Spark's `to_json`."""
    kind = array.type
    if pa.types.is_struct(kind):
        names = [each.name for each in kind]
        columns = [_json_values(child) for child in array.flatten()]
        rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
        return [
            {name: value for name, value in zip(names, row, strict=True) if value is not None} if is_valid else None
            for is_valid, row in zip(array.is_valid().to_pylist(), rows, strict=True)
        ]
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        is_map = pa.types.is_map(kind)
        if is_map:
            items: list[Any] = list(zip(map(str, _json_values(array.keys)), _json_values(array.items), strict=True))
        else:
            items = _json_values(array.values)
        ends = array.offsets.to_pylist()
        return [
            (dict(items[start:end]) if is_map else items[start:end]) if is_valid else None
            for is_valid, start, end in zip(array.is_valid().to_pylist(), ends, ends[1:], strict=False)
        ]
    if pa.types.is_timestamp(kind):
        suffix = "Z" if kind.tz else ""
        return pc.strftime(array.cast(pa.timestamp("us")), f"%Y-%m-%dT%H:%M:%S{suffix}").to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_decimal(kind):
        return [None if value is None else orjson.Fragment(f"{value:f}") for value in array.to_pylist()]
    if pa.types.is_floating(kind):
        # Through its text, a FLOAT does not get more digits as a Python float.
        values = array.to_pylist() if pa.types.is_float64(kind) else map(_float, array.cast(pa.string()).to_pylist())
        return [value if value is None or isfinite(value) else _NOT_FINITE[str(value)] for value in values]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [None if value is None else b64encode(value).decode() for value in array.to_pylist()]
    if pa.types.is_date(kind):
        return array.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
    return array.to_pylist()  # type: ignore[no-any-return]


def _float(text: str | None) -> float | None:
    return None if text is None else float(text)


def selected(names: Sequence[str], columns: pa.Schema, table: sql.Identifier) -> sql.Composed:
    """Return the query that `read_rows` expects."""
    chosen = [sql.SQL(_copied(each.type)[0]).format(sql.Identifier(n)) for n, each in zip(names, columns, strict=True)]
    return sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(chosen), table)


def _copied(kind: pa.DataType) -> tuple[LiteralString, pa.DataType]:
    """Return the SQL that selects a column of a type, and the Arrow type to read the result as."""
    if pa.types.is_timestamp(kind):
        return "(extract(epoch FROM {}) * 1000000)::bigint", pa.int64()
    if pa.types.is_date(kind):
        return "{} - date '1970-01-01'", pa.int32()
    if pa.types.is_binary(kind):
        return "encode({}, 'hex')", pa.string()
    return "{}::text" if pa.types.is_string(kind) else "{}", kind


def read_rows(conninfo: str, query: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read rows in one statement, and thus in one snapshot.

    Args:
        conninfo: Connection parameters, with the password.
        query: From `selected`: timestamps are microseconds and dates days since 1970, binary values hexadecimal.
        columns: The types to return.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        data = b"".join(lines)
        convert = csv.ConvertOptions(
            column_types={each.name: _copied(each.type)[1] for each in columns},
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        # One block for all data, as a block must end at the end of a row.
        read = csv.ReadOptions(column_names=columns.names, use_threads=False, block_size=len(data) + 1)
        parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        table = csv.read_csv(pa.BufferReader(data), read, parse, convert)
        arrays = [_restored(column, each.type) for column, each in zip(table.columns, columns, strict=True)]
        yield from pa.Table.from_arrays(arrays, schema=columns).to_batches()

    with psycopg.connect(conninfo) as connection, connection.cursor() as cursor:
        lines: list[bytes | bytearray | memoryview] = []
        size = 0
        with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)".encode()) as copy:
            for line in copy:
                lines.append(line)
                size += len(line)
                if size >= _READ_BYTES:
                    yield from batches()
                    lines, size = [], 0
        if lines:
            yield from batches()


def _restored(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_binary(kind):
        return pa.chunked_array([[None if v is None else bytes.fromhex(v) for v in column.to_pylist()]], kind)
    return column.cast(kind)
