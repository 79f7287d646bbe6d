"""IncrementalAlterConfigs (API key 44): request and response.

Generated from the IncrementalAlterConfigs schemas by scripts/generate.

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
_pack_bh: Final = Struct(">bh").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_t: Final = Struct(">?").pack
_pack_tB: Final = Struct(">?B").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_t: Final = Struct(">?").unpack_from


class AlterableConfig(Part):
    """Part of IncrementalAlterConfigsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "config_operation",
        "value",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value


class AlterConfigsResource(Part):
    """Part of IncrementalAlterConfigsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "configs",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("configs", AlterableConfig, True),)

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] | None = None,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs: list[AlterableConfig] = [] if configs is None else configs


class IncrementalAlterConfigsRequest(Message):
    """IncrementalAlterConfigsRequest (API key 44), versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resources",
        "validate_only",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("resources", AlterConfigsResource, True),)

    SCHEMA_NAME: ClassVar[str] = "IncrementalAlterConfigsRequest"
    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[IncrementalAlterConfigsRequest, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[IncrementalAlterConfigsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        resources: list[AlterConfigsResource] | None = None,
        validate_only: bool = False,
    ) -> None:
        self.resources: list[AlterConfigsResource] = [] if resources is None else resources
        self.validate_only = validate_only


class AlterConfigsResourceResponse(Part):
    """Part of IncrementalAlterConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name


class IncrementalAlterConfigsResponse(Message):
    """IncrementalAlterConfigsResponse (API key 44), versions 0-1."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "responses",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("responses", AlterConfigsResourceResponse, True),)

    SCHEMA_NAME: ClassVar[str] = "IncrementalAlterConfigsResponse"
    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[
        tuple[Callable[[memoryview, int, Budget], tuple[IncrementalAlterConfigsResponse, int]] | None, ...]
    ]
    ENCODERS: ClassVar[tuple[Callable[[IncrementalAlterConfigsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[AlterConfigsResourceResponse] = [] if responses is None else responses


def _decode_alter_configs_resource_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterConfigsResource, int]:
    resource_type, resource_name_length = _unpack_bh(buf, pos)
    pos += 3
    end = pos + resource_name_length
    if resource_name_length < 0 or end > len(buf):
        raise wrong_length("string", resource_name_length, pos, buf)
    resource_name = str(buf[pos:end], "utf-8")
    pos = end
    (configs_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - configs_count
    if configs_count < 0 or elements_left < 0 or configs_count * 5 > len(buf) - pos:
        check_count(configs_count, len(buf) - pos, 5, budget)
    budget.elements_left = elements_left
    configs: list[AlterableConfig] = []
    for _ in range(configs_count):
        (configs_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + configs_name_length
        if configs_name_length < 0 or end > len(buf):
            raise wrong_length("string", configs_name_length, pos, buf)
        configs_name = str(buf[pos:end], "utf-8")
        pos = end
        configs_config_operation, configs_value_length = _unpack_bh(buf, pos)
        pos += 3
        configs_value: str | None = None
        if configs_value_length >= 0:
            end = pos + configs_value_length
            if end > len(buf):
                raise wrong_length("string", configs_value_length, pos, buf)
            configs_value = str(buf[pos:end], "utf-8")
            pos = end
        configs.append(AlterableConfig(configs_name, configs_config_operation, configs_value))
    return AlterConfigsResource(resource_type, resource_name, configs), pos


def _encode_alter_configs_resource_v0(msg: AlterConfigsResource, out: WireBuffer) -> None:
    resource_name_bytes = msg.resource_name.encode()
    out += _pack_bh(msg.resource_type, len(resource_name_bytes))
    out += resource_name_bytes
    out += _pack_i(len(msg.configs))
    for configs_item in msg.configs:
        name_bytes = configs_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_b(configs_item.config_operation)
        write_nullable_string(configs_item.value, out)


def _decode_incremental_alter_configs_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[IncrementalAlterConfigsRequest, int]:
    (resources_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - resources_count
    if resources_count < 0 or elements_left < 0 or resources_count * 7 > len(buf) - pos:
        check_count(resources_count, len(buf) - pos, 7, budget)
    budget.elements_left = elements_left
    resources: list[AlterConfigsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_alter_configs_resource_v0(buf, pos, budget)
        resources.append(resources_item)
    (validate_only,) = _unpack_t(buf, pos)
    return IncrementalAlterConfigsRequest(resources, validate_only), pos + 1


def _encode_incremental_alter_configs_request_v0(msg: IncrementalAlterConfigsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.resources))
    for resources_item in msg.resources:
        _encode_alter_configs_resource_v0(resources_item, out)
    out += _pack_t(msg.validate_only)


def _decode_alterable_config_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterableConfig, int]:
    name, pos = read_compact_string(buf, pos)
    (config_operation,) = _unpack_b(buf, pos)
    value, pos = read_compact_nullable_string(buf, pos + 1)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterableConfig(name, config_operation, value), pos


def _encode_alterable_config_v1(msg: AlterableConfig, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_b(msg.config_operation)
    write_compact_nullable_string(msg.value, out)
    out.append(0)


def _decode_alter_configs_resource_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterConfigsResource, int]:
    (resource_type,) = _unpack_b(buf, pos)
    resource_name, pos = read_compact_string(buf, pos + 1)
    configs_count, pos = read_compact_count(buf, pos, 4, budget)
    configs: list[AlterableConfig] = []
    for _ in range(configs_count):
        configs_item, pos = _decode_alterable_config_v1(buf, pos, budget)
        configs.append(configs_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterConfigsResource(resource_type, resource_name, configs), pos


def _encode_alter_configs_resource_v1(msg: AlterConfigsResource, out: WireBuffer) -> None:
    out += _pack_b(msg.resource_type)
    write_compact_string(msg.resource_name, out)
    write_uvarint(len(msg.configs) + 1, out)
    for configs_item in msg.configs:
        _encode_alterable_config_v1(configs_item, out)
    out.append(0)


def _decode_incremental_alter_configs_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[IncrementalAlterConfigsRequest, int]:
    resources_count, pos = read_compact_count(buf, pos, 4, budget)
    resources: list[AlterConfigsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_alter_configs_resource_v1(buf, pos, budget)
        resources.append(resources_item)
    (validate_only,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return IncrementalAlterConfigsRequest(resources, validate_only), pos


def _encode_incremental_alter_configs_request_v1(msg: IncrementalAlterConfigsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.resources) + 1, out)
    for resources_item in msg.resources:
        _encode_alter_configs_resource_v1(resources_item, out)
    out += _pack_tB(msg.validate_only, 0)


def _decode_incremental_alter_configs_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[IncrementalAlterConfigsResponse, int]:
    throttle_time_ms, responses_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - responses_count
    if responses_count < 0 or elements_left < 0 or responses_count * 7 > len(buf) - pos:
        check_count(responses_count, len(buf) - pos, 7, budget)
    budget.elements_left = elements_left
    responses: list[AlterConfigsResourceResponse] = []
    for _ in range(responses_count):
        responses_error_code, responses_error_message_length = _unpack_hh(buf, pos)
        pos += 4
        responses_error_message: str | None = None
        if responses_error_message_length >= 0:
            end = pos + responses_error_message_length
            if end > len(buf):
                raise wrong_length("string", responses_error_message_length, pos, buf)
            responses_error_message = str(buf[pos:end], "utf-8")
            pos = end
        responses_resource_type, responses_resource_name_length = _unpack_bh(buf, pos)
        pos += 3
        end = pos + responses_resource_name_length
        if responses_resource_name_length < 0 or end > len(buf):
            raise wrong_length("string", responses_resource_name_length, pos, buf)
        responses_resource_name = str(buf[pos:end], "utf-8")
        pos = end
        responses.append(
            AlterConfigsResourceResponse(
                responses_error_code, responses_error_message, responses_resource_type, responses_resource_name
            )
        )
    return IncrementalAlterConfigsResponse(throttle_time_ms, responses), pos


def _encode_incremental_alter_configs_response_v0(msg: IncrementalAlterConfigsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.responses))
    for responses_item in msg.responses:
        out += _pack_h(responses_item.error_code)
        write_nullable_string(responses_item.error_message, out)
        resource_name_bytes = responses_item.resource_name.encode()
        out += _pack_bh(responses_item.resource_type, len(resource_name_bytes))
        out += resource_name_bytes


def _decode_alter_configs_resource_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterConfigsResourceResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    (resource_type,) = _unpack_b(buf, pos)
    resource_name, pos = read_compact_string(buf, pos + 1)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name), pos


def _encode_alter_configs_resource_response_v1(msg: AlterConfigsResourceResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_b(msg.resource_type)
    write_compact_string(msg.resource_name, out)
    out.append(0)


def _decode_incremental_alter_configs_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[IncrementalAlterConfigsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    responses_count, pos = read_compact_count(buf, pos + 4, 6, budget)
    responses: list[AlterConfigsResourceResponse] = []
    for _ in range(responses_count):
        responses_item, pos = _decode_alter_configs_resource_response_v1(buf, pos, budget)
        responses.append(responses_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return IncrementalAlterConfigsResponse(throttle_time_ms, responses), pos


def _encode_incremental_alter_configs_response_v1(msg: IncrementalAlterConfigsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.responses) + 1, out)
    for responses_item in msg.responses:
        _encode_alter_configs_resource_response_v1(responses_item, out)
    out.append(0)


IncrementalAlterConfigsRequest.DECODERS = (
    _decode_incremental_alter_configs_request_v0,
    _decode_incremental_alter_configs_request_v1,
)

IncrementalAlterConfigsRequest.ENCODERS = (
    _encode_incremental_alter_configs_request_v0,
    _encode_incremental_alter_configs_request_v1,
)

IncrementalAlterConfigsResponse.DECODERS = (
    _decode_incremental_alter_configs_response_v0,
    _decode_incremental_alter_configs_response_v1,
)

IncrementalAlterConfigsResponse.ENCODERS = (
    _encode_incremental_alter_configs_response_v0,
    _encode_incremental_alter_configs_response_v1,
)
