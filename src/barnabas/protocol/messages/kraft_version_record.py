"""KRaftVersionRecord: a structure kept in records or files.

Generated from the KRaftVersionRecord schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, skip_tagged_fields

_pack_hhB = Struct(">hhB").pack
_unpack_hh = Struct(">hh").unpack_from


class KRaftVersionRecord(Message):
    """KRaftVersionRecord, versions 0."""

    __slots__ = (
        "version",
        "kraft_version",
    )

    SCHEMA_NAME: ClassVar[str] = "KRaftVersionRecord"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[KRaftVersionRecord, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[KRaftVersionRecord, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        version: int = 0,
        kraft_version: int = 0,
    ) -> None:
        self.version = version
        self.kraft_version = kraft_version


def _decode_kraft_version_record_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[KRaftVersionRecord, int]:
    version, kraft_version = _unpack_hh(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return KRaftVersionRecord(version, kraft_version), pos


def _encode_kraft_version_record_v0(msg: KRaftVersionRecord, out: WireBuffer) -> None:
    out += _pack_hhB(msg.version, msg.kraft_version, 0)


KRaftVersionRecord.DECODERS = (_decode_kraft_version_record_v0,)

KRaftVersionRecord.ENCODERS = (_encode_kraft_version_record_v0,)
