"""Checks every record of a client's produced data, in any format.

Batches whose records break no rule (`record_rules`) cost one pass over their bytes without record objects; only a batch
that breaks a rule is walked again, to list its wrong records.

Invariant: whatever the bytes contain, the walk uses memory in proportion to them and `max_bytes`, and raises nothing.

# differs from Kafka (offset-deltas): offset deltas that are not 0, 1, 2... in a batch of magic 2 that needs no
# rebuilding are refused with INVALID_RECORD (Kafka appends them without a codec, UNKNOWN_SERVER_ERROR with one), and so
# is record data that unpacks to more than `max_bytes`.
# differs from Kafka (timestamp-overflow): timestamps outside 64 bits are refused, there they wrap.

Source: as `record_rules`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import MAGIC, MAGIC_POSITION, BatchHeader, Buffer, Codec, read_header
from barnabas.wire.records.errors import CorruptMessageError, CorruptRecordsError
from barnabas.wire.records.gil import WALK_RECORDS, yield_gil
from barnabas.wire.records.message_walk import walk_message
from barnabas.wire.records.record import (
    LONGEST_INT32,
    LONGEST_INT64,
    MAX_UNCOMPRESSED_BYTES,
    Record,
    iterate_payload,
    read_payload,
    read_varint,
)
from barnabas.wire.records.record_rules import (
    RecordRefusal,
    Walked,
    WalkRules,
    append_time,
    list_errors,
    no_key,
    refuse_compressed,
    refuse_timestamp,
)

if TYPE_CHECKING:
    # The compiler's integer of 64 bits, which takes no memory; uncompiled nobody looks at the types of locals.
    from mypy_extensions import i64

_LEAST_INT64, _MOST_INT64 = -(2**63), 2**63 - 1


def walk_batch(
    batch: Buffer,
    rules: WalkRules,
    now_ms: int,
    *,
    is_rebuilt: bool = False,
    max_bytes: int = MAX_UNCOMPRESSED_BYTES,
) -> Walked | RecordRefusal:
    """Check one batch of magic 2, or one message of magic 0 or 1 with its content.

    Args:
        batch: One whole batch or message whose header and CRC have been checked.
        rules: The topic's settings.
        now_ms: What timestamps are compared with.
        is_rebuilt: The batch is renumbered afterwards: offset deltas are reported, not refused.
        max_bytes: How large the records may become when they are decompressed.

    Returns:
        The result, or the reason why the batch is rejected.
    """
    try:
        if batch[MAGIC_POSITION] < MAGIC:
            return walk_message(batch, rules, now_ms, max_bytes)
        header = read_header(batch)
        try:
            payload = read_payload(batch, header, max_bytes)
        except CorruptRecordsError as error:
            return refuse_compressed(header.codec, error)
        return walk_payload(payload, header, rules, now_ms, is_rebuilt=is_rebuilt)
    except CorruptMessageError as error:
        return RecordRefusal(ErrorCode.CORRUPT_MESSAGE, str(error))
    except (CorruptRecordsError, IndexError) as error:
        return RecordRefusal(ErrorCode.INVALID_RECORD, str(error))


def walk_payload(
    payload: bytes, header: BatchHeader, rules: WalkRules, now_ms: int, *, is_rebuilt: bool = False
) -> Walked | RecordRefusal:
    """Check the decompressed records of a batch of magic 2.

    Args:
        payload: The records.
        header: The batch's header.
        rules: The topic's settings.
        now_ms: What timestamps are compared with.
        is_rebuilt: The batch is renumbered afterwards: offset deltas are reported, not refused.

    Returns:
        The result, or the reason why the batch is rejected.
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
        refusal = list_errors(_records_errors(payload, header, rules, now_ms, is_rebuilt=is_rebuilt))
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
    """The result of one pass over the records of a batch of magic 2; deltas are 0 if there is no record."""

    least_delta_ms: int
    largest_delta_ms: int
    index_of_largest: int
    is_numbered: bool
    has_null_key: bool
    has_headers: bool


def scan_payload(payload: bytes, record_count: int) -> Scan:
    """Scan the records of a batch of magic 2, with every check that reading them has.

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
            yield_gil()
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


def _records_errors(
    payload: bytes, header: BatchHeader, rules: WalkRules, now_ms: int, *, is_rebuilt: bool
) -> Iterator[tuple[int, bool, str]]:
    # Kafka leaves keys and values out where it does not need them, and says so.
    is_partial = header.codec != Codec.NONE and not is_rebuilt
    for index, record in enumerate(iterate_payload(payload, header)):
        if rules.is_compacted and record.key is None:
            yield index, False, no_key(rules)
        elif (reason := refuse_timestamp(record.offset, record.timestamp_ms, rules, now_ms)) is not None:
            yield index, True, reason
        elif header.is_log_append_time:
            yield index, True, append_time(_describe(record, is_partial=is_partial))


def _describe(record: Record, *, is_partial: bool) -> str:
    name, null_bytes = ("PartialDefaultRecord", -1) if is_partial else ("DefaultRecord", 0)
    key_bytes = null_bytes if record.key is None else len(record.key)
    value_bytes = null_bytes if record.value is None else len(record.value)
    return (
        f"{name}(offset={record.offset}, timestamp={record.timestamp_ms}, key={key_bytes} bytes, "
        f"value={value_bytes} bytes)"
    )
