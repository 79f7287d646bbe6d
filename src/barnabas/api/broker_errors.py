"""What a broker refuses, as exceptions: one class for each error code that a program may want to act on.

Source: protocol guide, "Error codes"; design document of 0.8, the simple consumer's error codes.
"""

from collections.abc import Mapping

from barnabas.api.errors import ApiError
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition


class BrokerError(ApiError):
    """A broker refused a request, or could not be asked.

    Attributes:
        code: The protocol's code.
        partitions: Of an answer about several partitions, all that failed, and with what.
    """

    def __init__(
        self, code: ErrorCode, message: str, partitions: Mapping[TopicPartition, ErrorCode] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.partitions = dict(partitions or {})


class UnknownError(BrokerError):
    """The broker failed, and does not know why: its log may."""


class OffsetOutOfRangeError(BrokerError):
    """The log does not hold this offset any more, or not yet: ask for one with `get_offsets_before`."""


class InvalidMessageError(BrokerError):
    """Bytes that are no message, or that their checksum does not fit."""


class UnknownTopicOrPartitionError(BrokerError):
    """There is no such topic or partition on this broker."""


class InvalidFetchSizeError(BrokerError):
    """A fetch size that cannot be."""


class LeaderNotAvailableError(BrokerError):
    """The partition has no leader at the moment: ask again."""


class NotLeaderError(BrokerError):
    """Another broker leads the partition: `find_leader` tells which."""


class RequestTimedOutError(BrokerError):
    """There was no answer in time."""


class BrokerNotAvailableError(BrokerError):
    """The broker is on its way up or down."""


class ReplicaNotAvailableError(BrokerError):
    """A replica of the partition is missing."""


class MessageSizeTooLargeError(BrokerError):
    """A message that is larger than this consumer takes.

    Attributes:
        wanted_bytes: How large a fetch has to be to get it, as far as is known: never more than it takes.
        max_bytes: How large a fetch may be: `max_message_size`.
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
    """The text beside an offset is longer than the broker takes (`offset.metadata.max.bytes`)."""


class DisconnectedError(BrokerError):
    """The broker can't be reached, or the connection broke off."""


class CoordinatorNotAvailableError(BrokerError):
    """The group has no coordinator at the moment, or it is loading: ask again."""


class NotCoordinatorError(BrokerError):
    """Another broker coordinates the group: `find_coordinator` tells which."""


class AuthorizationError(BrokerError):
    """The user may not do this."""


class UnsupportedVersionError(BrokerError):
    """The broker does not know the request, or not this version of it."""


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
    """The exception of an error code; a `BrokerError` itself where the code has no class of its own."""
    return _CLASSES.get(code, BrokerError)(code, message, partitions)


def message_too_large(where: str, wanted_bytes: int, max_bytes: int) -> MessageSizeTooLargeError:
    """The exception of a message that no fetch may be large enough for; see `MessageSizeTooLargeError`."""
    return MessageSizeTooLargeError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"the message at {where} wants a fetch of at least {wanted_bytes} bytes, and max_message_size is {max_bytes}",
        wanted_bytes=wanted_bytes,
        max_bytes=max_bytes,
    )


def raise_for(error_code: int, text: str) -> None:
    """Raise what an answer says of a request as a whole, or of its only partition; nothing where that is NONE.

    Raises:
        BrokerError: Of the code's class.
    """
    if error_code:
        code = ErrorCode(error_code)
        raise broker_error(code, f"{text}: {code.name}")


def raise_for_any(codes: Mapping[TopicPartition, ErrorCode], text: str) -> None:
    """Raise what an answer says of several partitions, where it is not NONE for all of them.

    Raises:
        BrokerError: Of the class of the first that failed; its `partitions` are all that did.
    """
    failed = {key: code for key, code in codes.items() if code}
    if failed:
        key, code = next(iter(failed.items()))
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise broker_error(code, f"{text}: {key}: {code.name}{more}", failed)
