"""ConsumerGroupTargetAssignmentMetadataValue: the value of a record of an internal topic, after its int16 version.

Generated from the ConsumerGroupTargetAssignmentMetadataValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    WireBuffer,
    check_tag_end,
    read_tag,
    read_tagged_count,
    write_tagged_fields,
)

_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack
_unpack_i = Struct(">i").unpack_from
_unpack_q = Struct(">q").unpack_from


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """ConsumerGroupTargetAssignmentMetadataValue, versions 0."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",  # tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMetadataValue"
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupTargetAssignmentMetadataValue, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupTargetAssignmentMetadataValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp


def _decode_consumer_group_target_assignment_metadata_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupTargetAssignmentMetadataValue, int]:
    (assignment_epoch,) = _unpack_i(buf, pos)
    assignment_timestamp: int = 0
    tagged_count, pos = read_tagged_count(buf, pos + 4, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            (assignment_timestamp,) = _unpack_q(buf, pos)
            pos += 8
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch, assignment_timestamp), pos


def _encode_consumer_group_target_assignment_metadata_value_v0(
    msg: ConsumerGroupTargetAssignmentMetadataValue, out: WireBuffer
) -> None:
    out += _pack_i(msg.assignment_epoch)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.assignment_timestamp != 0:
        assignment_timestamp_value = WireBuffer()
        assignment_timestamp_value += _pack_q(msg.assignment_timestamp)
        tagged.append((0, assignment_timestamp_value))
    write_tagged_fields(tagged, out)


ConsumerGroupTargetAssignmentMetadataValue.DECODERS = (_decode_consumer_group_target_assignment_metadata_value_v0,)

ConsumerGroupTargetAssignmentMetadataValue.ENCODERS = (_encode_consumer_group_target_assignment_metadata_value_v0,)
