"""Rules about every record from a topic's settings, in any format, and the results of a walk over records.

The rules are Kafka's; error codes and listed reasons use Kafka's words.

# differs from Kafka (record-errors): at most 10,000 records are listed in one refusal.

Source: semantics facts, Produce, checks 8 and 9; Kafka 2.7.2's answers in
tests/unit/wire/records/produce-java-2.7.2.tsv.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.errors import CorruptRecordsError

NO_TIMESTAMP_LIMIT_MS = 2**63 - 1

REJECTED = "One or more records have been rejected"
REJECTED_TIMESTAMP = "One or more records have been rejected due to invalid timestamp"

MOST_ERRORS = 10_000

RecordErrors = tuple[tuple[int, str | None], ...]


@dataclass(slots=True)
class WalkRules:
    """The topic's settings that a walk needs.

    Attributes:
        timestamp_difference_max_ms: Its message.timestamp.difference.max.ms.
        is_create_time: Whether its message.timestamp.type is CreateTime.
        is_compacted: Whether its cleanup.policy holds compact.
        topic_partition: As reasons name it, `topic-0`.
    """

    timestamp_difference_max_ms: int = NO_TIMESTAMP_LIMIT_MS
    is_create_time: bool = True
    is_compacted: bool = False
    topic_partition: str = ""

    @property
    def need_a_walk(self) -> bool:
        """Return whether a rule concerns the records themselves."""
        return self.is_compacted or (self.is_create_time and self.timestamp_difference_max_ms != NO_TIMESTAMP_LIMIT_MS)


@dataclass(slots=True)
class RecordRefusal:
    """The reason why none of the data is appended.

    Attributes:
        error_code: For the answer.
        reason: For the log, and for the answer when records are listed.
        record_errors: Index in the batch and reason.
        is_before_log: Kafka refuses it before it looks at the partition's log: the answer has no log start offset.
    """

    error_code: ErrorCode
    reason: str
    record_errors: RecordErrors = ()
    is_before_log: bool = False


class Walked(NamedTuple):
    """The result of a walk over the records of a batch.

    Attributes:
        record_count: How many there are.
        max_timestamp_ms: The largest timestamp, -1 if there is none; magic 0 has none.
        index_of_max_timestamp: The first record that has it, -1 where none has.
        least_timestamp_ms: The smallest timestamp, -1 if there is none.
        is_numbered: Whether their offsets are 0, 1, 2... in the batch as it was sent.
        has_headers: Whether a record has a header.
        payload: The records, decompressed, or the messages where they are as usual (`transcode`); else None.
    """

    record_count: int
    max_timestamp_ms: int
    index_of_max_timestamp: int
    least_timestamp_ms: int
    is_numbered: bool
    has_headers: bool
    payload: bytes | None = None


def list_errors(errors: Iterator[tuple[int, bool, str]]) -> RecordRefusal | None:
    """Return the refusal of a batch with these errors (index, whether the timestamp is wrong, reason); None without."""
    has_bad_timestamp = False
    listed: list[tuple[int, str | None]] = []
    for index, is_timestamp, reason in errors:
        has_bad_timestamp = has_bad_timestamp or is_timestamp
        listed.append((index, reason))
        if len(listed) == MOST_ERRORS:
            break
    if has_bad_timestamp:
        return RecordRefusal(ErrorCode.INVALID_TIMESTAMP, REJECTED_TIMESTAMP, tuple(listed))
    return RecordRefusal(ErrorCode.INVALID_RECORD, REJECTED, tuple(listed)) if listed else None


def refuse_timestamp(offset: int, timestamp_ms: int, rules: WalkRules, now_ms: int) -> str | None:
    """Return why a record may not have this timestamp; None if it may."""
    limit_ms = rules.timestamp_difference_max_ms
    if not rules.is_create_time or timestamp_ms == NO_TIMESTAMP or abs(timestamp_ms - now_ms) <= limit_ms:
        return None
    return (
        f"Timestamp {timestamp_ms} of message with offset {offset} is out of range. The timestamp should be "
        f"within [{now_ms - limit_ms}, {now_ms + limit_ms}]"
    )


def no_key(rules: WalkRules) -> str:
    """Return the error of a record without a key in a compacted topic."""
    return f"Compacted topic cannot accept message without key in topic partition {rules.topic_partition}."


def append_time(description: str) -> str:
    """Return the error of a record whose producer claims log append time."""
    return f"Invalid timestamp type in message {description}. Producer should not set timestamp type to LogAppendTime."


def refuse_compressed(codec: int, error: CorruptRecordsError) -> RecordRefusal:
    """Return the error of a batch or message that cannot be decompressed."""
    # Kafka has no name for data that a codec refuses.
    code = ErrorCode.INVALID_RECORD if codec == Codec.NONE else ErrorCode.UNKNOWN_SERVER_ERROR
    return RecordRefusal(code, str(error))
