"""The client's error codes for a failed append to `__consumer_offsets`.

Source: semantics, group coordinator, store errors.
"""

from collections.abc import Mapping

from barnabas.core.error_code import ErrorCode

_COORDINATOR_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}

_SYNC_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **_COORDINATOR_ERRORS,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}

_COMMIT_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **_COORDINATOR_ERRORS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}


def sync_error(append_error: ErrorCode) -> ErrorCode:
    """Return the error code for SyncGroup if the group could not be stored."""
    return _SYNC_ERRORS.get(append_error, append_error)


def commit_error(append_error: ErrorCode) -> ErrorCode:
    """Return the error code for OffsetCommit if the offsets could not be stored."""
    return _COMMIT_ERRORS.get(append_error, append_error)
