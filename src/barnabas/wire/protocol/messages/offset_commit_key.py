"""OffsetCommitKey: the key of a record of an internal topic, after its int16 record type.

Generated from the OffsetCommitKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, wrong_length

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


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
    (group_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_length
    if group_length < 0 or end > len(buf):
        raise wrong_length("string", group_length, pos, buf)
    group = str(buf[pos:end], "utf-8")
    pos = end
    (topic_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_length
    if topic_length < 0 or end > len(buf):
        raise wrong_length("string", topic_length, pos, buf)
    topic = str(buf[pos:end], "utf-8")
    pos = end
    (partition,) = _unpack_i(buf, pos)
    return OffsetCommitKey(group, topic, partition), pos + 4


def _encode_offset_commit_key_v0(msg: OffsetCommitKey, out: WireBuffer) -> None:
    group_bytes = msg.group.encode()
    out += _pack_h(len(group_bytes))
    out += group_bytes
    topic_bytes = msg.topic.encode()
    out += _pack_h(len(topic_bytes))
    out += topic_bytes
    out += _pack_i(msg.partition)


OffsetCommitKey.DECODERS = (_decode_offset_commit_key_v0,)

OffsetCommitKey.ENCODERS = (_encode_offset_commit_key_v0,)
