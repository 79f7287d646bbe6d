"""A member's view of its group and cluster, the input of the assignment. Pure.

Source: implementation document, distribution; Kafka 0.8.2.2, AssignmentContext and TopicCount.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from barnabas.api.connector.assignment import STRATEGIES, Assignment
from barnabas.api.connector.topic_filter import BlackList, TopicFilter, WhiteList
from barnabas.wire.registry.znodes.consumers import ConsumerThread, Pattern, Subscription


@dataclass(slots=True, frozen=True)
class GroupView:
    """A snapshot of the registry.

    Attributes:
        subscriptions: The subscription of each registered consumer.
        topics: All topics of the cluster; needed if a member has a topic filter.
        partitions: The partitions of the topics that this member reads.
        has_brokers: Whether a broker is registered at all.
    """

    subscriptions: Mapping[str, Subscription]
    topics: Collection[str]
    partitions: Mapping[str, Collection[int]]
    has_brokers: bool


def topics_of(subscription: Subscription, topics: Collection[str], excludes_internal: bool) -> dict[str, int]:
    """Return the topics that a consumer reads now, with its number of streams.

    Args:
        subscription: Its subscription; named topics need not exist.
        topics: All topics of the cluster.
        excludes_internal: Whether topic filters exclude internal topics (exclude.internal.topics).

    Raises:
        ConfigError: An expression cannot be translated to Python.
    """
    if subscription.pattern is Pattern.STATIC:
        return dict(subscription.streams)
    ((regex, count),) = subscription.streams.items()
    wanted: TopicFilter = WhiteList(regex) if subscription.pattern is Pattern.WHITE_LIST else BlackList(regex)
    return {topic: count for topic in topics if wanted.allows(topic, excludes_internal=excludes_internal)}


def threads_of(view: GroupView, consumer: str, excludes_internal: bool) -> dict[str, list[ConsumerThread]]:
    """Return the threads of the group that read each topic of one consumer. Raises ConfigError, as `topics_of`."""
    read = {
        name: topics_of(subscription, view.topics, excludes_internal)
        for name, subscription in view.subscriptions.items()
    }
    return {
        topic: [ConsumerThread(name, number) for name, topics in read.items() for number in range(topics.get(topic, 0))]
        for topic in read.get(consumer, ())
    }


def share_of(consumer: str, view: GroupView, strategy: str, excludes_internal: bool) -> Assignment:
    """Return the partitions that a consumer owns by the group's rule.

    Args:
        strategy: A value of partition.assignment.strategy.

    Raises:
        UnevenSubscriptionsError: The rule does not apply to this group.
        ConfigError: As from `topics_of`.
    """
    owners = STRATEGIES[strategy](view.partitions, threads_of(view, consumer, excludes_internal))
    return {partition: thread for partition, thread in owners.items() if thread.consumer == consumer}
