"""AlterPartition (API key 56): request and response.

Generated from the AlterPartition schemas by scripts/generate.

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
    ZERO_UUID,
    not_in_version,
    read_compact_count,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_string,
    write_int32s,
    write_uvarint,
)

_pack_biB = Struct(">biB").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihii = Struct(">ihii").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack
_pack_iqB = Struct(">iqB").pack
_pack_u = Struct(">16s").pack
_unpack_bi = Struct(">bi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihii = Struct(">ihii").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_u = Struct(">16s").unpack_from


class BrokerState(Part):
    """Part of AlterPartitionRequest."""

    __slots__ = (
        "broker_id",  # versions 3+
        "broker_epoch",  # versions 3+
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch


class AlterPartitionRequestPartitionData(Part):
    """Part of AlterPartitionRequest."""

    __slots__ = (
        "partition_index",
        "leader_epoch",
        "new_isr",  # versions 0-2
        "current_isr_version",  # versions 0
        "new_isr_with_epochs",  # versions 3+
        "leader_recovery_state",  # versions 1+
        "partition_epoch",  # versions 1+
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] | None = None,
        current_isr_version: int = 0,
        new_isr_with_epochs: list[BrokerState] | None = None,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr: list[int] = [] if new_isr is None else new_isr
        self.current_isr_version = current_isr_version
        self.new_isr_with_epochs: list[BrokerState] = [] if new_isr_with_epochs is None else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch


class AlterPartitionRequestTopicData(Part):
    """Part of AlterPartitionRequest."""

    __slots__ = (
        "name",  # versions 0
        "topic_name",  # versions 1
        "topic_id",  # versions 2+
        "partitions",
    )

    def __init__(
        self,
        name: str = "",
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterPartitionRequestPartitionData] | None = None,
    ) -> None:
        self.name = name
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions: list[AlterPartitionRequestPartitionData] = [] if partitions is None else partitions


class AlterPartitionRequest(Message):
    """AlterPartitionRequest (API key 56), versions 0-3."""

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "AlterPartitionRequest"
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterPartitionRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterPartitionRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[AlterPartitionRequestTopicData] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics: list[AlterPartitionRequestTopicData] = [] if topics is None else topics


class AlterPartitionResponsePartitionData(Part):
    """Part of AlterPartitionResponse."""

    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "current_isr_version",  # versions 0
        "leader_recovery_state",  # versions 1+
        "partition_epoch",  # versions 1+
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] | None = None,
        current_isr_version: int = 0,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr: list[int] = [] if isr is None else isr
        self.current_isr_version = current_isr_version
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch


class AlterPartitionResponseTopicData(Part):
    """Part of AlterPartitionResponse."""

    __slots__ = (
        "name",  # versions 0
        "topic_name",  # versions 1
        "topic_id",  # versions 2+
        "partitions",
    )

    def __init__(
        self,
        name: str = "",
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[AlterPartitionResponsePartitionData] | None = None,
    ) -> None:
        self.name = name
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions: list[AlterPartitionResponsePartitionData] = [] if partitions is None else partitions


class AlterPartitionResponse(Message):
    """AlterPartitionResponse (API key 56), versions 0-3."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "AlterPartitionResponse"
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[AlterPartitionResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[AlterPartitionResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[AlterPartitionResponseTopicData] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics: list[AlterPartitionResponseTopicData] = [] if topics is None else topics


def _decode_alter_partition_request_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionRequestPartitionData, int]:
    partition_index, leader_epoch = _unpack_ii(buf, pos)
    new_isr_count, pos = read_compact_count(buf, pos + 8, 4, budget)
    new_isr = read_int32s(buf, pos, new_isr_count)
    pos += 4 * new_isr_count
    (current_isr_version,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequestPartitionData(partition_index, leader_epoch, new_isr, current_isr_version), pos


def _encode_alter_partition_request_partition_data_v0(msg: AlterPartitionRequestPartitionData, out: WireBuffer) -> None:
    if msg.new_isr_with_epochs:
        raise not_in_version("AlterPartitionRequestPartitionData.new_isr_with_epochs")
    if msg.leader_recovery_state != 0:
        raise not_in_version("AlterPartitionRequestPartitionData.leader_recovery_state")
    if msg.partition_epoch != 0:
        raise not_in_version("AlterPartitionRequestPartitionData.partition_epoch")
    out += _pack_ii(msg.partition_index, msg.leader_epoch)
    write_uvarint(len(msg.new_isr) + 1, out)
    write_int32s(msg.new_isr, out)
    out += _pack_iB(msg.current_isr_version, 0)


def _decode_alter_partition_request_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionRequestTopicData, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 14, budget)
    partitions: list[AlterPartitionRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_partition_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequestTopicData(name, "", ZERO_UUID, partitions), pos


def _encode_alter_partition_request_topic_data_v0(msg: AlterPartitionRequestTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_partition_request_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_alter_partition_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterPartitionRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 12, 3, budget)
    topics: list[AlterPartitionRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_partition_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequest(broker_id, broker_epoch, topics), pos


def _encode_alter_partition_request_v0(msg: AlterPartitionRequest, out: WireBuffer) -> None:
    out += _pack_iq(msg.broker_id, msg.broker_epoch)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_partition_request_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_alter_partition_request_partition_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionRequestPartitionData, int]:
    partition_index, leader_epoch = _unpack_ii(buf, pos)
    new_isr_count, pos = read_compact_count(buf, pos + 8, 4, budget)
    new_isr = read_int32s(buf, pos, new_isr_count)
    pos += 4 * new_isr_count
    leader_recovery_state, partition_epoch = _unpack_bi(buf, pos)
    pos += 6
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequestPartitionData(
        partition_index, leader_epoch, new_isr, 0, [], leader_recovery_state, partition_epoch
    ), pos


def _encode_alter_partition_request_partition_data_v1(msg: AlterPartitionRequestPartitionData, out: WireBuffer) -> None:
    if msg.current_isr_version != 0:
        raise not_in_version("AlterPartitionRequestPartitionData.current_isr_version")
    if msg.new_isr_with_epochs:
        raise not_in_version("AlterPartitionRequestPartitionData.new_isr_with_epochs")
    out += _pack_ii(msg.partition_index, msg.leader_epoch)
    write_uvarint(len(msg.new_isr) + 1, out)
    write_int32s(msg.new_isr, out)
    out += _pack_biB(msg.leader_recovery_state, msg.partition_epoch, 0)


def _decode_alter_partition_request_topic_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionRequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 15, budget)
    partitions: list[AlterPartitionRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_partition_request_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequestTopicData("", topic_name, ZERO_UUID, partitions), pos


def _encode_alter_partition_request_topic_data_v1(msg: AlterPartitionRequestTopicData, out: WireBuffer) -> None:
    if msg.name != "":
        raise not_in_version("AlterPartitionRequestTopicData.name")
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_partition_request_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_alter_partition_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterPartitionRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 12, 3, budget)
    topics: list[AlterPartitionRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_partition_request_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequest(broker_id, broker_epoch, topics), pos


def _encode_alter_partition_request_v1(msg: AlterPartitionRequest, out: WireBuffer) -> None:
    out += _pack_iq(msg.broker_id, msg.broker_epoch)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_partition_request_topic_data_v1(topics_item, out)
    out.append(0)


def _decode_alter_partition_request_topic_data_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionRequestTopicData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 15, budget)
    partitions: list[AlterPartitionRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_partition_request_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequestTopicData("", "", topic_id, partitions), pos


def _encode_alter_partition_request_topic_data_v2(msg: AlterPartitionRequestTopicData, out: WireBuffer) -> None:
    if msg.name != "":
        raise not_in_version("AlterPartitionRequestTopicData.name")
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_partition_request_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_alter_partition_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterPartitionRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 12, 18, budget)
    topics: list[AlterPartitionRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_partition_request_topic_data_v2(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequest(broker_id, broker_epoch, topics), pos


def _encode_alter_partition_request_v2(msg: AlterPartitionRequest, out: WireBuffer) -> None:
    out += _pack_iq(msg.broker_id, msg.broker_epoch)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_partition_request_topic_data_v2(topics_item, out)
    out.append(0)


def _decode_broker_state_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[BrokerState, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return BrokerState(broker_id, broker_epoch), pos


def _encode_broker_state_v3(msg: BrokerState, out: WireBuffer) -> None:
    out += _pack_iqB(msg.broker_id, msg.broker_epoch, 0)


def _decode_alter_partition_request_partition_data_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionRequestPartitionData, int]:
    partition_index, leader_epoch = _unpack_ii(buf, pos)
    new_isr_with_epochs_count, pos = read_compact_count(buf, pos + 8, 13, budget)
    new_isr_with_epochs: list[BrokerState] = []
    for _ in range(new_isr_with_epochs_count):
        new_isr_with_epochs_item, pos = _decode_broker_state_v3(buf, pos, budget)
        new_isr_with_epochs.append(new_isr_with_epochs_item)
    leader_recovery_state, partition_epoch = _unpack_bi(buf, pos)
    pos += 6
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequestPartitionData(
        partition_index, leader_epoch, [], 0, new_isr_with_epochs, leader_recovery_state, partition_epoch
    ), pos


def _encode_alter_partition_request_partition_data_v3(msg: AlterPartitionRequestPartitionData, out: WireBuffer) -> None:
    if msg.new_isr:
        raise not_in_version("AlterPartitionRequestPartitionData.new_isr")
    if msg.current_isr_version != 0:
        raise not_in_version("AlterPartitionRequestPartitionData.current_isr_version")
    out += _pack_ii(msg.partition_index, msg.leader_epoch)
    write_uvarint(len(msg.new_isr_with_epochs) + 1, out)
    for new_isr_with_epochs_item in msg.new_isr_with_epochs:
        _encode_broker_state_v3(new_isr_with_epochs_item, out)
    out += _pack_biB(msg.leader_recovery_state, msg.partition_epoch, 0)


def _decode_alter_partition_request_topic_data_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionRequestTopicData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 15, budget)
    partitions: list[AlterPartitionRequestPartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_partition_request_partition_data_v3(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequestTopicData("", "", topic_id, partitions), pos


def _encode_alter_partition_request_topic_data_v3(msg: AlterPartitionRequestTopicData, out: WireBuffer) -> None:
    if msg.name != "":
        raise not_in_version("AlterPartitionRequestTopicData.name")
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_partition_request_partition_data_v3(partitions_item, out)
    out.append(0)


def _decode_alter_partition_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[AlterPartitionRequest, int]:
    broker_id, broker_epoch = _unpack_iq(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 12, 18, budget)
    topics: list[AlterPartitionRequestTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_partition_request_topic_data_v3(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionRequest(broker_id, broker_epoch, topics), pos


def _encode_alter_partition_request_v3(msg: AlterPartitionRequest, out: WireBuffer) -> None:
    out += _pack_iq(msg.broker_id, msg.broker_epoch)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_partition_request_topic_data_v3(topics_item, out)
    out.append(0)


def _decode_alter_partition_response_partition_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _unpack_ihii(buf, pos)
    isr_count, pos = read_compact_count(buf, pos + 14, 4, budget)
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    (current_isr_version,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponsePartitionData(
        partition_index, error_code, leader_id, leader_epoch, isr, current_isr_version
    ), pos


def _encode_alter_partition_response_partition_data_v0(
    msg: AlterPartitionResponsePartitionData, out: WireBuffer
) -> None:
    if msg.partition_epoch != 0:
        raise not_in_version("AlterPartitionResponsePartitionData.partition_epoch")
    out += _pack_ihii(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch)
    write_uvarint(len(msg.isr) + 1, out)
    write_int32s(msg.isr, out)
    out += _pack_iB(msg.current_isr_version, 0)


def _decode_alter_partition_response_topic_data_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponseTopicData, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 20, budget)
    partitions: list[AlterPartitionResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_partition_response_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponseTopicData(name, "", ZERO_UUID, partitions), pos


def _encode_alter_partition_response_topic_data_v0(msg: AlterPartitionResponseTopicData, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_partition_response_partition_data_v0(partitions_item, out)
    out.append(0)


def _decode_alter_partition_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    topics: list[AlterPartitionResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_partition_response_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponse(throttle_time_ms, error_code, topics), pos


def _encode_alter_partition_response_v0(msg: AlterPartitionResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_partition_response_topic_data_v0(topics_item, out)
    out.append(0)


def _decode_alter_partition_response_partition_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _unpack_ihii(buf, pos)
    isr_count, pos = read_compact_count(buf, pos + 14, 4, budget)
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    leader_recovery_state, partition_epoch = _unpack_bi(buf, pos)
    pos += 6
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponsePartitionData(
        partition_index, error_code, leader_id, leader_epoch, isr, 0, leader_recovery_state, partition_epoch
    ), pos


def _encode_alter_partition_response_partition_data_v1(
    msg: AlterPartitionResponsePartitionData, out: WireBuffer
) -> None:
    if msg.current_isr_version != 0:
        raise not_in_version("AlterPartitionResponsePartitionData.current_isr_version")
    out += _pack_ihii(msg.partition_index, msg.error_code, msg.leader_id, msg.leader_epoch)
    write_uvarint(len(msg.isr) + 1, out)
    write_int32s(msg.isr, out)
    out += _pack_biB(msg.leader_recovery_state, msg.partition_epoch, 0)


def _decode_alter_partition_response_topic_data_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 21, budget)
    partitions: list[AlterPartitionResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_partition_response_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponseTopicData("", topic_name, ZERO_UUID, partitions), pos


def _encode_alter_partition_response_topic_data_v1(msg: AlterPartitionResponseTopicData, out: WireBuffer) -> None:
    if msg.name != "":
        raise not_in_version("AlterPartitionResponseTopicData.name")
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_partition_response_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_alter_partition_response_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    topics: list[AlterPartitionResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_partition_response_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponse(throttle_time_ms, error_code, topics), pos


def _encode_alter_partition_response_v1(msg: AlterPartitionResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_partition_response_topic_data_v1(topics_item, out)
    out.append(0)


def _decode_alter_partition_response_topic_data_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponseTopicData, int]:
    (topic_id,) = _unpack_u(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 16, 21, budget)
    partitions: list[AlterPartitionResponsePartitionData] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_alter_partition_response_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponseTopicData("", "", topic_id, partitions), pos


def _encode_alter_partition_response_topic_data_v2(msg: AlterPartitionResponseTopicData, out: WireBuffer) -> None:
    if msg.name != "":
        raise not_in_version("AlterPartitionResponseTopicData.name")
    out += _pack_u(msg.topic_id)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_alter_partition_response_partition_data_v1(partitions_item, out)
    out.append(0)


def _decode_alter_partition_response_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[AlterPartitionResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 6, 18, budget)
    topics: list[AlterPartitionResponseTopicData] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_alter_partition_response_topic_data_v2(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return AlterPartitionResponse(throttle_time_ms, error_code, topics), pos


def _encode_alter_partition_response_v2(msg: AlterPartitionResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_alter_partition_response_topic_data_v2(topics_item, out)
    out.append(0)


AlterPartitionRequest.DECODERS = (
    _decode_alter_partition_request_v0,
    _decode_alter_partition_request_v1,
    _decode_alter_partition_request_v2,
    _decode_alter_partition_request_v3,
)

AlterPartitionRequest.ENCODERS = (
    _encode_alter_partition_request_v0,
    _encode_alter_partition_request_v1,
    _encode_alter_partition_request_v2,
    _encode_alter_partition_request_v3,
)

AlterPartitionResponse.DECODERS = (
    _decode_alter_partition_response_v0,
    _decode_alter_partition_response_v1,
    _decode_alter_partition_response_v2,
    _decode_alter_partition_response_v2,
)

AlterPartitionResponse.ENCODERS = (
    _encode_alter_partition_response_v0,
    _encode_alter_partition_response_v1,
    _encode_alter_partition_response_v2,
    _encode_alter_partition_response_v2,
)
