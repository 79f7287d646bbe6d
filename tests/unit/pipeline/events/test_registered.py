"""Reading values that a schema registry has framed as rows."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StringType, StructType

from barnabas.pipeline.events.registered import FramedReader
from barnabas.pipeline.events.schema_registry import RegistryError, SchemaRegistry
from barnabas.pipeline.tables.schema_evolution import grown
from tests.registry import FakeRegistry


def record(*fields: tuple[str, object]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": [{"name": name, "type": each} for name, each in fields]}


def body(schema: Any, value: object) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def framed(schema_id: int, content: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + content


def load(
    registry: SchemaRegistry, values: Sequence[bytes | None], table: StructType | None = None
) -> tuple[str, list[Any], list[str | None]]:
    """Read values as a batch does."""
    reader = FramedReader(registry, table)
    rows, reasons = reader.read(values)
    columns = grown(table, reader.shapes)
    if reader.shapes:
        reader = pickle.loads(pickle.dumps(FramedReader(registry, columns, is_final=True)))
        rows, reasons = reader.read(values)
        assert not reader.shapes
    return columns.simpleString().removeprefix("struct"), rows.to_pylist(), reasons


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def put(folder: Path, schema_id: int, schema: object) -> None:
    (folder / f"{schema_id}.avsc").write_text(json.dumps(schema))


def read_one(folder: Path, schema: object, content: bytes, table: StructType | None = None) -> tuple[str, Any]:
    """Read one body; gives the columns, and the row or the reason."""
    put(folder, 1, schema)
    columns, (row,), (reason,) = load(SchemaRegistry(str(folder)), [framed(1, content)], table)
    return columns, row if reason is None else reason


LOGICAL = [
    ("int", {"type": "int", "logicalType": "date"}, date(2026, 11, 24), "date", date(2026, 11, 24)),
    (
        "long",
        {"type": "long", "logicalType": "timestamp-micros"},
        1,
        "timestamp",
        datetime(1970, 1, 1, 0, 0, 0, 1, UTC),
    ),
    (
        "long",
        {"type": "long", "logicalType": "timestamp-millis"},
        -1,
        "timestamp",
        datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC),
    ),
    (
        "long",
        {"type": "long", "logicalType": "local-timestamp-millis"},
        1,
        "timestamp_ntz",
        datetime(1970, 1, 1, 0, 0, 0, 1_000),
    ),
    (
        "bytes",
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 9},
        Decimal(f"-{10**28}.{10**8}"),
        "decimal(38,9)",
        Decimal(f"-{10**28}.{10**8}"),
    ),
    (
        "bytes",
        {"type": "bytes", "logicalType": "decimal", "precision": 38},
        Decimal(10**30),
        "decimal(38,0)",
        Decimal(10**30),
    ),
    ("int", {"type": "int", "logicalType": "time-millis"}, 7, "bigint", 7),
]


@pytest.mark.parametrize(
    ("data_type", "value", "column", "found"),
    [
        ("int", 7, "bigint", 7),
        ("long", -(2**63), "bigint", -(2**63)),
        ("float", 0.5, "double", 0.5),
        ("double", 1e300, "double", 1e300),
        ("boolean", True, "boolean", True),
        ("bytes", b"\0\xff", "binary", b"\0\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab", "binary", b"ab"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "string", "B"),
        (["string", "null"], None, "string", None),
        (["int", "long"], 2**40, "bigint", 2**40),
        (["null", "long", "string"], "x", "struct<member0:bigint,member1:string>", {"member0": None, "member1": "x"}),
        (
            {"type": "map", "values": ["null", "int"]},
            {"k": 1, "n": None},
            "map<string,bigint>",
            [("k", 1), ("n", None)],
        ),
        (
            {"type": "array", "items": record(("b", "bytes"), ("n", "null")) | {"name": "N"}},
            [{"b": b"a", "n": None}],
            "array<struct<b:binary>>",
            [{"b": b"a"}],
        ),
        *[(each, value, column, found) for _, each, value, column, found in LOGICAL if not isinstance(value, int)],
    ],
)
def test_a_new_column_has_the_type_of_its_schema(
    folder: Path, data_type: object, value: object, column: str, found: object
) -> None:
    schema = record(("v", data_type))
    assert read_one(folder, schema, body(schema, {"v": value})) == (f"<v:{column}>", {"v": found})


@pytest.mark.parametrize(
    ("plain", "data_type", "value", "column", "found"), [each for each in LOGICAL if isinstance(each[2], int)]
)
def test_a_logical_type_counts_from_1970(
    folder: Path, plain: str, data_type: object, value: int, column: str, found: object
) -> None:
    content = body(record(("v", plain)), {"v": value})
    assert read_one(folder, record(("v", data_type)), content) == (f"<v:{column}>", {"v": found})


ENUM = {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
NAMED = record(("x", "int")) | {"name": "N"}


@pytest.mark.parametrize(
    ("definition", "defined", "data_type", "value", "column", "found"),
    [
        (ENUM, "OPEN", "State", "PAID", "string", "PAID"),
        (ENUM, "OPEN", ["null", "State"], "PAID", "string", "PAID"),
        (
            ENUM,
            "OPEN",
            ["null", "long", "State"],
            "PAID",
            "struct<member0:bigint,member1:string>",
            {"member0": None, "member1": "PAID"},
        ),
        (
            FIXED,
            b"ab",
            ["null", "long", "F"],
            b"cd",
            "struct<member0:bigint,member1:binary>",
            {"member0": None, "member1": b"cd"},
        ),
        (
            NAMED,
            {"x": 1},
            ["long", "N"],
            {"x": 2},
            "struct<member0:bigint,member1:struct<x:bigint>>",
            {"member0": None, "member1": {"x": 2}},
        ),
    ],
)
def test_a_named_type_is_used_again(
    folder: Path, definition: object, defined: object, data_type: object, value: object, column: str, found: object
) -> None:
    schema = record(("a", definition), ("v", data_type))
    columns, row = read_one(folder, schema, body(schema, {"a": defined, "v": value}))
    assert columns.partition(",v:")[2] == f"{column}>"
    assert row == {"a": defined, "v": found}


@pytest.mark.parametrize(
    ("definition", "data_type"),
    [(FIXED, ["null", "bytes", "F"]), (ENUM, ["string", "State"]), (NAMED, [{"type": "map", "values": "int"}, "N"])],
)
def test_a_named_type_used_again_cannot_be_told_apart_from_its_like(
    folder: Path, definition: object, data_type: object
) -> None:
    _, reason = read_one(folder, record(("a", definition), ("v", data_type)), b"")
    assert "cannot be told apart" in reason


def test_values_are_read_by_their_own_schemas() -> None:
    old = record(("id", "long"), ("note", ["null", "string"]))
    new = record(
        *((each["name"], each["type"]) for each in old["fields"]), ("tags", {"type": "array", "items": "string"})
    )
    cut = body(old, {"id": 1, "note": "abc"})[:-2]
    with FakeRegistry() as server:
        for schema_id, schema in {1: old, 2: new, 4: "string", 5: {"type": "cat"}}.items():
            server.put(schema_id, schema)
        server.put(3, {"type": "object"}, schemaType="JSON")
        server.put(6, "", schemaType="PROTOBUF")
        columns, rows, reasons = load(
            SchemaRegistry(server.url),
            [
                framed(1, body(old, {"id": 1, "note": None}) + b"ignored"),
                framed(2, body(new, {"id": 2, "note": "x", "tags": ["a"]})),
                framed(3, b'{"id": 3, "extra": true}'),
                framed(3, b'{"id": "x"}'),
                framed(3, b"{"),
                framed(4, b""),
                framed(5, b""),
                framed(6, b""),
                framed(7, b""),
                framed(1, cut),
                b'{"id": 5}',
                b"\0\0\0",
                None,
            ],
        )
        assert max(map([asked for asked, _ in server.asked].count, range(8))) == 2
    assert columns == "<id:bigint,note:string,tags:array<string>,extra:boolean>"
    assert rows[:3] == [
        {"id": 1, "note": None, "tags": None, "extra": None},
        {"id": 2, "note": "x", "tags": ["a"], "extra": None},
        {"id": 3, "note": None, "tags": None, "extra": True},
    ]
    assert rows[3:] == [None] * 10
    assert reasons == [
        *[None] * 3,
        "field id is bigint in the table, and a string here: x",
        "the value is not one JSON value, or a field stands in it twice",
        "schema 4 is not a record schema",
        "schema 5 is not a valid Avro schema",
        "schema 6 has type PROTOBUF: must be AVRO or JSON",
        "the schema registry has no schema 7",
        "the value does not match its schema 1",
        "the value has no schema registry frame: 7B226964223A20357D",
        "the value has no schema registry frame: 000000",
        "the record has no value",
    ]


def test_a_registry_that_fails_is_waited_for_or_has_reasons() -> None:
    schema = record(("id", "long"))
    values = [framed(1, body(schema, {"id": 1})), framed(2, b"\2"), framed(3, b"\2")]
    with FakeRegistry() as server:
        server.put(1, schema)
        server.answers[2] = (500, "text/html", b"")
        registry = SchemaRegistry(server.url)
        with pytest.raises(RegistryError, match="returned 500"):
            FramedReader(registry, None).read(values)
        _, rows, reasons = load(replace(registry, is_waited_for=False), values)
        # Asked once in each pass, and no other id after it.
        assert [asked for asked, _ in server.asked].count(3) == 0
    assert rows == [{"id": 1}, None, None]
    assert reasons[1] == reasons[2]
    assert reasons[1] is not None
    assert "returned 500" in reasons[1]


def test_a_copy_in_a_worker_asks_for_no_schema_again() -> None:
    schema = record(("id", "long"))
    with FakeRegistry() as server:
        server.put(1, schema)
        for _ in range(3):
            reader = pickle.loads(pickle.dumps(FramedReader(SchemaRegistry(server.url), grown(None, {}))))
            assert reader.read([framed(1, body(schema, {"id": 1}))])[1] == [None]
        assert [asked for asked, _ in server.asked] == [1]


@pytest.mark.parametrize(
    ("data_type", "content", "reason"),
    [
        # Lengths and counts of 2^31 - 10, and of 2^60.
        ("string", b"\xec\xff\xff\xff\x0f", "its schema 1"),
        ("bytes", b"\xec\xff\xff\xff\x0fabc", "its schema 1"),
        ({"type": "array", "items": "boolean"}, b"\x80\x80\x80\x80\x80\x80\x80\x80\x20\x01", "its schema 1"),
        ({"type": "map", "values": "null"}, b"\x80\x80\x80\x80\x80\x80\x80\x80\x20\x01", "its schema 1"),
        ({"type": "array", "items": "null"}, b"\x80\x80\x80\x80\x80\x80\x80\x80\x20", "elements have no bytes"),
        ({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}, b"\2", "elements have no bytes"),
        ({"type": "array", "items": record(("n", "null")) | {"name": "N"}}, b"\2", "elements have no bytes"),
        ("string", b"\x02\xff", "its schema 1"),
        ("string", b"\x03abc", "its schema 1"),
        ("long", b"\xff" * 30, "its schema 1"),
        ({"type": "long", "logicalType": "timestamp-micros"}, b"\xff" * 9 + b"\x01", "its schema 1"),
        (["null", "Order"], b"\0", "the type Order within itself"),
        ([{"type": "array", "items": "int"}, "string", "bytes", "boolean", "Order"], b"\0", "Order within itself"),
        (["int", "long", "string"], b"\0", "cannot be told apart"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 2},
            b"\0",
            "decimal number of precision",
        ),
        ("double", b"\0\0\0\0\0\0\xf8\x7f", "field v is double in the table, which cannot represent exactly: NaN"),
        ("double", b"\0\0\0\0\0\0\xf0\x7f", "field v is double in the table, which cannot represent exactly: Infinity"),
    ],
)
def test_a_hostile_body_or_schema_has_a_reason(folder: Path, data_type: object, content: bytes, reason: str) -> None:
    _, found = read_one(folder, record(("v", data_type)), content)
    assert reason in found


BY = StructType().add("n", LongType())
TOTAL = Decimal("123456789012345678.91")


@pytest.mark.parametrize(
    ("there", "around", "values", "column"),
    [
        (BY, lambda by: by, lambda by: by, "{}"),
        (ArrayType(BY), lambda by: ["null", {"type": "array", "items": by}], lambda by: [by], "array<{}>"),
        (MapType(StringType(), BY), lambda by: {"type": "map", "values": by}, lambda by: {"k": by}, "map<string,{}>"),
    ],
)
def test_a_new_field_of_an_object_has_the_type_of_its_schema(
    folder: Path, there: DataType, around: Callable[[object], object], values: Callable[[object], object], column: str
) -> None:
    money = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
    schema = record(("by", around(record(("n", "long"), ("total", money)) | {"name": "By"})))
    content = body(schema, {"by": values({"n": 1, "total": TOTAL})})
    columns, row = read_one(folder, schema, content, StructType().add("by", there))
    assert columns == f"<by:{column.format('struct<n:bigint,total:decimal(20,2)>')}>"
    assert str(TOTAL) in str(row)


def test_too_many_ids_are_not_asked_for(folder: Path) -> None:
    reader = FramedReader(SchemaRegistry(str(folder)), None)
    reasons = reader.read([framed(number, b"") for number in range(102)])[1]
    assert reasons[99] == "the schema registry has no schema 99"
    assert reasons[100:] == [f"the batch has too many schema ids; one is {number}" for number in (100, 101)]


def test_a_table_s_columns_keep_their_types(folder: Path) -> None:
    reserved = {"name": "_offset", "type": ["null", "long"]}
    schema = record(
        ("id", "int"),
        ("note", {"type": "long", "logicalType": "timestamp-micros"}),
        ("o", record(("x", "int")) | {"name": "O"}),
    )
    schema["fields"].append(reserved)
    table = StructType.fromJson(
        {
            "type": "struct",
            "fields": [
                {"name": "id", "type": "integer", "nullable": True, "metadata": {}},
                {"name": "note", "type": "string", "nullable": True, "metadata": {}},
                {"name": "o", "type": {"type": "struct", "fields": []}, "nullable": True, "metadata": {}},
            ],
        }
    )
    plain = record(("id", "int"), ("note", "long"), ("o", record(("x", "int")) | {"name": "O"}))
    plain["fields"].append(reserved)
    content = body(plain, {"id": 5, "note": 0, "o": {"x": 1}, "_offset": None})
    columns, found = read_one(folder, schema, content, table)
    assert columns == "<id:int,note:string,o:struct<x:bigint>,_offset_:bigint>"
    assert found == {"id": 5, "note": "1970-01-01T00:00:00.000000Z", "o": {"x": 1}, "_offset_": None}
    assert pa.types.is_int32(FramedReader(SchemaRegistry(str(folder)), table).type.field("id").type)
