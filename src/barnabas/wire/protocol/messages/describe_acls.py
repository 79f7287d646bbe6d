"""DescribeAcls (API key 29): request and response.

Generated from the DescribeAcls schemas by scripts/generate.

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
_pack_bi: Final = Struct(">bi").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bb: Final = Struct(">bb").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_bi: Final = Struct(">bi").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from


class DescribeAclsRequest(Message):
    """DescribeAclsRequest (API key 29), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",  # versions 1+
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "DescribeAclsRequest"
    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeAclsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeAclsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type


class AclDescription(Part):
    """Part of DescribeAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DescribeAclsResource(Part):
    """Part of DescribeAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "pattern_type",  # versions 1+
        "acls",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("acls", AclDescription, True),)

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] | None = None,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls: list[AclDescription] = [] if acls is None else acls


class DescribeAclsResponse(Message):
    """DescribeAclsResponse (API key 29), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "resources",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("resources", DescribeAclsResource, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeAclsResponse"
    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeAclsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeAclsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources: list[DescribeAclsResource] = [] if resources is None else resources


def _decode_describe_acls_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsRequest, int]:
    resource_type_filter, resource_name_filter_length = _unpack_bh(buf, pos)
    pos += 3
    resource_name_filter: str | None = None
    if resource_name_filter_length >= 0:
        end = pos + resource_name_filter_length
        if end > len(buf):
            raise wrong_length("string", resource_name_filter_length, pos, buf)
        resource_name_filter = str(buf[pos:end], "utf-8")
        pos = end
    (principal_filter_length,) = _unpack_h(buf, pos)
    pos += 2
    principal_filter: str | None = None
    if principal_filter_length >= 0:
        end = pos + principal_filter_length
        if end > len(buf):
            raise wrong_length("string", principal_filter_length, pos, buf)
        principal_filter = str(buf[pos:end], "utf-8")
        pos = end
    (host_filter_length,) = _unpack_h(buf, pos)
    pos += 2
    host_filter: str | None = None
    if host_filter_length >= 0:
        end = pos + host_filter_length
        if end > len(buf):
            raise wrong_length("string", host_filter_length, pos, buf)
        host_filter = str(buf[pos:end], "utf-8")
        pos = end
    operation, permission_type = _unpack_bb(buf, pos)
    return DescribeAclsRequest(
        resource_type_filter, resource_name_filter, 3, principal_filter, host_filter, operation, permission_type
    ), pos + 2


def _encode_describe_acls_request_v0(msg: DescribeAclsRequest, out: WireBuffer) -> None:
    if msg.pattern_type_filter != 3:
        raise not_in_version("DescribeAclsRequest.pattern_type_filter")
    out += _pack_b(msg.resource_type_filter)
    write_nullable_string(msg.resource_name_filter, out)
    write_nullable_string(msg.principal_filter, out)
    write_nullable_string(msg.host_filter, out)
    out += _pack_bb(msg.operation, msg.permission_type)


def _decode_describe_acls_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsRequest, int]:
    resource_type_filter, resource_name_filter_length = _unpack_bh(buf, pos)
    pos += 3
    resource_name_filter: str | None = None
    if resource_name_filter_length >= 0:
        end = pos + resource_name_filter_length
        if end > len(buf):
            raise wrong_length("string", resource_name_filter_length, pos, buf)
        resource_name_filter = str(buf[pos:end], "utf-8")
        pos = end
    pattern_type_filter, principal_filter_length = _unpack_bh(buf, pos)
    pos += 3
    principal_filter: str | None = None
    if principal_filter_length >= 0:
        end = pos + principal_filter_length
        if end > len(buf):
            raise wrong_length("string", principal_filter_length, pos, buf)
        principal_filter = str(buf[pos:end], "utf-8")
        pos = end
    (host_filter_length,) = _unpack_h(buf, pos)
    pos += 2
    host_filter: str | None = None
    if host_filter_length >= 0:
        end = pos + host_filter_length
        if end > len(buf):
            raise wrong_length("string", host_filter_length, pos, buf)
        host_filter = str(buf[pos:end], "utf-8")
        pos = end
    operation, permission_type = _unpack_bb(buf, pos)
    return DescribeAclsRequest(
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ), pos + 2


def _encode_describe_acls_request_v1(msg: DescribeAclsRequest, out: WireBuffer) -> None:
    out += _pack_b(msg.resource_type_filter)
    write_nullable_string(msg.resource_name_filter, out)
    out += _pack_b(msg.pattern_type_filter)
    write_nullable_string(msg.principal_filter, out)
    write_nullable_string(msg.host_filter, out)
    out += _pack_bb(msg.operation, msg.permission_type)


def _decode_describe_acls_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsRequest, int]:
    (resource_type_filter,) = _unpack_b(buf, pos)
    resource_name_filter, pos = read_compact_nullable_string(buf, pos + 1)
    (pattern_type_filter,) = _unpack_b(buf, pos)
    principal_filter, pos = read_compact_nullable_string(buf, pos + 1)
    host_filter, pos = read_compact_nullable_string(buf, pos)
    operation, permission_type = _unpack_bb(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeAclsRequest(
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ), pos


def _encode_describe_acls_request_v2(msg: DescribeAclsRequest, out: WireBuffer) -> None:
    out += _pack_b(msg.resource_type_filter)
    write_compact_nullable_string(msg.resource_name_filter, out)
    out += _pack_b(msg.pattern_type_filter)
    write_compact_nullable_string(msg.principal_filter, out)
    write_compact_nullable_string(msg.host_filter, out)
    out += _pack_bbB(msg.operation, msg.permission_type, 0)


def _decode_describe_acls_resource_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsResource, int]:
    resource_type, resource_name_length = _unpack_bh(buf, pos)
    pos += 3
    end = pos + resource_name_length
    if resource_name_length < 0 or end > len(buf):
        raise wrong_length("string", resource_name_length, pos, buf)
    resource_name = str(buf[pos:end], "utf-8")
    pos = end
    (acls_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - acls_count
    if acls_count < 0 or elements_left < 0 or acls_count * 6 > len(buf) - pos:
        check_count(acls_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    acls: list[AclDescription] = []
    for _ in range(acls_count):
        (acls_principal_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + acls_principal_length
        if acls_principal_length < 0 or end > len(buf):
            raise wrong_length("string", acls_principal_length, pos, buf)
        acls_principal = str(buf[pos:end], "utf-8")
        pos = end
        (acls_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + acls_host_length
        if acls_host_length < 0 or end > len(buf):
            raise wrong_length("string", acls_host_length, pos, buf)
        acls_host = str(buf[pos:end], "utf-8")
        pos = end
        acls_operation, acls_permission_type = _unpack_bb(buf, pos)
        pos += 2
        acls.append(AclDescription(acls_principal, acls_host, acls_operation, acls_permission_type))
    return DescribeAclsResource(resource_type, resource_name, 3, acls), pos


def _encode_describe_acls_resource_v0(msg: DescribeAclsResource, out: WireBuffer) -> None:
    if msg.pattern_type != 3:
        raise not_in_version("DescribeAclsResource.pattern_type")
    resource_name_bytes = msg.resource_name.encode()
    out += _pack_bh(msg.resource_type, len(resource_name_bytes))
    out += resource_name_bytes
    out += _pack_i(len(msg.acls))
    for acls_item in msg.acls:
        principal_bytes = acls_item.principal.encode()
        out += _pack_h(len(principal_bytes))
        out += principal_bytes
        host_bytes = acls_item.host.encode()
        out += _pack_h(len(host_bytes))
        out += host_bytes
        out += _pack_bb(acls_item.operation, acls_item.permission_type)


def _decode_describe_acls_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsResponse, int]:
    throttle_time_ms, error_code, error_message_length = _unpack_ihh(buf, pos)
    pos += 8
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (resources_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - resources_count
    if resources_count < 0 or elements_left < 0 or resources_count * 7 > len(buf) - pos:
        check_count(resources_count, len(buf) - pos, 7, budget)
    budget.elements_left = elements_left
    resources: list[DescribeAclsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_describe_acls_resource_v0(buf, pos, budget)
        resources.append(resources_item)
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), pos


def _encode_describe_acls_response_v0(msg: DescribeAclsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(len(msg.resources))
    for resources_item in msg.resources:
        _encode_describe_acls_resource_v0(resources_item, out)


def _decode_describe_acls_resource_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsResource, int]:
    resource_type, resource_name_length = _unpack_bh(buf, pos)
    pos += 3
    end = pos + resource_name_length
    if resource_name_length < 0 or end > len(buf):
        raise wrong_length("string", resource_name_length, pos, buf)
    resource_name = str(buf[pos:end], "utf-8")
    pos = end
    pattern_type, acls_count = _unpack_bi(buf, pos)
    pos += 5
    elements_left = budget.elements_left - acls_count
    if acls_count < 0 or elements_left < 0 or acls_count * 6 > len(buf) - pos:
        check_count(acls_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    acls: list[AclDescription] = []
    for _ in range(acls_count):
        (acls_principal_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + acls_principal_length
        if acls_principal_length < 0 or end > len(buf):
            raise wrong_length("string", acls_principal_length, pos, buf)
        acls_principal = str(buf[pos:end], "utf-8")
        pos = end
        (acls_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + acls_host_length
        if acls_host_length < 0 or end > len(buf):
            raise wrong_length("string", acls_host_length, pos, buf)
        acls_host = str(buf[pos:end], "utf-8")
        pos = end
        acls_operation, acls_permission_type = _unpack_bb(buf, pos)
        pos += 2
        acls.append(AclDescription(acls_principal, acls_host, acls_operation, acls_permission_type))
    return DescribeAclsResource(resource_type, resource_name, pattern_type, acls), pos


def _encode_describe_acls_resource_v1(msg: DescribeAclsResource, out: WireBuffer) -> None:
    resource_name_bytes = msg.resource_name.encode()
    out += _pack_bh(msg.resource_type, len(resource_name_bytes))
    out += resource_name_bytes
    out += _pack_bi(msg.pattern_type, len(msg.acls))
    for acls_item in msg.acls:
        principal_bytes = acls_item.principal.encode()
        out += _pack_h(len(principal_bytes))
        out += principal_bytes
        host_bytes = acls_item.host.encode()
        out += _pack_h(len(host_bytes))
        out += host_bytes
        out += _pack_bb(acls_item.operation, acls_item.permission_type)


def _decode_describe_acls_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsResponse, int]:
    throttle_time_ms, error_code, error_message_length = _unpack_ihh(buf, pos)
    pos += 8
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (resources_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - resources_count
    if resources_count < 0 or elements_left < 0 or resources_count * 8 > len(buf) - pos:
        check_count(resources_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    resources: list[DescribeAclsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_describe_acls_resource_v1(buf, pos, budget)
        resources.append(resources_item)
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), pos


def _encode_describe_acls_response_v1(msg: DescribeAclsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(len(msg.resources))
    for resources_item in msg.resources:
        _encode_describe_acls_resource_v1(resources_item, out)


def _decode_acl_description_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[AclDescription, int]:
    principal, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    operation, permission_type = _unpack_bb(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AclDescription(principal, host, operation, permission_type), pos


def _encode_acl_description_v2(msg: AclDescription, out: WireBuffer) -> None:
    write_compact_string(msg.principal, out)
    write_compact_string(msg.host, out)
    out += _pack_bbB(msg.operation, msg.permission_type, 0)


def _decode_describe_acls_resource_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsResource, int]:
    (resource_type,) = _unpack_b(buf, pos)
    resource_name, pos = read_compact_string(buf, pos + 1)
    (pattern_type,) = _unpack_b(buf, pos)
    acls_count, pos = read_compact_count(buf, pos + 1, 5, budget)
    acls: list[AclDescription] = []
    for _ in range(acls_count):
        acls_item, pos = _decode_acl_description_v2(buf, pos, budget)
        acls.append(acls_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeAclsResource(resource_type, resource_name, pattern_type, acls), pos


def _encode_describe_acls_resource_v2(msg: DescribeAclsResource, out: WireBuffer) -> None:
    out += _pack_b(msg.resource_type)
    write_compact_string(msg.resource_name, out)
    out += _pack_b(msg.pattern_type)
    write_uvarint(len(msg.acls) + 1, out)
    for acls_item in msg.acls:
        _encode_acl_description_v2(acls_item, out)
    out.append(0)


def _decode_describe_acls_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeAclsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 6)
    resources_count, pos = read_compact_count(buf, pos, 5, budget)
    resources: list[DescribeAclsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_describe_acls_resource_v2(buf, pos, budget)
        resources.append(resources_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), pos


def _encode_describe_acls_response_v2(msg: DescribeAclsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.resources) + 1, out)
    for resources_item in msg.resources:
        _encode_describe_acls_resource_v2(resources_item, out)
    out.append(0)


DescribeAclsRequest.DECODERS = (
    _decode_describe_acls_request_v0,
    _decode_describe_acls_request_v1,
    _decode_describe_acls_request_v2,
)

DescribeAclsRequest.ENCODERS = (
    _encode_describe_acls_request_v0,
    _encode_describe_acls_request_v1,
    _encode_describe_acls_request_v2,
)

DescribeAclsResponse.DECODERS = (
    _decode_describe_acls_response_v0,
    _decode_describe_acls_response_v1,
    _decode_describe_acls_response_v2,
)

DescribeAclsResponse.ENCODERS = (
    _encode_describe_acls_response_v0,
    _encode_describe_acls_response_v1,
    _encode_describe_acls_response_v2,
)
