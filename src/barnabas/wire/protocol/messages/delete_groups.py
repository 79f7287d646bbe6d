"""DeleteGroups (API key 42): request and response.

Generated from the DeleteGroups schemas by scripts/generate.

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
    read_compact_count,
    read_compact_string,
    read_string,
    skip_tagged_fields,
    write_compact_string,
    write_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from


class DeleteGroupsRequest(Message):
    """DeleteGroupsRequest (API key 42), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = ("groups_names",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "DeleteGroupsRequest"
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteGroupsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteGroupsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        groups_names: list[str] | None = None,
    ) -> None:
        self.groups_names: list[str] = [] if groups_names is None else groups_names


class DeletableGroupResult(Part):
    """Part of DeleteGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code


class DeleteGroupsResponse(Message):
    """DeleteGroupsResponse (API key 42), versions 0-2."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", DeletableGroupResult, True),)

    SCHEMA_NAME: ClassVar[str] = "DeleteGroupsResponse"
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DeleteGroupsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DeleteGroupsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DeletableGroupResult] = [] if results is None else results


def _decode_delete_groups_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteGroupsRequest, int]:
    (groups_names_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - groups_names_count
    if groups_names_count < 0 or elements_left < 0 or groups_names_count * 2 > len(buf) - pos:
        check_count(groups_names_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    groups_names: list[str] = []
    for _ in range(groups_names_count):
        groups_names_item, pos = read_string(buf, pos)
        groups_names.append(groups_names_item)
    return DeleteGroupsRequest(groups_names), pos


def _encode_delete_groups_request_v0(msg: DeleteGroupsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.groups_names))
    for groups_names_item in msg.groups_names:
        write_string(groups_names_item, out)


def _decode_delete_groups_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteGroupsRequest, int]:
    groups_names_count, pos = read_compact_count(buf, pos, 1, budget)
    groups_names: list[str] = []
    for _ in range(groups_names_count):
        groups_names_item, pos = read_compact_string(buf, pos)
        groups_names.append(groups_names_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteGroupsRequest(groups_names), pos


def _encode_delete_groups_request_v2(msg: DeleteGroupsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.groups_names) + 1, out)
    for groups_names_item in msg.groups_names:
        write_compact_string(groups_names_item, out)
    out.append(0)


def _decode_delete_groups_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteGroupsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 4 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    results: list[DeletableGroupResult] = []
    for _ in range(results_count):
        (results_group_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + results_group_id_length
        if results_group_id_length < 0 or end > len(buf):
            raise wrong_length("string", results_group_id_length, pos, buf)
        results_group_id = str(buf[pos:end], "utf-8")
        pos = end
        (results_error_code,) = _unpack_h(buf, pos)
        pos += 2
        results.append(DeletableGroupResult(results_group_id, results_error_code))
    return DeleteGroupsResponse(throttle_time_ms, results), pos


def _encode_delete_groups_response_v0(msg: DeleteGroupsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        group_id_bytes = results_item.group_id.encode()
        out += _pack_h(len(group_id_bytes))
        out += group_id_bytes
        out += _pack_h(results_item.error_code)


def _decode_deletable_group_result_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeletableGroupResult, int]:
    group_id, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeletableGroupResult(group_id, error_code), pos


def _encode_deletable_group_result_v2(msg: DeletableGroupResult, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    out += _pack_hB(msg.error_code, 0)


def _decode_delete_groups_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[DeleteGroupsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    results_count, pos = read_compact_count(buf, pos + 4, 4, budget)
    results: list[DeletableGroupResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_deletable_group_result_v2(buf, pos, budget)
        results.append(results_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return DeleteGroupsResponse(throttle_time_ms, results), pos


def _encode_delete_groups_response_v2(msg: DeleteGroupsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.results) + 1, out)
    for results_item in msg.results:
        _encode_deletable_group_result_v2(results_item, out)
    out.append(0)


DeleteGroupsRequest.DECODERS = (
    _decode_delete_groups_request_v0,
    _decode_delete_groups_request_v0,
    _decode_delete_groups_request_v2,
)

DeleteGroupsRequest.ENCODERS = (
    _encode_delete_groups_request_v0,
    _encode_delete_groups_request_v0,
    _encode_delete_groups_request_v2,
)

DeleteGroupsResponse.DECODERS = (
    _decode_delete_groups_response_v0,
    _decode_delete_groups_response_v0,
    _decode_delete_groups_response_v2,
)

DeleteGroupsResponse.ENCODERS = (
    _encode_delete_groups_response_v0,
    _encode_delete_groups_response_v0,
    _encode_delete_groups_response_v2,
)
