"""Records on their way from Spark's JVM into a Python task: packed by SQL, unpacked here.

A record is one binary value; numbers are big-endian and signed:

| field | type | is |
| --- | --- | --- |
| offset, timestamp | int64 | in the source; milliseconds since 1970 |
| partition | int32 | the same in the target |
| key length, value length | int32 | -1: null, which is not the same as empty |
| header count | int32 | |
| key, value | bytes | |
| headers | | of each: int32 key length, int32 value length or -1, key, value |
| topic | bytes | in the source; up to the end |

Spark hands binary values over as they are, without pickling rows or building Python rows from them: five times as many
1 KB records a second on the same cores (docs/adr/0010-a-mirrors-place-is-in-its-target.md). pyarrow and pandas, which
would do as well, are 150 MB that nothing else of the pipeline needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from barnabas.clients.mirror_offsets import RecordMark
from barnabas.pipeline.mirror.provenance import Headers, Provenance

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame

COLUMNS = ("key", "value", "headers", "topic", "partition", "offset", "unix_millis(timestamp) AS timestamp_ms")

_PACKED = """concat(
    cast(offset AS binary), cast(timestamp_ms AS binary), cast(partition AS binary),
    cast(coalesce(octet_length(key), -1) AS binary), cast(coalesce(octet_length(value), -1) AS binary),
    cast(coalesce(array_size(headers), 0) AS binary),
    coalesce(key, X''), coalesce(value, X''),
    CASE WHEN headers IS NULL THEN X'' ELSE aggregate(headers, X'', (packed, header) -> concat(
        packed, cast(octet_length(header.key) AS binary), cast(coalesce(octet_length(header.value), -1) AS binary),
        cast(header.key AS binary), coalesce(header.value, X''))) END,
    cast(topic AS binary)) AS packed"""
_HEAD = Struct(">qqiiii")
_HEADER_HEAD = Struct(">ii")
_ROWS_COUNT = 1_000


class Rows(NamedTuple):
    """Records of one partition in order, a list for each field; those that are left out are not in it.

    Attributes:
        end_offset: Of the source: behind the last record, be it left out or not.
        skipped_count: How many were left out, as they have been in the target.
        payload_bytes: Of keys and values.
        mark: The last record that was read.
    """

    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[Headers]
    offsets: list[int]
    timestamps_ms: list[int]
    end_offset: int
    skipped_count: int
    payload_bytes: int
    mark: RecordMark


def packed_records(records: DataFrame) -> RDD[bytes]:
    """Return records, with the columns above, packed; partitions and order stay."""
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer

    # ANSI's rules know no cast from numbers to bytes; the session is the batch's own.
    records.sparkSession.conf.set("spark.sql.ansi.enabled", "false")
    context = records.sparkSession.sparkContext
    binary = context._jvm.org.apache.spark.sql.Encoders.BINARY()  # type: ignore[union-attr]  # it has a JVM
    packed = getattr(records.selectExpr(_PACKED)._jdf, "as")(binary)
    return RDD(packed.toJavaRDD(), context, NoOpSerializer())


def place_of(packed: bytes) -> tuple[str, int]:
    """Return the topic and the partition of a packed record."""
    _, _, partition, key_length, value_length, header_count = _HEAD.unpack_from(packed)
    position = _HEAD.size + max(key_length, 0) + max(value_length, 0)
    _, position = _headers(packed, position, header_count)
    return packed[position:].decode(), partition


def read_rows(records: Iterable[bytes], from_offset: int, provenance: Provenance) -> Iterator[Rows]:
    """Unpack the records of one partition that are to be mirrored, some at a time.

    Args:
        records: Packed, in order.
        from_offset: What is before has been mirrored.
        provenance: Says what becomes of headers.
    """
    left = iter(records)
    while some := list(islice(left, _ROWS_COUNT)):
        rows = _unpack(some, from_offset, provenance)
        if rows.end_offset > from_offset:
            yield rows


def _unpack(records: list[bytes], from_offset: int, provenance: Provenance) -> Rows:
    # hot path (benchmarks/pipeline/mirror.py): once for each record that is mirrored.
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    headers: list[Headers] = []
    offsets: list[int] = []
    timestamps_ms: list[int] = []
    skipped_count = payload_bytes = offset = timestamp_ms = 0
    key: bytes | None = None
    value: bytes | None = None
    for packed in records:
        offset, timestamp_ms, _, key_length, value_length, header_count = _HEAD.unpack_from(packed)
        position = _HEAD.size
        key = value = None
        if key_length >= 0:
            key = packed[position : position + key_length]
            position += key_length
        if value_length >= 0:
            value = packed[position : position + value_length]
            position += value_length
        if offset < from_offset:
            continue
        if header_count:
            found = provenance.extended(_headers(packed, position, header_count)[0])
            if found is None:
                skipped_count += 1
                continue
            headers.append(found)
        else:
            headers.append(provenance.alone)
        keys.append(key)
        values.append(value)
        offsets.append(offset)
        timestamps_ms.append(timestamp_ms)
        payload_bytes += position - _HEAD.size
    mark = RecordMark(offset, timestamp_ms, crc32(value or b"", crc32(key or b"")))
    return Rows(keys, values, headers, offsets, timestamps_ms, offset + 1, skipped_count, payload_bytes, mark)


def _headers(packed: bytes, position: int, count: int) -> tuple[Headers, int]:
    """Return a record's headers in order, and where they end."""
    headers: Headers = []
    for _ in range(count):
        key_length, value_length = _HEADER_HEAD.unpack_from(packed, position)
        position += _HEADER_HEAD.size
        key = packed[position : position + key_length].decode()
        position += key_length
        value = None
        if value_length >= 0:
            value = packed[position : position + value_length]
            position += value_length
        headers.append((key, value))
    return headers, position
