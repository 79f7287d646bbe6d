import json
from typing import Any

import pytest
from pyspark.sql.types import LongType, MapType, StringType, StructType

from barnabas.pipeline.tables.schema_evolution import Columns, MisfitError
from barnabas.pipeline.tables.table import MAXIMUM_COLUMN_COUNT, ColumnLimits


def columns(ddl: str, *reserved: str) -> Columns:
    return Columns(table(ddl) if ddl else None, reserved)


def table(ddl: str) -> StructType:
    """Make a schema of `name:type, ...` without Spark, which parses SQL in its JVM."""
    return StructType.fromJson({"type": "struct", "fields": [_field(*part.split(":")) for part in ddl.split(", ")]})


def _field(name: str, type_name: str) -> dict[str, object]:
    return {"name": name, "type": type_name, "nullable": True, "metadata": {}}


def after(ddl: str, *shapes: Any, reserved: tuple[str, ...] = ()) -> str:
    grown = columns(ddl, *reserved)
    for shape in shapes:
        grown.add(json.dumps(shape))
    return grown.schema.simpleString().removeprefix("struct<").removesuffix(">")


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        ({"a": "bigint", "b": "string", "c": "double", "d": "boolean"}, "a:bigint,b:string,c:double,d:boolean"),
        ({"a": {"b": [{"c": "bigint"}]}}, "a:struct<b:array<struct<c:bigint>>>"),
        ({"with blank": "bigint", "a.b": "string", "x`y": "bigint"}, "with blank:bigint,a.b:string,x`y:bigint"),
        ({"a": "null", "b": {}, "c": ["null"], "d": [{"e": "null"}], "f": "bigint"}, "f:bigint"),
        ({"a": ["double"]}, "a:array<double>"),
        ({}, ""),
    ],
)
def test_a_record_makes_the_columns_of_a_table(shape: Any, schema: str) -> None:
    assert after("", shape) == schema


def test_columns_grow_in_objects_and_arrays_too() -> None:
    first, second = (
        {"a": {"b": "bigint"}, "l": ["null"]},
        {"a": {"c": "string"}, "l": ["string"], "n": "bigint"},
    )
    assert after("", first, second) == "a:struct<b:bigint,c:string>,l:array<string>,n:bigint"


def test_objects_in_a_map_grow_together() -> None:
    columns = Columns(StructType().add("prices", MapType(StringType(), StructType().add("amount", LongType()))), ())
    columns.add('{"prices": {"eur": {"tax": "bigint"}, "usd": {"tax": "bigint", "code": "string"}}}')
    assert columns.schema.simpleString() == "struct<prices:map<string,struct<amount:bigint,tax:bigint,code:string>>>"
    with pytest.raises(MisfitError, match=r"field prices\.eur\.amount is bigint in the table, and a number here"):
        columns.add('{"prices": {"eur": {"amount": "double"}}}')


def test_a_new_number_may_get_a_fraction_within_its_first_batch_only() -> None:
    assert after("", {"a": "bigint"}, {"a": "double"}, {"a": "bigint"}) == "a:double"
    with pytest.raises(MisfitError, match="field a is bigint in the table, and a number here"):
        after("a:long", {"a": "double"})


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("long", "bigint"),
        ("integer", "bigint"),
        ("double", "bigint"),
        ("double", "double"),
        ("decimal(10,2)", "double"),
        ("string", "string"),
        ("timestamp", "string"),
        ("date", "string"),
        ("boolean", "boolean"),
        ("string", "null"),
    ],
)
def test_a_value_fits_its_column(type_name: str, value: str) -> None:
    grown = columns(f"a:{type_name}")
    grown.add(json.dumps({"a": value}))
    assert not grown.has_grown
    assert grown.schema == table(f"a:{type_name}")


@pytest.mark.parametrize(
    ("type_name", "value", "reason"),
    [
        ("string", "bigint", "field a is string in the table, and a whole number here"),
        ("long", "string", "field a is bigint in the table, and a string here"),
        ("boolean", "bigint", "field a is boolean in the table, and a whole number here"),
        ("string", {"b": "bigint"}, "field a is string in the table, and an object here"),
        ("string", ["string"], "field a is string in the table, and an array here"),
        ("long", "beyond", "field a is a whole number beyond 64 bits"),
    ],
)
def test_a_value_of_another_type_is_told(type_name: str, value: Any, reason: str) -> None:
    grown = columns(f"a:{type_name}")
    with pytest.raises(MisfitError, match=reason) as raised:
        grown.add(json.dumps({"a": value, "new": "string"}))
    assert raised.value.names == ("a",)
    assert not grown.has_grown


def test_elements_of_several_types_are_told() -> None:
    with pytest.raises(MisfitError, match=r"field a\[\] has elements of several types"):
        after("", {"a": ["several"]})


def test_a_field_within_is_named_with_its_path() -> None:
    with pytest.raises(
        MisfitError, match=r"field a\[\]\.`b c` is bigint in most records of the batch, and a string"
    ) as raised:
        after("", {"a": [{"b c": "bigint"}]}, {"a": [{"b c": "string"}]})
    assert raised.value.names == ("a", "[]", "b c")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (["bigint"], "the record is an array, not an object"),
        ("string", "the record is a string, not an object"),
        ("null", "the record is null, not an object"),
        ({"": "bigint"}, "a field of the record has an empty name"),
        ({"a": {"": "bigint"}}, "a field of a has an empty name"),
        ({"A": "bigint", "a": "bigint"}, "field a differs in case only from A"),
        ({"Page": "string"}, "field Page differs in case only from page"),
    ],
)
def test_a_record_that_no_table_can_hold_is_told(shape: Any, reason: str) -> None:
    with pytest.raises(MisfitError, match=reason):
        after("page:string", shape)


def test_fields_called_like_columns_of_others_get_a_column_of_their_own() -> None:
    grown = columns("_offset:long, page:string, _Offset_:string", "_offset", "_topic")
    assert grown.schema.names == ["page", "_Offset_"]
    grown.add('{"_Offset": "string", "_topic": "bigint"}')
    assert grown.schema.names == ["page", "_Offset_", "_topic_"]
    assert [grown.field_of(name) for name in grown.schema.names] == ["page", "_Offset", "_topic"]
    with pytest.raises(MisfitError, match="field _offset_ has the name of the column for _offset"):
        grown.add('{"_offset_": "string"}')


def test_objects_whose_fields_are_keys_do_not_make_a_table_of_columns() -> None:
    shape = {f"f{number}": "bigint" for number in range(MAXIMUM_COLUMN_COUNT + 1)}
    with pytest.raises(MisfitError, match="2001 columns"):
        after("", shape)


def test_a_new_column_has_a_name_that_the_table_takes() -> None:
    own = ColumnLimits(3, name_bytes=6, taken=frozenset({"ctid"}), has_nul=False)
    grown = Columns(None, (), own)
    for shape, reason in [
        ({"longest": "string"}, "7 bytes, and the table takes 6"),
        ({"ééé_": "string"}, "7 bytes"),
        ({"ctid": "string"}, "field ctid"),
        ({"a\u0000": "string"}, "NUL character"),
        ({"a": "string", "b": "string", "c": "string", "d": "string"}, "4 columns"),
    ]:
        with pytest.raises(MisfitError, match=reason):
            grown.add(json.dumps(shape))
    grown.add('{"longer": {"longest": "string"}}')
    assert grown.schema.names == ["longer"]
