"""Activity events: what people and hosts do, one explicit schema per type (`types.py`), as JSON or Avro in topics."""

from barnabas.pipeline.events.types import EVENT_TYPES, EventType, Field, Kind

__all__ = ["EVENT_TYPES", "EventType", "Field", "Kind"]
