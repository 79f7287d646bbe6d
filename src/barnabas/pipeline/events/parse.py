"""Reads events out of records with Spark: a typed struct where a record is good, a reason in words where it is not.

What is good: a JSON object in UTF-8, alone in its record, whose `type` is the wanted one, whose `version` is 1 or more,
which has every field that its version requires, and whose fields are all of their declared type. A field that is
unknown, and a version that is higher than ours, are of a newer producer and are accepted. Everything else is bad, and
nothing of it becomes null without a word: a number where text is declared is as bad as text for a number, a number that
does not fit its type, NaN, an infinite number, or a time that is not ISO 8601 with a zone. Of a field that stands there
twice the last one counts.

How: `from_json` alone is fast, but it accepts numbers and objects as text, any garbage behind the object, and looks a
record over again for each field that is asked of it. So the value is wrapped, `{"event":[...]}`, which makes garbage an
error; one pass parses it and tells the doubtful records by cheap signs; only these are read a second time, field by
field as VARIANT, to find what is wrong with them, if anything.

Source: Spark 4.0's `JacksonParser`; RFC 8259.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from barnabas.pipeline.events.steps import Steps, in_steps, is_here, reason_of
from barnabas.pipeline.events.types import EventType, Field, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Format = Literal["json", "avro"]

# How much of a bad value a reason shows, in characters.
SHOWN_CHARACTERS = 80

# What Spark accepts by default and JSON does not have. As there are options, Spark does not cut the schema down to the
# fields that are used, which would let the others be of any type.
_OPTIONS = {
    "columnNameOfCorruptRecord": "_corrupt",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}
# What JSON has beside text and null, as from_json gives it for a text field; then it is either that, or text like it.
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def parsed(records: DataFrame, event: EventType, format: Format = "json") -> DataFrame:
    """Read events of one type from records.

    Args:
        records: With a column `value`: BINARY, as Kafka's source gives it.
        event: The type that is wanted.
        format: How the values are encoded; Avro wants the package `spark.session.AVRO` in the session.

    Returns:
        The same columns; `event`, a struct with all of the event's fields, null where the record is bad; and `reason`,
        why it is bad, null where it is good. What is selected or filtered by them does not parse a record again.
    """
    from pyspark.sql import functions as F

    steps = parsing_steps("event", F.lit(True), event, format)
    reason = F.col(reason_of("event")).alias("reason")
    return in_steps(records, steps).select(*records.columns, "event", reason)


def parsing_steps(name: str, is_own: Column, event: EventType, format: Format = "json") -> Steps:
    """Return what reads those of many records that are to be events of one type.

    Args:
        name: Of the columns that are made: `name` for the struct, `reason_of(name)` for the reason, and others that
            begin with `_name_` for what lies between.
        is_own: Whether a record is to be such an event.
        event: The type that is wanted.
        format: How the values are encoded.

    Returns:
        Of each step the columns that are made of those before it, `value` the first of all. Of a record
        that is not to be such an event struct and reason are null.
    """
    if format == "avro":
        # It needs fastavro, which is not there where only the command line is.
        from barnabas.pipeline.events.parse_avro import avro_steps

        return avro_steps(name, is_own, event)
    return _json_steps(name, is_own, event)


def _json_steps(name: str, is_own: Column, event: EventType) -> Steps:
    from pyspark.sql import functions as F

    text, read, time = F.col(f"_{name}_text"), F.col(f"_{name}_read"), F.col(f"_{name}_time")
    is_doubtful, raw, reason = F.col(f"_{name}_doubt"), F.col(f"_{name}_raw"), F.col(reason_of(name))
    wrapped = F.concat(F.lit('{"event":['), text, F.lit("]}"))
    # The time is read as text here, as from_json takes too much for a time.
    types = ", ".join(f"{field.name}: {_json_type(field)}" for field in event.fields)
    found = F.get(read["event"], F.lit(0))
    doubts = [
        read.isNull(),
        read["_corrupt"].isNotNull(),
        F.size(read["event"]) != 1,
        *(_lacks(found[field.name], field, found) for field in event.fields if field.is_required),
        found["type"] != event.name,
        found["version"] < 1,
        ~_has_time_shape(found["time"]),
        time.isNull(),
        *(~_is_finite(found[field.name]) for field in event.fields if field.kind is Kind.DOUBLE),
        *(_may_be_no_text(found[field.name]) for field in event.fields if field.kind is Kind.STRING),
        # The value may have closed the array itself.
        text.contains("]") & (F.position(F.lit("]"), text, F.instr(text, "}")) > 0),
    ]
    doubt = F.lit(False)
    for each in doubts:
        doubt = doubt | F.coalesce(each, F.lit(False))
    raw_types = ", ".join(f"{field.name}: VARIANT" for field in event.fields)
    columns = [(time if field.kind is Kind.TIME else found[field.name]).alias(field.name) for field in event.fields]
    return [
        {f"_{name}_text": F.when(is_own, F.try_validate_utf8(F.col("value").cast("string")))},
        {f"_{name}_read": F.from_json(wrapped, f"event ARRAY<STRUCT<{types}>>, _corrupt STRING", _OPTIONS)},
        {f"_{name}_time": found["time"].try_cast("timestamp")},
        {f"_{name}_doubt": is_own & doubt},
        {
            f"_{name}_raw": F.when(
                is_doubtful, F.from_json(wrapped, f"event ARRAY<STRUCT<{raw_types}>>, _corrupt STRING", _OPTIONS)
            )
        },
        {reason_of(name): F.when(is_doubtful & is_here(), _reason(text, wrapped, raw, found, event))},
        {name: F.when(is_own & reason.isNull(), F.struct(*columns))},
    ]


def _lacks(value: Column, field: Field, found: Column) -> Column:
    """Return whether a required field is not there, though the event's version has it."""
    return value.isNull() if field.since == 1 else value.isNull() & (found["version"] >= field.since)


def _json_type(field: Field) -> str:
    return "STRING" if field.kind is Kind.TIME else field.kind.value


def _is_finite(number: Column) -> Column:
    from pyspark.sql import functions as F

    return F.abs(number) < float("inf")


def _may_be_no_text(found: Column) -> Column:
    """Return whether from_json may have found something else than text in a text field; a pattern only where it must
    be.
    """
    from pyspark.sql import functions as F

    return (
        F.when(found.between("0", "9~") | found.startswith("-"), found.rlike(_NUMBER)).otherwise(F.lit(False))
        | found.startswith("{")
        | found.startswith("[")
        | (found == "true")
        | (found == "false")
    )


def _has_time_shape(text: Column) -> Column:
    """Return whether date, time and zone are all there: Spark alone would take "12:30" for today, and "2015" for a
    time, too.

    Compares single characters, as a pattern would take a third as long as all of the parsing.
    """
    from pyspark.sql import functions as F

    zone = text.endswith("Z") | (F.substring(text, -6, 1).isin("+", "-") & (F.substring(text, -3, 1) == ":"))
    separators = F.substring(text, 11, 1).isin("T", " ") & (F.substring(text, 17, 1) == ":")
    return separators & zone


def _reason(text: Column, wrapped: Column, raw: Column, found: Column, event: EventType) -> Column:
    """Say what is wrong with a doubtful record; null where nothing is."""
    from pyspark.sql import functions as F

    value = F.col("value")
    first = F.get(raw["event"], F.lit(0))
    is_object = F.coalesce(
        first.isNotNull()
        & raw["_corrupt"].isNull()
        & (F.size(raw["event"]) == 1)
        # The value may have closed the array itself, and opened another.
        & (F.size(F.json_object_keys(wrapped)) == 1),
        F.lit(False),
    )
    checks = [_field_reason(field, first[field.name], found, event) for field in event.fields]
    return (
        F.when(value.isNull() | (F.octet_length(value) == 0), F.lit("the record has no value"))
        .when(text.isNull(), _shown("the value is no UTF-8", F.hex(value)))
        .when(~is_object, _shown("the value is not one JSON object", text))
        .otherwise(F.coalesce(*checks))
    )


def _field_reason(field: Field, raw: Column, found: Column, event: EventType) -> Column:
    from pyspark.sql import functions as F

    typed = found[field.name]
    shown = F.to_json(raw)
    is_absent = raw.isNull() | F.is_variant_null(raw)
    if field.kind is Kind.TIME:
        is_right = _has_time_shape(typed) & typed.try_cast("timestamp").isNotNull()
        wrong = "is no ISO 8601 time with a zone"
    elif field.kind is Kind.STRING:
        is_right = F.schema_of_variant(raw) == "STRING"
        wrong = "is no STRING"
    elif field.kind is Kind.DOUBLE:
        is_right = typed.isNotNull() & _is_finite(typed)
        wrong = "is no finite DOUBLE"
    else:
        is_right = typed.isNotNull()
        wrong = f"is no {field.kind.value}"
    # A condition that is null counts as false.
    missing = F.lit(f"the required field '{field.name}' is missing")
    absent = F.when(_lacks(typed, field, found), missing) if field.is_required else F.lit(None)
    reason = F.when(is_absent, absent)
    reason = reason.when(F.coalesce(~is_right, F.lit(True)), _shown(f"field '{field.name}' {wrong}", shown))
    if field.name == "type":
        reason = reason.when(typed != event.name, _shown(f"field 'type' is not '{event.name}'", shown))
    if field.name == "version":
        reason = reason.when(typed < 1, _shown("field 'version' is not 1 or more", shown))
    return reason


def _shown(what: str, value: Column) -> Column:
    from pyspark.sql import functions as F

    return F.concat(F.lit(what + ": "), F.coalesce(F.substring(value, 1, SHOWN_CHARACTERS), F.lit("")))
