"""Scans the records of a batch of magic 2 without decoding them, for their keys or for the records to retain.

A record: varint length | attributes | varint timestamp delta | varint offset delta | varint key length, key | varint
value length, value | headers. See `records.record`.

Invariant: for any bytes, these functions raise only `CorruptRecordsError`.

Source: implementation page, message format; log-format facts, cleaner.
"""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from barnabas.wire.records.builder import encode_varint
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import LONGEST_INT32, LONGEST_INT64, read_varint

if TYPE_CHECKING:
    # The compiler's 64-bit integer, which needs no allocation. Uncompiled, types of locals are not evaluated.
    from mypy_extensions import i64


class Kept(NamedTuple):
    """The records of a batch that are retained.

    Attributes:
        runs: Start and end of each run of neighbouring records.
        record_count: Number of these records.
    """

    runs: list[tuple[int, int]]
    record_count: int


def read_keys(
    data: bytes, position: int, end: int, record_count: int, base_offset: int
) -> tuple[list[bytes | None], list[int]]:
    """Return the keys of a batch's records, and their offsets.

    Args:
        data: Buffer with the records, decompressed.
        position, end: Start and end of the records in `data`.
        record_count: Number of records.
        base_offset: The batch's base offset.

    Raises:
        CorruptRecordsError: The bytes are not `record_count` records.
    """
    # hot path: no call for the usual record, whose numbers are varints of one or two bytes; keys are copied, and the
    # bytes after a key are not read (benchmarks/micro/test_cleaner.py).
    at: i64 = position
    number: i64
    second: i64
    next_at: i64
    key_end: i64
    delta: int  # a Python integer, because a sum with it may exceed 64 bits
    keys: list[bytes | None] = []
    offsets: list[int] = []
    add_key, add_offset = keys.append, offsets.append
    try:
        for _ in range(record_count):
            number = data[at]
            at += 1
            if number >= 0x80:
                if (second := data[at]) < 0x80:
                    number += (second << 7) - 0x80
                    at += 1
                else:
                    length, at = read_varint(data, at - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            next_at = at + (number >> 1)

            at += 1
            while data[at] >= 0x80:
                at += 1
            number = data[at + 1]
            at += 2
            if number >= 0x80:
                if (second := data[at]) < 0x80:
                    number += (second << 7) - 0x80
                    at += 1
                else:
                    delta, at = read_varint(data, at - 1, LONGEST_INT32)
                    number = delta << 1
            delta = number >> 1
            add_offset(base_offset + delta)

            number = data[at]
            at += 1
            if number >= 0x80:
                if (second := data[at]) < 0x80:
                    number += (second << 7) - 0x80
                    at += 1
                else:
                    length, at = read_varint(data, at - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            if number & 1:
                add_key(None)
            else:
                key_end = at + (number >> 1)
                add_key(data[at:key_end])
                at = key_end
            if at >= next_at:
                raise CorruptRecordsError(f"a record of batch {base_offset} is shorter than its key")
            at = next_at
    except IndexError:
        raise CorruptRecordsError(f"the records of batch {base_offset} end within a number") from None
    if at != end:
        raise CorruptRecordsError(f"the records of batch {base_offset} end at {at}, not at {end}")
    return keys, offsets


def choose_kept(
    data: bytes,
    position: int,
    end: int,
    record_count: int,
    base_offset: int,
    newest_offset: Callable[[bytes | None, int], int],
    end_offset: int,
    *,
    keeps_tombstones: bool,
) -> Kept:
    """Choose the records that survive.

    Args:
        data: Buffer with the records, decompressed.
        position, end: Start and end of the records in `data`.
        record_count: Number of records.
        base_offset: The batch's base offset.
        newest_offset: Returns the newest offset of a key, or its second argument if the key is unknown.
        end_offset: Records at or above it were not examined and are retained.
        keeps_tombstones: Whether records without a value are retained, too.

    Raises:
        CorruptRecordsError: The bytes are not `record_count` records.
    """
    # hot path: as `read_keys`.
    at: i64 = position
    number: i64
    second: i64
    next_at: i64
    key_end: i64
    start: i64
    run_start: i64 = -1
    delta: int  # a Python integer, because a sum with it may exceed 64 bits
    runs: list[tuple[int, int]] = []
    kept_count = 0
    try:
        for _ in range(record_count):
            start = at
            number = data[at]
            at += 1
            if number >= 0x80:
                if (second := data[at]) < 0x80:
                    number += (second << 7) - 0x80
                    at += 1
                else:
                    length, at = read_varint(data, at - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            next_at = at + (number >> 1)

            at += 1
            while data[at] >= 0x80:
                at += 1
            number = data[at + 1]
            at += 2
            if number >= 0x80:
                if (second := data[at]) < 0x80:
                    number += (second << 7) - 0x80
                    at += 1
                else:
                    delta, at = read_varint(data, at - 1, LONGEST_INT32)
                    number = delta << 1
            delta = number >> 1
            offset = base_offset + delta

            number = data[at]
            at += 1
            if number >= 0x80:
                if (second := data[at]) < 0x80:
                    number += (second << 7) - 0x80
                    at += 1
                else:
                    length, at = read_varint(data, at - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            key_end = at + (number >> 1)
            if key_end >= next_at:
                raise CorruptRecordsError(f"a record of batch {base_offset} is shorter than its key")
            # An odd length is negative: the record has no key, or no value.
            if offset >= end_offset or (
                not number & 1
                and newest_offset(data[at:key_end], -1) <= offset
                and (keeps_tombstones or not data[key_end] & 1)
            ):
                kept_count += 1
                if run_start < 0:
                    run_start = start
            elif run_start >= 0:
                runs.append((run_start, start))
                run_start = -1
            at = next_at
    except IndexError:
        raise CorruptRecordsError(f"the records of batch {base_offset} end within a number") from None
    if at != end:
        raise CorruptRecordsError(f"the records of batch {base_offset} end at {at}, not at {end}")
    if run_start >= 0:
        runs.append((run_start, end))
    return Kept(runs, kept_count)


def choose_marked(
    data: bytes, position: int, record_count: int, base_offset: int, stays: Sequence[int], *, keeps_tombstones: bool
) -> Kept:
    """Choose the records marked as retained; bytes between and after them are not checked.

    Args:
        data: Buffer with the records, decompressed; the batch must have no missing offsets.
        position: Start of the records in `data`.
        record_count: Number of records.
        base_offset: The batch's base offset.
        stays: 1 for each record to retain, else 0; with at least one 1.
        keeps_tombstones: Whether records without a value are retained, too.

    Raises:
        CorruptRecordsError: The records are malformed.
    """
    # hot path: as `read_keys`.
    at: i64 = position
    number: i64
    second: i64
    next_at: i64
    start: i64
    run_start: i64 = -1
    run_end: i64 = -1
    runs: list[tuple[int, int]] = []
    kept_count = 0
    wanted = compress(range(record_count), stays)
    next_index = next(wanted)
    try:
        for index in range(record_count):
            start = at
            number = data[at]
            at += 1
            if number >= 0x80:
                if (second := data[at]) < 0x80:
                    number += (second << 7) - 0x80
                    at += 1
                else:
                    length, at = read_varint(data, at - 1, LONGEST_INT32)
                    number = length << 1 if length >= 0 else 1
            next_at = at + (number >> 1)
            if index == next_index:
                if keeps_tombstones or _has_value(data, at):
                    kept_count += 1
                    if run_end != start:
                        if run_end >= 0:
                            runs.append((run_start, run_end))
                        run_start = start
                    run_end = next_at
                next_index = next(wanted, -1)
                if next_index < 0:
                    break
            at = next_at
    except IndexError:
        raise CorruptRecordsError(f"the records of batch {base_offset} end within a number") from None
    if run_end > len(data):
        raise CorruptRecordsError(f"the records of batch {base_offset} are longer than the batch")
    if run_end >= 0:
        runs.append((run_start, run_end))
    return Kept(runs, kept_count)


def _has_value(data: bytes, position: int) -> bool:
    """Return whether the record whose attributes are at `position` has a value."""
    _, position = read_varint(data, position + 1, LONGEST_INT64)
    _, position = read_varint(data, position, LONGEST_INT32)
    key_bytes, position = read_varint(data, position, LONGEST_INT32)
    value_bytes, _ = read_varint(data, position + max(key_bytes, 0), LONGEST_INT32)
    return value_bytes >= 0


def rebase_timestamps(records: bytes, *, is_log_append_time: bool) -> tuple[bytes, int, int]:
    """Change the timestamp deltas of records to begin at 0, or to be all 0 with log append time.

    Args:
        records: The retained records, already checked by a function above.
        is_log_append_time: Whether the batch has log append time.

    Returns:
        The records, the first record's delta before the change, and the largest delta after it.

    Raises:
        CorruptRecordsError: The records are malformed.
    """
    # hot path: as `read_keys`.
    changed: list[bytes] = []
    add = changed.append
    position: i64 = 0
    total: i64 = len(records)
    number: i64
    second: i64
    length: i64
    rest: i64
    end: i64
    delta: int  # a Python integer, because it may exceed 64 bits
    largest = 0
    try:
        _, attributes_position = read_varint(records, 0, LONGEST_INT32)
        base, _ = read_varint(records, attributes_position + 1, LONGEST_INT64)
        must_change = base != 0 or is_log_append_time
        while position < total:
            number = records[position]
            position += 1
            if number < 0x80:
                length = number >> 1
            elif (second := records[position]) < 0x80:
                length = (number + (second << 7) - 0x80) >> 1
                position += 1
            else:
                length, position = read_varint(records, position - 1, LONGEST_INT32)
            number = records[position + 1]
            if number < 0x80:
                delta, rest = (number >> 1) ^ -(number & 1), position + 2
            else:
                delta, rest = read_varint(records, position + 1, LONGEST_INT64)
            end = position + length
            if rest > end:
                raise CorruptRecordsError(f"a record of {length} bytes is shorter than its timestamp")
            delta = 0 if is_log_append_time else delta - base
            if delta > largest:
                largest = delta
            if must_change:
                encoded = encode_varint(delta)
                add(encode_varint(1 + len(encoded) + end - rest))
                add(b"\0")
                add(encoded)
                add(records[rest:end])
            position = end
    except IndexError:
        raise CorruptRecordsError("records that stay end within a number") from None
    if position != total:
        raise CorruptRecordsError(f"records that stay end at {position}, not at {total}")
    return b"".join(changed) if must_change else records, base, largest
