"""SnapshotHeaderRecord: a structure kept in records or files.

Generated from the SnapshotHeaderRecord schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, skip_tagged_fields

_pack_hqB = Struct(">hqB").pack
_unpack_hq = Struct(">hq").unpack_from


class SnapshotHeaderRecord(Message):
    """SnapshotHeaderRecord, versions 0."""

    __slots__ = (
        "version",
        "last_contained_log_timestamp",
    )

    SCHEMA_NAME: ClassVar[str] = "SnapshotHeaderRecord"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SnapshotHeaderRecord, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SnapshotHeaderRecord, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp


def _decode_snapshot_header_record_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SnapshotHeaderRecord, int]:
    version, last_contained_log_timestamp = _unpack_hq(buf, pos)
    pos += 11
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SnapshotHeaderRecord(version, last_contained_log_timestamp), pos


def _encode_snapshot_header_record_v0(msg: SnapshotHeaderRecord, out: WireBuffer) -> None:
    out += _pack_hqB(msg.version, msg.last_contained_log_timestamp, 0)


SnapshotHeaderRecord.DECODERS = (_decode_snapshot_header_record_v0,)

SnapshotHeaderRecord.ENCODERS = (_encode_snapshot_header_record_v0,)
