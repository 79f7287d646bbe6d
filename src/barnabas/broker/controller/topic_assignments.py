"""Reads the assignments of topics in batches.

Invariant: malformed nodes are skipped with a warning and do not stop the handling of others.

Source: zookeeper.md, topic assignment.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from barnabas.broker.cluster.assignments import read_assignment
from barnabas.broker.controller.state import ControllerState
from barnabas.core.types import is_topic_name
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import Found, Registry, Watch
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import TopicAssignment

log = logging.getLogger(__name__)

_TOPICS_PER_TURN = 500
MANY_PARTITIONS = 10_000
"""The log warns of topics with more partitions."""


async def read_topics(
    registry: Registry, state: ControllerState, topics: Iterable[str], watch: Callable[[str], Watch]
) -> list[str]:
    """Read topics from the registry into the state.

    Args:
        watch: Returns the watch for the path of a node.

    Returns:
        The topics that exist and are valid.
    """
    found: list[str] = []
    wanted = list(topics)
    for start in range(0, len(wanted), _TOPICS_PER_TURN):
        some = wanted[start : start + _TOPICS_PER_TURN]
        nodes = await registry.get_many([paths.topic(topic) for topic in some], watch)
        for topic, node in zip(some, nodes, strict=True):
            assignment = await assignment_of(state, topic, node)
            if assignment is not None:
                state.topics[topic] = assignment
                found.append(topic)
        await asyncio.sleep(0)
    return found


async def assignment_of(state: ControllerState, topic: str, found: Found) -> TopicAssignment | None:
    """Return a topic's assignment; None if it was deleted, or its znode is malformed, which is logged once."""
    if found is None:
        state.settle(paths.topic(topic))
        return None
    data, stat = found
    try:
        if not is_topic_name(topic):
            raise MalformedError("no topic can be called so")
        if stat.ephemeral_owner:
            raise MalformedError("its node is ephemeral: it would go with somebody's session")
        assignment = await read_assignment(data)
    except MalformedError as error:
        if state.is_news(paths.topic(topic), str(error)):
            log.warning("topic %s skipped: %s is malformed (%s)", topic, paths.topic(topic), error)
        return None
    count = len(assignment.replicas)
    if count <= MANY_PARTITIONS:
        state.settle(paths.topic(topic))
    elif state.is_news(paths.topic(topic), f"{count} partitions"):
        log.warning("topic %s has %d partitions: each uses memory and open files on its brokers", topic, count)
    return assignment
