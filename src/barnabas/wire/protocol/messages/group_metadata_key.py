"""GroupMetadataKey: the key of a record of an internal topic, after its int16 record type.

Generated from the GroupMetadataKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


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
    group, pos = read_string(buf, pos)
    return GroupMetadataKey(group), pos


def _encode_group_metadata_key_v0(msg: GroupMetadataKey, out: WireBuffer) -> None:
    write_string(msg.group, out)


GroupMetadataKey.DECODERS = (_decode_group_metadata_key_v0,)

GroupMetadataKey.ENCODERS = (_encode_group_metadata_key_v0,)
