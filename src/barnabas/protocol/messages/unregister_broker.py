"""UnregisterBroker (API key 64): request and response.

Generated from the UnregisterBroker schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    read_compact_nullable_string,
    skip_tagged_fields,
    write_compact_nullable_string,
)

_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from


class UnregisterBrokerRequest(Message):
    """UnregisterBrokerRequest (API key 64), versions 0."""

    __slots__ = ("broker_id",)

    SCHEMA_NAME: ClassVar[str] = "UnregisterBrokerRequest"
    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UnregisterBrokerRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UnregisterBrokerRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
    ) -> None:
        self.broker_id = broker_id


class UnregisterBrokerResponse(Message):
    """UnregisterBrokerResponse (API key 64), versions 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    SCHEMA_NAME: ClassVar[str] = "UnregisterBrokerResponse"
    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UnregisterBrokerResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UnregisterBrokerResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message


def _decode_unregister_broker_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UnregisterBrokerRequest, int]:
    (broker_id,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UnregisterBrokerRequest(broker_id), pos


def _encode_unregister_broker_request_v0(msg: UnregisterBrokerRequest, out: WireBuffer) -> None:
    out += _pack_iB(msg.broker_id, 0)


def _decode_unregister_broker_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UnregisterBrokerResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UnregisterBrokerResponse(throttle_time_ms, error_code, error_message), pos


def _encode_unregister_broker_response_v0(msg: UnregisterBrokerResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


UnregisterBrokerRequest.DECODERS = (_decode_unregister_broker_request_v0,)

UnregisterBrokerRequest.ENCODERS = (_encode_unregister_broker_request_v0,)

UnregisterBrokerResponse.DECODERS = (_decode_unregister_broker_response_v0,)

UnregisterBrokerResponse.ENCODERS = (_encode_unregister_broker_response_v0,)
