"""TransactionLogKey: the key of a record of an internal topic, after its int16 record type.

Generated from the TransactionLogKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, read_string, write_string


class TransactionLogKey(Message):
    """TransactionLogKey (record type 0), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "TransactionLogKey"
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[TransactionLogKey, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[TransactionLogKey, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id


def _decode_transaction_log_key_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[TransactionLogKey, int]:
    transactional_id, pos = read_string(buf, pos)
    return TransactionLogKey(transactional_id), pos


def _encode_transaction_log_key_v0(msg: TransactionLogKey, out: WireBuffer) -> None:
    write_string(msg.transactional_id, out)


TransactionLogKey.DECODERS = (_decode_transaction_log_key_v0,)

TransactionLogKey.ENCODERS = (_encode_transaction_log_key_v0,)
