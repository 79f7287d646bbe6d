"""A fast test whether a produced batch needs a walk over its records.

Most producers send data that breaks no rule and needs no new offsets; such a batch takes the short path without a walk.

Source: `walk`; docs/adr/0004 for what it costs.
"""

from barnabas.core.types import NO_TIMESTAMP
from barnabas.wire.records.batch import (
    CODEC_MASK,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC,
    Buffer,
)
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record_rules import WalkRules
from barnabas.wire.records.walk import scan_payload

_LEAST_INT64 = -(2**63)


def needs_no_walk(batch: Buffer, rules: WalkRules, now_ms: int) -> bool:
    """Return whether this is one valid batch of magic 2 without codec whose records match its header.

    Its CRC and what else its header says have not been looked at: the short way does that.

    Args:
        batch: The produced data.
        rules: The topic's settings.
        now_ms: What timestamps are compared with.
    """
    # hot path: python -m benchmarks.load.validation
    if len(batch) < HEADER_BYTES:
        return False
    _, length, _, magic, _, attributes, last_delta, base_ms, max_ms, _, _, _, count = HEADER.unpack_from(batch)
    if magic != MAGIC or length + LOG_OVERHEAD != len(batch) or attributes & (CODEC_MASK | LOG_APPEND_TIME_BIT):
        return False
    if count <= 0 or last_delta + 1 != count:
        return False
    try:
        scan = scan_payload(bytes(batch[HEADER_BYTES:]), count)
    except CorruptRecordsError:
        return False
    least_ms, largest_ms = base_ms + scan.least_delta_ms, base_ms + scan.largest_delta_ms
    limit_ms = rules.timestamp_difference_max_ms
    return (
        scan.is_numbered
        and max_ms == max(largest_ms, NO_TIMESTAMP)
        and least_ms >= _LEAST_INT64
        and not (rules.is_compacted and scan.has_null_key)
        and not (rules.is_create_time and (now_ms - least_ms > limit_ms or largest_ms - now_ms > limit_ms))
    )
