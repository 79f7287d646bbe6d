"""Events as Avro: one schema per type and version, and the single-object encoding.

Format of a record's value, Avro's single-object encoding:

| bytes | content |
| --- | --- |
| 2 | `C3 01` |
| 8 | CRC-64-AVRO of the writer's schema in Parsing Canonical Form, little endian |
| rest | the fields in declared order, in Avro's binary encoding |

A schema is a record `barnabas.events.<type>` with the fields of its version. An optional field is a union of null and
its type, with default null. A time is a long with the logical type `timestamp-micros`.

Invariant: a version's schema never changes, because old records are read by its fingerprint. A new field needs a new
version (`Field.since`).

Source: Apache Avro 1.12.0, specification: Single-object encoding, Schema fingerprints, Logical types.
"""

from collections.abc import Mapping
from functools import cache
from io import BytesIO

from fastavro import parse_schema, schemaless_writer
from fastavro.schema import fingerprint, to_parsing_canonical_form
from fastavro.types import Schema

from barnabas.pipeline.events.encode import checked_fields
from barnabas.pipeline.events.types import EventType, Field, Kind

MARKER = b"\xc3\x01"
HEADER_BYTES = 10

_NAMESPACE = "barnabas.events"
_TYPES: dict[Kind, object] = {
    Kind.STRING: "string",
    Kind.INT: "int",
    Kind.LONG: "long",
    Kind.DOUBLE: "double",
    Kind.BOOLEAN: "boolean",
    Kind.TIME: {"type": "long", "logicalType": "timestamp-micros"},
}


def avro_schema(event_type: EventType, version: int) -> dict[str, object]:
    """Return the writer's schema of a version of the type."""
    return _record(event_type, [_schema_field(field) for field in event_type.fields if field.since <= version])


def reader_schema(event_type: EventType) -> dict[str, object]:
    """Return the reader's schema for all versions: fields added after version 1 are optional."""
    return _record(event_type, [_schema_field(field, may_be_missing=field.since > 1) for field in event_type.fields])


def schema_fingerprint(schema: Mapping[str, object]) -> bytes:
    """Return the 8 bytes that identify the schema in each value's header."""
    # The hexadecimal digits are already in little-endian order.
    return bytes.fromhex(fingerprint(to_parsing_canonical_form(dict(schema)), "CRC-64-AVRO"))


def encode_avro(event_type: EventType, fields: Mapping[str, object]) -> bytes:
    """Return an event as Avro; arguments and errors as in `encode_json`."""
    present = checked_fields(event_type, fields)
    version = present["version"]
    assert isinstance(version, int)
    header, schema = _writer(event_type, version)
    out = BytesIO()
    out.write(header)
    schemaless_writer(out, schema, present)
    return out.getvalue()


@cache
def _writer(event_type: EventType, version: int) -> tuple[bytes, Schema]:
    schema = avro_schema(event_type, version)
    return MARKER + schema_fingerprint(schema), parse_schema(schema)


def _record(event_type: EventType, fields: list[dict[str, object]]) -> dict[str, object]:
    return {"type": "record", "name": event_type.name, "namespace": _NAMESPACE, "fields": fields}


def _schema_field(field: Field, *, may_be_missing: bool = False) -> dict[str, object]:
    if field.is_required and not may_be_missing:
        return {"name": field.name, "type": _TYPES[field.kind]}
    return {"name": field.name, "type": ["null", _TYPES[field.kind]], "default": None}
