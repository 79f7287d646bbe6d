"""AlterUserScramCredentials (API key 51): request and response.

Generated from the AlterUserScramCredentials schemas by scripts/generate.

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
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_pack_bB: Final = Struct(">bB").pack
_pack_bi: Final = Struct(">bi").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bi: Final = Struct(">bi").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from


class ScramCredentialDeletion(Part):
    """Part of AlterUserScramCredentialsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "mechanism",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism


class ScramCredentialUpsertion(Part):
    """Part of AlterUserScramCredentialsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "mechanism",
        "iterations",
        "salt",
        "salted_password",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


class AlterUserScramCredentialsRequest(Message):
    """AlterUserScramCredentialsRequest (API key 51), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "deletions",
        "upsertions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("deletions", ScramCredentialDeletion, True),
        ("upsertions", ScramCredentialUpsertion, True),
    )

    SCHEMA_NAME: ClassVar[str] = "AlterUserScramCredentialsRequest"
    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[AlterUserScramCredentialsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[AlterUserScramCredentialsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] | None = None,
        upsertions: list[ScramCredentialUpsertion] | None = None,
    ) -> None:
        self.deletions: list[ScramCredentialDeletion] = [] if deletions is None else deletions
        self.upsertions: list[ScramCredentialUpsertion] = [] if upsertions is None else upsertions


class AlterUserScramCredentialsResult(Part):
    """Part of AlterUserScramCredentialsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "user",
        "error_code",
        "error_message",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message


class AlterUserScramCredentialsResponse(Message):
    """AlterUserScramCredentialsResponse (API key 51), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", AlterUserScramCredentialsResult, True),)

    SCHEMA_NAME: ClassVar[str] = "AlterUserScramCredentialsResponse"
    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[AlterUserScramCredentialsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[AlterUserScramCredentialsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AlterUserScramCredentialsResult] = [] if results is None else results


def _decode_scram_credential_deletion_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ScramCredentialDeletion, int]:
    name, pos = read_compact_string(buf, pos)
    (mechanism,) = _unpack_b(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ScramCredentialDeletion(name, mechanism), pos


def _encode_scram_credential_deletion_v0(msg: ScramCredentialDeletion, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_bB(msg.mechanism, 0)


def _decode_scram_credential_upsertion_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ScramCredentialUpsertion, int]:
    name, pos = read_compact_string(buf, pos)
    mechanism, iterations = _unpack_bi(buf, pos)
    salt, pos = read_compact_bytes(buf, pos + 5)
    salted_password, pos = read_compact_bytes(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ScramCredentialUpsertion(name, mechanism, iterations, salt, salted_password), pos


def _encode_scram_credential_upsertion_v0(msg: ScramCredentialUpsertion, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_bi(msg.mechanism, msg.iterations)
    write_compact_bytes(msg.salt, out)
    write_compact_bytes(msg.salted_password, out)
    out.append(0)


def _decode_alter_user_scram_credentials_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterUserScramCredentialsRequest, int]:
    deletions_count, pos = read_compact_count(buf, pos, 3, budget)
    deletions: list[ScramCredentialDeletion] = []
    for _ in range(deletions_count):
        deletions_item, pos = _decode_scram_credential_deletion_v0(buf, pos, budget)
        deletions.append(deletions_item)
    upsertions_count, pos = read_compact_count(buf, pos, 9, budget)
    upsertions: list[ScramCredentialUpsertion] = []
    for _ in range(upsertions_count):
        upsertions_item, pos = _decode_scram_credential_upsertion_v0(buf, pos, budget)
        upsertions.append(upsertions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterUserScramCredentialsRequest(deletions, upsertions), pos


def _encode_alter_user_scram_credentials_request_v0(msg: AlterUserScramCredentialsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.deletions) + 1, out)
    for deletions_item in msg.deletions:
        _encode_scram_credential_deletion_v0(deletions_item, out)
    write_uvarint(len(msg.upsertions) + 1, out)
    for upsertions_item in msg.upsertions:
        _encode_scram_credential_upsertion_v0(upsertions_item, out)
    out.append(0)


def _decode_alter_user_scram_credentials_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterUserScramCredentialsResult, int]:
    user, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterUserScramCredentialsResult(user, error_code, error_message), pos


def _encode_alter_user_scram_credentials_result_v0(msg: AlterUserScramCredentialsResult, out: WireBuffer) -> None:
    write_compact_string(msg.user, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_alter_user_scram_credentials_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterUserScramCredentialsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    results_count, pos = read_compact_count(buf, pos + 4, 5, budget)
    results: list[AlterUserScramCredentialsResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_alter_user_scram_credentials_result_v0(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterUserScramCredentialsResponse(throttle_time_ms, results), pos


def _encode_alter_user_scram_credentials_response_v0(msg: AlterUserScramCredentialsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_alter_user_scram_credentials_result_v0(results_item, out)
    out.append(0)


AlterUserScramCredentialsRequest.DECODERS = (_decode_alter_user_scram_credentials_request_v0,)

AlterUserScramCredentialsRequest.ENCODERS = (_encode_alter_user_scram_credentials_request_v0,)

AlterUserScramCredentialsResponse.DECODERS = (_decode_alter_user_scram_credentials_response_v0,)

AlterUserScramCredentialsResponse.ENCODERS = (_encode_alter_user_scram_credentials_response_v0,)
