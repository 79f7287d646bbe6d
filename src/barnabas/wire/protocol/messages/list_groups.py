"""ListGroups (API key 16): request and response.

Generated from the ListGroups schemas by scripts/generate.

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
    read_compact_string,
    skip_tagged_fields,
    write_compact_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihi: Final = Struct(">ihi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from


class ListGroupsRequest(Message):
    """ListGroupsRequest (API key 16), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "states_filter",  # versions 4+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ListGroupsRequest"
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListGroupsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListGroupsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        states_filter: list[str] | None = None,
    ) -> None:
        self.states_filter: list[str] = [] if states_filter is None else states_filter


class ListedGroup(Part):
    """Part of ListGroupsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "protocol_type",
        "group_state",  # versions 4+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state


class ListGroupsResponse(Message):
    """ListGroupsResponse (API key 16), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 1+
        "error_code",
        "groups",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("groups", ListedGroup, True),)

    SCHEMA_NAME: ClassVar[str] = "ListGroupsResponse"
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListGroupsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListGroupsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups: list[ListedGroup] = [] if groups is None else groups


def _decode_list_groups_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListGroupsRequest, int]:
    return ListGroupsRequest(), pos


def _encode_list_groups_request_v0(msg: ListGroupsRequest, out: WireBuffer) -> None:
    if msg.states_filter:
        raise not_in_version("ListGroupsRequest.states_filter")


def _decode_list_groups_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[ListGroupsRequest, int]:
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListGroupsRequest(), pos


def _encode_list_groups_request_v3(msg: ListGroupsRequest, out: WireBuffer) -> None:
    if msg.states_filter:
        raise not_in_version("ListGroupsRequest.states_filter")
    out.append(0)


def _decode_list_groups_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListGroupsRequest, int]:
    states_filter_count, pos = read_compact_count(buf, pos, 1, budget)
    states_filter: list[str] = []
    for _ in range(states_filter_count):
        states_filter_item, pos = read_compact_string(buf, pos)
        states_filter.append(states_filter_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListGroupsRequest(states_filter), pos


def _encode_list_groups_request_v4(msg: ListGroupsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.states_filter) + 1, out)
    for states_filter_item in msg.states_filter:
        write_compact_string(states_filter_item, out)
    out.append(0)


def _decode_list_groups_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ListGroupsResponse, int]:
    error_code, groups_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 4 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    groups: list[ListedGroup] = []
    for _ in range(groups_count):
        (groups_group_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + groups_group_id_length
        if groups_group_id_length < 0 or end > len(buf):
            raise wrong_length("string", groups_group_id_length, pos, buf)
        groups_group_id = str(buf[pos:end], "utf-8")
        pos = end
        (groups_protocol_type_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + groups_protocol_type_length
        if groups_protocol_type_length < 0 or end > len(buf):
            raise wrong_length("string", groups_protocol_type_length, pos, buf)
        groups_protocol_type = str(buf[pos:end], "utf-8")
        pos = end
        groups.append(ListedGroup(groups_group_id, groups_protocol_type))
    return ListGroupsResponse(0, error_code, groups), pos


def _encode_list_groups_response_v0(msg: ListGroupsResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.groups))
    for groups_item in msg.groups:
        group_id_bytes = groups_item.group_id.encode()
        out += _pack_h(len(group_id_bytes))
        out += group_id_bytes
        protocol_type_bytes = groups_item.protocol_type.encode()
        out += _pack_h(len(protocol_type_bytes))
        out += protocol_type_bytes


def _decode_list_groups_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ListGroupsResponse, int]:
    throttle_time_ms, error_code, groups_count = _unpack_ihi(buf, pos)
    pos += 10
    elements_left = budget.elements_left - groups_count
    if groups_count < 0 or elements_left < 0 or groups_count * 4 > len(buf) - pos:
        check_count(groups_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    groups: list[ListedGroup] = []
    for _ in range(groups_count):
        (groups_group_id_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + groups_group_id_length
        if groups_group_id_length < 0 or end > len(buf):
            raise wrong_length("string", groups_group_id_length, pos, buf)
        groups_group_id = str(buf[pos:end], "utf-8")
        pos = end
        (groups_protocol_type_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + groups_protocol_type_length
        if groups_protocol_type_length < 0 or end > len(buf):
            raise wrong_length("string", groups_protocol_type_length, pos, buf)
        groups_protocol_type = str(buf[pos:end], "utf-8")
        pos = end
        groups.append(ListedGroup(groups_group_id, groups_protocol_type))
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _encode_list_groups_response_v1(msg: ListGroupsResponse, out: WireBuffer) -> None:
    out += _pack_ihi(msg.throttle_time_ms, msg.error_code, len(msg.groups))
    for groups_item in msg.groups:
        group_id_bytes = groups_item.group_id.encode()
        out += _pack_h(len(group_id_bytes))
        out += group_id_bytes
        protocol_type_bytes = groups_item.protocol_type.encode()
        out += _pack_h(len(protocol_type_bytes))
        out += protocol_type_bytes


def _decode_listed_group_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[ListedGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListedGroup(group_id, protocol_type), pos


def _encode_listed_group_v3(msg: ListedGroup, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.protocol_type, out)
    out.append(0)


def _decode_list_groups_response_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[ListGroupsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    groups: list[ListedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_listed_group_v3(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _encode_list_groups_response_v3(msg: ListGroupsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_listed_group_v3(groups_item, out)
    out.append(0)


def _decode_listed_group_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListedGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListedGroup(group_id, protocol_type, group_state), pos


def _encode_listed_group_v4(msg: ListedGroup, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_compact_string(msg.protocol_type, out)
    write_compact_string(msg.group_state, out)
    out.append(0)


def _decode_list_groups_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[ListGroupsResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    groups_count, pos = read_compact_count(buf, pos + 6, 4, budget)
    groups: list[ListedGroup] = []
    for _ in range(groups_count):
        groups_item, pos = _decode_listed_group_v4(buf, pos, budget)
        groups.append(groups_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _encode_list_groups_response_v4(msg: ListGroupsResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.groups) + 1, out)
    for groups_item in msg.groups:
        _encode_listed_group_v4(groups_item, out)
    out.append(0)


ListGroupsRequest.DECODERS = (
    _decode_list_groups_request_v0,
    _decode_list_groups_request_v0,
    _decode_list_groups_request_v0,
    _decode_list_groups_request_v3,
    _decode_list_groups_request_v4,
)

ListGroupsRequest.ENCODERS = (
    _encode_list_groups_request_v0,
    _encode_list_groups_request_v0,
    _encode_list_groups_request_v0,
    _encode_list_groups_request_v3,
    _encode_list_groups_request_v4,
)

ListGroupsResponse.DECODERS = (
    _decode_list_groups_response_v0,
    _decode_list_groups_response_v1,
    _decode_list_groups_response_v1,
    _decode_list_groups_response_v3,
    _decode_list_groups_response_v4,
)

ListGroupsResponse.ENCODERS = (
    _encode_list_groups_response_v0,
    _encode_list_groups_response_v1,
    _encode_list_groups_response_v1,
    _encode_list_groups_response_v3,
    _encode_list_groups_response_v4,
)
