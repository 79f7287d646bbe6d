"""TransactionLogKey: the key of a record of an internal topic, after its int16 record type.

Generated from the TransactionLogKey schema by scripts/generate.

Source: implementation page, consumer offset tracking; KIP-98 for transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import Budget, Message, WireBuffer, wrong_length

_pack_h: Final = Struct(">h").pack
_unpack_h: Final = Struct(">h").unpack_from


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
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + transactional_id_length
    if transactional_id_length < 0 or end > len(buf):
        raise wrong_length("string", transactional_id_length, pos, buf)
    transactional_id = str(buf[pos:end], "utf-8")
    pos = end
    return TransactionLogKey(transactional_id), pos


def _encode_transaction_log_key_v0(msg: TransactionLogKey, out: WireBuffer) -> None:
    transactional_id_bytes = msg.transactional_id.encode()
    out += _pack_h(len(transactional_id_bytes))
    out += transactional_id_bytes


TransactionLogKey.DECODERS = (_decode_transaction_log_key_v0,)

TransactionLogKey.ENCODERS = (_encode_transaction_log_key_v0,)
