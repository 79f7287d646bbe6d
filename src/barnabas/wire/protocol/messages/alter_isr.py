"""AlterIsr (API key 56): request and response.

Generated from the AlterIsr schemas by scripts/generate.

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
    read_compact_count,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_string,
    write_int32s,
    write_uvarint,
)

_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihii: Final = Struct(">ihii").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iq: Final = Struct(">iq").pack
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihii: Final = Struct(">ihii").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iq: Final = Struct(">iq").unpack_from


class AlterIsrRequestPartitionData(Part):
    """Part of AlterIsrRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "current_isr_version",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] | None = None,
        current_isr_version: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr: list[int] = [] if new_isr is None else new_isr
        self.current_isr_version = current_isr_version


class AlterIsrRequestTopicData(Part):
    """Part of AlterIsrRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", AlterIsrRequestPartitionData, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[AlterIsrRequestPartitionData] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[AlterIsrRequestPartitionData] = [] if partitions is None else partitions


class AlterIsrRequest(Message):
    """AlterIsrRequest (API key 56), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", AlterIsrRequestTopicData, True),)

    SCHEMA_NAME: ClassVar[str] = "AlterIsrRequest"
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterIsrRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterIsrRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[AlterIsrRequestTopicData] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics: list[AlterIsrRequestTopicData] = [] if topics is None else topics


class AlterIsrResponsePartitionData(Part):
    """Part of AlterIsrResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "current_isr_version",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] | None = None,
        current_isr_version: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr: list[int] = [] if isr is None else isr
        self.current_isr_version = current_isr_version


class AlterIsrResponseTopicData(Part):
    """Part of AlterIsrResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", AlterIsrResponsePartitionData, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[AlterIsrResponsePartitionData] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[AlterIsrResponsePartitionData] = [] if partitions is None else partitions


class AlterIsrResponse(Message):
    """AlterIsrResponse (API key 56), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", AlterIsrResponseTopicData, True),)

    SCHEMA_NAME: ClassVar[str] = "AlterIsrResponse"
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterIsrResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterIsrResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[AlterIsrResponseTopicData] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics: list[AlterIsrResponseTopicData] = [] if topics is None else topics


def _decode_alter_isr_request_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterIsrRequestPartitionData, int]:
    partition_index, leader_epoch = _unpack_ii(buf, pos)
    new_isr_count, pos = read_compact_count(buf, pos + 8, 4, budget)
    new_isr = read_int32s(buf, pos, new_isr_count)
    pos += 4 * new_isr_count
    (current_isr_version,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterIsrRequestPartitionData(partition_index, leader_epoch, new_isr, current_isr_version), pos


def _encode_alter_isr_request_partition_data_v0(msg: AlterIsrRequestPartitionData, out: WireBuffer) -> None:
    out += _pack_ii(msg.partition_index, msg.leader_epoch)
    write_uvarint(len(msg.new_isr) + 1, out)
    write_int32s(msg.new_isr, out)
    out += _pack_iB(msg.current_isr_version, 0)


def _decode_alter_isr_request_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterIsrRequestTopicData, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 14, budget)
    partitions: list[AlterIsrRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_isr_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterIsrRequestTopicData(name, partitions), pos


def _encode_alter_isr_request_topic_data_v0(msg: AlterIsrRequestTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_isr_request_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_alter_isr_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterIsrRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 12, 3, budget)
    topics: list[AlterIsrRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_isr_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterIsrRequest(broker_id, broker_epoch, topics), pos


def _encode_alter_isr_request_v0(msg: AlterIsrRequest, out: WireBuffer) -> None:
    out += _pack_iq(msg.broker_id, msg.broker_epoch)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_isr_request_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_alter_isr_response_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterIsrResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _unpack_ihii(buf, pos)
    isr_count, pos = read_compact_count(buf, pos + 14, 4, budget)
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    (current_isr_version,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterIsrResponsePartitionData(
        partition_index, error_code, leader_id, leader_epoch, isr, current_isr_version
    ), pos


def _encode_alter_isr_response_partition_data_v0(msg: AlterIsrResponsePartitionData, out: WireBuffer) -> None:
    out += _pack_ihii(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch)
    write_uvarint(len(msg.isr) + 1, out)
    write_int32s(msg.isr, out)
    out += _pack_iB(msg.current_isr_version, 0)


def _decode_alter_isr_response_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterIsrResponseTopicData, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 20, budget)
    partitions: list[AlterIsrResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_isr_response_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterIsrResponseTopicData(name, partitions), pos


def _encode_alter_isr_response_topic_data_v0(msg: AlterIsrResponseTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_isr_response_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_alter_isr_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterIsrResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    topics: list[AlterIsrResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_isr_response_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterIsrResponse(throttle_time_ms, error_code, topics), pos


def _encode_alter_isr_response_v0(msg: AlterIsrResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_isr_response_topic_data_v0(topics_item, out)
    out.append(0)


AlterIsrRequest.DECODERS = (_decode_alter_isr_request_v0,)

AlterIsrRequest.ENCODERS = (_encode_alter_isr_request_v0,)

AlterIsrResponse.DECODERS = (_decode_alter_isr_response_v0,)

AlterIsrResponse.ENCODERS = (_encode_alter_isr_response_v0,)
