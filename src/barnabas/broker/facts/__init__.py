"""What happened of late, kept for who asks why: bounded, and nothing else depends on it."""

from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""One thing that happened, as it is told in JSON: names and what is known of them (explain/facts.json)."""
