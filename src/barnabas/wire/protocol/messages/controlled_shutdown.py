"""ControlledShutdown (API key 7): request and response.

Generated from the ControlledShutdown schemas by scripts/generate.

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
    skip_tagged_fields,
    write_compact_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqB: Final = Struct(">iqB").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from


class ControlledShutdownRequest(Message):
    """ControlledShutdownRequest (API key 7), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",  # versions 2+
    )
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "ControlledShutdownRequest"
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ControlledShutdownRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ControlledShutdownRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch


class RemainingPartition(Part):
    """Part of ControlledShutdownResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partition_index",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class ControlledShutdownResponse(Message):
    """ControlledShutdownResponse (API key 7), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "remaining_partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("remaining_partitions", RemainingPartition, True),)

    SCHEMA_NAME: ClassVar[str] = "ControlledShutdownResponse"
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[ControlledShutdownResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[ControlledShutdownResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        remaining_partitions: list[RemainingPartition] | None = None,
    ) -> None:
        self.error_code = error_code
        self.remaining_partitions: list[RemainingPartition] = (
            [] if remaining_partitions is None else remaining_partitions
        )


def _decode_controlled_shutdown_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControlledShutdownRequest, int]:
    (broker_id,) = _unpack_i(buf, pos)
    return ControlledShutdownRequest(broker_id), pos + 4


def _encode_controlled_shutdown_request_v0(msg: ControlledShutdownRequest, out: WireBuffer) -> None:
    out += _pack_i(msg.broker_id)


def _decode_controlled_shutdown_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControlledShutdownRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    return ControlledShutdownRequest(broker_id, broker_epoch), pos + 12


def _encode_controlled_shutdown_request_v2(msg: ControlledShutdownRequest, out: WireBuffer) -> None:
    out += _pack_iq(msg.broker_id, msg.broker_epoch)


def _decode_controlled_shutdown_request_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControlledShutdownRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ControlledShutdownRequest(broker_id, broker_epoch), pos


def _encode_controlled_shutdown_request_v3(msg: ControlledShutdownRequest, out: WireBuffer) -> None:
    out += _pack_iqB(msg.broker_id, msg.broker_epoch, 0)


def _decode_controlled_shutdown_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControlledShutdownResponse, int]:
    error_code, remaining_partitions_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - remaining_partitions_count
    if remaining_partitions_count < 0 or elements_left < 0 or remaining_partitions_count * 6 > len(buf) - pos:
        check_count(remaining_partitions_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    remaining_partitions: list[RemainingPartition] = []
    for _ in range(remaining_partitions_count):
        (remaining_partitions_topic_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + remaining_partitions_topic_name_length
        if remaining_partitions_topic_name_length < 0 or end > len(buf):
            raise wrong_length("string", remaining_partitions_topic_name_length, pos, buf)
        remaining_partitions_topic_name = str(buf[pos:end], "utf-8")
        pos = end
        (remaining_partitions_partition_index,) = _unpack_i(buf, pos)
        pos += 4
        remaining_partitions.append(
            RemainingPartition(remaining_partitions_topic_name, remaining_partitions_partition_index)
        )
    return ControlledShutdownResponse(error_code, remaining_partitions), pos


def _encode_controlled_shutdown_response_v0(msg: ControlledShutdownResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.remaining_partitions))
    for remaining_partitions_item in msg.remaining_partitions:
        topic_name_bytes = remaining_partitions_item.topic_name.encode()
        out += _pack_h(len(topic_name_bytes))
        out += topic_name_bytes
        out += _pack_i(remaining_partitions_item.partition_index)


def _decode_remaining_partition_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[RemainingPartition, int]:
    topic_name, pos = read_compact_string(buf, pos)
    (partition_index,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return RemainingPartition(topic_name, partition_index), pos


def _encode_remaining_partition_v3(msg: RemainingPartition, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_iB(msg.partition_index, 0)


def _decode_controlled_shutdown_response_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[ControlledShutdownResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    remaining_partitions_count, pos = read_compact_count(buf, pos + 2, 6, budget)
    remaining_partitions: list[RemainingPartition] = []
    for _ in range(remaining_partitions_count):
        remaining_partitions_item, pos = _decode_remaining_partition_v3(buf, pos, budget)
        remaining_partitions.append(remaining_partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return ControlledShutdownResponse(error_code, remaining_partitions), pos


def _encode_controlled_shutdown_response_v3(msg: ControlledShutdownResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.remaining_partitions) + 1, out)
    for remaining_partitions_item in msg.remaining_partitions:
        _encode_remaining_partition_v3(remaining_partitions_item, out)
    out.append(0)


ControlledShutdownRequest.DECODERS = (
    _decode_controlled_shutdown_request_v0,
    _decode_controlled_shutdown_request_v0,
    _decode_controlled_shutdown_request_v2,
    _decode_controlled_shutdown_request_v3,
)

ControlledShutdownRequest.ENCODERS = (
    _encode_controlled_shutdown_request_v0,
    _encode_controlled_shutdown_request_v0,
    _encode_controlled_shutdown_request_v2,
    _encode_controlled_shutdown_request_v3,
)

ControlledShutdownResponse.DECODERS = (
    _decode_controlled_shutdown_response_v0,
    _decode_controlled_shutdown_response_v0,
    _decode_controlled_shutdown_response_v0,
    _decode_controlled_shutdown_response_v3,
)

ControlledShutdownResponse.ENCODERS = (
    _encode_controlled_shutdown_response_v0,
    _encode_controlled_shutdown_response_v0,
    _encode_controlled_shutdown_response_v0,
    _encode_controlled_shutdown_response_v3,
)
