"""ListConfigResources (API key 74): request and response.

Generated from the ListConfigResources schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.protocol.wire import (
    Budget,
    Message,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    not_in_version,
    read_compact_count,
    read_compact_string,
    read_int8s,
    skip_tagged_fields,
    write_compact_string,
    write_int8s,
    write_uvarint,
)

_pack_bB = Struct(">bB").pack
_pack_ih = Struct(">ih").pack
_unpack_b = Struct(">b").unpack_from
_unpack_ih = Struct(">ih").unpack_from


class ListConfigResourcesRequest(Message):
    """ListConfigResourcesRequest (API key 74), versions 0-1."""

    __slots__ = (
        "resource_types",  # versions 1+
    )

    SCHEMA_NAME: ClassVar[str] = "ListConfigResourcesRequest"
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListConfigResourcesRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListConfigResourcesRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        resource_types: list[int] | None = None,
    ) -> None:
        self.resource_types: list[int] = [] if resource_types is None else resource_types


class ConfigResource(Part):
    """Part of ListConfigResourcesResponse."""

    __slots__ = (
        "resource_name",
        "resource_type",  # versions 1+
    )

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type


class ListConfigResourcesResponse(Message):
    """ListConfigResourcesResponse (API key 74), versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "config_resources",
    )

    SCHEMA_NAME: ClassVar[str] = "ListConfigResourcesResponse"
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ListConfigResourcesResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ListConfigResourcesResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources: list[ConfigResource] = [] if config_resources is None else config_resources


def _decode_list_config_resources_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListConfigResourcesRequest, int]:
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListConfigResourcesRequest(), pos


def _encode_list_config_resources_request_v0(msg: ListConfigResourcesRequest, out: WireBuffer) -> None:
    if msg.resource_types:
        raise not_in_version("ListConfigResourcesRequest.resource_types")
    out.append(0)


def _decode_list_config_resources_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListConfigResourcesRequest, int]:
    resource_types_count, pos = read_compact_count(buf, pos, 1, budget)
    resource_types = read_int8s(buf, pos, resource_types_count)
    pos += resource_types_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListConfigResourcesRequest(resource_types), pos


def _encode_list_config_resources_request_v1(msg: ListConfigResourcesRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.resource_types) + 1, out)
    write_int8s(msg.resource_types, out)
    out.append(0)


def _decode_config_resource_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ConfigResource, int]:
    resource_name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConfigResource(resource_name), pos


def _encode_config_resource_v0(msg: ConfigResource, out: WireBuffer) -> None:
    write_compact_string(msg.resource_name, out)
    out.append(0)


def _decode_list_config_resources_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListConfigResourcesResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    config_resources_count, pos = read_compact_count(buf, pos + 6, 2, budget)
    config_resources: list[ConfigResource] = []
    for _ in range(config_resources_count):
        config_resources_item, pos = _decode_config_resource_v0(buf, pos, budget)
        config_resources.append(config_resources_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources), pos


def _encode_list_config_resources_response_v0(msg: ListConfigResourcesResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.config_resources) + 1, out)
    for config_resources_item in msg.config_resources:
        _encode_config_resource_v0(config_resources_item, out)
    out.append(0)


def _decode_config_resource_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[ConfigResource, int]:
    resource_name, pos = read_compact_string(buf, pos)
    (resource_type,) = _unpack_b(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ConfigResource(resource_name, resource_type), pos


def _encode_config_resource_v1(msg: ConfigResource, out: WireBuffer) -> None:
    write_compact_string(msg.resource_name, out)
    out += _pack_bB(msg.resource_type, 0)


def _decode_list_config_resources_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ListConfigResourcesResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    config_resources_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    config_resources: list[ConfigResource] = []
    for _ in range(config_resources_count):
        config_resources_item, pos = _decode_config_resource_v1(buf, pos, budget)
        config_resources.append(config_resources_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources), pos


def _encode_list_config_resources_response_v1(msg: ListConfigResourcesResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.config_resources) + 1, out)
    for config_resources_item in msg.config_resources:
        _encode_config_resource_v1(config_resources_item, out)
    out.append(0)


ListConfigResourcesRequest.DECODERS = (
    _decode_list_config_resources_request_v0,
    _decode_list_config_resources_request_v1,
)

ListConfigResourcesRequest.ENCODERS = (
    _encode_list_config_resources_request_v0,
    _encode_list_config_resources_request_v1,
)

ListConfigResourcesResponse.DECODERS = (
    _decode_list_config_resources_response_v0,
    _decode_list_config_resources_response_v1,
)

ListConfigResourcesResponse.ENCODERS = (
    _encode_list_config_resources_response_v0,
    _encode_list_config_resources_response_v1,
)
