"""What a producer raises. Messages that were not sent come with the error, as bytes, so that they can be kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.api.errors import ApiError

if TYPE_CHECKING:
    from barnabas.api.producer.data import ProducerData


class QueueFullError(ApiError):
    """The queue of an async producer has no room, and none came in time: nothing of that call was taken."""


class MessageTooLargeError(ApiError):
    """A message is larger than max.message.size: nothing of that call is sent."""


class EncodingError(ApiError):
    """An encoder gave no bytes for a message or a key."""


class PartitionerError(ApiError):
    """A partitioner takes no such key, or names a partition that is not there."""


class SendError(ApiError):
    """Messages were refused, or nobody took them, after all that is tried again.

    Attributes:
        failed: The messages that were not acknowledged, keys and values as their encoders gave them. Those of a call
            that are not among them were.
        reason: What was the matter with the last of them.
    """

    def __init__(self, failed: Sequence["ProducerData"], reason: str, tries: int) -> None:
        count = sum(len(data.messages) for data in failed)
        super().__init__(
            f"{count} message{'s were' if count != 1 else ' was'} not sent after {tries} "
            f"tr{'ies' if tries != 1 else 'y'}: {reason}"
        )
        self.failed = list(failed)
        self.reason = reason
