"""The inputs of a run: its topics, and the offsets at which it starts."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from barnabas.clients.positions import Extents, matching_topics
from barnabas.pipeline.job import DEAD_LETTER_SUFFIX
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.plan import Bound
from barnabas.pipeline.tables.table import Offsets

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


def start_offsets(cluster: Cluster, start: Bound, extents: Extents) -> Offsets:
    """Return the start offsets of partitions that the run has not read yet.

    Raises:
        ClusterUnavailableError: the cluster did not answer.
    """
    if start.time_ms is not None:
        return cluster.offsets_at(extents, start.time_ms)
    given = start.offsets or {}
    return {
        topic: {
            number: given.get(topic, {}).get(number, extent.end_offset if start.is_latest else extent.start_offset)
            for number, extent in partitions.items()
        }
        for topic, partitions in extents.items()
    }
