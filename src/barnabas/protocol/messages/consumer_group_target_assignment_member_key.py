"""ConsumerGroupTargetAssignmentMemberKey: the key of a record of an internal topic, after its int16 record type.

Generated from the ConsumerGroupTargetAssignmentMemberKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class ConsumerGroupTargetAssignmentMemberKey(Message):
    """ConsumerGroupTargetAssignmentMemberKey (record type 7), versions 0."""

    __slots__ = (
        "group_id",
        "member_id",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMemberKey"
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupTargetAssignmentMemberKey, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupTargetAssignmentMemberKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


def _decode_consumer_group_target_assignment_member_key_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupTargetAssignmentMemberKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), pos


def _encode_consumer_group_target_assignment_member_key_v0(
    msg: ConsumerGroupTargetAssignmentMemberKey, out: WireBuffer
) -> None:
    write_string(msg.group_id, out)
    write_string(msg.member_id, out)


ConsumerGroupTargetAssignmentMemberKey.DECODERS = (_decode_consumer_group_target_assignment_member_key_v0,)

ConsumerGroupTargetAssignmentMemberKey.ENCODERS = (_encode_consumer_group_target_assignment_member_key_v0,)
