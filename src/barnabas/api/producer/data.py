"""The input of a producer: messages of one topic and key.

Source: design document of 0.7, "Producer APIs" (ProducerData); 0.8's KeyedMessage is a ProducerData with one message.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class ProducerData:
    """Messages that go to one partition of a topic, in this order.

    Attributes:
        key: The key of partitioning and of the stored messages; None: no key.
        messages: Objects that `serializer.class` encodes; None is a message without a value, which deletes its key in a
            compacted topic.
    """

    topic: str
    key: object = None
    messages: Sequence[object] = ()

    def __post_init__(self) -> None:
        if isinstance(self.messages, str | bytes | bytearray | memoryview):
            raise TypeError(f"messages must be a sequence of messages, not of type {type(self.messages).__name__}")
