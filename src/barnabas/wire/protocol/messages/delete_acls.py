"""DeleteAcls (API key 31): request and response.

Generated from the DeleteAcls schemas by scripts/generate.

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


class DeleteAclsFilter(Part):
    """Part of DeleteAclsRequest."""

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


class DeleteAclsRequest(Message):
    """DeleteAclsRequest (API key 31), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = ("filters",)
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("filters", DeleteAclsFilter, True),)

    SCHEMA_NAME: ClassVar[str] = "DeleteAclsRequest"
    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteAclsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteAclsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        filters: list[DeleteAclsFilter] | None = None,
    ) -> None:
        self.filters: list[DeleteAclsFilter] = [] if filters is None else filters


class DeleteAclsMatchingAcl(Part):
    """Part of DeleteAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "pattern_type",  # versions 1+
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DeleteAclsFilterResult(Part):
    """Part of DeleteAclsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "matching_acls",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("matching_acls", DeleteAclsMatchingAcl, True),)

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] | None = None,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls: list[DeleteAclsMatchingAcl] = [] if matching_acls is None else matching_acls


class DeleteAclsResponse(Message):
    """DeleteAclsResponse (API key 31), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "filter_results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("filter_results", DeleteAclsFilterResult, True),)

    SCHEMA_NAME: ClassVar[str] = "DeleteAclsResponse"
    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteAclsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteAclsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results: list[DeleteAclsFilterResult] = [] if filter_results is None else filter_results


def _decode_delete_acls_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsRequest, int]:
    (filters_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - filters_count
    if filters_count < 0 or elements_left < 0 or filters_count * 9 > len(buf) - pos:
        check_count(filters_count, len(buf) - pos, 9, budget)
    budget.elements_left = elements_left
    filters: list[DeleteAclsFilter] = []
    for _ in range(filters_count):
        filters_resource_type_filter, filters_resource_name_filter_length = _unpack_bh(buf, pos)
        pos += 3
        filters_resource_name_filter: str | None = None
        if filters_resource_name_filter_length >= 0:
            end = pos + filters_resource_name_filter_length
            if end > len(buf):
                raise wrong_length("string", filters_resource_name_filter_length, pos, buf)
            filters_resource_name_filter = str(buf[pos:end], "utf-8")
            pos = end
        (filters_principal_filter_length,) = _unpack_h(buf, pos)
        pos += 2
        filters_principal_filter: str | None = None
        if filters_principal_filter_length >= 0:
            end = pos + filters_principal_filter_length
            if end > len(buf):
                raise wrong_length("string", filters_principal_filter_length, pos, buf)
            filters_principal_filter = str(buf[pos:end], "utf-8")
            pos = end
        (filters_host_filter_length,) = _unpack_h(buf, pos)
        pos += 2
        filters_host_filter: str | None = None
        if filters_host_filter_length >= 0:
            end = pos + filters_host_filter_length
            if end > len(buf):
                raise wrong_length("string", filters_host_filter_length, pos, buf)
            filters_host_filter = str(buf[pos:end], "utf-8")
            pos = end
        filters_operation, filters_permission_type = _unpack_bb(buf, pos)
        pos += 2
        filters.append(
            DeleteAclsFilter(
                filters_resource_type_filter,
                filters_resource_name_filter,
                3,
                filters_principal_filter,
                filters_host_filter,
                filters_operation,
                filters_permission_type,
            )
        )
    return DeleteAclsRequest(filters), pos


def _encode_delete_acls_request_v0(msg: DeleteAclsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.filters))
    for filters_item in msg.filters:
        if filters_item.pattern_type_filter != 3:
            raise not_in_version("DeleteAclsFilter.pattern_type_filter")
        out += _pack_b(filters_item.resource_type_filter)
        write_nullable_string(filters_item.resource_name_filter, out)
        write_nullable_string(filters_item.principal_filter, out)
        write_nullable_string(filters_item.host_filter, out)
        out += _pack_bb(filters_item.operation, filters_item.permission_type)


def _decode_delete_acls_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsRequest, int]:
    (filters_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - filters_count
    if filters_count < 0 or elements_left < 0 or filters_count * 10 > len(buf) - pos:
        check_count(filters_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    filters: list[DeleteAclsFilter] = []
    for _ in range(filters_count):
        filters_resource_type_filter, filters_resource_name_filter_length = _unpack_bh(buf, pos)
        pos += 3
        filters_resource_name_filter: str | None = None
        if filters_resource_name_filter_length >= 0:
            end = pos + filters_resource_name_filter_length
            if end > len(buf):
                raise wrong_length("string", filters_resource_name_filter_length, pos, buf)
            filters_resource_name_filter = str(buf[pos:end], "utf-8")
            pos = end
        filters_pattern_type_filter, filters_principal_filter_length = _unpack_bh(buf, pos)
        pos += 3
        filters_principal_filter: str | None = None
        if filters_principal_filter_length >= 0:
            end = pos + filters_principal_filter_length
            if end > len(buf):
                raise wrong_length("string", filters_principal_filter_length, pos, buf)
            filters_principal_filter = str(buf[pos:end], "utf-8")
            pos = end
        (filters_host_filter_length,) = _unpack_h(buf, pos)
        pos += 2
        filters_host_filter: str | None = None
        if filters_host_filter_length >= 0:
            end = pos + filters_host_filter_length
            if end > len(buf):
                raise wrong_length("string", filters_host_filter_length, pos, buf)
            filters_host_filter = str(buf[pos:end], "utf-8")
            pos = end
        filters_operation, filters_permission_type = _unpack_bb(buf, pos)
        pos += 2
        filters.append(
            DeleteAclsFilter(
                filters_resource_type_filter,
                filters_resource_name_filter,
                filters_pattern_type_filter,
                filters_principal_filter,
                filters_host_filter,
                filters_operation,
                filters_permission_type,
            )
        )
    return DeleteAclsRequest(filters), pos


def _encode_delete_acls_request_v1(msg: DeleteAclsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.filters))
    for filters_item in msg.filters:
        out += _pack_b(filters_item.resource_type_filter)
        write_nullable_string(filters_item.resource_name_filter, out)
        out += _pack_b(filters_item.pattern_type_filter)
        write_nullable_string(filters_item.principal_filter, out)
        write_nullable_string(filters_item.host_filter, out)
        out += _pack_bb(filters_item.operation, filters_item.permission_type)


def _decode_delete_acls_filter_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsFilter, int]:
    (resource_type_filter,) = _unpack_b(buf, pos)
    resource_name_filter, pos = read_compact_nullable_string(buf, pos + 1)
    (pattern_type_filter,) = _unpack_b(buf, pos)
    principal_filter, pos = read_compact_nullable_string(buf, pos + 1)
    host_filter, pos = read_compact_nullable_string(buf, pos)
    operation, permission_type = _unpack_bb(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteAclsFilter(
        resource_type_filter,
        resource_name_filter,
        pattern_type_filter,
        principal_filter,
        host_filter,
        operation,
        permission_type,
    ), pos


def _encode_delete_acls_filter_v2(msg: DeleteAclsFilter, out: WireBuffer) -> None:
    out += _pack_b(msg.resource_type_filter)
    write_compact_nullable_string(msg.resource_name_filter, out)
    out += _pack_b(msg.pattern_type_filter)
    write_compact_nullable_string(msg.principal_filter, out)
    write_compact_nullable_string(msg.host_filter, out)
    out += _pack_bbB(msg.operation, msg.permission_type, 0)


def _decode_delete_acls_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsRequest, int]:
    filters_count, pos = read_compact_count(buf, pos, 8, budget)
    filters: list[DeleteAclsFilter] = []
    for _ in range(filters_count):
        filters_item, pos = _decode_delete_acls_filter_v2(buf, pos, budget)
        filters.append(filters_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteAclsRequest(filters), pos


def _encode_delete_acls_request_v2(msg: DeleteAclsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.filters) + 1, out)
    for filters_item in msg.filters:
        _encode_delete_acls_filter_v2(filters_item, out)
    out.append(0)


def _decode_delete_acls_filter_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteAclsFilterResult, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (matching_acls_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - matching_acls_count
    if matching_acls_count < 0 or elements_left < 0 or matching_acls_count * 13 > len(buf) - pos:
        check_count(matching_acls_count, len(buf) - pos, 13, budget)
    budget.elements_left = elements_left
    matching_acls: list[DeleteAclsMatchingAcl] = []
    for _ in range(matching_acls_count):
        matching_acls_error_code, matching_acls_error_message_length = _unpack_hh(buf, pos)
        pos += 4
        matching_acls_error_message: str | None = None
        if matching_acls_error_message_length >= 0:
            end = pos + matching_acls_error_message_length
            if end > len(buf):
                raise wrong_length("string", matching_acls_error_message_length, pos, buf)
            matching_acls_error_message = str(buf[pos:end], "utf-8")
            pos = end
        matching_acls_resource_type, matching_acls_resource_name_length = _unpack_bh(buf, pos)
        pos += 3
        end = pos + matching_acls_resource_name_length
        if matching_acls_resource_name_length < 0 or end > len(buf):
            raise wrong_length("string", matching_acls_resource_name_length, pos, buf)
        matching_acls_resource_name = str(buf[pos:end], "utf-8")
        pos = end
        (matching_acls_principal_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + matching_acls_principal_length
        if matching_acls_principal_length < 0 or end > len(buf):
            raise wrong_length("string", matching_acls_principal_length, pos, buf)
        matching_acls_principal = str(buf[pos:end], "utf-8")
        pos = end
        (matching_acls_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + matching_acls_host_length
        if matching_acls_host_length < 0 or end > len(buf):
            raise wrong_length("string", matching_acls_host_length, pos, buf)
        matching_acls_host = str(buf[pos:end], "utf-8")
        pos = end
        matching_acls_operation, matching_acls_permission_type = _unpack_bb(buf, pos)
        pos += 2
        matching_acls.append(
            DeleteAclsMatchingAcl(
                matching_acls_error_code,
                matching_acls_error_message,
                matching_acls_resource_type,
                matching_acls_resource_name,
                3,
                matching_acls_principal,
                matching_acls_host,
                matching_acls_operation,
                matching_acls_permission_type,
            )
        )
    return DeleteAclsFilterResult(error_code, error_message, matching_acls), pos


def _encode_delete_acls_filter_result_v0(msg: DeleteAclsFilterResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(len(msg.matching_acls))
    for matching_acls_item in msg.matching_acls:
        if matching_acls_item.pattern_type != 3:
            raise not_in_version("DeleteAclsMatchingAcl.pattern_type")
        out += _pack_h(matching_acls_item.error_code)
        write_nullable_string(matching_acls_item.error_message, out)
        resource_name_bytes = matching_acls_item.resource_name.encode()
        out += _pack_bh(matching_acls_item.resource_type, len(resource_name_bytes))
        out += resource_name_bytes
        principal_bytes = matching_acls_item.principal.encode()
        out += _pack_h(len(principal_bytes))
        out += principal_bytes
        host_bytes = matching_acls_item.host.encode()
        out += _pack_h(len(host_bytes))
        out += host_bytes
        out += _pack_bb(matching_acls_item.operation, matching_acls_item.permission_type)


def _decode_delete_acls_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsResponse, int]:
    throttle_time_ms, filter_results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - filter_results_count
    if filter_results_count < 0 or elements_left < 0 or filter_results_count * 8 > len(buf) - pos:
        check_count(filter_results_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    filter_results: list[DeleteAclsFilterResult] = []
    for _ in range(filter_results_count):
        filter_results_item, pos = _decode_delete_acls_filter_result_v0(buf, pos, budget)
        filter_results.append(filter_results_item)
    return DeleteAclsResponse(throttle_time_ms, filter_results), pos


def _encode_delete_acls_response_v0(msg: DeleteAclsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.filter_results))
    for filter_results_item in msg.filter_results:
        _encode_delete_acls_filter_result_v0(filter_results_item, out)


def _decode_delete_acls_filter_result_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteAclsFilterResult, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (matching_acls_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - matching_acls_count
    if matching_acls_count < 0 or elements_left < 0 or matching_acls_count * 14 > len(buf) - pos:
        check_count(matching_acls_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    matching_acls: list[DeleteAclsMatchingAcl] = []
    for _ in range(matching_acls_count):
        matching_acls_error_code, matching_acls_error_message_length = _unpack_hh(buf, pos)
        pos += 4
        matching_acls_error_message: str | None = None
        if matching_acls_error_message_length >= 0:
            end = pos + matching_acls_error_message_length
            if end > len(buf):
                raise wrong_length("string", matching_acls_error_message_length, pos, buf)
            matching_acls_error_message = str(buf[pos:end], "utf-8")
            pos = end
        matching_acls_resource_type, matching_acls_resource_name_length = _unpack_bh(buf, pos)
        pos += 3
        end = pos + matching_acls_resource_name_length
        if matching_acls_resource_name_length < 0 or end > len(buf):
            raise wrong_length("string", matching_acls_resource_name_length, pos, buf)
        matching_acls_resource_name = str(buf[pos:end], "utf-8")
        pos = end
        matching_acls_pattern_type, matching_acls_principal_length = _unpack_bh(buf, pos)
        pos += 3
        end = pos + matching_acls_principal_length
        if matching_acls_principal_length < 0 or end > len(buf):
            raise wrong_length("string", matching_acls_principal_length, pos, buf)
        matching_acls_principal = str(buf[pos:end], "utf-8")
        pos = end
        (matching_acls_host_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + matching_acls_host_length
        if matching_acls_host_length < 0 or end > len(buf):
            raise wrong_length("string", matching_acls_host_length, pos, buf)
        matching_acls_host = str(buf[pos:end], "utf-8")
        pos = end
        matching_acls_operation, matching_acls_permission_type = _unpack_bb(buf, pos)
        pos += 2
        matching_acls.append(
            DeleteAclsMatchingAcl(
                matching_acls_error_code,
                matching_acls_error_message,
                matching_acls_resource_type,
                matching_acls_resource_name,
                matching_acls_pattern_type,
                matching_acls_principal,
                matching_acls_host,
                matching_acls_operation,
                matching_acls_permission_type,
            )
        )
    return DeleteAclsFilterResult(error_code, error_message, matching_acls), pos


def _encode_delete_acls_filter_result_v1(msg: DeleteAclsFilterResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(len(msg.matching_acls))
    for matching_acls_item in msg.matching_acls:
        out += _pack_h(matching_acls_item.error_code)
        write_nullable_string(matching_acls_item.error_message, out)
        resource_name_bytes = matching_acls_item.resource_name.encode()
        out += _pack_bh(matching_acls_item.resource_type, len(resource_name_bytes))
        out += resource_name_bytes
        principal_bytes = matching_acls_item.principal.encode()
        out += _pack_bh(matching_acls_item.pattern_type, len(principal_bytes))
        out += principal_bytes
        host_bytes = matching_acls_item.host.encode()
        out += _pack_h(len(host_bytes))
        out += host_bytes
        out += _pack_bb(matching_acls_item.operation, matching_acls_item.permission_type)


def _decode_delete_acls_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsResponse, int]:
    throttle_time_ms, filter_results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - filter_results_count
    if filter_results_count < 0 or elements_left < 0 or filter_results_count * 8 > len(buf) - pos:
        check_count(filter_results_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    filter_results: list[DeleteAclsFilterResult] = []
    for _ in range(filter_results_count):
        filter_results_item, pos = _decode_delete_acls_filter_result_v1(buf, pos, budget)
        filter_results.append(filter_results_item)
    return DeleteAclsResponse(throttle_time_ms, filter_results), pos


def _encode_delete_acls_response_v1(msg: DeleteAclsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.filter_results))
    for filter_results_item in msg.filter_results:
        _encode_delete_acls_filter_result_v1(filter_results_item, out)


def _decode_delete_acls_matching_acl_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsMatchingAcl, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    (resource_type,) = _unpack_b(buf, pos)
    resource_name, pos = read_compact_string(buf, pos + 1)
    (pattern_type,) = _unpack_b(buf, pos)
    principal, pos = read_compact_string(buf, pos + 1)
    host, pos = read_compact_string(buf, pos)
    operation, permission_type = _unpack_bb(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteAclsMatchingAcl(
        error_code,
        error_message,
        resource_type,
        resource_name,
        pattern_type,
        principal,
        host,
        operation,
        permission_type,
    ), pos


def _encode_delete_acls_matching_acl_v2(msg: DeleteAclsMatchingAcl, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_b(msg.resource_type)
    write_compact_string(msg.resource_name, out)
    out += _pack_b(msg.pattern_type)
    write_compact_string(msg.principal, out)
    write_compact_string(msg.host, out)
    out += _pack_bbB(msg.operation, msg.permission_type, 0)


def _decode_delete_acls_filter_result_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DeleteAclsFilterResult, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    matching_acls_count, pos = read_compact_count(buf, pos, 11, budget)
    matching_acls: list[DeleteAclsMatchingAcl] = []
    for _ in range(matching_acls_count):
        matching_acls_item, pos = _decode_delete_acls_matching_acl_v2(buf, pos, budget)
        matching_acls.append(matching_acls_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteAclsFilterResult(error_code, error_message, matching_acls), pos


def _encode_delete_acls_filter_result_v2(msg: DeleteAclsFilterResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    write_uvarint(len(msg.matching_acls) + 1, out)
    for matching_acls_item in msg.matching_acls:
        _encode_delete_acls_matching_acl_v2(matching_acls_item, out)
    out.append(0)


def _decode_delete_acls_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteAclsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    filter_results_count, pos = read_compact_count(buf, pos + 4, 5, budget)
    filter_results: list[DeleteAclsFilterResult] = []
    for _ in range(filter_results_count):
        filter_results_item, pos = _decode_delete_acls_filter_result_v2(buf, pos, budget)
        filter_results.append(filter_results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteAclsResponse(throttle_time_ms, filter_results), pos


def _encode_delete_acls_response_v2(msg: DeleteAclsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.filter_results) + 1, out)
    for filter_results_item in msg.filter_results:
        _encode_delete_acls_filter_result_v2(filter_results_item, out)
    out.append(0)


DeleteAclsRequest.DECODERS = (
    _decode_delete_acls_request_v0,
    _decode_delete_acls_request_v1,
    _decode_delete_acls_request_v2,
)

DeleteAclsRequest.ENCODERS = (
    _encode_delete_acls_request_v0,
    _encode_delete_acls_request_v1,
    _encode_delete_acls_request_v2,
)

DeleteAclsResponse.DECODERS = (
    _decode_delete_acls_response_v0,
    _decode_delete_acls_response_v1,
    _decode_delete_acls_response_v2,
)

DeleteAclsResponse.ENCODERS = (
    _encode_delete_acls_response_v0,
    _encode_delete_acls_response_v1,
    _encode_delete_acls_response_v2,
)
