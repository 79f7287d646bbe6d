"""DefaultPrincipalData: a structure kept in records or files.

Generated from the DefaultPrincipalData schema by scripts/generate.

Source: implementation page and KIPs of the structure.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    WireBuffer,
    read_compact_string,
    skip_tagged_fields,
    write_compact_string,
)

_pack_tB = Struct(">?B").pack
_unpack_t = Struct(">?").unpack_from


class DefaultPrincipalData(Message):
    """DefaultPrincipalData, versions 0."""

    __slots__ = (
        "type",
        "name",
        "token_authenticated",
    )

    SCHEMA_NAME: ClassVar[str] = "DefaultPrincipalData"
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DefaultPrincipalData, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DefaultPrincipalData, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated


def _decode_default_principal_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DefaultPrincipalData, int]:
    type, pos = read_compact_string(buf, pos)
    name, pos = read_compact_string(buf, pos)
    (token_authenticated,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DefaultPrincipalData(type, name, token_authenticated), pos


def _encode_default_principal_data_v0(msg: DefaultPrincipalData, out: WireBuffer) -> None:
    write_compact_string(msg.type, out)
    write_compact_string(msg.name, out)
    out += _pack_tB(msg.token_authenticated, 0)


DefaultPrincipalData.DECODERS = (_decode_default_principal_data_v0,)

DefaultPrincipalData.ENCODERS = (_encode_default_principal_data_v0,)
