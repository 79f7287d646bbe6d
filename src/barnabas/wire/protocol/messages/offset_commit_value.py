"""OffsetCommitValue: the value of a record of an internal topic, after its int16 version.

Generated from the OffsetCommitValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, wrong_length

_pack_q: Final = Struct(">q").pack
_pack_qh: Final = Struct(">qh").pack
_pack_qih: Final = Struct(">qih").pack
_pack_qq: Final = Struct(">qq").pack
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qh: Final = Struct(">qh").unpack_from
_unpack_qih: Final = Struct(">qih").unpack_from
_unpack_qq: Final = Struct(">qq").unpack_from


class OffsetCommitValue(Message):
    """OffsetCommitValue, versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "offset",
        "leader_epoch",  # versions 3+
        "metadata",
        "commit_timestamp",
        "expire_timestamp",  # versions 1
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "OffsetCommitValue"
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetCommitValue, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetCommitValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp


def _decode_offset_commit_value_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitValue, int]:
    offset, metadata_length = _unpack_qh(buf, pos)
    pos += 10
    end = pos + metadata_length
    if metadata_length < 0 or end > len(buf):
        raise wrong_length("string", metadata_length, pos, buf)
    metadata = str(buf[pos:end], "utf-8")
    pos = end
    (commit_timestamp,) = _unpack_q(buf, pos)
    return OffsetCommitValue(offset, -1, metadata, commit_timestamp), pos + 8


def _encode_offset_commit_value_v0(msg: OffsetCommitValue, out: WireBuffer) -> None:
    metadata_bytes = msg.metadata.encode()
    out += _pack_qh(msg.offset, len(metadata_bytes))
    out += metadata_bytes
    out += _pack_q(msg.commit_timestamp)


def _decode_offset_commit_value_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitValue, int]:
    offset, metadata_length = _unpack_qh(buf, pos)
    pos += 10
    end = pos + metadata_length
    if metadata_length < 0 or end > len(buf):
        raise wrong_length("string", metadata_length, pos, buf)
    metadata = str(buf[pos:end], "utf-8")
    pos = end
    commit_timestamp, expire_timestamp = _unpack_qq(buf, pos)
    return OffsetCommitValue(offset, -1, metadata, commit_timestamp, expire_timestamp), pos + 16


def _encode_offset_commit_value_v1(msg: OffsetCommitValue, out: WireBuffer) -> None:
    metadata_bytes = msg.metadata.encode()
    out += _pack_qh(msg.offset, len(metadata_bytes))
    out += metadata_bytes
    out += _pack_qq(msg.commit_timestamp, msg.expire_timestamp)


def _decode_offset_commit_value_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitValue, int]:
    offset, leader_epoch, metadata_length = _unpack_qih(buf, pos)
    pos += 14
    end = pos + metadata_length
    if metadata_length < 0 or end > len(buf):
        raise wrong_length("string", metadata_length, pos, buf)
    metadata = str(buf[pos:end], "utf-8")
    pos = end
    (commit_timestamp,) = _unpack_q(buf, pos)
    return OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp), pos + 8


def _encode_offset_commit_value_v3(msg: OffsetCommitValue, out: WireBuffer) -> None:
    metadata_bytes = msg.metadata.encode()
    out += _pack_qih(msg.offset, msg.leader_epoch, len(metadata_bytes))
    out += metadata_bytes
    out += _pack_q(msg.commit_timestamp)


OffsetCommitValue.DECODERS = (
    _decode_offset_commit_value_v0,
    _decode_offset_commit_value_v1,
    _decode_offset_commit_value_v0,
    _decode_offset_commit_value_v3,
)

OffsetCommitValue.ENCODERS = (
    _encode_offset_commit_value_v0,
    _encode_offset_commit_value_v1,
    _encode_offset_commit_value_v0,
    _encode_offset_commit_value_v3,
)
