"""The events of a transactional id's state machine, and the effects that it requests.

The coordinator carries out the effects in order. The sender of an event is answered once: by an `Answer`, or by the
answer in an `Append` when its record is in the log.

Source: KIP-98, KIP-360, KIP-447; semantics, transactions.
"""

from typing import NamedTuple, TypeAlias

from barnabas.broker.diagnostics.transactions import Abort
from barnabas.broker.transactions.transaction import Transition
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_EPOCH, NO_PRODUCER_ID, TopicPartition

# --- events


class Initialize(NamedTuple):
    """InitProducerId: a producer begins to use the id, or resumes after an error.

    Attributes:
        expected: The producer's previous id and epoch; None if it is new.
        new_producer_id: The new producer id to use if one is needed; None if not fetched yet.
        client_id, client_host: The requester.
    """

    timeout_ms: int
    expected: tuple[int, int] | None = None
    new_producer_id: int | None = None
    client_id: str = ""
    client_host: str = ""


class AddPartitions(NamedTuple):
    """AddPartitionsToTxn, AddOffsetsToTxn: adds partitions to the transaction; begins one if none is open."""

    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]


class End(NamedTuple):
    """EndTxn.

    Attributes:
        client_id, client_host: The requester.
    """

    producer_id: int
    producer_epoch: int
    is_commit: bool
    client_id: str = ""
    client_host: str = ""


class TimeOut(NamedTuple):
    """Check whether the transaction has exceeded its timeout."""


class Expire(NamedTuple):
    """Check whether the id was unused for `expiration_ms`."""

    expiration_ms: int


class Appended(NamedTuple):
    """The pending record is in the log."""


class AppendFailed(NamedTuple):
    """The pending record could not be appended to the log.

    Attributes:
        error_code: The code for clients.
        is_fence: The `is_fence` of the `Append` effect.
    """

    error_code: ErrorCode
    is_fence: bool = False


class MarkersWritten(NamedTuple):
    """Every partition of the transaction has its marker."""


class Loaded(NamedTuple):
    """The id was read from the log, and is coordinated here from now on."""


Event: TypeAlias = (
    Initialize | AddPartitions | End | TimeOut | Expire | Appended | AppendFailed | MarkersWritten | Loaded
)

# --- effects


class Answer(NamedTuple):
    """Answer the event's sender."""

    error_code: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


class NeedProducerId(NamedTuple):
    """Repeat the event with a new producer id."""


class Append(NamedTuple):
    """Append the pending state to the log, and send the event `Appended` or `AppendFailed`.

    Attributes:
        transition: The pending state.
        answer: The answer for the event's sender when the record is in the log.
        is_fence: Whether the pending state fences the producer.
        after_ms: Delay before the append.
        abort: The reason for diagnostics if the pending state aborts the transaction, else None.
    """

    transition: Transition
    answer: Answer | None = None
    is_fence: bool = False
    after_ms: int = 0
    abort: Abort | None = None


class AppendTombstone(NamedTuple):
    """Remove the id from the log, and send the event `Appended` or `AppendFailed`."""


class SendMarkers(NamedTuple):
    """Send the transaction's markers to its partitions, and the event `MarkersWritten` when all are written."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: frozenset[TopicPartition]


class Forget(NamedTuple):
    """Remove the id from memory."""


Effect: TypeAlias = Answer | NeedProducerId | Append | AppendTombstone | SendMarkers | Forget
