"""The walk over every record of what a client produced, in whatever format, and the rules that need it.

The rules are Kafka's; their error codes and the reasons that an answer lists are its own words. Batches whose
records break no rule cost one pass over their bytes in which no record is made; only one that breaks a rule is walked
again to list each record that does.

Invariant: whatever the bytes say, the walk costs memory in proportion to them and `max_bytes`, and raises nothing.

# differs from Kafka (offset-deltas): offset deltas that are not 0, 1, 2... in a batch of magic 2 that needs no
# rebuilding are refused with INVALID_RECORD (Kafka appends them without a codec, UNKNOWN_SERVER_ERROR with one), and so
# is record data that unpacks to more than `max_bytes`.
# differs from Kafka (timestamp-overflow): timestamps outside 64 bits are refused, there they wrap.
# differs from Kafka (record-errors): at most 10,000 records are listed in one refusal.

Source: semantics facts, Produce, checks 8 and 9; Kafka 2.7.2's answers in tests/unit/records/produce-java-2.7.2.tsv.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_TIMESTAMP
from barnabas.records.batch import MAGIC, MAGIC_POSITION, BatchHeader, Buffer, Codec, read_header
from barnabas.records.errors import CorruptRecordsError
from barnabas.records.legacy import (
    CorruptMessageError,
    Message,
    MessageHeader,
    decompress_value,
    has_key,
    inner_messages,
    is_message_crc_valid,
    read_message_header,
    to_record,
    whole_message,
    wrapped_value,
)
from barnabas.records.record import (
    LONGEST_INT32,
    LONGEST_INT64,
    MAX_UNCOMPRESSED_BYTES,
    Record,
    iterate_payload,
    read_payload,
    read_varint,
)
from barnabas.records.transcode import MessageScan, scan_messages
from barnabas.records.turns import WALK_RECORDS, offer_turn

if TYPE_CHECKING:
    # The compiler's integer of 64 bits, which takes no memory; uncompiled nobody looks at the types of locals.
    from mypy_extensions import i64

    from barnabas.records.transcode import MessageScan

NO_TIMESTAMP_LIMIT_MS = 2**63 - 1

REJECTED = "One or more records have been rejected"
REJECTED_TIMESTAMP = "One or more records have been rejected due to invalid timestamp"

_MOST_ERRORS = 10_000
_LEAST_INT64, _MOST_INT64 = -(2**63), 2**63 - 1

RecordErrors = tuple[tuple[int, str | None], ...]


@dataclass(slots=True)
class WalkRules:
    """The topic's settings that the walk needs.

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
        """Whether a rule looks at the records themselves."""
        return self.is_compacted or (self.is_create_time and self.timestamp_difference_max_ms != NO_TIMESTAMP_LIMIT_MS)


@dataclass(slots=True)
class RecordRefusal:
    """Why nothing of the data is appended.

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
    """What the records of a batch came to.

    Attributes:
        record_count: How many there are.
        max_timestamp_ms: The largest timestamp, -1 where there is none; magic 0 has none.
        index_of_max_timestamp: The first record that has it, -1 where none has.
        least_timestamp_ms: The smallest timestamp, -1 where there is none.
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


def walk_batch(
    batch: Buffer,
    rules: WalkRules,
    now_ms: int,
    *,
    is_rebuilt: bool = False,
    max_bytes: int = MAX_UNCOMPRESSED_BYTES,
) -> Walked | RecordRefusal:
    """Walk one batch of magic 2, or one message of magic 0 or 1 with what is in it.

    Args:
        batch: One whole batch or message whose header and CRC have been checked.
        rules: The topic's settings.
        now_ms: What timestamps are compared with.
        is_rebuilt: The batch is numbered anew afterwards: offset deltas are reported, not refused.
        max_bytes: How large the records may become when they are decompressed.

    Returns:
        What was found, or why the batch is refused.
    """
    try:
        if batch[MAGIC_POSITION] < MAGIC:
            return _walk_message(batch, rules, now_ms, max_bytes)
        header = read_header(batch)
        try:
            payload = read_payload(batch, header, max_bytes)
        except CorruptRecordsError as error:
            return _refuse_compressed(header, error)
        return walk_payload(payload, header, rules, now_ms, is_rebuilt=is_rebuilt)
    except CorruptMessageError as error:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, str(error))
    except (CorruptRecordsError, IndexError) as error:
        return RecordRefusal(ErrorCode.INVALID_RECORD, str(error))


def walk_payload(
    payload: bytes, header: BatchHeader, rules: WalkRules, now_ms: int, *, is_rebuilt: bool = False
) -> Walked | RecordRefusal:
    """Walk the records of a batch of magic 2 that are decompressed already.

    Args:
        payload: The records.
        header: The batch's header.
        rules: The topic's settings.
        now_ms: What timestamps are compared with.
        is_rebuilt: The batch is numbered anew afterwards: offset deltas are reported, not refused.

    Returns:
        What was found, or why the batch is refused.
    """
    try:
        scan = scan_payload(payload, header.record_count)
    except CorruptRecordsError as error:
        return RecordRefusal(ErrorCode.INVALID_RECORD, str(error))
    base_ms = header.base_timestamp_ms
    least_ms, largest_ms = base_ms + scan.least_delta_ms, base_ms + scan.largest_delta_ms
    if least_ms < _LEAST_INT64 or largest_ms > _MOST_INT64:
        return RecordRefusal(ErrorCode.INVALID_RECORD, f"timestamps {least_ms} to {largest_ms} do not fit 64 bits")
    limit_ms = rules.timestamp_difference_max_ms
    if (
        header.is_log_append_time
        or (rules.is_compacted and scan.has_null_key)
        or (rules.is_create_time and (now_ms - least_ms > limit_ms or largest_ms - now_ms > limit_ms))
    ):
        refusal = _list_errors(_records_errors(payload, header, rules, now_ms, is_rebuilt=is_rebuilt))
        if refusal is not None:
            return refusal
    if not scan.is_numbered and not is_rebuilt:
        return RecordRefusal(ErrorCode.INVALID_RECORD, "the offset deltas of the records are not 0, 1, 2...")
    index_of_largest = scan.index_of_largest
    if not header.record_count or largest_ms <= NO_TIMESTAMP:
        largest_ms, index_of_largest = NO_TIMESTAMP, -1
    return Walked(
        header.record_count, largest_ms, index_of_largest, least_ms, scan.is_numbered, scan.has_headers, payload
    )


class Scan(NamedTuple):
    """What one pass over the records of a batch of magic 2 tells; deltas are 0 where there is no record."""

    least_delta_ms: int
    largest_delta_ms: int
    index_of_largest: int
    is_numbered: bool
    has_null_key: bool
    has_headers: bool


def scan_payload(payload: bytes, record_count: int) -> Scan:
    """Go over the records of a batch of magic 2, checking all that reading them would check.

    Raises:
        CorruptRecordsError: As `iterate_records`.
    """
    # hot path: one loop without a call for the usual record, whose lengths and deltas are varints of one or two bytes
    # (benchmarks/micro/test_walk.py). Compiled, too, it pays to have them inline (docs/adr/0004).
    position: i64 = 0
    total: i64 = len(payload)
    number: i64
    second: i64
    end: i64
    # What may leave 64 bits stays the language's own integer.
    length: int
    delta_ms: int
    least_ms: int | None = None
    largest_ms = index_of_largest = 0
    is_numbered, has_null_key, has_headers = True, False, False
    try:
        for first in range(0, record_count, WALK_RECORDS):
            for index in range(first, min(first + WALK_RECORDS, record_count)):
                number = payload[position]
                position += 1
                if number >= 0x80:
                    if (second := payload[position]) < 0x80:
                        number += (second << 7) - 0x80
                        length = (number >> 1) ^ -(number & 1)
                        position += 1
                    else:
                        length, position = read_varint(payload, position - 1, LONGEST_INT32)
                else:
                    length = (number >> 1) ^ -(number & 1)
                end = position + length
                if length < 0 or end > total:
                    raise CorruptRecordsError(f"record {index} of {length} bytes with {total - position} left")

                position += 2
                number = payload[position - 1]
                if number >= 0x80:
                    if (second := payload[position]) < 0x80:
                        number += (second << 7) - 0x80
                        delta_ms = (number >> 1) ^ -(number & 1)
                        position += 1
                    else:
                        delta_ms, position = read_varint(payload, position - 1, LONGEST_INT64)
                else:
                    delta_ms = (number >> 1) ^ -(number & 1)
                if least_ms is None:
                    least_ms = largest_ms = delta_ms
                elif delta_ms > largest_ms:
                    largest_ms, index_of_largest = delta_ms, index
                elif delta_ms < least_ms:
                    least_ms = delta_ms

                number = payload[position]
                position += 1
                if number >= 0x80:
                    if (second := payload[position]) < 0x80:
                        number += (second << 7) - 0x80
                        position += 1
                    else:
                        offset_delta, position = read_varint(payload, position - 1, LONGEST_INT32)
                        number = offset_delta << 1 if offset_delta >= 0 else 1
                if number != index << 1:
                    is_numbered = False

                number = payload[position]
                position += 1
                if number >= 0x80:
                    if (second := payload[position]) < 0x80:
                        number += (second << 7) - 0x80
                        position += 1
                    else:
                        length, position = read_varint(payload, position - 1, LONGEST_INT32)
                        number = length << 1 if length >= 0 else 1
                if not number & 1:
                    position += number >> 1
                else:
                    has_null_key = True

                number = payload[position]
                position += 1
                if number >= 0x80:
                    if (second := payload[position]) < 0x80:
                        number += (second << 7) - 0x80
                        position += 1
                    else:
                        length, position = read_varint(payload, position - 1, LONGEST_INT32)
                        number = length << 1 if length >= 0 else 1
                if not number & 1:
                    position += number >> 1
                if position > end:
                    raise CorruptRecordsError(f"a key or value goes beyond record {index}")

                if payload[position] == 0:
                    position += 1
                else:
                    has_headers = True
                    position = _skip_headers(payload, position, end)
                if position != end:
                    raise CorruptRecordsError(f"record {index} is {position - end} bytes longer than it says")
            offer_turn()
    except IndexError:
        raise CorruptRecordsError("the records end within a number") from None
    if position != total:
        raise CorruptRecordsError(f"{total - position} bytes follow the {record_count} records")
    return Scan(least_ms or 0, largest_ms, index_of_largest, is_numbered, has_null_key, has_headers)


def _skip_headers(payload: bytes, position: int, end: int) -> int:
    count, position = read_varint(payload, position, LONGEST_INT32)
    # Two lengths are the least that a header has.
    if count < 0 or count * 2 > end - position:
        raise CorruptRecordsError(f"{count} record headers in {end - position} bytes")
    for _ in range(count):
        length, position = read_varint(payload, position, LONGEST_INT32)
        if length < 0:
            raise CorruptRecordsError("a record header without a key")
        position += length
        length, position = read_varint(payload, position, LONGEST_INT32)
        position += max(length, 0)
        if position > end:
            raise CorruptRecordsError("a header goes beyond its record")
    return position


def _refuse_compressed(header: BatchHeader | MessageHeader, error: CorruptRecordsError) -> RecordRefusal:
    # Kafka has no name for data that a codec refuses.
    code = ErrorCode.INVALID_RECORD if header.codec == Codec.NONE else ErrorCode.UNKNOWN_SERVER_ERROR
    return RecordRefusal(code, str(error))


def _records_errors(
    payload: bytes, header: BatchHeader, rules: WalkRules, now_ms: int, *, is_rebuilt: bool
) -> Iterator[tuple[int, bool, str]]:
    # Kafka leaves keys and values out where it does not need them, and says so.
    is_partial = header.codec != Codec.NONE and not is_rebuilt
    for index, record in enumerate(iterate_payload(payload, header)):
        if rules.is_compacted and record.key is None:
            yield index, False, _no_key(rules)
        elif (reason := _refuse_timestamp(record.offset, record.timestamp_ms, rules, now_ms)) is not None:
            yield index, True, reason
        elif header.is_log_append_time:
            yield index, True, _append_time(_describe(record, is_partial=is_partial))


def _walk_message(message: Buffer, rules: WalkRules, now_ms: int, max_bytes: int) -> Walked | RecordRefusal:
    header = read_message_header(message)
    if header.codec == Codec.NONE:
        return _walk_inner(iter((whole_message(message, header),)), header, rules, now_ms)
    value = wrapped_value(message, header)
    try:
        payload = decompress_value(header, value, max_bytes)
    except CorruptRecordsError as error:
        return _refuse_compressed(header, error)
    return _walk_usual_wrapper(payload, header, rules, now_ms) or _walk_inner(
        inner_messages(header, payload), header, rules, now_ms
    )


def _walk_usual_wrapper(payload: bytes, header: MessageHeader, rules: WalkRules, now_ms: int) -> Walked | None:
    """Walk the messages in a wrapper in one pass; None where something is out of the ordinary."""

    scan = scan_messages(payload, header.magic)
    if scan is None or header.is_log_append_time or _may_break_rules(scan, rules, now_ms):
        return None
    is_numbered = True
    if header.magic > 0:
        # As `inner_messages`: the last one stands for the wrapper's offset, unless that is 0.
        start_offset = header.offset - scan.last_offset if header.offset else 0
        if start_offset < 0:
            return None
        is_numbered = scan.is_contiguous and start_offset + scan.first_offset == 0
    return _walked_messages(scan, payload, is_numbered=is_numbered)


def walk_usual_messages(
    data: bytes, magic: int, rules: WalkRules, now_ms: int, max_message_bytes: int
) -> Walked | None:
    """Walk a run of messages without codec, and check their CRCs, in one pass.

    Args:
        data: Nothing but whole messages.
        magic: That of the first one.
        rules: The topic's settings.
        now_ms: What timestamps are compared with.
        max_message_bytes: The largest message that is accepted.

    Returns:
        None where something is out of the ordinary, or is refused.
    """

    scan = scan_messages(data, magic)
    if scan is None or scan.largest_bytes > max_message_bytes or _may_break_rules(scan, rules, now_ms):
        return None
    return _walked_messages(scan, data, is_numbered=False)


def _may_break_rules(scan: "MessageScan", rules: WalkRules, now_ms: int) -> bool:
    if rules.is_compacted and scan.has_null_key:
        return True
    limit_ms = rules.timestamp_difference_max_ms
    least_ms, largest_ms = scan.least_timestamp_ms, scan.max_timestamp_ms
    return least_ms < NO_TIMESTAMP or (
        rules.is_create_time
        and largest_ms != NO_TIMESTAMP
        and (now_ms - least_ms > limit_ms or largest_ms - now_ms > limit_ms)
    )


def _walked_messages(scan: "MessageScan", data: bytes, *, is_numbered: bool) -> Walked:
    return Walked(
        scan.message_count,
        scan.max_timestamp_ms,
        scan.index_of_max_timestamp,
        scan.least_timestamp_ms,
        is_numbered,
        has_headers=False,
        payload=data,
    )


def _walk_inner(
    messages: Iterator[Message], header: MessageHeader, rules: WalkRules, now_ms: int
) -> Walked | RecordRefusal:
    largest_ms, index_of_largest, least_ms = NO_TIMESTAMP, -1, NO_TIMESTAMP
    is_numbered, index = True, -1
    errors: list[tuple[int, bool, str]] = []
    for index, message in enumerate(messages):
        error = _message_error(message, header, rules, now_ms)
        if error is not None and len(errors) < _MOST_ERRORS:
            errors.append((index, *error))
        if header.magic > 0:
            if message.timestamp_ms > largest_ms:
                largest_ms, index_of_largest = message.timestamp_ms, index
            least_ms = min(least_ms, message.timestamp_ms) if index else message.timestamp_ms
            is_numbered = is_numbered and message.offset == index
    if errors:
        refusal = _list_errors(iter(errors))
        assert refusal is not None
        return refusal
    return Walked(index + 1, largest_ms, index_of_largest, least_ms, is_numbered, has_headers=False)


def _message_error(message: Message, header: MessageHeader, rules: WalkRules, now_ms: int) -> tuple[bool, str] | None:
    if message.magic != header.magic:
        return False, (
            f"Record {_describe_message(message, header)}'s magic does not match outer magic {header.magic} in topic "
            f"partition {rules.topic_partition}."
        )
    if header.codec != Codec.NONE and not is_message_crc_valid(message.data, 0, len(message.data)):
        raise CorruptMessageError(f"message {message.offset} has a wrong CRC")
    if rules.is_compacted and not has_key(message):
        return False, _no_key(rules)
    reason = _refuse_timestamp(message.offset, message.timestamp_ms, rules, now_ms)
    if reason is not None:
        return True, reason
    if header.is_log_append_time:
        return True, _append_time(_describe_message(message, header))
    return None


def _list_errors(errors: Iterator[tuple[int, bool, str]]) -> RecordRefusal | None:
    has_bad_timestamp = False
    listed: list[tuple[int, str | None]] = []
    for index, is_timestamp, reason in errors:
        has_bad_timestamp = has_bad_timestamp or is_timestamp
        listed.append((index, reason))
        if len(listed) == _MOST_ERRORS:
            break
    if has_bad_timestamp:
        return RecordRefusal(ErrorCode.INVALID_TIMESTAMP, REJECTED_TIMESTAMP, tuple(listed))
    return RecordRefusal(ErrorCode.INVALID_RECORD, REJECTED, tuple(listed)) if listed else None


def _refuse_timestamp(offset: int, timestamp_ms: int, rules: WalkRules, now_ms: int) -> str | None:
    limit_ms = rules.timestamp_difference_max_ms
    if not rules.is_create_time or timestamp_ms == NO_TIMESTAMP or abs(timestamp_ms - now_ms) <= limit_ms:
        return None
    return (
        f"Timestamp {timestamp_ms} of message with offset {offset} is out of range. The timestamp should be "
        f"within [{now_ms - limit_ms}, {now_ms + limit_ms}]"
    )


def _no_key(rules: WalkRules) -> str:
    return f"Compacted topic cannot accept message without key in topic partition {rules.topic_partition}."


def _append_time(description: str) -> str:
    return f"Invalid timestamp type in message {description}. Producer should not set timestamp type to LogAppendTime."


def _describe(record: Record, *, is_partial: bool) -> str:
    name, null_bytes = ("PartialDefaultRecord", -1) if is_partial else ("DefaultRecord", 0)
    key_bytes = null_bytes if record.key is None else len(record.key)
    value_bytes = null_bytes if record.value is None else len(record.value)
    return (
        f"{name}(offset={record.offset}, timestamp={record.timestamp_ms}, key={key_bytes} bytes, "
        f"value={value_bytes} bytes)"
    )


def _describe_message(message: Message, wrapper: MessageHeader) -> str:
    record = to_record(message)
    crc = read_message_header(message.data).crc
    timestamp = ""
    if message.magic > 0:
        kind = "LogAppendTime" if wrapper.is_log_append_time else "CreateTime"
        timestamp = f"{kind}={message.timestamp_ms}, "
    return (
        f"LegacyRecordBatch(offset={message.offset}, Record(magic={message.magic}, attributes={message.attributes}, "
        f"compression=NONE, crc={crc}, {timestamp}key={len(record.key or b'')} bytes, "
        f"value={len(record.value or b'')} bytes))"
    )
