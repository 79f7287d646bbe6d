"""Exceptions for errors that brokers return: one class for each error code that a program may want to handle.

Source: protocol guide, "Error codes"; design document of 0.8, the simple consumer's error codes.
"""

from collections.abc import Mapping

from barnabas.api.errors import ApiError
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition


class BrokerError(ApiError):
    """A broker rejected a request, or could not be reached.

    Attributes:
        code: The protocol's code.
        partitions: For a response about several partitions: the error code of each failed one.
    """

    def __init__(
        self, code: ErrorCode, message: str, partitions: Mapping[TopicPartition, ErrorCode] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.partitions = dict(partitions or {})


class UnknownError(BrokerError):
    """The broker failed for an unknown reason; its log may name the reason."""


class OffsetOutOfRangeError(BrokerError):
    """The log does not contain this offset any more, or not yet: get a valid one from `get_offsets_before`."""


class InvalidMessageError(BrokerError):
    """The bytes are not a valid message, or do not match their checksum."""


class UnknownTopicOrPartitionError(BrokerError):
    """The topic or partition does not exist on this broker."""


class InvalidFetchSizeError(BrokerError):
    """The fetch size is invalid."""


class LeaderNotAvailableError(BrokerError):
    """The partition has no leader at the moment: try again."""


class NotLeaderError(BrokerError):
    """Another broker leads the partition: `find_leader` returns it."""


class RequestTimedOutError(BrokerError):
    """No response arrived in time."""


class BrokerNotAvailableError(BrokerError):
    """The broker is starting or stopping."""


class ReplicaNotAvailableError(BrokerError):
    """A replica of the partition is missing."""


class MessageSizeTooLargeError(BrokerError):
    """A message is larger than this consumer's limit.

    Attributes:
        wanted_bytes: The required fetch size, as far as known: a lower bound.
        max_bytes: The maximum fetch size: `max_message_size`.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        partitions: Mapping[TopicPartition, ErrorCode] | None = None,
        *,
        wanted_bytes: int = -1,
        max_bytes: int = -1,
    ) -> None:
        super().__init__(code, message, partitions)
        self.wanted_bytes = wanted_bytes
        self.max_bytes = max_bytes


class OffsetMetadataTooLargeError(BrokerError):
    """The metadata text of an offset exceeds the broker's limit (`offset.metadata.max.bytes`)."""


class DisconnectedError(BrokerError):
    """The broker cannot be reached, or the connection broke."""


class CoordinatorNotAvailableError(BrokerError):
    """The group has no coordinator at the moment, or the coordinator is loading: try again."""


class NotCoordinatorError(BrokerError):
    """Another broker coordinates the group: `find_coordinator` returns it."""


class AuthorizationError(BrokerError):
    """The user is not authorized for this operation."""


class UnsupportedVersionError(BrokerError):
    """The broker does not support the request or this version of it."""


_CLASSES: dict[ErrorCode, type[BrokerError]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: UnknownError,
    ErrorCode.OFFSET_OUT_OF_RANGE: OffsetOutOfRangeError,
    ErrorCode.CORRUPT_MESSAGE: InvalidMessageError,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicOrPartitionError,
    ErrorCode.INVALID_FETCH_SIZE: InvalidFetchSizeError,
    ErrorCode.LEADER_NOT_AVAILABLE: LeaderNotAvailableError,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: NotLeaderError,
    ErrorCode.REQUEST_TIMED_OUT: RequestTimedOutError,
    ErrorCode.BROKER_NOT_AVAILABLE: BrokerNotAvailableError,
    ErrorCode.REPLICA_NOT_AVAILABLE: ReplicaNotAvailableError,
    ErrorCode.MESSAGE_TOO_LARGE: MessageSizeTooLargeError,
    ErrorCode.OFFSET_METADATA_TOO_LARGE: OffsetMetadataTooLargeError,
    ErrorCode.NETWORK_EXCEPTION: DisconnectedError,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: CoordinatorNotAvailableError,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: CoordinatorNotAvailableError,
    ErrorCode.NOT_COORDINATOR: NotCoordinatorError,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.UNSUPPORTED_VERSION: UnsupportedVersionError,
}


def broker_error(
    code: ErrorCode, message: str, partitions: Mapping[TopicPartition, ErrorCode] | None = None
) -> BrokerError:
    """Return the exception for an error code: a plain `BrokerError` if the code has no class of its own."""
    return _CLASSES.get(code, BrokerError)(code, message, partitions)


def message_too_large(where: str, wanted_bytes: int, max_bytes: int) -> MessageSizeTooLargeError:
    """Return the exception for a message larger than the maximum fetch size; see `MessageSizeTooLargeError`."""
    return MessageSizeTooLargeError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"the message at {where} wants a fetch of at least {wanted_bytes} bytes, and max_message_size is {max_bytes}",
        wanted_bytes=wanted_bytes,
        max_bytes=max_bytes,
    )


def raise_for(error_code: int, text: str) -> None:
    """Raise the error of a whole response, or of its only partition, unless the code is NONE.

    Raises:
        BrokerError: An error of the code's class.
    """
    if error_code:
        code = ErrorCode(error_code)
        raise broker_error(code, f"{text}: {code.name}")


def raise_for_any(codes: Mapping[TopicPartition, ErrorCode], text: str) -> None:
    """Raise the first error of a response about several partitions, unless every code is NONE.

    Raises:
        BrokerError: An error of the first failed code's class, with all failed `partitions`.
    """
    failed = {key: code for key, code in codes.items() if code}
    if failed:
        key, code = next(iter(failed.items()))
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise broker_error(code, f"{text}: {key}: {code.name}{more}", failed)
