"""Diagnostic events: the broker's recent history for `explain`, in bounded memory; nothing else depends on it."""

from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""One event as JSON: field names and values (explain/facts.json)."""
