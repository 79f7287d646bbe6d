"""ConsumerGroupTargetAssignmentMetadataKey: the key of a record of an internal topic, after its int16 record type.

Generated from the ConsumerGroupTargetAssignmentMetadataKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """ConsumerGroupTargetAssignmentMetadataKey (record type 6), versions 0."""

    __slots__ = ("group_id",)

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMetadataKey"
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupTargetAssignmentMetadataKey, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupTargetAssignmentMetadataKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


def _decode_consumer_group_target_assignment_metadata_key_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupTargetAssignmentMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ConsumerGroupTargetAssignmentMetadataKey(group_id), pos


def _encode_consumer_group_target_assignment_metadata_key_v0(
    msg: ConsumerGroupTargetAssignmentMetadataKey, out: WireBuffer
) -> None:
    write_string(msg.group_id, out)


ConsumerGroupTargetAssignmentMetadataKey.DECODERS = (_decode_consumer_group_target_assignment_metadata_key_v0,)

ConsumerGroupTargetAssignmentMetadataKey.ENCODERS = (_encode_consumer_group_target_assignment_metadata_key_v0,)
