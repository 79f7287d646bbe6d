"""Records that no reader can take for an event, each spoilt in one way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from barnabas.pipeline.events import EventType, Kind
from barnabas.pipeline.sources.social.chance import pick
from barnabas.pipeline.sources.social.encoding import to_json


@dataclass(frozen=True, slots=True)
class Broken:
    """A record as it would stand in the topic; `reason` says how it was spoilt."""

    topic: str
    key: bytes
    value: bytes
    reason: str


def spoil(random: Random, event_type: EventType, fields: Mapping[str, object]) -> Broken:
    """Spoil an event: no JSON, cut short, a required field gone, or a field of another type."""
    key = str(fields[event_type.key]).encode()
    value = to_json(fields)
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
            value = to_json({name: each for name, each in fields.items() if name != gone})
        case _:
            # No number, time or boolean can be read out of this text.
            changed = [field.name for field in event_type.fields if field.is_required and field.kind is not Kind.STRING]
            value = to_json({**fields, pick(random, changed): "n/a"})
    return Broken(event_type.topic, key, value, reason)
