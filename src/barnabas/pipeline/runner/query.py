"""What all runs share: how it is told that a batch has failed, and which topics they take."""

from barnabas.clients.positions import is_pattern, matching_topics

__all__ = ["QueryStoppedError", "first_line", "is_pattern", "matching_topics"]


class QueryStoppedError(Exception):
    """A batch failed: one line with its reason."""


def first_line(error: object) -> str:
    """Return what an error says in one line; its class's name where it says nothing."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
