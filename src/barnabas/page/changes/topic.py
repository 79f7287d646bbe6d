"""Shared by changes of topics: the lookup of the topic."""

from barnabas.clients.admin_topics import TopicAdmin
from barnabas.clients.pool import TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError


async def known_topic(admin: TopicAdmin, name: str) -> TopicMetadata:
    """Return a topic. Raises KafkaError: it does not exist, or may not be seen."""
    topic = (await admin.topics([name])).get(name)
    if topic is None or topic.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
    if topic.error_code is ErrorCode.INVALID_TOPIC_EXCEPTION:
        raise KafkaError(topic.error_code, f"{name} can be no topic's name")
    if topic.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        raise KafkaError(topic.error_code, f"topic {name} requires the right DESCRIBE")
    return topic
