"""Encodes events as JSON, for producers.

Format: one JSON object on one line, without blanks, in UTF-8. Fields are in declared order; fields without a value are
omitted. A time is ISO 8601 in UTC, `2015-05-17T10:05:03Z`; a fraction of a second, if any, has three or six digits.

Invariants: the same fields always give the same bytes; `read.py` returns the encoded values unchanged.

Source: RFC 8259; RFC 3339.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from barnabas.pipeline.events.types import EventType, Field, Kind

_RANGES = {Kind.INT: 1 << 31, Kind.LONG: 1 << 63}


def encode_json(event_type: EventType, fields: Mapping[str, object]) -> bytes:
    """Return an event as JSON.

    Args:
        event_type: The event's type.
        fields: The event's values by name. `type` and `version` are optional. An older `version` must not have fields
            that were added later. Times are `datetime`s with a zone. None is the same as no value.

    Raises:
        ValueError: a required field is missing, a field does not exist in the type, or a value has the wrong type; the
            message names the event's type and the field.
    """
    return dump(checked_fields(event_type, fields))


def dump(fields: Mapping[str, object]) -> bytes:
    """Return an event as JSON, unchecked; `fields` are all of its values in declared order."""
    present = {name: value for name, value in fields.items() if value is not None}
    return orjson.dumps(present, iso_time, orjson.OPT_PASSTHROUGH_DATETIME)


def record_key(event_type: EventType, fields: Mapping[str, object]) -> bytes:
    """Return the key of the event's record; raise ValueError if the type's key field is missing or not a string."""
    value = fields.get(event_type.key)
    if not isinstance(value, str):
        raise ValueError(f"{event_type.name}: the key's field '{event_type.key}' is not a string: {value!r:.80}")
    return value.encode()


def checked_fields(event_type: EventType, fields: Mapping[str, object]) -> dict[str, object]:
    """Check fields; return those with a value, in declared order, with `type` and `version`; raise as `encode_json`."""
    given = {"type": event_type.name, "version": event_type.version, **fields}
    if given["type"] != event_type.name:
        raise ValueError(f"{event_type.name}: field 'type' must be '{event_type.name}': {given['type']!r:.80}")
    version = given["version"]
    if type(version) is not int or not 1 <= version <= event_type.version:
        raise ValueError(f"{event_type.name}: field 'version' must be from 1 to {event_type.version}: {version!r:.80}")
    present: dict[str, object] = {}
    for field in event_type.fields:
        if field.since > version:
            continue
        value = given.pop(field.name, None)
        if value is not None:
            _check(event_type, field, value)
            present[field.name] = value
        elif field.is_required:
            raise ValueError(f"{event_type.name}: the required field '{field.name}' is missing")
    if given:
        raise ValueError(f"{event_type.name}: version {version} has no field '{next(iter(given))}'")
    return present


def iso_time(time: datetime) -> str:
    """Return a time as ISO 8601 in UTC, with a fraction of a second only if it is not 0."""
    time = time.astimezone(UTC)
    micros = time.microsecond
    precision = "microseconds" if micros % 1000 else "milliseconds" if micros else "seconds"
    return time.isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def _check(event_type: EventType, field: Field, value: object) -> None:
    match field.kind:
        case Kind.STRING:
            is_right = isinstance(value, str) and is_encodable(value)
        case Kind.INT | Kind.LONG:
            bound = _RANGES[field.kind]
            is_right = isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
        case Kind.DOUBLE:
            is_right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case Kind.BOOLEAN:
            is_right = isinstance(value, bool)
        case Kind.TIME:
            is_right = isinstance(value, datetime) and value.tzinfo is not None
    if not is_right:
        raise ValueError(f"{event_type.name}: field '{field.name}' is not of type {field.kind.value}: {value!r:.80}")


def is_encodable(text: str) -> bool:
    """Return whether the text can be encoded in UTF-8, so has no unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
