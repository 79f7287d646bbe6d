"""SnapshotFooterRecord: a structure kept in records or files.

Generated from the SnapshotFooterRecord schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, skip_tagged_fields

_pack_hB = Struct(">hB").pack
_unpack_h = Struct(">h").unpack_from


class SnapshotFooterRecord(Message):
    """SnapshotFooterRecord, versions 0."""

    __slots__ = ("version",)

    SCHEMA_NAME: ClassVar[str] = "SnapshotFooterRecord"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[SnapshotFooterRecord, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[SnapshotFooterRecord, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        version: int = 0,
    ) -> None:
        self.version = version


def _decode_snapshot_footer_record_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SnapshotFooterRecord, int]:
    (version,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SnapshotFooterRecord(version), pos


def _encode_snapshot_footer_record_v0(msg: SnapshotFooterRecord, out: WireBuffer) -> None:
    out += _pack_hB(msg.version, 0)


SnapshotFooterRecord.DECODERS = (_decode_snapshot_footer_record_v0,)

SnapshotFooterRecord.ENCODERS = (_encode_snapshot_footer_record_v0,)
