"""AlterClientQuotas (API key 49): request and response.

Generated from the AlterClientQuotas schemas by scripts/generate.

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
    write_nullable_string,
    wrong_length,
)

_pack_dt: Final = Struct(">d?").pack
_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_t: Final = Struct(">?").pack
_unpack_dt: Final = Struct(">d?").unpack_from
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_t: Final = Struct(">?").unpack_from


class EntityData(Part):
    """Part of AlterClientQuotasRequest."""

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


class OpData(Part):
    """Part of AlterClientQuotasRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "key",
        "value",
        "remove",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


class AlterClientQuotasRequestEntryData(Part):
    """Part of AlterClientQuotasRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entity",
        "ops",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("entity", EntityData, True),
        ("ops", OpData, True),
    )

    def __init__(
        self,
        entity: list[EntityData] | None = None,
        ops: list[OpData] | None = None,
    ) -> None:
        self.entity: list[EntityData] = [] if entity is None else entity
        self.ops: list[OpData] = [] if ops is None else ops


class AlterClientQuotasRequest(Message):
    """AlterClientQuotasRequest (API key 49), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "entries",
        "validate_only",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("entries", AlterClientQuotasRequestEntryData, True),)

    SCHEMA_NAME: ClassVar[str] = "AlterClientQuotasRequest"
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterClientQuotasRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterClientQuotasRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        entries: list[AlterClientQuotasRequestEntryData] | None = None,
        validate_only: bool = False,
    ) -> None:
        self.entries: list[AlterClientQuotasRequestEntryData] = [] if entries is None else entries
        self.validate_only = validate_only


class AlterClientQuotasResponseEntryData(Part):
    """Part of AlterClientQuotasResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "entity",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("entity", EntityData, True),)

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[EntityData] | None = None,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity: list[EntityData] = [] if entity is None else entity


class AlterClientQuotasResponse(Message):
    """AlterClientQuotasResponse (API key 49), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "entries",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("entries", AlterClientQuotasResponseEntryData, True),)

    SCHEMA_NAME: ClassVar[str] = "AlterClientQuotasResponse"
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterClientQuotasResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterClientQuotasResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[AlterClientQuotasResponseEntryData] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries: list[AlterClientQuotasResponseEntryData] = [] if entries is None else entries


def _decode_alter_client_quotas_request_entry_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterClientQuotasRequestEntryData, int]:
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
    (ops_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - ops_count
    if ops_count < 0 or elements_left < 0 or ops_count * 11 > len(buf) - pos:
        check_count(ops_count, len(buf) - pos, 11, budget)
    budget.elements_left = elements_left
    ops: list[OpData] = []
    for _ in range(ops_count):
        (ops_key_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + ops_key_length
        if ops_key_length < 0 or end > len(buf):
            raise wrong_length("string", ops_key_length, pos, buf)
        ops_key = str(buf[pos:end], "utf-8")
        pos = end
        ops_value, ops_remove = _unpack_dt(buf, pos)
        pos += 9
        ops.append(OpData(ops_key, ops_value, ops_remove))
    return AlterClientQuotasRequestEntryData(entity, ops), pos


def _encode_alter_client_quotas_request_entry_data_v0(msg: AlterClientQuotasRequestEntryData, out: WireBuffer) -> None:
    out += _pack_i(len(msg.entity))
    for entity_item in msg.entity:
        entity_type_bytes = entity_item.entity_type.encode()
        out += _pack_h(len(entity_type_bytes))
        out += entity_type_bytes
        write_nullable_string(entity_item.entity_name, out)
    out += _pack_i(len(msg.ops))
    for ops_item in msg.ops:
        key_bytes = ops_item.key.encode()
        out += _pack_h(len(key_bytes))
        out += key_bytes
        out += _pack_dt(ops_item.value, ops_item.remove)


def _decode_alter_client_quotas_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterClientQuotasRequest, int]:
    (entries_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - entries_count
    if entries_count < 0 or elements_left < 0 or entries_count * 8 > len(buf) - pos:
        check_count(entries_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    entries: list[AlterClientQuotasRequestEntryData] = []
    for _ in range(entries_count):
        entries_item, pos = _decode_alter_client_quotas_request_entry_data_v0(buf, pos, budget)
        entries.append(entries_item)
    (validate_only,) = _unpack_t(buf, pos)
    return AlterClientQuotasRequest(entries, validate_only), pos + 1


def _encode_alter_client_quotas_request_v0(msg: AlterClientQuotasRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.entries))
    for entries_item in msg.entries:
        _encode_alter_client_quotas_request_entry_data_v0(entries_item, out)
    out += _pack_t(msg.validate_only)


def _decode_alter_client_quotas_response_entry_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterClientQuotasResponseEntryData, int]:
    error_code, error_message_length = _unpack_hh(buf, pos)
    pos += 4
    error_message: str | None = None
    if error_message_length >= 0:
        end = pos + error_message_length
        if end > len(buf):
            raise wrong_length("string", error_message_length, pos, buf)
        error_message = str(buf[pos:end], "utf-8")
        pos = end
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
    return AlterClientQuotasResponseEntryData(error_code, error_message, entity), pos


def _encode_alter_client_quotas_response_entry_data_v0(
    msg: AlterClientQuotasResponseEntryData, out: WireBuffer
) -> None:
    out += _pack_h(msg.error_code)
    write_nullable_string(msg.error_message, out)
    out += _pack_i(len(msg.entity))
    for entity_item in msg.entity:
        entity_type_bytes = entity_item.entity_type.encode()
        out += _pack_h(len(entity_type_bytes))
        out += entity_type_bytes
        write_nullable_string(entity_item.entity_name, out)


def _decode_alter_client_quotas_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterClientQuotasResponse, int]:
    throttle_time_ms, entries_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - entries_count
    if entries_count < 0 or elements_left < 0 or entries_count * 8 > len(buf) - pos:
        check_count(entries_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    entries: list[AlterClientQuotasResponseEntryData] = []
    for _ in range(entries_count):
        entries_item, pos = _decode_alter_client_quotas_response_entry_data_v0(buf, pos, budget)
        entries.append(entries_item)
    return AlterClientQuotasResponse(throttle_time_ms, entries), pos


def _encode_alter_client_quotas_response_v0(msg: AlterClientQuotasResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.entries))
    for entries_item in msg.entries:
        _encode_alter_client_quotas_response_entry_data_v0(entries_item, out)


AlterClientQuotasRequest.DECODERS = (_decode_alter_client_quotas_request_v0,)

AlterClientQuotasRequest.ENCODERS = (_encode_alter_client_quotas_request_v0,)

AlterClientQuotasResponse.DECODERS = (_decode_alter_client_quotas_response_v0,)

AlterClientQuotasResponse.ENCODERS = (_encode_alter_client_quotas_response_v0,)
