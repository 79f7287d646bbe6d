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
from barnabas.pipeline.events.steps import Steps, is_here, reason_of
from barnabas.pipeline.events.types import EventType, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column


def avro_steps(name: str, is_own: Column, event: EventType) -> Steps:
    """Return what reads events, as `parse.parsing_steps` does."""
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    options = {"mode": "PERMISSIVE", "avroSchema": json.dumps(reader_schema(event))}
    value, known, found = F.col("value"), F.col(f"_{name}_version"), F.col(f"_{name}_found")
    reason = F.col(reason_of(name))
    header, body = F.substring(value, 1, HEADER_BYTES), F.substring(value, HEADER_BYTES + 1, 1 << 30)
    versions = {version: avro_schema(event, version) for version in range(event.version, 0, -1)}
    which = F.lit(None).cast("int")
    for version, schema in versions.items():
        which = F.when(header == F.lit(MARKER + schema_fingerprint(schema)), F.lit(version)).otherwise(which)
    # A value that is null counts as a broken one.
    reads = [
        from_avro(F.when(known == version, body), json.dumps(schema), options) for version, schema in versions.items()
    ]
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
    why = F.lit(None).cast("string")
    for condition, text in reversed(checks):
        why = F.when(condition, text).otherwise(why)
    columns = [found[field.name].alias(field.name) for field in event.fields]
    return [
        {f"_{name}_version": F.when(is_own, which)},
        {f"_{name}_found": F.coalesce(*reads)},
        {reason_of(name): F.when(is_own & is_here(), why)},
        {name: F.when(is_own & reason.isNull(), F.struct(*columns))},
    ]
