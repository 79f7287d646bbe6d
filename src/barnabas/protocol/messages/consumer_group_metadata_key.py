"""ConsumerGroupMetadataKey: the key of a record of an internal topic, after its int16 record type.

Generated from the ConsumerGroupMetadataKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class ConsumerGroupMetadataKey(Message):
    """ConsumerGroupMetadataKey (record type 3), versions 0."""

    __slots__ = ("group_id",)

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupMetadataKey"
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupMetadataKey, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupMetadataKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


def _decode_consumer_group_metadata_key_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ConsumerGroupMetadataKey(group_id), pos


def _encode_consumer_group_metadata_key_v0(msg: ConsumerGroupMetadataKey, out: WireBuffer) -> None:
    write_string(msg.group_id, out)


ConsumerGroupMetadataKey.DECODERS = (_decode_consumer_group_metadata_key_v0,)

ConsumerGroupMetadataKey.ENCODERS = (_encode_consumer_group_metadata_key_v0,)
