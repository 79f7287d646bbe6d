"""Events as JSON, for files and spoilt records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from json import JSONEncoder

_ENCODE = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def to_json(fields: Mapping[str, object]) -> bytes:
    """Give an event as compact JSON without its nulls, times as ISO 8601 in UTC with milliseconds."""
    return _ENCODE({name: _plain(value) for name, value in fields.items() if value is not None}).encode()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    return value
