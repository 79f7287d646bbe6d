"""CreateDelegationToken (API key 38): request and response.

Generated from the CreateDelegationToken schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_compact_bytes,
    read_compact_count,
    read_compact_string,
    skip_tagged_fields,
    take_bytes,
    write_compact_bytes,
    write_compact_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hh: Final = Struct(">hh").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_q: Final = Struct(">q").pack
_pack_qB: Final = Struct(">qB").pack
_pack_qqq: Final = Struct(">qqq").pack
_pack_qqqh: Final = Struct(">qqqh").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_q: Final = Struct(">q").unpack_from
_unpack_qqq: Final = Struct(">qqq").unpack_from
_unpack_qqqh: Final = Struct(">qqqh").unpack_from


class CreatableRenewers(Part):
    """Part of CreateDelegationTokenRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal_type",
        "principal_name",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


class CreateDelegationTokenRequest(Message):
    """CreateDelegationTokenRequest (API key 38), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "renewers",
        "max_lifetime_ms",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("renewers", CreatableRenewers, True),)

    SCHEMA_NAME: ClassVar[str] = "CreateDelegationTokenRequest"
    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[CreateDelegationTokenRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[CreateDelegationTokenRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        renewers: list[CreatableRenewers] | None = None,
        max_lifetime_ms: int = 0,
    ) -> None:
        self.renewers: list[CreatableRenewers] = [] if renewers is None else renewers
        self.max_lifetime_ms = max_lifetime_ms


class CreateDelegationTokenResponse(Message):
    """CreateDelegationTokenResponse (API key 38), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "principal_type",
        "principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "CreateDelegationTokenResponse"
    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[CreateDelegationTokenResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[CreateDelegationTokenResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms


def _decode_create_delegation_token_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreateDelegationTokenRequest, int]:
    (renewers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - renewers_count
    if renewers_count < 0 or elements_left < 0 or renewers_count * 4 > len(buf) - pos:
        check_count(renewers_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    renewers: list[CreatableRenewers] = []
    for _ in range(renewers_count):
        (renewers_principal_type_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + renewers_principal_type_length
        if renewers_principal_type_length < 0 or end > len(buf):
            raise wrong_length("string", renewers_principal_type_length, pos, buf)
        renewers_principal_type = str(buf[pos:end], "utf-8")
        pos = end
        (renewers_principal_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + renewers_principal_name_length
        if renewers_principal_name_length < 0 or end > len(buf):
            raise wrong_length("string", renewers_principal_name_length, pos, buf)
        renewers_principal_name = str(buf[pos:end], "utf-8")
        pos = end
        renewers.append(CreatableRenewers(renewers_principal_type, renewers_principal_name))
    (max_lifetime_ms,) = _unpack_q(buf, pos)
    return CreateDelegationTokenRequest(renewers, max_lifetime_ms), pos + 8


def _encode_create_delegation_token_request_v0(msg: CreateDelegationTokenRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.renewers))
    for renewers_item in msg.renewers:
        principal_type_bytes = renewers_item.principal_type.encode()
        out += _pack_h(len(principal_type_bytes))
        out += principal_type_bytes
        principal_name_bytes = renewers_item.principal_name.encode()
        out += _pack_h(len(principal_name_bytes))
        out += principal_name_bytes
    out += _pack_q(msg.max_lifetime_ms)


def _decode_creatable_renewers_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatableRenewers, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatableRenewers(principal_type, principal_name), pos


def _encode_creatable_renewers_v2(msg: CreatableRenewers, out: WireBuffer) -> None:
    write_compact_string(msg.principal_type, out)
    write_compact_string(msg.principal_name, out)
    out.append(0)


def _decode_create_delegation_token_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreateDelegationTokenRequest, int]:
    renewers_count, pos = read_compact_count(buf, pos, 3, budget)
    renewers: list[CreatableRenewers] = []
    for _ in range(renewers_count):
        renewers_item, pos = _decode_creatable_renewers_v2(buf, pos, budget)
        renewers.append(renewers_item)
    (max_lifetime_ms,) = _unpack_q(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreateDelegationTokenRequest(renewers, max_lifetime_ms), pos


def _encode_create_delegation_token_request_v2(msg: CreateDelegationTokenRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.renewers) + 1, out)
    for renewers_item in msg.renewers:
        _encode_creatable_renewers_v2(renewers_item, out)
    out += _pack_qB(msg.max_lifetime_ms, 0)


def _decode_create_delegation_token_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreateDelegationTokenResponse, int]:
    error_code, principal_type_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + principal_type_length
    if principal_type_length < 0 or end > len(buf):
        raise wrong_length("string", principal_type_length, pos, buf)
    principal_type = str(buf[pos:end], "utf-8")
    pos = end
    (principal_name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + principal_name_length
    if principal_name_length < 0 or end > len(buf):
        raise wrong_length("string", principal_name_length, pos, buf)
    principal_name = str(buf[pos:end], "utf-8")
    pos = end
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id_length = _unpack_qqqh(buf, pos)
    pos += 26
    end = pos + token_id_length
    if token_id_length < 0 or end > len(buf):
        raise wrong_length("string", token_id_length, pos, buf)
    token_id = str(buf[pos:end], "utf-8")
    pos = end
    (hmac_length,) = _unpack_i(buf, pos)
    hmac, pos = take_bytes(buf, pos + 4, hmac_length)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    return CreateDelegationTokenResponse(
        error_code,
        principal_type,
        principal_name,
        issue_timestamp_ms,
        expiry_timestamp_ms,
        max_timestamp_ms,
        token_id,
        hmac,
        throttle_time_ms,
    ), pos + 4


def _encode_create_delegation_token_response_v0(msg: CreateDelegationTokenResponse, out: WireBuffer) -> None:
    principal_type_bytes = msg.principal_type.encode()
    out += _pack_hh(msg.error_code, len(principal_type_bytes))
    out += principal_type_bytes
    principal_name_bytes = msg.principal_name.encode()
    out += _pack_h(len(principal_name_bytes))
    out += principal_name_bytes
    token_id_bytes = msg.token_id.encode()
    out += _pack_qqqh(msg.issue_timestamp_ms, msg.expiry_timestamp_ms, msg.max_timestamp_ms, len(token_id_bytes))
    out += token_id_bytes
    out += _pack_i(len(msg.hmac))
    out += msg.hmac
    out += _pack_i(msg.throttle_time_ms)


def _decode_create_delegation_token_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreateDelegationTokenResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    principal_type, pos = read_compact_string(buf, pos + 2)
    principal_name, pos = read_compact_string(buf, pos)
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms = _unpack_qqq(buf, pos)
    token_id, pos = read_compact_string(buf, pos + 24)
    hmac, pos = read_compact_bytes(buf, pos)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreateDelegationTokenResponse(
        error_code,
        principal_type,
        principal_name,
        issue_timestamp_ms,
        expiry_timestamp_ms,
        max_timestamp_ms,
        token_id,
        hmac,
        throttle_time_ms,
    ), pos


def _encode_create_delegation_token_response_v2(msg: CreateDelegationTokenResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_string(msg.principal_type, out)
    write_compact_string(msg.principal_name, out)
    out += _pack_qqq(msg.issue_timestamp_ms, msg.expiry_timestamp_ms, msg.max_timestamp_ms)
    write_compact_string(msg.token_id, out)
    write_compact_bytes(msg.hmac, out)
    out += _pack_iB(msg.throttle_time_ms, 0)


CreateDelegationTokenRequest.DECODERS = (
    _decode_create_delegation_token_request_v0,
    _decode_create_delegation_token_request_v0,
    _decode_create_delegation_token_request_v2,
)

CreateDelegationTokenRequest.ENCODERS = (
    _encode_create_delegation_token_request_v0,
    _encode_create_delegation_token_request_v0,
    _encode_create_delegation_token_request_v2,
)

CreateDelegationTokenResponse.DECODERS = (
    _decode_create_delegation_token_response_v0,
    _decode_create_delegation_token_response_v0,
    _decode_create_delegation_token_response_v2,
)

CreateDelegationTokenResponse.ENCODERS = (
    _encode_create_delegation_token_response_v0,
    _encode_create_delegation_token_response_v0,
    _encode_create_delegation_token_response_v2,
)
