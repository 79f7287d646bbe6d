"""LegacyOffsetCommitValue: the value of a record of an internal topic, after its int16 version.

Generated from the LegacyOffsetCommitValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, take_string

_pack_q = Struct(">q").pack
_pack_qh = Struct(">qh").pack
_unpack_q = Struct(">q").unpack_from
_unpack_qh = Struct(">qh").unpack_from


class LegacyOffsetCommitValue(Message):
    """LegacyOffsetCommitValue, versions 0."""

    __slots__ = (
        "offset",
        "metadata",
        "commit_timestamp",
    )

    SCHEMA_NAME: ClassVar[str] = "LegacyOffsetCommitValue"
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[LegacyOffsetCommitValue, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[LegacyOffsetCommitValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp


def _decode_legacy_offset_commit_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LegacyOffsetCommitValue, int]:
    offset, metadata_length = _unpack_qh(buf, pos)
    metadata, pos = take_string(buf, pos + 10, metadata_length)
    (commit_timestamp,) = _unpack_q(buf, pos)
    return LegacyOffsetCommitValue(offset, metadata, commit_timestamp), pos + 8


def _encode_legacy_offset_commit_value_v0(msg: LegacyOffsetCommitValue, out: WireBuffer) -> None:
    metadata_bytes = msg.metadata.encode()
    out += _pack_qh(msg.offset, len(metadata_bytes))
    out += metadata_bytes
    out += _pack_q(msg.commit_timestamp)


LegacyOffsetCommitValue.DECODERS = (_decode_legacy_offset_commit_value_v0,)

LegacyOffsetCommitValue.ENCODERS = (_encode_legacy_offset_commit_value_v0,)
