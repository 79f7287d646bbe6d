"""DescribeConfigs (API key 32): request and response.

Generated from the DescribeConfigs schemas by scripts/generate.

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
    not_in_version,
    read_string,
    write_nullable_string,
    write_string,
    wrong_length,
)

_pack_b: Final = Struct(">b").pack
_pack_bh: Final = Struct(">bh").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_t: Final = Struct(">?").pack
_pack_tbti: Final = Struct(">?b?i").pack
_pack_tt: Final = Struct(">??").pack
_pack_ttt: Final = Struct(">???").pack
_unpack_b: Final = Struct(">b").unpack_from
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_t: Final = Struct(">?").unpack_from
_unpack_tbti: Final = Struct(">?b?i").unpack_from
_unpack_tt: Final = Struct(">??").unpack_from
_unpack_ttt: Final = Struct(">???").unpack_from


class DescribeConfigsResource(Part):
    """Part of DescribeConfigsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "configuration_keys",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None | Missing = MISSING,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys: list[str] | None = (
            [] if isinstance(configuration_keys, Missing) else configuration_keys
        )


class DescribeConfigsRequest(Message):
    """DescribeConfigsRequest (API key 32), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resources",
        "include_synonyms",  # versions 1+
        "include_documentation",  # versions 3+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("resources", DescribeConfigsResource, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeConfigsRequest"
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeConfigsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeConfigsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        resources: list[DescribeConfigsResource] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources: list[DescribeConfigsResource] = [] if resources is None else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation


class DescribeConfigsSynonym(Part):
    """Part of DescribeConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",  # versions 1+
        "value",  # versions 1+
        "source",  # versions 1+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


class DescribeConfigsResourceResult(Part):
    """Part of DescribeConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
        "read_only",
        "is_default",  # versions 0
        "config_source",  # versions 1+
        "is_sensitive",
        "synonyms",  # versions 1+
        "config_type",  # versions 3+
        "documentation",  # versions 3+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("synonyms", DescribeConfigsSynonym, True),)

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        is_default: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] | None = None,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.is_default = is_default
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms: list[DescribeConfigsSynonym] = [] if synonyms is None else synonyms
        self.config_type = config_type
        self.documentation = documentation


class DescribeConfigsResult(Part):
    """Part of DescribeConfigsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "configs",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("configs", DescribeConfigsResourceResult, True),)

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] | None = None,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs: list[DescribeConfigsResourceResult] = [] if configs is None else configs


class DescribeConfigsResponse(Message):
    """DescribeConfigsResponse (API key 32), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "results",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("results", DescribeConfigsResult, True),)

    SCHEMA_NAME: ClassVar[str] = "DescribeConfigsResponse"
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeConfigsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeConfigsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DescribeConfigsResult] = [] if results is None else results


def _decode_describe_configs_resource_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsResource, int]:
    resource_type, resource_name_length = _unpack_bh(buf, pos)
    pos += 3
    end = pos + resource_name_length
    if resource_name_length < 0 or end > len(buf):
        raise wrong_length("string", resource_name_length, pos, buf)
    resource_name = str(buf[pos:end], "utf-8")
    pos = end
    (configuration_keys_count,) = _unpack_i(buf, pos)
    pos += 4
    configuration_keys: list[str] | None = None
    if configuration_keys_count >= 0:
        elements_left = budget.elements_left - configuration_keys_count
        if configuration_keys_count < 0 or elements_left < 0 or configuration_keys_count * 2 > len(buf) - pos:
            check_count(configuration_keys_count, len(buf) - pos, 2, budget)
        budget.elements_left = elements_left
        configuration_keys = []
        for _ in range(configuration_keys_count):
            configuration_keys_item, pos = read_string(buf, pos)
            configuration_keys.append(configuration_keys_item)
    return DescribeConfigsResource(resource_type, resource_name, configuration_keys), pos


def _encode_describe_configs_resource_v0(msg: DescribeConfigsResource, out: WireBuffer) -> None:
    resource_name_bytes = msg.resource_name.encode()
    out += _pack_bh(msg.resource_type, len(resource_name_bytes))
    out += resource_name_bytes
    out += _pack_i(-1 if msg.configuration_keys is None else len(msg.configuration_keys))
    if msg.configuration_keys:
        for configuration_keys_item in msg.configuration_keys:
            write_string(configuration_keys_item, out)


def _decode_describe_configs_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsRequest, int]:
    (resources_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - resources_count
    if resources_count < 0 or elements_left < 0 or resources_count * 7 > len(buf) - pos:
        check_count(resources_count, len(buf) - pos, 7, budget)
    budget.elements_left = elements_left
    resources: list[DescribeConfigsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_describe_configs_resource_v0(buf, pos, budget)
        resources.append(resources_item)
    return DescribeConfigsRequest(resources), pos


def _encode_describe_configs_request_v0(msg: DescribeConfigsRequest, out: WireBuffer) -> None:
    if msg.include_synonyms:
        raise not_in_version("DescribeConfigsRequest.include_synonyms")
    if msg.include_documentation:
        raise not_in_version("DescribeConfigsRequest.include_documentation")
    out += _pack_i(len(msg.resources))
    for resources_item in msg.resources:
        _encode_describe_configs_resource_v0(resources_item, out)


def _decode_describe_configs_request_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsRequest, int]:
    (resources_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - resources_count
    if resources_count < 0 or elements_left < 0 or resources_count * 7 > len(buf) - pos:
        check_count(resources_count, len(buf) - pos, 7, budget)
    budget.elements_left = elements_left
    resources: list[DescribeConfigsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_describe_configs_resource_v0(buf, pos, budget)
        resources.append(resources_item)
    (include_synonyms,) = _unpack_t(buf, pos)
    return DescribeConfigsRequest(resources, include_synonyms), pos + 1


def _encode_describe_configs_request_v1(msg: DescribeConfigsRequest, out: WireBuffer) -> None:
    if msg.include_documentation:
        raise not_in_version("DescribeConfigsRequest.include_documentation")
    out += _pack_i(len(msg.resources))
    for resources_item in msg.resources:
        _encode_describe_configs_resource_v0(resources_item, out)
    out += _pack_t(msg.include_synonyms)


def _decode_describe_configs_request_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsRequest, int]:
    (resources_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - resources_count
    if resources_count < 0 or elements_left < 0 or resources_count * 7 > len(buf) - pos:
        check_count(resources_count, len(buf) - pos, 7, budget)
    budget.elements_left = elements_left
    resources: list[DescribeConfigsResource] = []
    for _ in range(resources_count):
        resources_item, pos = _decode_describe_configs_resource_v0(buf, pos, budget)
        resources.append(resources_item)
    include_synonyms, include_documentation = _unpack_tt(buf, pos)
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation), pos + 2


def _encode_describe_configs_request_v3(msg: DescribeConfigsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.resources))
    for resources_item in msg.resources:
        _encode_describe_configs_resource_v0(resources_item, out)
    out += _pack_tt(msg.include_synonyms, msg.include_documentation)


def _decode_describe_configs_result_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeConfigsResult, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
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
    if configs_count < 0 or elements_left < 0 or configs_count * 7 > len(buf) - pos:
        check_count(configs_count, len(buf) - pos, 7, budget)
    budget.elements_left = elements_left
    configs: list[DescribeConfigsResourceResult] = []
    for _ in range(configs_count):
        (configs_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + configs_name_length
        if configs_name_length < 0 or end > len(buf):
            raise wrong_length("string", configs_name_length, pos, buf)
        configs_name = str(buf[pos:end], "utf-8")
        pos = end
        (configs_value_length,) = _unpack_h(buf, pos)
        pos += 2
        configs_value: str | None = None
        if configs_value_length >= 0:
            end = pos + configs_value_length
            if end > len(buf):
                raise wrong_length("string", configs_value_length, pos, buf)
            configs_value = str(buf[pos:end], "utf-8")
            pos = end
        configs_read_only, configs_is_default, configs_is_sensitive = _unpack_ttt(buf, pos)
        pos += 3
        configs.append(
            DescribeConfigsResourceResult(
                configs_name, configs_value, configs_read_only, configs_is_default, -1, configs_is_sensitive
            )
        )
    return DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs), pos


def _encode_describe_configs_result_v0(msg: DescribeConfigsResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    resource_name_bytes = msg.resource_name.encode()
    out += _pack_bh(msg.resource_type, len(resource_name_bytes))
    out += resource_name_bytes
    out += _pack_i(len(msg.configs))
    for configs_item in msg.configs:
        name_bytes = configs_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        write_nullable_string(configs_item.value, out)
        out += _pack_ttt(configs_item.read_only, configs_item.is_default, configs_item.is_sensitive)


def _decode_describe_configs_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 11 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 11, budget)
    budget.elements_left = elements_left
    results: list[DescribeConfigsResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_describe_configs_result_v0(buf, pos, budget)
        results.append(results_item)
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _encode_describe_configs_response_v0(msg: DescribeConfigsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        _encode_describe_configs_result_v0(results_item, out)


def _decode_describe_configs_resource_result_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsResourceResult, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (value_length,) = _unpack_h(buf, pos)
    pos += 2
    value: str | None = None
    if value_length >= 0:
        end = pos + value_length
        if end > len(buf):
            raise wrong_length("string", value_length, pos, buf)
        value = str(buf[pos:end], "utf-8")
        pos = end
    read_only, config_source, is_sensitive, synonyms_count = _unpack_tbti(buf, pos)
    pos += 7
    elements_left = budget.elements_left - synonyms_count
    if synonyms_count < 0 or elements_left < 0 or synonyms_count * 5 > len(buf) - pos:
        check_count(synonyms_count, len(buf) - pos, 5, budget)
    budget.elements_left = elements_left
    synonyms: list[DescribeConfigsSynonym] = []
    for _ in range(synonyms_count):
        (synonyms_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + synonyms_name_length
        if synonyms_name_length < 0 or end > len(buf):
            raise wrong_length("string", synonyms_name_length, pos, buf)
        synonyms_name = str(buf[pos:end], "utf-8")
        pos = end
        (synonyms_value_length,) = _unpack_h(buf, pos)
        pos += 2
        synonyms_value: str | None = None
        if synonyms_value_length >= 0:
            end = pos + synonyms_value_length
            if end > len(buf):
                raise wrong_length("string", synonyms_value_length, pos, buf)
            synonyms_value = str(buf[pos:end], "utf-8")
            pos = end
        (synonyms_source,) = _unpack_b(buf, pos)
        pos += 1
        synonyms.append(DescribeConfigsSynonym(synonyms_name, synonyms_value, synonyms_source))
    return DescribeConfigsResourceResult(name, value, read_only, False, config_source, is_sensitive, synonyms), pos


def _encode_describe_configs_resource_result_v1(msg: DescribeConfigsResourceResult, out: WireBuffer) -> None:
    if msg.is_default:
        raise not_in_version("DescribeConfigsResourceResult.is_default")
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    write_nullable_string(msg.value, out)
    out += _pack_tbti(msg.read_only, msg.config_source, msg.is_sensitive, len(msg.synonyms))
    for synonyms_item in msg.synonyms:
        name_bytes = synonyms_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        write_nullable_string(synonyms_item.value, out)
        out += _pack_b(synonyms_item.source)


def _decode_describe_configs_result_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeConfigsResult, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
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
    if configs_count < 0 or elements_left < 0 or configs_count * 11 > len(buf) - pos:
        check_count(configs_count, len(buf) - pos, 11, budget)
    budget.elements_left = elements_left
    configs: list[DescribeConfigsResourceResult] = []
    for _ in range(configs_count):
        configs_item, pos = _decode_describe_configs_resource_result_v1(buf, pos, budget)
        configs.append(configs_item)
    return DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs), pos


def _encode_describe_configs_result_v1(msg: DescribeConfigsResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    resource_name_bytes = msg.resource_name.encode()
    out += _pack_bh(msg.resource_type, len(resource_name_bytes))
    out += resource_name_bytes
    out += _pack_i(len(msg.configs))
    for configs_item in msg.configs:
        _encode_describe_configs_resource_result_v1(configs_item, out)


def _decode_describe_configs_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 11 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 11, budget)
    budget.elements_left = elements_left
    results: list[DescribeConfigsResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_describe_configs_result_v1(buf, pos, budget)
        results.append(results_item)
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _encode_describe_configs_response_v1(msg: DescribeConfigsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        _encode_describe_configs_result_v1(results_item, out)


def _decode_describe_configs_resource_result_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsResourceResult, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (value_length,) = _unpack_h(buf, pos)
    pos += 2
    value: str | None = None
    if value_length >= 0:
        end = pos + value_length
        if end > len(buf):
            raise wrong_length("string", value_length, pos, buf)
        value = str(buf[pos:end], "utf-8")
        pos = end
    read_only, config_source, is_sensitive, synonyms_count = _unpack_tbti(buf, pos)
    pos += 7
    elements_left = budget.elements_left - synonyms_count
    if synonyms_count < 0 or elements_left < 0 or synonyms_count * 5 > len(buf) - pos:
        check_count(synonyms_count, len(buf) - pos, 5, budget)
    budget.elements_left = elements_left
    synonyms: list[DescribeConfigsSynonym] = []
    for _ in range(synonyms_count):
        (synonyms_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + synonyms_name_length
        if synonyms_name_length < 0 or end > len(buf):
            raise wrong_length("string", synonyms_name_length, pos, buf)
        synonyms_name = str(buf[pos:end], "utf-8")
        pos = end
        (synonyms_value_length,) = _unpack_h(buf, pos)
        pos += 2
        synonyms_value: str | None = None
        if synonyms_value_length >= 0:
            end = pos + synonyms_value_length
            if end > len(buf):
                raise wrong_length("string", synonyms_value_length, pos, buf)
            synonyms_value = str(buf[pos:end], "utf-8")
            pos = end
        (synonyms_source,) = _unpack_b(buf, pos)
        pos += 1
        synonyms.append(DescribeConfigsSynonym(synonyms_name, synonyms_value, synonyms_source))
    config_type, documentation_length = _unpack_bh(buf, pos)
    pos += 3
    documentation: str | None = None
    if documentation_length >= 0:
        end = pos + documentation_length
        if end > len(buf):
            raise wrong_length("string", documentation_length, pos, buf)
        documentation = str(buf[pos:end], "utf-8")
        pos = end
    return DescribeConfigsResourceResult(
        name, value, read_only, False, config_source, is_sensitive, synonyms, config_type, documentation
    ), pos


def _encode_describe_configs_resource_result_v3(msg: DescribeConfigsResourceResult, out: WireBuffer) -> None:
    if msg.is_default:
        raise not_in_version("DescribeConfigsResourceResult.is_default")
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    write_nullable_string(msg.value, out)
    out += _pack_tbti(msg.read_only, msg.config_source, msg.is_sensitive, len(msg.synonyms))
    for synonyms_item in msg.synonyms:
        name_bytes = synonyms_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        write_nullable_string(synonyms_item.value, out)
        out += _pack_b(synonyms_item.source)
    out += _pack_b(msg.config_type)
    write_nullable_string(msg.documentation, out)


def _decode_describe_configs_result_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[DescribeConfigsResult, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
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
    if configs_count < 0 or elements_left < 0 or configs_count * 14 > len(buf) - pos:
        check_count(configs_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    configs: list[DescribeConfigsResourceResult] = []
    for _ in range(configs_count):
        configs_item, pos = _decode_describe_configs_resource_result_v3(buf, pos, budget)
        configs.append(configs_item)
    return DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs), pos


def _encode_describe_configs_result_v3(msg: DescribeConfigsResult, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    resource_name_bytes = msg.resource_name.encode()
    out += _pack_bh(msg.resource_type, len(resource_name_bytes))
    out += resource_name_bytes
    out += _pack_i(len(msg.configs))
    for configs_item in msg.configs:
        _encode_describe_configs_resource_result_v3(configs_item, out)


def _decode_describe_configs_response_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeConfigsResponse, int]:
    throttle_time_ms, results_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - results_count
    if results_count < 0 or elements_left < 0 or results_count * 11 > len(buf) - pos:
        check_count(results_count, len(buf) - pos, 11, budget)
    budget.elements_left = elements_left
    results: list[DescribeConfigsResult] = []
    for _ in range(results_count):
        results_item, pos = _decode_describe_configs_result_v3(buf, pos, budget)
        results.append(results_item)
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _encode_describe_configs_response_v3(msg: DescribeConfigsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.results))
    for results_item in msg.results:
        _encode_describe_configs_result_v3(results_item, out)


DescribeConfigsRequest.DECODERS = (
    _decode_describe_configs_request_v0,
    _decode_describe_configs_request_v1,
    _decode_describe_configs_request_v1,
    _decode_describe_configs_request_v3,
)

DescribeConfigsRequest.ENCODERS = (
    _encode_describe_configs_request_v0,
    _encode_describe_configs_request_v1,
    _encode_describe_configs_request_v1,
    _encode_describe_configs_request_v3,
)

DescribeConfigsResponse.DECODERS = (
    _decode_describe_configs_response_v0,
    _decode_describe_configs_response_v1,
    _decode_describe_configs_response_v1,
    _decode_describe_configs_response_v3,
)

DescribeConfigsResponse.ENCODERS = (
    _encode_describe_configs_response_v0,
    _encode_describe_configs_response_v1,
    _encode_describe_configs_response_v1,
    _encode_describe_configs_response_v3,
)
