"""Reads events in Avro with Spark; what it gives is that of `parse.py`.

The writer's schema is picked by the fingerprint in front of the value, among those of all versions of the type, and
what was written with an older one comes out as the newest. What is bad: another encoding, a schema that is none of the
type's (a newer version's, too, as nobody here knows it), a body that ends too early, text that is no UTF-8, a number
that is not finite, another `type`. Bytes behind the body are not seen.

Source: Spark 4.0, `from_avro`; Apache Avro 1.12.0, specification: Single-object encoding, Schema Resolution.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from barnabas.pipeline.events.avro import HEADER_BYTES, MARKER, avro_schema, reader_schema, schema_fingerprint
from barnabas.pipeline.events.types import EventType, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column


def parsed_avro(value: Column, event: EventType) -> tuple[Column, Column]:
    """Give (typed struct or null, reason or null), as `parse.parsed` does."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.avro.functions import from_avro

    options = {"mode": "PERMISSIVE", "avroSchema": json.dumps(reader_schema(event))}
    body = F.substring(value, HEADER_BYTES + 1, 1 << 30)
    found = F.lit(None)
    known = F.lit(None)
    for version in range(event.version, 0, -1):
        schema = avro_schema(event, version)
        header = F.lit(MARKER + schema_fingerprint(schema))
        is_this = F.substring(value, 1, HEADER_BYTES) == header
        # A value that is null counts as a broken one.
        read = from_avro(F.when(is_this, body), json.dumps(schema), options)
        found = read if version == event.version else F.coalesce(found, read)
        known = F.coalesce(known, F.when(is_this, F.lit(version)))
    is_marked = F.substring(value, 1, len(MARKER)) == F.lit(MARKER)
    fingerprint = F.hex(F.substring(value, len(MARKER) + 1, HEADER_BYTES - len(MARKER)))
    checks = [
        (value.isNull() | (F.octet_length(value) == 0), F.lit("the record has no value")),
        (
            ~is_marked | (F.octet_length(value) < HEADER_BYTES),
            F.concat(F.lit("the value is no Avro single-object encoding: "), F.substring(F.hex(value), 1, 80)),
        ),
        (
            known.isNull(),
            F.concat(F.lit(f"the writer's schema is none of {event.name}: its fingerprint is "), fingerprint),
        ),
        # What can't be read comes out as null, or as one without any field.
        (
            found.isNull() | found["id"].isNull(),
            F.concat(F.lit(f"the body is no {event.name} of version "), known.cast("string")),
        ),
        (
            found["type"] != event.name,
            F.concat(F.lit(f"field 'type' is not '{event.name}': "), F.substring(found["type"], 1, 80)),
        ),
        (found["version"] < 1, F.lit("field 'version' is not 1 or more")),
    ]
    for field in event.fields:
        of_field = found[field.name]
        if field.kind is Kind.STRING:
            checks.append((~F.is_valid_utf8(of_field), F.lit(f"field '{field.name}' is no UTF-8")))
        elif field.kind is Kind.DOUBLE:
            is_infinite = ~(F.abs(of_field) < float("inf"))
            checks.append((is_infinite, F.lit(f"field '{field.name}' is no finite DOUBLE")))
        if field.is_required and field.since > 1:
            is_missing = of_field.isNull() & (found["version"] >= field.since)
            checks.append((is_missing, F.lit(f"the required field '{field.name}' is missing")))
    # All conditions at once first: what is behind a `when` alone would read the value anew each time.
    is_bad = F.lit(False)
    first_reason = F.lit(None).cast("string")
    for condition, text in reversed(checks):
        is_bad = is_bad | F.coalesce(condition, F.lit(False))
        first_reason = F.when(condition, text).otherwise(first_reason)
    reason = F.when(is_bad, first_reason)
    columns = [found[field.name].alias(field.name) for field in event.fields]
    # As in `parse.py`: no filter is moved below this.
    is_here = F.spark_partition_id() >= 0
    return F.when(reason.isNull() & is_here, F.struct(*columns)), reason
