"""ConsumerGroupMemberMetadataKey: the key of a record of an internal topic, after its int16 record type.

Generated from the ConsumerGroupMemberMetadataKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class ConsumerGroupMemberMetadataKey(Message):
    """ConsumerGroupMemberMetadataKey (record type 5), versions 0."""

    __slots__ = (
        "group_id",
        "member_id",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupMemberMetadataKey"
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupMemberMetadataKey, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupMemberMetadataKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


def _decode_consumer_group_member_metadata_key_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupMemberMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ConsumerGroupMemberMetadataKey(group_id, member_id), pos


def _encode_consumer_group_member_metadata_key_v0(msg: ConsumerGroupMemberMetadataKey, out: WireBuffer) -> None:
    write_string(msg.group_id, out)
    write_string(msg.member_id, out)


ConsumerGroupMemberMetadataKey.DECODERS = (_decode_consumer_group_member_metadata_key_v0,)

ConsumerGroupMemberMetadataKey.ENCODERS = (_encode_consumer_group_member_metadata_key_v0,)
