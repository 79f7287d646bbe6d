"""Diagnostic events: recent history of the broker for `explain`, in bounded memory; nothing else depends on it."""

from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""One thing that happened, as it is told in JSON: names and what is known of them (explain/facts.json)."""
