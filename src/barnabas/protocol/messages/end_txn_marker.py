"""EndTxnMarker: a structure kept in records or files.

Generated from the EndTxnMarker schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer

_pack_i = Struct(">i").pack
_unpack_i = Struct(">i").unpack_from


class EndTxnMarker(Message):
    """EndTxnMarker, versions 0."""

    __slots__ = ("coordinator_epoch",)

    SCHEMA_NAME: ClassVar[str] = "EndTxnMarker"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[EndTxnMarker, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[EndTxnMarker, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        coordinator_epoch: int = 0,
    ) -> None:
        self.coordinator_epoch = coordinator_epoch


def _decode_end_txn_marker_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EndTxnMarker, int]:
    (coordinator_epoch,) = _unpack_i(buf, pos)
    return EndTxnMarker(coordinator_epoch), pos + 4


def _encode_end_txn_marker_v0(msg: EndTxnMarker, out: WireBuffer) -> None:
    out += _pack_i(msg.coordinator_epoch)


EndTxnMarker.DECODERS = (_decode_end_txn_marker_v0,)

EndTxnMarker.ENCODERS = (_encode_end_txn_marker_v0,)
