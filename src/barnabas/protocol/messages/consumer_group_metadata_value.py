"""ConsumerGroupMetadataValue: the value of a record of an internal topic, after its int16 version.

Generated from the ConsumerGroupMetadataValue schema by scripts/generate.

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


class ConsumerGroupMetadataValue(Message):
    """ConsumerGroupMetadataValue, versions 0."""

    __slots__ = (
        "epoch",
        "metadata_hash",  # tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupMetadataValue"
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupMetadataValue, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupMetadataValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash


def _decode_consumer_group_metadata_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupMetadataValue, int]:
    (epoch,) = _unpack_i(buf, pos)
    metadata_hash: int = 0
    tagged_count, pos = read_tagged_count(buf, pos + 4, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            (metadata_hash,) = _unpack_q(buf, pos)
            pos += 8
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return ConsumerGroupMetadataValue(epoch, metadata_hash), pos


def _encode_consumer_group_metadata_value_v0(msg: ConsumerGroupMetadataValue, out: WireBuffer) -> None:
    out += _pack_i(msg.epoch)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.metadata_hash != 0:
        metadata_hash_value = WireBuffer()
        metadata_hash_value += _pack_q(msg.metadata_hash)
        tagged.append((0, metadata_hash_value))
    write_tagged_fields(tagged, out)


ConsumerGroupMetadataValue.DECODERS = (_decode_consumer_group_metadata_value_v0,)

ConsumerGroupMetadataValue.ENCODERS = (_encode_consumer_group_metadata_value_v0,)
