"""DescribeUserScramCredentials (API key 50): request and response.

Generated from the DescribeUserScramCredentials schemas by scripts/generate.

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
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_biB: Final = Struct(">biB").pack
_pack_h: Final = Struct(">h").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_bi: Final = Struct(">bi").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from


class UserName(Part):
    """Part of DescribeUserScramCredentialsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("name",)
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class DescribeUserScramCredentialsRequest(Message):
    """DescribeUserScramCredentialsRequest (API key 50), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = ("users",)
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("users", UserName, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeUserScramCredentialsRequest"
    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeUserScramCredentialsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeUserScramCredentialsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        users: list[UserName] | None | Missing = MISSING,
    ) -> None:
        self.users: list[UserName] | None = [] if isinstance(users, Missing) else users


class CredentialInfo(Part):
    """Part of DescribeUserScramCredentialsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "mechanism",
        "iterations",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


class DescribeUserScramCredentialsResult(Part):
    """Part of DescribeUserScramCredentialsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "user",
        "error_code",
        "error_message",
        "credential_infos",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("credential_infos", CredentialInfo, True),)

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] | None = None,
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos: list[CredentialInfo] = [] if credential_infos is None else credential_infos


class DescribeUserScramCredentialsResponse(Message):
    """DescribeUserScramCredentialsResponse (API key 50), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", DescribeUserScramCredentialsResult, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeUserScramCredentialsResponse"
    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[DescribeUserScramCredentialsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[DescribeUserScramCredentialsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[DescribeUserScramCredentialsResult] = [] if results is None else results


def _decode_user_name_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[UserName, int]:
    name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UserName(name), pos


def _encode_user_name_v0(msg: UserName, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out.append(0)


def _decode_describe_user_scram_credentials_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeUserScramCredentialsRequest, int]:
    users_count, pos = read_compact_nullable_count(buf, pos, 2, budget)
    users: list[UserName] | None = None
    if users_count >= 0:
        users = []
        for _ in range(users_count):
            users_item, pos = _decode_user_name_v0(buf, pos, budget)
            users.append(users_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeUserScramCredentialsRequest(users), pos


def _encode_describe_user_scram_credentials_request_v0(
    msg: DescribeUserScramCredentialsRequest, out: WireBuffer
) -> None:
    write_uvarint(0 if msg.users is None else len(msg.users) + 1, out)
    if msg.users:
        for users_item in msg.users:
            _encode_user_name_v0(users_item, out)
    out.append(0)


def _decode_credential_info_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CredentialInfo, int]:
    mechanism, iterations = _unpack_bi(buf, pos)
    pos += 6
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CredentialInfo(mechanism, iterations), pos


def _encode_credential_info_v0(msg: CredentialInfo, out: WireBuffer) -> None:
    out += _pack_biB(msg.mechanism, msg.iterations, 0)


def _decode_describe_user_scram_credentials_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeUserScramCredentialsResult, int]:
    user, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    credential_infos_count, pos = read_compact_count(buf, pos, 6, budget)
    credential_infos: list[CredentialInfo] = []
    for _ in range(credential_infos_count):
        credential_infos_item, pos = _decode_credential_info_v0(buf, pos, budget)
        credential_infos.append(credential_infos_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeUserScramCredentialsResult(user, error_code, error_message, credential_infos), pos


def _encode_describe_user_scram_credentials_result_v0(msg: DescribeUserScramCredentialsResult, out: WireBuffer) -> None:
    write_compact_string(msg.user, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.credential_infos) + 1, out)
    for credential_infos_item in msg.credential_infos:
        _encode_credential_info_v0(credential_infos_item, out)
    out.append(0)


def _decode_describe_user_scram_credentials_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeUserScramCredentialsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    results_count, pos = read_compact_count(buf, pos, 6, budget)
    results: list[DescribeUserScramCredentialsResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_describe_user_scram_credentials_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeUserScramCredentialsResponse(throttle_time_ms, error_code, error_message, results), pos


def _encode_describe_user_scram_credentials_response_v0(
    msg: DescribeUserScramCredentialsResponse, out: WireBuffer
) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_describe_user_scram_credentials_result_v0(results_item, out)
    out.append(0)


DescribeUserScramCredentialsRequest.DECODERS = (_decode_describe_user_scram_credentials_request_v0,)

DescribeUserScramCredentialsRequest.ENCODERS = (_encode_describe_user_scram_credentials_request_v0,)

DescribeUserScramCredentialsResponse.DECODERS = (_decode_describe_user_scram_credentials_response_v0,)

DescribeUserScramCredentialsResponse.ENCODERS = (_encode_describe_user_scram_credentials_response_v0,)
