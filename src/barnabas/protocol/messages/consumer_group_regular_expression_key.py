"""ConsumerGroupRegularExpressionKey: the key of a record of an internal topic, after its int16 record type.

Generated from the ConsumerGroupRegularExpressionKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class ConsumerGroupRegularExpressionKey(Message):
    """ConsumerGroupRegularExpressionKey (record type 16), versions 0."""

    __slots__ = (
        "group_id",
        "regular_expression",
    )

    SCHEMA_NAME: ClassVar[str] = "ConsumerGroupRegularExpressionKey"
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ConsumerGroupRegularExpressionKey, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ConsumerGroupRegularExpressionKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        regular_expression: str = "",
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression


def _decode_consumer_group_regular_expression_key_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ConsumerGroupRegularExpressionKey, int]:
    group_id, pos = read_string(buf, pos)
    regular_expression, pos = read_string(buf, pos)
    return ConsumerGroupRegularExpressionKey(group_id, regular_expression), pos


def _encode_consumer_group_regular_expression_key_v0(msg: ConsumerGroupRegularExpressionKey, out: WireBuffer) -> None:
    write_string(msg.group_id, out)
    write_string(msg.regular_expression, out)


ConsumerGroupRegularExpressionKey.DECODERS = (_decode_consumer_group_regular_expression_key_v0,)

ConsumerGroupRegularExpressionKey.ENCODERS = (_encode_consumer_group_regular_expression_key_v0,)
