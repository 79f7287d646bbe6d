"""Makes rows of a topic's records, inside a Spark Python worker.

A row has the record's fields, the columns of `job.PLACE`, and for a table by key the record's key as text and whether
the row is deleted. A record that can't be a row is refused with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.pipeline.events.types import EventType, Format
from barnabas.pipeline.job import DELETED, KEY, PLACE

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

    from barnabas.pipeline.ingest.source import Records

OP = "_op"
"""Column of a table with the operation of a Debezium change."""
STAGED_OP = "_staged_op"
"""The same in staged rows of a table by key, which has no such column."""
TRUNCATE, DELETE = "t", "d"

NO_KEY = "the record has no key: its table needs one"
KEY_NOT_UTF8 = "the key is not UTF-8"
KEY_HAS_NUL = "the key has a NUL character"


class Reader(Protocol):
    """Reads values as structs of one type. It is pickled."""

    @property
    def type(self) -> pa.StructType:
        """Of the structs."""

    def read(self, values: Sequence[bytes | None]) -> tuple[pa.StructArray, list[str | None]]:
        """Return structs, null where there is none; and the reason where a value is bad, else None."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that is no row: its place in the columns of the records, and why."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class RecordParser:
    """Makes rows of one topic's records.

    Attributes:
        reader: Reads values, or the rows within the envelopes.
        by_key: Whether the table has the latest row of each key.
        envelope: Reads values as Debezium's changes; None: they are rows.
        refusal: Refuses all records for this reason.
    """

    reader: Reader
    by_key: bool = False
    envelope: Reader | None = None
    refusal: str = ""

    def parse(self, records: Records) -> tuple[pa.Table, list[Refusal]]:
        """Return rows and refused records. A record can be neither: it asks for columns, or changes no row."""
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
        if self.refusal:
            refusals = dict.fromkeys(range(len(records)), self.refusal)
        if any(reasons):
            for number, reason in enumerate(reasons):
                is_bad = reason is not None and not (deleted and deleted[number])
                # Within an envelope there may be no row.
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
        times = pa.array(records.timestamps_ms, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
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
        """Return the rows within envelopes as JSON, None where there is none; and the operations."""
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
    """Return the parser of events of a type: the same one for all jobs, so that a task parses for them once."""
    from barnabas.pipeline.events.read import EventReader

    return RecordParser(EventReader(event, event_format))


def _text_of(key: bytes | None) -> tuple[str | None, str]:
    """Return a key as text, and why it is none."""
    if key is None:
        return None, NO_KEY
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None, KEY_NOT_UTF8
    return (None, KEY_HAS_NUL) if "\0" in text else (text, "")
