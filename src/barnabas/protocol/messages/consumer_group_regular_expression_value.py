"""ConsumerGroupRegularExpressionValue: the value of a record of an internal topic, after its int16 version.

Generated from the ConsumerGroupRegularExpressionValue schema by scripts/generate.

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
    read_compact_count,
    read_compact_string,
    skip_tagged_fields,
    write_compact_string,
    write_uvarint,
)

_pack_qqB = Struct(">qqB").pack
_unpack_qq = Struct(">qq").unpack_from


class ConsumerGroupRegularExpressionValue(Message):
    """ConsumerGroupRegularExpressionValue, versions 0."""

    __slots__ = (
        "topics",
        "version",
        "timestamp",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupRegularExpressionValue"
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupRegularExpressionValue, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupRegularExpressionValue, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[str] | None = None,
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics: list[str] = [] if topics is None else topics
        self.version = version
        self.timestamp = timestamp


def _decode_consumer_group_regular_expression_value_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupRegularExpressionValue, int]:
    topics_count, pos = read_compact_count(buf, pos, 1, budget)
    topics: list[str] = []
    for _ in range(topics_count):
        topics_item, pos = read_compact_string(buf, pos)
        topics.append(topics_item)
    version, timestamp = _unpack_qq(buf, pos)
    pos += 17
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConsumerGroupRegularExpressionValue(topics, version, timestamp), pos


def _encode_consumer_group_regular_expression_value_v0(
    msg: ConsumerGroupRegularExpressionValue, out: WireBuffer
) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        write_compact_string(topics_item, out)
    out += _pack_qqB(msg.version, msg.timestamp, 0)


ConsumerGroupRegularExpressionValue.DECODERS = (_decode_consumer_group_regular_expression_value_v0,)

ConsumerGroupRegularExpressionValue.ENCODERS = (_encode_consumer_group_regular_expression_value_v0,)
