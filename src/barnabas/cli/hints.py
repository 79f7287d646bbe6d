"""Advice appended to the messages of known errors."""

from socket import gaierror

from barnabas.clients.channel import UnreachableError
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError

_HINTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "barnabas topics --list shows the existing topics",
    ErrorCode.TOPIC_ALREADY_EXISTS: "--if-not-exists accepts an existing topic",
    ErrorCode.TOPIC_DELETION_DISABLED: "the broker's delete.topic.enable is false",
    ErrorCode.LEADER_NOT_AVAILABLE: "try again in a moment",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "try again in a moment",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "try again in a moment",
    ErrorCode.REQUEST_TIMED_OUT: "the broker is busy or stuck: see its log",
    ErrorCode.UNKNOWN_MEMBER_ID: "stop the group's consumers first",
    ErrorCode.REBALANCE_IN_PROGRESS: "stop the group's consumers first",
    ErrorCode.NON_EMPTY_GROUP: "stop the group's consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "barnabas groups --list shows the existing groups",
    ErrorCode.MESSAGE_TOO_LARGE: "the topic's max.message.bytes limits the size",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask the cluster's administrator for access",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask the cluster's administrator for access",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ask the cluster's administrator for access",
}


def explain(error: BarnabasError) -> str:
    """Return one line with the problem and, if known, the remedy."""
    if isinstance(error, UnreachableError):
        return f"{error.message}{_hint_of_address(error)}"
    if isinstance(error, KafkaError):
        hint = _HINTS.get(error.code)
        message = error.message.rstrip(".")
        return f"{message}; {hint}" if hint else message
    return str(error)


def _hint_of_address(error: UnreachableError) -> str:
    """Return advice for an unreachable address; empty if a broker there refuses the client or is only slow."""
    failure = error.__cause__
    match None if failure is None else failure.__cause__:
        case ConnectionRefusedError():
            return "; `barnabas broker` starts a broker, --bootstrap-server names another"
        case gaierror() | UnicodeError():
            return "; --bootstrap-server names another broker"
    return ""
