"""What all runs share: how it is told that a batch has failed, and which topics they take."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from barnabas.clients.positions import is_pattern, matching_topics

__all__ = ["QueryStoppedError", "is_pattern", "matching_topics", "not_there"]

_MOST_NAMED = 5


class QueryStoppedError(Exception):
    """A batch failed: one line with its reason."""


def not_there(absent: Sequence[str], there: Collection[str]) -> str:
    """Return the topics that are not there, in words: with those that are called alike, or else some that are there."""
    alike = {name: None for topic in absent for name in get_close_matches(topic, there)}
    if alike:
        return f"{', '.join(absent)} (there is {', '.join(alike)})"
    named = ", ".join(sorted(there)[:_MOST_NAMED])
    count = len(there) - _MOST_NAMED
    return f"{', '.join(absent)} (there is {named or 'no topic'}{f' and {count} more' if count > 0 else ''})"
