"""What all runs share: how it is told that a batch has failed, and which topics they take."""

import re
from collections.abc import Iterable, Sequence


class QueryStoppedError(Exception):
    """A batch failed: one line with its reason."""


def first_line(error: object) -> str:
    """Return what an error says in one line; its class's name where it says nothing."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def matching_topics(there: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Return the topics that were asked for, each once.

    Args:
        there: Those of the cluster.
        wanted: Names; a text between slashes is a pattern that the whole name must match.
    """
    return [topic for topic in there if any(_is_wanted(topic, text) for text in wanted)]


def _is_wanted(topic: str, text: str) -> bool:
    if is_pattern(text):
        return re.fullmatch(text[1:-1], topic) is not None
    return text == topic


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern, and no topic's name."""
    return len(text) > 2 and text.startswith("/") and text.endswith("/")
