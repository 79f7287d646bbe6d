"""GroupMetadataKey: the key of a record of an internal topic, after its int16 record type.

Generated from the GroupMetadataKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, wrong_length

_pack_h: Final = Struct(">h").pack
_unpack_h: Final = Struct(">h").unpack_from


class GroupMetadataKey(Message):
    """GroupMetadataKey (record type 2), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = ("group",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "GroupMetadataKey"
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[GroupMetadataKey, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[GroupMetadataKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group: str = "",
    ) -> None:
        self.group = group


def _decode_group_metadata_key_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[GroupMetadataKey, int]:
    (group_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_length
    if group_length < 0 or end > len(buf):
        raise wrong_length("string", group_length, pos, buf)
    group = str(buf[pos:end], "utf-8")
    pos = end
    return GroupMetadataKey(group), pos


def _encode_group_metadata_key_v0(msg: GroupMetadataKey, out: WireBuffer) -> None:
    group_bytes = msg.group.encode()
    out += _pack_h(len(group_bytes))
    out += group_bytes


GroupMetadataKey.DECODERS = (_decode_group_metadata_key_v0,)

GroupMetadataKey.ENCODERS = (_encode_group_metadata_key_v0,)
