"""Reads a group from the registry and watches every node that it read.

Invariant: a watch is set with the read or before it, so that no later change is missed.

Source: implementation document, distribution (the watches of a consumer); zookeeper.md, old consumers.
"""

import logging
from collections.abc import Collection

from barnabas.api.connector.group_view import GroupView, topics_of
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import NoNodeError, Registry, Watch
from barnabas.wire.registry.znodes.consumers import Pattern, Subscription, decode_subscription
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.registry.znodes.topics import decode_assignment

log = logging.getLogger(__name__)


class GroupReader:
    """Reads and watches one member's view of its group."""

    def __init__(
        self,
        registry: Registry,
        group_id: str,
        subscription: Subscription,
        excludes_internal: bool,
        note_change: Watch,
        note_brokers: Watch,
    ) -> None:
        """Args:
        subscription: The member's own.
        excludes_internal: exclude.internal.topics.
        note_change: Called when the group, a topic or (with topic filters) the list of topics changes.
        note_brokers: Called when brokers register or disappear.
        """
        self._registry = registry
        self._ids = paths.consumer_ids(group_id)
        self._subscription = subscription
        self._excludes_internal = excludes_internal
        self._note_change = note_change
        self._note_brokers = note_brokers

    async def read(self) -> GroupView:
        """Read the group and its topics.

        Raises:
            RegistryError: A node could not be read.
            MalformedError: A topic's node is invalid.
        """
        brokers = await self._registry.children(paths.BROKER_IDS, self._note_brokers)
        subscriptions = await self._subscriptions()
        topics: Collection[str] = ()
        if any(each.pattern is not Pattern.STATIC for each in subscriptions.values()):
            topics = await self._registry.children(paths.BROKER_TOPICS, self._note_change)
        read = topics_of(self._subscription, topics, self._excludes_internal)
        partitions = {topic: await self._partitions(topic) for topic in sorted(read)}
        return GroupView(subscriptions, topics, partitions, bool(brokers))

    async def _subscriptions(self) -> dict[str, Subscription]:
        consumers = await self._registry.children(self._ids, self._note_change)
        found = await self._registry.get_many([paths.child(self._ids, consumer) for consumer in consumers])
        subscriptions: dict[str, Subscription] = {}
        for consumer, node in zip(consumers, found, strict=True):
            # The watch reports consumers that have left meanwhile.
            if node is not None:
                try:
                    subscriptions[consumer] = decode_subscription(node[0])
                except MalformedError as error:
                    log.warning("consumer %s is left out: %s", consumer, error)
        return subscriptions

    async def _partitions(self, topic: str) -> list[int]:
        """Return a topic's partitions; an empty list if the topic does not exist yet."""
        path = paths.topic(topic)
        while True:
            try:
                data, _ = await self._registry.get(path, self._note_change)
            except NoNodeError:
                if await self._registry.exists(path, self._note_change) is None:
                    return []
            else:
                return list(decode_assignment(data).replicas)
