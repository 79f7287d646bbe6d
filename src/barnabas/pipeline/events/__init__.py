"""Activity events of people and hosts, as JSON or Avro in topics; `types.py` has one explicit schema per type."""

from barnabas.pipeline.events.types import EVENT_TYPES, EventType, Field, Kind

__all__ = ["EVENT_TYPES", "EventType", "Field", "Kind"]
