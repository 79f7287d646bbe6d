"""Records that no reader can take for an event, each spoilt in one way."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from barnabas.pipeline.events import EventType, Kind
from barnabas.pipeline.events.encode import encode_json, record_key
from barnabas.pipeline.sources.social.chance import pick


@dataclass(frozen=True, slots=True)
class Broken:
    """A record as it would stand in the topic; `reason` says how it was spoilt."""

    topic: str
    key: bytes
    value: bytes
    reason: str


def spoil(random: Random, event_type: EventType, fields: Mapping[str, object]) -> Broken:
    """Spoil an event: no JSON, cut short, a required field gone, or a field of another type."""
    value = encode_json(event_type, fields)
    reason = pick(random, ("not JSON", "truncated", "missing field", "wrong type"))
    match reason:
        case "not JSON":
            value = pick(
                random, (b"<html><body>502 Bad Gateway</body></html>", b"\x00\xff\xfe\x80", b"NULL", b"id=7;ok")
            )
        case "truncated":
            value = value[: len(value) // 2]
        case "missing field":
            gone = pick(random, [field.name for field in event_type.fields if field.is_required])
            value = _changed(value, gone)
        case _:
            # No number, time or boolean can be read out of this text.
            changed = [field.name for field in event_type.fields if field.is_required and field.kind is not Kind.STRING]
            value = _changed(value, pick(random, changed), "n/a")
    return Broken(event_type.topic, record_key(event_type, fields), value, reason)


def _changed(value: bytes, name: str, text: str | None = None) -> bytes:
    """Change a field's value, or take it away."""
    event = json.loads(value)
    if text is None:
        del event[name]
    else:
        event[name] = text
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
