"""DescribeClientQuotas (API key 48): request and response.

Generated from the DescribeClientQuotas schemas by scripts/generate.

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
    write_nullable_string,
    wrong_length,
)

_pack_b: Final = Struct(">b").pack
_pack_d: Final = Struct(">d").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_t: Final = Struct(">?").pack
_unpack_bh: Final = Struct(">bh").unpack_from
_unpack_d: Final = Struct(">d").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ihh: Final = Struct(">ihh").unpack_from
_unpack_t: Final = Struct(">?").unpack_from


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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("components", ComponentData, True),)

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("entity", EntityData, True),
        ("values", ValueData, True),
    )

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
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("entries", EntryData, True),)

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


def _decode_describe_client_quotas_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClientQuotasRequest, int]:
    (components_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - components_count
    if components_count < 0 or elements_left < 0 or components_count * 5 > len(buf) - pos:
        check_count(components_count, len(buf) - pos, 5, budget)
    budget.elements_left = elements_left
    components: list[ComponentData] = []
    for _ in range(components_count):
        (components_entity_type_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + components_entity_type_length
        if components_entity_type_length < 0 or end > len(buf):
            raise wrong_length("string", components_entity_type_length, pos, buf)
        components_entity_type = str(buf[pos:end], "utf-8")
        pos = end
        components_match_type, components_match_length = _unpack_bh(buf, pos)
        pos += 3
        components_match: str | None = None
        if components_match_length >= 0:
            end = pos + components_match_length
            if end > len(buf):
                raise wrong_length("string", components_match_length, pos, buf)
            components_match = str(buf[pos:end], "utf-8")
            pos = end
        components.append(ComponentData(components_entity_type, components_match_type, components_match))
    (strict,) = _unpack_t(buf, pos)
    return DescribeClientQuotasRequest(components, strict), pos + 1


def _encode_describe_client_quotas_request_v0(msg: DescribeClientQuotasRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.components))
    for components_item in msg.components:
        entity_type_bytes = components_item.entity_type.encode()
        out += _pack_h(len(entity_type_bytes))
        out += entity_type_bytes
        out += _pack_b(components_item.match_type)
        write_nullable_string(components_item.match, out)
    out += _pack_t(msg.strict)


def _decode_entry_data_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[EntryData, int]:
    (entity_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - entity_count
    if entity_count < 0 or elements_left < 0 or entity_count * 4 > len(buf) - pos:
        check_count(entity_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    entity: list[EntityData] = []
    for _ in range(entity_count):
        (entity_entity_type_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + entity_entity_type_length
        if entity_entity_type_length < 0 or end > len(buf):
            raise wrong_length("string", entity_entity_type_length, pos, buf)
        entity_entity_type = str(buf[pos:end], "utf-8")
        pos = end
        (entity_entity_name_length,) = _unpack_h(buf, pos)
        pos += 2
        entity_entity_name: str | None = None
        if entity_entity_name_length >= 0:
            end = pos + entity_entity_name_length
            if end > len(buf):
                raise wrong_length("string", entity_entity_name_length, pos, buf)
            entity_entity_name = str(buf[pos:end], "utf-8")
            pos = end
        entity.append(EntityData(entity_entity_type, entity_entity_name))
    (values_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - values_count
    if values_count < 0 or elements_left < 0 or values_count * 10 > len(buf) - pos:
        check_count(values_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    values: list[ValueData] = []
    for _ in range(values_count):
        (values_key_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + values_key_length
        if values_key_length < 0 or end > len(buf):
            raise wrong_length("string", values_key_length, pos, buf)
        values_key = str(buf[pos:end], "utf-8")
        pos = end
        (values_value,) = _unpack_d(buf, pos)
        pos += 8
        values.append(ValueData(values_key, values_value))
    return EntryData(entity, values), pos


def _encode_entry_data_v0(msg: EntryData, out: WireBuffer) -> None:
    out += _pack_i(len(msg.entity))
    for entity_item in msg.entity:
        entity_type_bytes = entity_item.entity_type.encode()
        out += _pack_h(len(entity_type_bytes))
        out += entity_type_bytes
        write_nullable_string(entity_item.entity_name, out)
    out += _pack_i(len(msg.values))
    for values_item in msg.values:
        key_bytes = values_item.key.encode()
        out += _pack_h(len(key_bytes))
        out += key_bytes
        out += _pack_d(values_item.value)


def _decode_describe_client_quotas_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[DescribeClientQuotasResponse, int]:
    throttle_time_ms, error_code, error_message_length = _unpack_ihh(buf, pos)
    pos += 8
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
    (entries_count,) = _unpack_i(buf, pos)
    pos += 4
    entries: list[EntryData] | None = None
    if entries_count >= 0:
        elements_left = budget.elements_left - entries_count
        if entries_count < 0 or elements_left < 0 or entries_count * 8 > len(buf) - pos:
            check_count(entries_count, len(buf) - pos, 8, budget)
        budget.elements_left = elements_left
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
