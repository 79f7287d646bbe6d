"""DescribeDelegationToken (API key 41): request and response.

Generated from the DescribeDelegationToken schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_string,
    skip_tagged_fields,
    take_bytes,
    write_compact_bytes,
    write_compact_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_qqq: Final = Struct(">qqq").pack
_pack_qqqh: Final = Struct(">qqqh").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_qqq: Final = Struct(">qqq").unpack_from
_unpack_qqqh: Final = Struct(">qqqh").unpack_from


class DescribeDelegationTokenOwner(Part):
    """Part of DescribeDelegationTokenRequest."""

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


class DescribeDelegationTokenRequest(Message):
    """DescribeDelegationTokenRequest (API key 41), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = ("owners",)
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("owners", DescribeDelegationTokenOwner, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeDelegationTokenRequest"
    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeDelegationTokenRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeDelegationTokenRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        owners: list[DescribeDelegationTokenOwner] | None | Missing = MISSING,
    ) -> None:
        self.owners: list[DescribeDelegationTokenOwner] | None = [] if isinstance(owners, Missing) else owners


class DescribedDelegationTokenRenewer(Part):
    """Part of DescribeDelegationTokenResponse."""

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


class DescribedDelegationToken(Part):
    """Part of DescribeDelegationTokenResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal_type",
        "principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("renewers", DescribedDelegationTokenRenewer, True),)

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] | None = None,
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers: list[DescribedDelegationTokenRenewer] = [] if renewers is None else renewers


class DescribeDelegationTokenResponse(Message):
    """DescribeDelegationTokenResponse (API key 41), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "tokens",
        "throttle_time_ms",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("tokens", DescribedDelegationToken, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeDelegationTokenResponse"
    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeDelegationTokenResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeDelegationTokenResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        tokens: list[DescribedDelegationToken] | None = None,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.tokens: list[DescribedDelegationToken] = [] if tokens is None else tokens
        self.throttle_time_ms = throttle_time_ms


def _decode_describe_delegation_token_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeDelegationTokenRequest, int]:
    (owners_count,) = _unpack_i(buf, pos)
    pos += 4
    owners: list[DescribeDelegationTokenOwner] | None = None
    if owners_count >= 0:
        elements_left = budget.elements_left - owners_count
        if owners_count < 0 or elements_left < 0 or owners_count * 4 > len(buf) - pos:
            check_count(owners_count, len(buf) - pos, 4, budget)
        budget.elements_left = elements_left
        owners = []
        for _ in range(owners_count):
            (owners_principal_type_length,) = _unpack_h(buf, pos)
            pos += 2
            end = pos + owners_principal_type_length
            if owners_principal_type_length < 0 or end > len(buf):
                raise wrong_length("string", owners_principal_type_length, pos, buf)
            owners_principal_type = str(buf[pos:end], "utf-8")
            pos = end
            (owners_principal_name_length,) = _unpack_h(buf, pos)
            pos += 2
            end = pos + owners_principal_name_length
            if owners_principal_name_length < 0 or end > len(buf):
                raise wrong_length("string", owners_principal_name_length, pos, buf)
            owners_principal_name = str(buf[pos:end], "utf-8")
            pos = end
            owners.append(DescribeDelegationTokenOwner(owners_principal_type, owners_principal_name))
    return DescribeDelegationTokenRequest(owners), pos


def _encode_describe_delegation_token_request_v0(msg: DescribeDelegationTokenRequest, out: WireBuffer) -> None:
    out += _pack_i(-1 if msg.owners is None else len(msg.owners))
    if msg.owners:
        for owners_item in msg.owners:
            principal_type_bytes = owners_item.principal_type.encode()
            out += _pack_h(len(principal_type_bytes))
            out += principal_type_bytes
            principal_name_bytes = owners_item.principal_name.encode()
            out += _pack_h(len(principal_name_bytes))
            out += principal_name_bytes


def _decode_describe_delegation_token_owner_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeDelegationTokenOwner, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeDelegationTokenOwner(principal_type, principal_name), pos


def _encode_describe_delegation_token_owner_v2(msg: DescribeDelegationTokenOwner, out: WireBuffer) -> None:
    write_compact_string(msg.principal_type, out)
    write_compact_string(msg.principal_name, out)
    out.append(0)


def _decode_describe_delegation_token_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeDelegationTokenRequest, int]:
    owners_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    owners: list[DescribeDelegationTokenOwner] | None = None
    if owners_count >= 0:
        owners = []
        for _ in range(owners_count):
            owners_item, pos = _decode_describe_delegation_token_owner_v2(buf, pos, budget)
            owners.append(owners_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeDelegationTokenRequest(owners), pos


def _encode_describe_delegation_token_request_v2(msg: DescribeDelegationTokenRequest, out: WireBuffer) -> None:
    write_uvarint(0 if msg.owners is None else len(msg.owners) + 1, out)
    if msg.owners:
        for owners_item in msg.owners:
            _encode_describe_delegation_token_owner_v2(owners_item, out)
    out.append(0)


def _decode_described_delegation_token_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribedDelegationToken, int]:
    (principal_type_length,) = _unpack_h(buf, pos)
    pos += 2
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
    issue_timestamp, expiry_timestamp, max_timestamp, token_id_length = _unpack_qqqh(buf, pos)
    pos += 26
    end = pos + token_id_length
    if token_id_length < 0 or end > len(buf):
        raise wrong_length("string", token_id_length, pos, buf)
    token_id = str(buf[pos:end], "utf-8")
    pos = end
    (hmac_length,) = _unpack_i(buf, pos)
    hmac, pos = take_bytes(buf, pos + 4, hmac_length)
    (renewers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - renewers_count
    if renewers_count < 0 or elements_left < 0 or renewers_count * 4 > len(buf) - pos:
        check_count(renewers_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    renewers: list[DescribedDelegationTokenRenewer] = []
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
        renewers.append(DescribedDelegationTokenRenewer(renewers_principal_type, renewers_principal_name))
    return DescribedDelegationToken(
        principal_type, principal_name, issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers
    ), pos


def _encode_described_delegation_token_v0(msg: DescribedDelegationToken, out: WireBuffer) -> None:
    principal_type_bytes = msg.principal_type.encode()
    out += _pack_h(len(principal_type_bytes))
    out += principal_type_bytes
    principal_name_bytes = msg.principal_name.encode()
    out += _pack_h(len(principal_name_bytes))
    out += principal_name_bytes
    token_id_bytes = msg.token_id.encode()
    out += _pack_qqqh(msg.issue_timestamp, msg.expiry_timestamp, msg.max_timestamp, len(token_id_bytes))
    out += token_id_bytes
    out += _pack_i(len(msg.hmac))
    out += msg.hmac
    out += _pack_i(len(msg.renewers))
    for renewers_item in msg.renewers:
        principal_type_bytes = renewers_item.principal_type.encode()
        out += _pack_h(len(principal_type_bytes))
        out += principal_type_bytes
        principal_name_bytes = renewers_item.principal_name.encode()
        out += _pack_h(len(principal_name_bytes))
        out += principal_name_bytes


def _decode_describe_delegation_token_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeDelegationTokenResponse, int]:
    error_code, tokens_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - tokens_count
    if tokens_count < 0 or elements_left < 0 or tokens_count * 38 > len(buf) - pos:
        check_count(tokens_count, len(buf) - pos, 38, budget)
    budget.elements_left = elements_left
    tokens: list[DescribedDelegationToken] = []
    for _ in range(tokens_count):
        tokens_item, pos = _decode_described_delegation_token_v0(buf, pos, budget)
        tokens.append(tokens_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), pos + 4


def _encode_describe_delegation_token_response_v0(msg: DescribeDelegationTokenResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.tokens))
    for tokens_item in msg.tokens:
        _encode_described_delegation_token_v0(tokens_item, out)
    out += _pack_i(msg.throttle_time_ms)


def _decode_described_delegation_token_renewer_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribedDelegationTokenRenewer, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribedDelegationTokenRenewer(principal_type, principal_name), pos


def _encode_described_delegation_token_renewer_v2(msg: DescribedDelegationTokenRenewer, out: WireBuffer) -> None:
    write_compact_string(msg.principal_type, out)
    write_compact_string(msg.principal_name, out)
    out.append(0)


def _decode_described_delegation_token_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribedDelegationToken, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    issue_timestamp, expiry_timestamp, max_timestamp = _unpack_qqq(buf, pos)
    token_id, pos = read_compact_string(buf, pos + 24)
    hmac, pos = read_compact_bytes(buf, pos)
    renewers_count, pos = read_compact_count(buf, pos, 3, budget)
    renewers: list[DescribedDelegationTokenRenewer] = []
    for _ in range(renewers_count):
        renewers_item, pos = _decode_described_delegation_token_renewer_v2(buf, pos, budget)
        renewers.append(renewers_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribedDelegationToken(
        principal_type, principal_name, issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers
    ), pos


def _encode_described_delegation_token_v2(msg: DescribedDelegationToken, out: WireBuffer) -> None:
    write_compact_string(msg.principal_type, out)
    write_compact_string(msg.principal_name, out)
    out += _pack_qqq(msg.issue_timestamp, msg.expiry_timestamp, msg.max_timestamp)
    write_compact_string(msg.token_id, out)
    write_compact_bytes(msg.hmac, out)
    write_uvarint(len(msg.renewers) + 1, out)
    for renewers_item in msg.renewers:
        _encode_described_delegation_token_renewer_v2(renewers_item, out)
    out.append(0)


def _decode_describe_delegation_token_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeDelegationTokenResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    tokens_count, pos = read_compact_count(buf, pos + 2, 30, budget)
    tokens: list[DescribedDelegationToken] = []
    for _ in range(tokens_count):
        tokens_item, pos = _decode_described_delegation_token_v2(buf, pos, budget)
        tokens.append(tokens_item)
    (throttle_time_ms,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), pos


def _encode_describe_delegation_token_response_v2(msg: DescribeDelegationTokenResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.tokens) + 1, out)
    for tokens_item in msg.tokens:
        _encode_described_delegation_token_v2(tokens_item, out)
    out += _pack_iB(msg.throttle_time_ms, 0)


DescribeDelegationTokenRequest.DECODERS = (
    _decode_describe_delegation_token_request_v0,
    _decode_describe_delegation_token_request_v0,
    _decode_describe_delegation_token_request_v2,
)

DescribeDelegationTokenRequest.ENCODERS = (
    _encode_describe_delegation_token_request_v0,
    _encode_describe_delegation_token_request_v0,
    _encode_describe_delegation_token_request_v2,
)

DescribeDelegationTokenResponse.DECODERS = (
    _decode_describe_delegation_token_response_v0,
    _decode_describe_delegation_token_response_v0,
    _decode_describe_delegation_token_response_v2,
)

DescribeDelegationTokenResponse.ENCODERS = (
    _encode_describe_delegation_token_response_v0,
    _encode_describe_delegation_token_response_v0,
    _encode_describe_delegation_token_response_v2,
)
