"""ControlRecordTypeSchema: a structure kept in records or files.

Generated from the ControlRecordTypeSchema schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import Budget, Message, WireBuffer

_pack_h = Struct(">h").pack
_unpack_h = Struct(">h").unpack_from


class ControlRecordTypeSchema(Message):
    """ControlRecordTypeSchema, versions 0."""

    __slots__ = ("type",)

    SCHEMA_NAME: ClassVar[str] = "ControlRecordTypeSchema"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ControlRecordTypeSchema, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ControlRecordTypeSchema, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        type: int = 0,
    ) -> None:
        self.type = type


def _decode_control_record_type_schema_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControlRecordTypeSchema, int]:
    (type,) = _unpack_h(buf, pos)
    return ControlRecordTypeSchema(type), pos + 2


def _encode_control_record_type_schema_v0(msg: ControlRecordTypeSchema, out: WireBuffer) -> None:
    out += _pack_h(msg.type)


ControlRecordTypeSchema.DECODERS = (_decode_control_record_type_schema_v0,)

ControlRecordTypeSchema.ENCODERS = (_encode_control_record_type_schema_v0,)
