"""DescribeClientQuotas (API key 48): request and response.

Generated from the DescribeClientQuotas schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar

from barnabas.wire.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    read_nullable_string,
    read_string,
    take_nullable_string,
    write_nullable_string,
    write_string,
)

_pack_b = Struct(">b").pack
_pack_d = Struct(">d").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_t = Struct(">?").pack
_unpack_bh = Struct(">bh").unpack_from
_unpack_d = Struct(">d").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_unpack_t = Struct(">?").unpack_from


class ComponentData(Part):
    """Part of DescribeClientQuotasRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity_type",
        "match_type",
        "match",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


class DescribeClientQuotasRequest(Message):
    """DescribeClientQuotasRequest (API key 48), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "components",
        "strict",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "DescribeClientQuotasRequest"
    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeClientQuotasRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeClientQuotasRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        components: list[ComponentData] | None = None,
        strict: bool = False,
    ) -> None:
        self.components: list[ComponentData] = [] if components is None else components
        self.strict = strict


class EntityData(Part):
    """Part of DescribeClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity_type",
        "entity_name",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class ValueData(Part):
    """Part of DescribeClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key = key
        self.value = value


class EntryData(Part):
    """Part of DescribeClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity",
        "values",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        entity: list[EntityData] | None = None,
        values: list[ValueData] | None = None,
    ) -> None:
        self.entity: list[EntityData] = [] if entity is None else entity
        self.values: list[ValueData] = [] if values is None else values


class DescribeClientQuotasResponse(Message):
    """DescribeClientQuotasResponse (API key 48), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "entries",
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "DescribeClientQuotasResponse"
    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[DescribeClientQuotasResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[DescribeClientQuotasResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None | Missing = MISSING,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries: list[EntryData] | None = [] if isinstance(entries, Missing) else entries


def _decode_component_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ComponentData, int]:
    entity_type, pos = read_string(buf, pos)
    match_type, match_length = _unpack_bh(buf, pos)
    match, pos = take_nullable_string(buf, pos + 3, match_length)
    return ComponentData(entity_type, match_type, match), pos


def _encode_component_data_v0(msg: ComponentData, out: WireBuffer) -> None:
    write_string(msg.entity_type, out)
    out += _pack_b(msg.match_type)
    write_nullable_string(msg.match, out)


def _decode_describe_client_quotas_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClientQuotasRequest, int]:
    (components_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(components_count, len(buf) - pos, 5, budget)
    components: list[ComponentData] = []
    for _ in range(components_count):
        components_item, pos = _decode_component_data_v0(buf, pos, budget)
        components.append(components_item)
    (strict,) = _unpack_t(buf, pos)
    return DescribeClientQuotasRequest(components, strict), pos + 1


def _encode_describe_client_quotas_request_v0(msg: DescribeClientQuotasRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.components))
    for components_item in msg.components:
        _encode_component_data_v0(components_item, out)
    out += _pack_t(msg.strict)


def _decode_entity_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EntityData, int]:
    entity_type, pos = read_string(buf, pos)
    entity_name, pos = read_nullable_string(buf, pos)
    return EntityData(entity_type, entity_name), pos


def _encode_entity_data_v0(msg: EntityData, out: WireBuffer) -> None:
    write_string(msg.entity_type, out)
    write_nullable_string(msg.entity_name, out)


def _decode_value_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[ValueData, int]:
    key, pos = read_string(buf, pos)
    (value,) = _unpack_d(buf, pos)
    return ValueData(key, value), pos + 8


def _encode_value_data_v0(msg: ValueData, out: WireBuffer) -> None:
    write_string(msg.key, out)
    out += _pack_d(msg.value)


def _decode_entry_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EntryData, int]:
    (entity_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(entity_count, len(buf) - pos, 4, budget)
    entity: list[EntityData] = []
    for _ in range(entity_count):
        entity_item, pos = _decode_entity_data_v0(buf, pos, budget)
        entity.append(entity_item)
    (values_count,) = _unpack_i(buf, pos)
    pos += 4
    check_count(values_count, len(buf) - pos, 10, budget)
    values: list[ValueData] = []
    for _ in range(values_count):
        values_item, pos = _decode_value_data_v0(buf, pos, budget)
        values.append(values_item)
    return EntryData(entity, values), pos


def _encode_entry_data_v0(msg: EntryData, out: WireBuffer) -> None:
    out += _pack_i(len(msg.entity))
    for entity_item in msg.entity:
        _encode_entity_data_v0(entity_item, out)
    out += _pack_i(len(msg.values))
    for values_item in msg.values:
        _encode_value_data_v0(values_item, out)


def _decode_describe_client_quotas_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClientQuotasResponse, int]:
    throttle_time_ms, error_code, error_message_length = _unpack_ihh(buf, pos)
    error_message, pos = take_nullable_string(buf, pos + 8, error_message_length)
    (entries_count,) = _unpack_i(buf, pos)
    pos += 4
    entries: list[EntryData] | None = None
    if entries_count >= 0:
        check_count(entries_count, len(buf) - pos, 8, budget)
        entries = []
        for _ in range(entries_count):
            entries_item, pos = _decode_entry_data_v0(buf, pos, budget)
            entries.append(entries_item)
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries), pos


def _encode_describe_client_quotas_response_v0(msg: DescribeClientQuotasResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(-1 if msg.entries is None else len(msg.entries))
    if msg.entries:
        for entries_item in msg.entries:
            _encode_entry_data_v0(entries_item, out)


DescribeClientQuotasRequest.DECODERS = (_decode_describe_client_quotas_request_v0,)

DescribeClientQuotasRequest.ENCODERS = (_encode_describe_client_quotas_request_v0,)

DescribeClientQuotasResponse.DECODERS = (_decode_describe_client_quotas_response_v0,)

DescribeClientQuotasResponse.ENCODERS = (_encode_describe_client_quotas_response_v0,)
