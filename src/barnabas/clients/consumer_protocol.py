"""Subscription and assignment of the "consumer" protocol, as exchanged by the members of a group.

Each begins with an int16 version. Both are written in version 0, whose fields come first in all later versions, so that
any version can be read as version 0.

Source: protocol guide, group membership API.
"""

from collections.abc import Sequence
from struct import Struct

from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.wire.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from barnabas.wire.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.wire.protocol.wire import WireBuffer

PROTOCOL_TYPE = "consumer"

_VERSION = Struct(">h")


def encode_subscription(topics: Sequence[str]) -> bytes:
    """Encode a member's subscription to topics."""
    out = WireBuffer(_VERSION.pack(0))
    ConsumerProtocolSubscription(list(topics)).encode(0, out)
    return bytes(out)


def decode_subscription(data: bytes) -> list[str]:
    """Return the topics of a member's subscription. Raises ProtocolError."""
    return ConsumerProtocolSubscription.decode(0, memoryview(data), _VERSION.size)[0].topics


def encode_assignment(partitions: Sequence[TopicPartition]) -> bytes:
    """Encode a member's assigned partitions."""
    topics: dict[str, AssignedTopic] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, AssignedTopic(topic)).partitions.append(partition)
    out = WireBuffer(_VERSION.pack(0))
    ConsumerProtocolAssignment(list(topics.values())).encode(0, out)
    return bytes(out)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Return a member's assigned partitions; empty data: none. Raises ProtocolError."""
    if not data:
        return []
    decoded, _ = ConsumerProtocolAssignment.decode(0, memoryview(data), _VERSION.size)
    return [
        TopicPartition(topic.topic, partition)
        for topic in decoded.assigned_partitions
        for partition in topic.partitions
    ]
