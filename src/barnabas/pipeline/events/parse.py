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

Source: Spark 4.0's `JacksonParser`, `EquivalentExpressions`, `PushPredicateThroughNonJoin`; RFC 8259.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from barnabas.pipeline.events.types import EventType, Field, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column

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


def parsed(value: Column, event: EventType, format: Format = "json") -> tuple[Column, Column]:
    """Read events of one type from records' values.

    Args:
        value: BINARY, as Kafka's source gives it.
        event: The type that is wanted.
        format: How the values are encoded; Avro wants the package `spark.session.AVRO` in the session.

    Returns:
        A struct with all of the event's fields, null where the record is bad; and the reason why it is bad, null where
        it is good. Both should be columns of the same `select`: then a record is parsed once, and what is selected or
        filtered by them afterwards does not parse it again.
    """
    if format == "avro":
        # It needs fastavro, which is not there where only the command line is.
        from barnabas.pipeline.events.parse_avro import parsed_avro

        return parsed_avro(value, event)
    return _parsed_json(value, event)


def _parsed_json(value: Column, event: EventType) -> tuple[Column, Column]:
    from pyspark.sql import functions as F  # noqa: N812

    text = F.try_validate_utf8(value.cast("string"))
    wrapped = F.concat(F.lit('{"event":['), text, F.lit("]}"))
    # The time is read as text here, as from_json takes too much for a time.
    fields = ", ".join(f"{field.name}: {_json_type(field)}" for field in event.fields)
    outcome = F.from_json(wrapped, f"event ARRAY<STRUCT<{fields}>>, _corrupt STRING", _OPTIONS)
    found = F.get(outcome["event"], F.lit(0))
    time = found["time"].try_cast("timestamp")
    doubts = [
        outcome.isNull(),
        outcome["_corrupt"].isNotNull(),
        F.size(outcome["event"]) != 1,
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
    is_doubtful = F.lit(False)
    for doubt in doubts:
        is_doubtful = is_doubtful | F.coalesce(doubt, F.lit(False))
    reason = F.when(is_doubtful, _reason(value, text, wrapped, found, event))
    columns = [(time if field.kind is Kind.TIME else found[field.name]).alias(field.name) for field in event.fields]
    # Always true; but as it counts as not deterministic, no filter on the reason is moved below the parsing, where the
    # records would be parsed once more for it.
    is_here = F.spark_partition_id() >= 0
    return F.when(reason.isNull() & is_here, F.struct(*columns)), reason


def _lacks(value: Column, field: Field, found: Column) -> Column:
    """Whether a required field is not there, though the event's version has it."""
    return value.isNull() if field.since == 1 else value.isNull() & (found["version"] >= field.since)


def _json_type(field: Field) -> str:
    return "STRING" if field.kind is Kind.TIME else field.kind.value


def _is_finite(number: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.abs(number) < float("inf")


def _may_be_no_text(found: Column) -> Column:
    """Whether from_json may have found something else than text in a text field; a pattern only where it must be."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        F.when(found.between("0", "9~") | found.startswith("-"), found.rlike(_NUMBER)).otherwise(F.lit(False))
        | found.startswith("{")
        | found.startswith("[")
        | (found == "true")
        | (found == "false")
    )


def _has_time_shape(text: Column) -> Column:
    """Whether date, time and zone are all there: Spark alone would take "12:30" for today, and "2015" for a time, too.

    Compares single characters, as a pattern would take a third as long as all of the parsing.
    """
    from pyspark.sql import functions as F  # noqa: N812

    zone = text.endswith("Z") | (F.substring(text, -6, 1).isin("+", "-") & (F.substring(text, -3, 1) == ":"))
    separators = F.substring(text, 11, 1).isin("T", " ") & (F.substring(text, 17, 1) == ":")
    return separators & zone


def _reason(value: Column, text: Column, wrapped: Column, found: Column, event: EventType) -> Column:
    """Say what is wrong with a doubtful record; null where nothing is."""
    from pyspark.sql import functions as F  # noqa: N812

    raw_fields = ", ".join(f"{field.name}: VARIANT" for field in event.fields)
    # One record is read once for all of its fields: what a lambda is given is computed before it.
    raw = F.from_json(wrapped, f"event ARRAY<STRUCT<{raw_fields}>>, _corrupt STRING", _OPTIONS)
    keys = F.json_object_keys(wrapped)

    def explain(read: Column) -> Column:
        outcome, typed = read["raw"], read["typed"]
        first = F.get(outcome["event"], F.lit(0))
        is_object = F.coalesce(
            first.isNotNull()
            & outcome["_corrupt"].isNull()
            & (F.size(outcome["event"]) == 1)
            # The value may have closed the array itself, and opened another.
            & (F.size(keys) == 1),
            F.lit(False),
        )
        checks = [_field_reason(field, first[field.name], typed, event) for field in event.fields]
        return F.when(~is_object, _shown("the value is not one JSON object", text)).otherwise(F.coalesce(*checks))

    both = F.struct(raw.alias("raw"), found.alias("typed"))
    explained = F.get(F.transform(F.array(both), explain), F.lit(0))
    return (
        F.when(value.isNull() | (F.octet_length(value) == 0), F.lit("the record has no value"))
        .when(text.isNull(), _shown("the value is no UTF-8", F.hex(value)))
        .otherwise(explained)
    )


def _field_reason(field: Field, raw: Column, found: Column, event: EventType) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

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
    from pyspark.sql import functions as F  # noqa: N812

    return F.concat(F.lit(what + ": "), F.coalesce(F.substring(value, 1, SHOWN_CHARACTERS), F.lit("")))
