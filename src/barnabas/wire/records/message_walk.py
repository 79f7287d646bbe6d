"""Checks of messages of magic 0 and 1: a single one, a wrapper with its content, or a run of them.

Ordinary messages cost one pass over their bytes without objects (`transcode.scan_messages`); only other data is checked
message by message.

Source: as `record_rules`.
"""

from collections.abc import Iterator

from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import Buffer, Codec
from barnabas.wire.records.errors import CorruptMessageError, CorruptRecordsError
from barnabas.wire.records.legacy import (
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
from barnabas.wire.records.record_rules import (
    MOST_ERRORS,
    RecordRefusal,
    Walked,
    WalkRules,
    append_time,
    list_errors,
    no_key,
    refuse_compressed,
    refuse_timestamp,
)
from barnabas.wire.records.transcode import MessageScan, scan_messages


def walk_message(message: Buffer, rules: WalkRules, now_ms: int, max_bytes: int) -> Walked | RecordRefusal:
    """Check one message with its content; see `walk.walk_batch`.

    Raises:
        CorruptMessageError: A message in it is invalid, or has a wrong CRC.
        CorruptRecordsError, IndexError: It is unreadable.
    """
    header = read_message_header(message)
    if header.codec == Codec.NONE:
        return _walk_inner(iter((whole_message(message, header),)), header, rules, now_ms)
    value = wrapped_value(message, header)
    try:
        payload = decompress_value(header, value, max_bytes)
    except CorruptRecordsError as error:
        return refuse_compressed(header.codec, error)
    return _walk_usual_wrapper(payload, header, rules, now_ms) or _walk_inner(
        inner_messages(header, payload), header, rules, now_ms
    )


def _walk_usual_wrapper(payload: bytes, header: MessageHeader, rules: WalkRules, now_ms: int) -> Walked | None:
    """Check the messages in a wrapper in one pass; None if something is out of the ordinary."""

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
    """Check a run of messages without codec, including their CRCs, in one pass.

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


def _may_break_rules(scan: MessageScan, rules: WalkRules, now_ms: int) -> bool:
    if rules.is_compacted and scan.has_null_key:
        return True
    limit_ms = rules.timestamp_difference_max_ms
    least_ms, largest_ms = scan.least_timestamp_ms, scan.max_timestamp_ms
    return least_ms < NO_TIMESTAMP or (
        rules.is_create_time
        and largest_ms != NO_TIMESTAMP
        and (now_ms - least_ms > limit_ms or largest_ms - now_ms > limit_ms)
    )


def _walked_messages(scan: MessageScan, data: bytes, *, is_numbered: bool) -> Walked:
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
        if error is not None and len(errors) < MOST_ERRORS:
            errors.append((index, *error))
        if header.magic > 0:
            if message.timestamp_ms > largest_ms:
                largest_ms, index_of_largest = message.timestamp_ms, index
            least_ms = min(least_ms, message.timestamp_ms) if index else message.timestamp_ms
            is_numbered = is_numbered and message.offset == index
    if errors:
        refusal = list_errors(iter(errors))
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
        return False, no_key(rules)
    reason = refuse_timestamp(message.offset, message.timestamp_ms, rules, now_ms)
    if reason is not None:
        return True, reason
    if header.is_log_append_time:
        return True, append_time(_describe_message(message, header))
    return None


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
