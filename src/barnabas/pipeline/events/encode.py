"""Events as JSON: what a producer sends.

Format: one JSON object on one line, without blanks, in UTF-8; the fields in the order in which the type declares them,
those without a value left out. A time is ISO 8601 in UTC, `2015-05-17T10:05:03Z`, with three digits of a second's
fraction, or six, only where it has one.

Invariants: the same fields always give the same bytes; what is encoded is read back by `read.py` as it was.

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
        event_type: Its type.
        fields: Its values by name. `type` and `version` may be left out; a `version` below the type's own must not have
            fields that came later. Times are `datetime`s that know their zone. None is the same as no value.

    Raises:
        ValueError: a required field is missing, a field is none of the type's, or its value is of another type; the
            message names the event's type and the field.
    """
    return dump(checked_fields(event_type, fields))


def dump(fields: Mapping[str, object]) -> bytes:
    """Return an event as JSON, without checking it; `fields` are all of its values in declared order."""
    present = {name: value for name, value in fields.items() if value is not None}
    return orjson.dumps(present, iso_time, orjson.OPT_PASSTHROUGH_DATETIME)


def record_key(event_type: EventType, fields: Mapping[str, object]) -> bytes:
    """Return the key of the event's record; raise ValueError if the type's key field is missing or no text."""
    value = fields.get(event_type.key)
    if not isinstance(value, str):
        raise ValueError(f"{event_type.name}: the key's field '{event_type.key}' is not a string: {value!r:.80}")
    return value.encode()


def checked_fields(event_type: EventType, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that have a value, in declared order, with `type` and `version`; raise as `encode_json`."""
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
    """Return a time as ISO 8601 in UTC, with a fraction of a second only where it has one."""
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
    """Return whether UTF-8 can hold it: half of a surrogate pair has no bytes of its own."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
