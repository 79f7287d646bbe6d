"""OffsetCommitKey: the key of a record of an internal topic, after its int16 record type.

Generated from the OffsetCommitKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, read_string, write_string

_pack_i = Struct(">i").pack
_unpack_i = Struct(">i").unpack_from


class OffsetCommitKey(Message):
    """OffsetCommitKey (record type 1), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group",
        "topic",
        "partition",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "OffsetCommitKey"
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetCommitKey, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetCommitKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


def _decode_offset_commit_key_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitKey, int]:
    group, pos = read_string(buf, pos)
    topic, pos = read_string(buf, pos)
    (partition,) = _unpack_i(buf, pos)
    return OffsetCommitKey(group, topic, partition), pos + 4


def _encode_offset_commit_key_v0(msg: OffsetCommitKey, out: WireBuffer) -> None:
    write_string(msg.group, out)
    write_string(msg.topic, out)
    out += _pack_i(msg.partition)


OffsetCommitKey.DECODERS = (_decode_offset_commit_key_v0,)

OffsetCommitKey.ENCODERS = (_encode_offset_commit_key_v0,)
