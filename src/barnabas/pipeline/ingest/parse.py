"""Converts a topic's records to rows, inside a Spark Python worker.

A row has the record's fields and the columns of `job.PLACE`. For a keyed table it also has the record's key as text,
and whether the row is deleted. A record that can't be converted is rejected with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.pipeline.events.types import TIMES_US, EventType, Format
from barnabas.pipeline.job import DELETED, KEY, PLACE

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

    from barnabas.pipeline.ingest.source import Records

OP = "_op"
"""Column of a table with the operation of a Debezium change."""
STAGED_OP = "_staged_op"
"""Column with the operation in the staged rows of a keyed table, which has no column `_op`."""
TRUNCATE, DELETE = "t", "d"

NO_KEY = "the record has no key: its table needs one"
KEY_NOT_UTF8 = "the key is not UTF-8"
KEY_HAS_NUL = "the key has a NUL character"
NO_DATE = "the record's timestamp is not in the years 1 to 9999"


class Reader(Protocol):
    """Reads values as structs of one type. It is pickled."""

    @property
    def type(self) -> pa.StructType:
        """Type of the structs."""

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return a struct or null for each value; and a reason for each invalid value, None for the others."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rejected record: its index in the columns of the records, and the reason."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class RecordParser:
    """Converts one topic's records to rows.

    Attributes:
        reader: Reads values, or the rows within the envelopes.
        by_key: Whether the table has the latest row of each key.
        envelope: Reads values as Debezium change events; None: values are rows.
        refusal: Reason to reject all records; empty: none.
    """

    reader: Reader
    by_key: bool = False
    envelope: Reader | None = None
    refusal: str = ""

    def parse(self, records: Records) -> tuple[pa.Table, list[Refusal]]:
        """Return rows and rejected records. A record is neither if it needs new columns or changes no row."""
        # hot path: benchmarks/pipeline (every record)
        values: Sequence[bytes | None] = records.values
        refusals: dict[int, str] = {}
        ops: list[str | None] = []
        if self.envelope is not None:
            values, ops = self._changed(values, refusals)
        deleted: list[bool] | None = None
        if self.by_key:
            deleted = [op in (DELETE, TRUNCATE) for op in ops] if ops else [value is None for value in values]
        struct, reasons = self.reader.read(values)
        times = records.timestamps_ms
        if times and not (min(times) * 1_000 in TIMES_US and max(times) * 1_000 in TIMES_US):
            for number, time_ms in enumerate(times):
                if time_ms * 1_000 not in TIMES_US:
                    refusals[number] = f"{NO_DATE}: {time_ms} ms since 1970"
        if self.refusal:
            refusals = dict.fromkeys(range(len(records)), self.refusal)
        if any(reasons):
            for number, reason in enumerate(reasons):
                is_bad = reason is not None and not (deleted and deleted[number])
                # An envelope may contain no row.
                if is_bad and (values[number] is not None or not ops):
                    refusals.setdefault(number, str(reason))
        keys = self._keys(records, ops, refusals) if self.by_key else None
        rows = self._rows(records, struct, refusals, keys, deleted, ops)
        return rows, [Refusal(number, reason) for number, reason in sorted(refusals.items())]

    def _keys(self, records: Records, ops: Sequence[str | None], refusals: dict[int, str]) -> list[str | None]:
        keys: list[str | None] = []
        for number, key in enumerate(records.keys):
            text, reason = _text_of(key)
            keys.append(text)
            if reason and not (ops and ops[number] == TRUNCATE):
                refusals[number] = reason
        return keys

    def _rows(
        self,
        records: Records,
        struct: pa.StructArray,
        refusals: dict[int, str],
        keys: list[str | None] | None,
        deleted: list[bool] | None,
        ops: list[str | None],
    ) -> pa.Table:
        import pyarrow as pa

        count = len(records)
        times_ms = records.timestamps_ms
        if refusals:
            # Those of refused records may be too large for Arrow.
            times_ms = [0 if number in refusals else time_ms for number, time_ms in enumerate(times_ms)]
        times = pa.array(times_ms, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
        columns: dict[str, Any] = dict(zip((field.name for field in struct.type), struct.flatten(), strict=True))
        partitions, offsets = pa.array(records.partitions, pa.int32()), pa.array(records.offsets, pa.int64())
        place = (pa.repeat(records.topic, count), partitions, offsets, times)
        columns |= dict(zip(PLACE, place, strict=True))
        if ops:
            columns[STAGED_OP if self.by_key else OP] = pa.array(ops, pa.string())
        if keys is not None:
            columns[KEY] = pa.array(keys, pa.string())
            columns[DELETED] = pa.array(deleted, pa.bool_())
        rows = pa.table(columns)
        if not refusals and not struct.null_count:
            return rows
        is_null = struct.is_null().to_pylist()
        kept = [
            number
            for number in range(count)
            if number not in refusals and (not is_null[number] or bool(deleted and deleted[number]))
        ]
        return rows if len(kept) == count else rows.take(pa.array(kept, pa.int32()))

    def _changed(
        self, values: Sequence[bytes | None], refusals: dict[int, str]
    ) -> tuple[list[bytes | None], list[str | None]]:
        """Return the row within each envelope as JSON, None if it has no row; and the operations."""
        assert self.envelope is not None
        changes, reasons = self.envelope.read(values)
        ops, texts = (each.to_pylist() for each in changes.flatten())
        rows = [None if text is None else text.encode() for text in texts]
        for number, reason in enumerate(reasons):
            if reason is not None:
                refusals[number] = reason
                rows[number] = None
        if self.by_key:
            rows = [row if op in ("c", "r", "u") else None for row, op in zip(rows, ops, strict=True)]
        return rows, ops


@cache
def event_parser(event: EventType, event_format: Format) -> RecordParser:
    """Return the parser of a type of events: the same object for all jobs, so that a task parses their events once."""
    from barnabas.pipeline.events.read import EventReader

    return RecordParser(EventReader(event, event_format))


def _text_of(key: bytes | None) -> tuple[str | None, str]:
    """Return a key as text and an empty reason, or None and the reason why it is invalid."""
    if key is None:
        return None, NO_KEY
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None, KEY_NOT_UTF8
    return (None, KEY_HAS_NUL) if "\0" in text else (text, "")
