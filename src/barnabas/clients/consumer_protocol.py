"""What the members of a consumer group say to each other: the "consumer" protocol's subscription and assignment.

An int16 version stands before each. Both are written in version 0, whose fields come first in every later one, so that
any version is read as that.

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
    """A member's wish for some topics."""
    out = WireBuffer(_VERSION.pack(0))
    ConsumerProtocolSubscription(list(topics)).encode(0, out)
    return bytes(out)


def decode_subscription(data: bytes) -> list[str]:
    """The topics that a member wants. Raises ProtocolError."""
    return ConsumerProtocolSubscription.decode(0, memoryview(data), _VERSION.size)[0].topics


def encode_assignment(partitions: Sequence[TopicPartition]) -> bytes:
    """The partitions that a member is to read."""
    topics: dict[str, AssignedTopic] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, AssignedTopic(topic)).partitions.append(partition)
    out = WireBuffer(_VERSION.pack(0))
    ConsumerProtocolAssignment(list(topics.values())).encode(0, out)
    return bytes(out)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """The partitions that a member is to read; none where it was told nothing. Raises ProtocolError."""
    if not data:
        return []
    decoded, _ = ConsumerProtocolAssignment.decode(0, memoryview(data), _VERSION.size)
    return [
        TopicPartition(topic.topic, partition)
        for topic in decoded.assigned_partitions
        for partition in topic.partitions
    ]
