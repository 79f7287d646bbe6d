"""ConsumerGroupCurrentMemberAssignmentKey: the key of a record of an internal topic, after its int16 record type.

Generated from the ConsumerGroupCurrentMemberAssignmentKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """ConsumerGroupCurrentMemberAssignmentKey (record type 8), versions 0."""

    __slots__ = (
        "group_id",
        "member_id",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupCurrentMemberAssignmentKey"
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupCurrentMemberAssignmentKey, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupCurrentMemberAssignmentKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


def _decode_consumer_group_current_member_assignment_key_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupCurrentMemberAssignmentKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), pos


def _encode_consumer_group_current_member_assignment_key_v0(
    msg: ConsumerGroupCurrentMemberAssignmentKey, out: WireBuffer
) -> None:
    write_string(msg.group_id, out)
    write_string(msg.member_id, out)


ConsumerGroupCurrentMemberAssignmentKey.DECODERS = (_decode_consumer_group_current_member_assignment_key_v0,)

ConsumerGroupCurrentMemberAssignmentKey.ENCODERS = (_encode_consumer_group_current_member_assignment_key_v0,)
