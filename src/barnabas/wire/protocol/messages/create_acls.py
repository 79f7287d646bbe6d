"""CreateAcls (API key 30): request and response.

Generated from the CreateAcls schemas by scripts/generate.

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
    not_in_version,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_uvarint,
    wrong_length,
)

_pack_b: Final = Struct(">b").pack
_pack_bb: Final = Struct(">bb").pack
_pack_bbB: Final = Struct(">bbB").pack
_pack_bh: Final = Struct(">bh").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bb: Final = Struct(">bb").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class AclCreation(Part):
    """Part of CreateAclsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",  # versions 1+
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class CreateAclsRequest(Message):
    """CreateAclsRequest (API key 30), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = ("creations",)
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("creations", AclCreation, True),)

    SCHEMA_NAME: ClassVar[str] = "CreateAclsRequest"
    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[CreateAclsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[CreateAclsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        creations: list[AclCreation] | None = None,
    ) -> None:
        self.creations: list[AclCreation] = [] if creations is None else creations


class AclCreationResult(Part):
    """Part of CreateAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message


class CreateAclsResponse(Message):
    """CreateAclsResponse (API key 30), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", AclCreationResult, True),)

    SCHEMA_NAME: ClassVar[str] = "CreateAclsResponse"
    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[CreateAclsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[CreateAclsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AclCreationResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AclCreationResult] = [] if results is None else results


def _decode_create_acls_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateAclsRequest, int]:
    (creations_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - creations_count
    if creations_count < 0 or elements_left < 0 or creations_count * 9 > len(buf) - pos:
        check_count(creations_count, len(buf) - pos, 9, budget)
    budget.elements_left = elements_left
    creations: list[AclCreation] = []
    for _ in range(creations_count):
        creations_resource_type, creations_resource_name_length = _unpack_bh(buf, pos)
        pos += 3
        end = pos + creations_resource_name_length
        if creations_resource_name_length < 0 or end > len(buf):
            raise wrong_length("string", creations_resource_name_length, pos, buf)
        creations_resource_name = str(buf[pos:end], "utf-8")
        pos = end
        (creations_principal_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + creations_principal_length
        if creations_principal_length < 0 or end > len(buf):
            raise wrong_length("string", creations_principal_length, pos, buf)
        creations_principal = str(buf[pos:end], "utf-8")
        pos = end
        (creations_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + creations_host_length
        if creations_host_length < 0 or end > len(buf):
            raise wrong_length("string", creations_host_length, pos, buf)
        creations_host = str(buf[pos:end], "utf-8")
        pos = end
        creations_operation, creations_permission_type = _unpack_bb(buf, pos)
        pos += 2
        creations.append(
            AclCreation(
                creations_resource_type,
                creations_resource_name,
                3,
                creations_principal,
                creations_host,
                creations_operation,
                creations_permission_type,
            )
        )
    return CreateAclsRequest(creations), pos


def _encode_create_acls_request_v0(msg: CreateAclsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.creations))
    for creations_item in msg.creations:
        if creations_item.resource_pattern_type != 3:
            raise not_in_version("AclCreation.resource_pattern_type")
        resource_name_bytes = creations_item.resource_name.encode()
        out += _pack_bh(creations_item.resource_type, len(resource_name_bytes))
        out += resource_name_bytes
        principal_bytes = creations_item.principal.encode()
        out += _pack_h(len(principal_bytes))
        out += principal_bytes
        host_bytes = creations_item.host.encode()
        out += _pack_h(len(host_bytes))
        out += host_bytes
        out += _pack_bb(creations_item.operation, creations_item.permission_type)


def _decode_create_acls_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateAclsRequest, int]:
    (creations_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - creations_count
    if creations_count < 0 or elements_left < 0 or creations_count * 10 > len(buf) - pos:
        check_count(creations_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    creations: list[AclCreation] = []
    for _ in range(creations_count):
        creations_resource_type, creations_resource_name_length = _unpack_bh(buf, pos)
        pos += 3
        end = pos + creations_resource_name_length
        if creations_resource_name_length < 0 or end > len(buf):
            raise wrong_length("string", creations_resource_name_length, pos, buf)
        creations_resource_name = str(buf[pos:end], "utf-8")
        pos = end
        creations_resource_pattern_type, creations_principal_length = _unpack_bh(buf, pos)
        pos += 3
        end = pos + creations_principal_length
        if creations_principal_length < 0 or end > len(buf):
            raise wrong_length("string", creations_principal_length, pos, buf)
        creations_principal = str(buf[pos:end], "utf-8")
        pos = end
        (creations_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + creations_host_length
        if creations_host_length < 0 or end > len(buf):
            raise wrong_length("string", creations_host_length, pos, buf)
        creations_host = str(buf[pos:end], "utf-8")
        pos = end
        creations_operation, creations_permission_type = _unpack_bb(buf, pos)
        pos += 2
        creations.append(
            AclCreation(
                creations_resource_type,
                creations_resource_name,
                creations_resource_pattern_type,
                creations_principal,
                creations_host,
                creations_operation,
                creations_permission_type,
            )
        )
    return CreateAclsRequest(creations), pos


def _encode_create_acls_request_v1(msg: CreateAclsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.creations))
    for creations_item in msg.creations:
        resource_name_bytes = creations_item.resource_name.encode()
        out += _pack_bh(creations_item.resource_type, len(resource_name_bytes))
        out += resource_name_bytes
        principal_bytes = creations_item.principal.encode()
        out += _pack_bh(creations_item.resource_pattern_type, len(principal_bytes))
        out += principal_bytes
        host_bytes = creations_item.host.encode()
        out += _pack_h(len(host_bytes))
        out += host_bytes
        out += _pack_bb(creations_item.operation, creations_item.permission_type)


def _decode_acl_creation_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[AclCreation, int]:
    (resource_type,) = _unpack_b(buf, pos)
    resource_name, pos = read_compact_string(buf, pos + 1)
    (resource_pattern_type,) = _unpack_b(buf, pos)
    principal, pos = read_compact_string(buf, pos + 1)
    host, pos = read_compact_string(buf, pos)
    operation, permission_type = _unpack_bb(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AclCreation(
        resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type
    ), pos


def _encode_acl_creation_v2(msg: AclCreation, out: WireBuffer) -> None:
    out += _pack_b(msg.resource_type)
    write_compact_string(msg.resource_name, out)
    out += _pack_b(msg.resource_pattern_type)
    write_compact_string(msg.principal, out)
    write_compact_string(msg.host, out)
    out += _pack_bbB(msg.operation, msg.permission_type, 0)


def _decode_create_acls_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateAclsRequest, int]:
    creations_count, pos = read_compact_count(buf, pos, 8, budget)
    creations: list[AclCreation] = []
    for _ in range(creations_count):
        creations_item, pos = _decode_acl_creation_v2(buf, pos, budget)
        creations.append(creations_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreateAclsRequest(creations), pos


def _encode_create_acls_request_v2(msg: CreateAclsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.creations) + 1, out)
    for creations_item in msg.creations:
        _encode_acl_creation_v2(creations_item, out)
    out.append(0)


def _decode_create_acls_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateAclsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 4 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    results: list[AclCreationResult] = []
    for _ in range(results_count):
        results_error_code, results_error_message_length = _unpack_hh(buf, pos)
        pos += 4
        results_error_message: str | None = None
        if results_error_message_length >= 0:
            end = pos + results_error_message_length
            if end > len(buf):
                raise wrong_length("string", results_error_message_length, pos, buf)
            results_error_message = str(buf[pos:end], "utf-8")
            pos = end
        results.append(AclCreationResult(results_error_code, results_error_message))
    return CreateAclsResponse(throttle_time_ms, results), pos


def _encode_create_acls_response_v0(msg: CreateAclsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        out += _pack_h(results_item.error_code)
        write_nullable_string(results_item.error_message, out)


def _decode_acl_creation_result_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[AclCreationResult, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AclCreationResult(error_code, error_message), pos


def _encode_acl_creation_result_v2(msg: AclCreationResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out.append(0)


def _decode_create_acls_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateAclsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    results_count, pos = read_compact_count(buf, pos + 4, 4, budget)
    results: list[AclCreationResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_acl_creation_result_v2(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreateAclsResponse(throttle_time_ms, results), pos


def _encode_create_acls_response_v2(msg: CreateAclsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_acl_creation_result_v2(results_item, out)
    out.append(0)


CreateAclsRequest.DECODERS = (
    _decode_create_acls_request_v0,
    _decode_create_acls_request_v1,
    _decode_create_acls_request_v2,
)

CreateAclsRequest.ENCODERS = (
    _encode_create_acls_request_v0,
    _encode_create_acls_request_v1,
    _encode_create_acls_request_v2,
)

CreateAclsResponse.DECODERS = (
    _decode_create_acls_response_v0,
    _decode_create_acls_response_v0,
    _decode_create_acls_response_v2,
)

CreateAclsResponse.ENCODERS = (
    _encode_create_acls_response_v0,
    _encode_create_acls_response_v0,
    _encode_create_acls_response_v2,
)
