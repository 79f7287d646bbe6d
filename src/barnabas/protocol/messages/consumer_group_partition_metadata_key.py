"""ConsumerGroupPartitionMetadataKey: the key of a record of an internal topic, after its int16 record type.

Generated from the ConsumerGroupPartitionMetadataKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class ConsumerGroupPartitionMetadataKey(Message):
    """ConsumerGroupPartitionMetadataKey (record type 4), versions 0."""

    __slots__ = ("group_id",)

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupPartitionMetadataKey"
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupPartitionMetadataKey, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupPartitionMetadataKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


def _decode_consumer_group_partition_metadata_key_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupPartitionMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ConsumerGroupPartitionMetadataKey(group_id), pos


def _encode_consumer_group_partition_metadata_key_v0(msg: ConsumerGroupPartitionMetadataKey, out: WireBuffer) -> None:
    write_string(msg.group_id, out)


ConsumerGroupPartitionMetadataKey.DECODERS = (_decode_consumer_group_partition_metadata_key_v0,)

ConsumerGroupPartitionMetadataKey.ENCODERS = (_encode_consumer_group_partition_metadata_key_v0,)
