"""ExpireDelegationToken (API key 40): request and response.

Generated from the ExpireDelegationToken schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    read_compact_bytes,
    skip_tagged_fields,
    take_bytes,
    write_compact_bytes,
)

_pack_hqi: Final = Struct(">hqi").pack
_pack_hqiB: Final = Struct(">hqiB").pack
_pack_i: Final = Struct(">i").pack
_pack_q: Final = Struct(">q").pack
_pack_qB: Final = Struct(">qB").pack
_unpack_hqi: Final = Struct(">hqi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_q: Final = Struct(">q").unpack_from


class ExpireDelegationTokenRequest(Message):
    """ExpireDelegationTokenRequest (API key 40), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "hmac",
        "expiry_time_period_ms",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ExpireDelegationTokenRequest"
    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ExpireDelegationTokenRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ExpireDelegationTokenRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms


class ExpireDelegationTokenResponse(Message):
    """ExpireDelegationTokenResponse (API key 40), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "expiry_timestamp_ms",
        "throttle_time_ms",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ExpireDelegationTokenResponse"
    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[ExpireDelegationTokenResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[ExpireDelegationTokenResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms


def _decode_expire_delegation_token_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ExpireDelegationTokenRequest, int]:
    (hmac_length,) = _unpack_i(buf, pos)
    hmac, pos = take_bytes(buf, pos + 4, hmac_length)
    (expiry_time_period_ms,) = _unpack_q(buf, pos)
    return ExpireDelegationTokenRequest(hmac, expiry_time_period_ms), pos + 8


def _encode_expire_delegation_token_request_v0(msg: ExpireDelegationTokenRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.hmac))
    out += msg.hmac
    out += _pack_q(msg.expiry_time_period_ms)


def _decode_expire_delegation_token_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ExpireDelegationTokenRequest, int]:
    hmac, pos = read_compact_bytes(buf, pos)
    (expiry_time_period_ms,) = _unpack_q(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ExpireDelegationTokenRequest(hmac, expiry_time_period_ms), pos


def _encode_expire_delegation_token_request_v2(msg: ExpireDelegationTokenRequest, out: WireBuffer) -> None:
    write_compact_bytes(msg.hmac, out)
    out += _pack_qB(msg.expiry_time_period_ms, 0)


def _decode_expire_delegation_token_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ExpireDelegationTokenResponse, int]:
    error_code, expiry_timestamp_ms, throttle_time_ms = _unpack_hqi(buf, pos)
    return ExpireDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms), pos + 14


def _encode_expire_delegation_token_response_v0(msg: ExpireDelegationTokenResponse, out: WireBuffer) -> None:
    out += _pack_hqi(msg.error_code, msg.expiry_timestamp_ms, msg.throttle_time_ms)


def _decode_expire_delegation_token_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ExpireDelegationTokenResponse, int]:
    error_code, expiry_timestamp_ms, throttle_time_ms = _unpack_hqi(buf, pos)
    pos += 15
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ExpireDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms), pos


def _encode_expire_delegation_token_response_v2(msg: ExpireDelegationTokenResponse, out: WireBuffer) -> None:
    out += _pack_hqiB(msg.error_code, msg.expiry_timestamp_ms, msg.throttle_time_ms, 0)


ExpireDelegationTokenRequest.DECODERS = (
    _decode_expire_delegation_token_request_v0,
    _decode_expire_delegation_token_request_v0,
    _decode_expire_delegation_token_request_v2,
)

ExpireDelegationTokenRequest.ENCODERS = (
    _encode_expire_delegation_token_request_v0,
    _encode_expire_delegation_token_request_v0,
    _encode_expire_delegation_token_request_v2,
)

ExpireDelegationTokenResponse.DECODERS = (
    _decode_expire_delegation_token_response_v0,
    _decode_expire_delegation_token_response_v0,
    _decode_expire_delegation_token_response_v2,
)

ExpireDelegationTokenResponse.ENCODERS = (
    _encode_expire_delegation_token_response_v0,
    _encode_expire_delegation_token_response_v0,
    _encode_expire_delegation_token_response_v2,
)
