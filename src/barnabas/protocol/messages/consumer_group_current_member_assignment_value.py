"""ConsumerGroupCurrentMemberAssignmentValue: the value of a record of an internal topic, after its int16 version.

Generated from the ConsumerGroupCurrentMemberAssignmentValue schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    WireBuffer,
    ZERO_UUID,
    check_tag_end,
    read_compact_count,
    read_compact_nullable_count,
    read_int32s,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_int32s,
    write_tagged_fields,
    write_uvarint,
)

_pack_iib = Struct(">iib").pack
_pack_u = Struct(">16s").pack
_unpack_iib = Struct(">iib").unpack_from
_unpack_u = Struct(">16s").unpack_from


class TopicPartitions(Part):
    """Part of ConsumerGroupCurrentMemberAssignmentValue."""

    __slots__ = (
        "topic_id",
        "partitions",
        "assignment_epochs",  # tag 0
    )

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] | None = None,
        assignment_epochs: list[int] | None | Missing = MISSING,
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is None else partitions
        self.assignment_epochs: list[int] | None = [] if isinstance(assignment_epochs, Missing) else assignment_epochs


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """ConsumerGroupCurrentMemberAssignmentValue, versions 0."""

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupCurrentMemberAssignmentValue"
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupCurrentMemberAssignmentValue, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupCurrentMemberAssignmentValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] | None = None,
        partitions_pending_revocation: list[TopicPartitions] | None = None,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions: list[TopicPartitions] = [] if assigned_partitions is None else assigned_partitions
        self.partitions_pending_revocation: list[TopicPartitions] = (
            [] if partitions_pending_revocation is None else partitions_pending_revocation
        )


def _decode_topic_partitions_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 4, budget)
    partitions = read_int32s(buf, pos, partitions_count)
    pos += 4 * partitions_count
    assignment_epochs: list[int] | None = []
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            assignment_epochs_count, pos = read_compact_nullable_count(buf, pos, 4, budget)
            assignment_epochs = None
            if assignment_epochs_count >= 0:
                assignment_epochs = read_int32s(buf, pos, assignment_epochs_count)
                pos += 4 * assignment_epochs_count
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return TopicPartitions(topic_id, partitions, assignment_epochs), pos


def _encode_topic_partitions_v0(msg: TopicPartitions, out: WireBuffer) -> None:
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    write_int32s(msg.partitions, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.assignment_epochs is None or msg.assignment_epochs:
        assignment_epochs_value = WireBuffer()
        write_uvarint(0 if msg.assignment_epochs is None else len(msg.assignment_epochs) + 1, assignment_epochs_value)
        if msg.assignment_epochs:
            write_int32s(msg.assignment_epochs, assignment_epochs_value)
        tagged.append((0, assignment_epochs_value))
    write_tagged_fields(tagged, out)


def _decode_consumer_group_current_member_assignment_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, int]:
    member_epoch, previous_member_epoch, state = _unpack_iib(buf, pos)
    assigned_partitions_count, pos = read_compact_count(buf, pos + 9, 18, budget)
    assigned_partitions: list[TopicPartitions] = []
    for _ in range(assigned_partitions_count):
        assigned_partitions_item, pos = _decode_topic_partitions_v0(buf, pos, budget)
        assigned_partitions.append(assigned_partitions_item)
    partitions_pending_revocation_count, pos = read_compact_count(buf, pos, 18, budget)
    partitions_pending_revocation: list[TopicPartitions] = []
    for _ in range(partitions_pending_revocation_count):
        partitions_pending_revocation_item, pos = _decode_topic_partitions_v0(buf, pos, budget)
        partitions_pending_revocation.append(partitions_pending_revocation_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation
    ), pos


def _encode_consumer_group_current_member_assignment_value_v0(
    msg: ConsumerGroupCurrentMemberAssignmentValue, out: WireBuffer
) -> None:
    out += _pack_iib(msg.member_epoch, msg.previous_member_epoch, msg.state)
    write_uvarint(len(msg.assigned_partitions) + 1, out)
    for assigned_partitions_item in msg.assigned_partitions:
        _encode_topic_partitions_v0(assigned_partitions_item, out)
    write_uvarint(len(msg.partitions_pending_revocation) + 1, out)
    for partitions_pending_revocation_item in msg.partitions_pending_revocation:
        _encode_topic_partitions_v0(partitions_pending_revocation_item, out)
    out.append(0)


ConsumerGroupCurrentMemberAssignmentValue.DECODERS = (_decode_consumer_group_current_member_assignment_value_v0,)

ConsumerGroupCurrentMemberAssignmentValue.ENCODERS = (_encode_consumer_group_current_member_assignment_value_v0,)
