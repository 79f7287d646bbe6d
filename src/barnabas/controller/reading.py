"""Reads the assignments of topics, many at a time.

Invariant: what makes no sense in the registry is left out, with a warning, and is in nobody else's way.

Source: zookeeper.md, topic assignment.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from barnabas.controller.state import WHOLE_TOPIC, ControllerState
from barnabas.registry import paths
from barnabas.registry.store import Found, Registry, Watch
from barnabas.registry.znodes.payload import MalformedError
from barnabas.registry.znodes.topics import TopicAssignment, decode_assignment

log = logging.getLogger(__name__)

_TOPICS_PER_TURN = 500


async def read_topics(
    registry: Registry, state: ControllerState, topics: Iterable[str], watch: Callable[[str], Watch]
) -> list[str]:
    """Take over what the registry says of topics.

    Args:
        watch: Gives the watch of each node, by its path.

    Returns:
        Which of them are there.
    """
    found: list[str] = []
    wanted = list(topics)
    for start in range(0, len(wanted), _TOPICS_PER_TURN):
        some = wanted[start : start + _TOPICS_PER_TURN]
        nodes = await registry.get_many([paths.topic(topic) for topic in some], watch)
        for topic, node in zip(some, nodes, strict=True):
            assignment = assignment_of(state, topic, node)
            if assignment is not None:
                state.topics[topic] = assignment
                state.unled.add(topic)
                found.append(topic)
        await asyncio.sleep(0)
    return found


def assignment_of(state: ControllerState, topic: str, found: Found) -> TopicAssignment | None:
    """What a topic's node says; None: the topic is gone, or what it says makes no sense."""
    if found is None:
        return None
    try:
        assignment = decode_assignment(found[0])
    except MalformedError as error:
        if state.is_news(topic, WHOLE_TOPIC, f"malformed: {error}"):
            log.warning("topic %s is left out: %s is malformed (%s)", topic, paths.topic(topic), error)
        return None
    state.settle(topic, WHOLE_TOPIC)
    return assignment
