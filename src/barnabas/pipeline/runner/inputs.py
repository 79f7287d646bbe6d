"""The topics of a run."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from barnabas.clients.positions import matching_topics
from barnabas.pipeline.job import DEAD_LETTER_SUFFIX

_MOST_NAMED = 5


def input_topics(there: Collection[str], wanted: Sequence[str]) -> list[str]:
    """Return the topics that a job reads: a pattern matches no dead-letter topic, a name does.

    Args:
        there: The topics of the cluster.
        wanted: Names, and patterns between slashes.
    """
    events = [topic for topic in there if not topic.endswith(DEAD_LETTER_SUFFIX) or topic in wanted]
    return matching_topics(events, wanted)


def not_there(absent: Sequence[str], there: Collection[str]) -> str:
    """Return missing topics as text, with existing topics of similar names, else with some existing topics."""
    alike = {name: None for topic in absent for name in get_close_matches(topic, there)}
    if alike:
        return f"{', '.join(absent)} (there is {', '.join(alike)})"
    named = ", ".join(sorted(there)[:_MOST_NAMED])
    count = len(there) - _MOST_NAMED
    return f"{', '.join(absent)} (there is {named or 'no topic'}{f' and {count} more' if count > 0 else ''})"
