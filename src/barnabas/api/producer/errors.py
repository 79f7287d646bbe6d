"""Errors of a producer. They carry the unsent messages as bytes, so that a program can keep them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.api.errors import ApiError

if TYPE_CHECKING:
    from barnabas.api.producer.data import ProducerData


class QueueFullError(ApiError):
    """The queue of an async producer stayed full for the whole timeout: no message of the call was queued."""


class MessageTooLargeError(ApiError):
    """A message is larger than max.message.size: no message of the call is sent."""


class EncodingError(ApiError):
    """An encoder failed for a message or a key."""


class PartitionerError(ApiError):
    """A partitioner rejected a key, or returned a partition that does not exist."""


class SendError(ApiError):
    """Brokers rejected messages or were unreachable, and all retries are used up.

    Attributes:
        failed: The messages that were not acknowledged, with encoded keys and values. All other messages of the call
            were acknowledged.
        reason: The error of the last one.
    """

    def __init__(self, failed: Sequence["ProducerData"], reason: str, tries: int) -> None:
        count = sum(len(data.messages) for data in failed)
        super().__init__(
            f"{count} message{'s were' if count != 1 else ' was'} not sent after {tries} "
            f"tr{'ies' if tries != 1 else 'y'}: {reason}"
        )
        self.failed = list(failed)
        self.reason = reason
