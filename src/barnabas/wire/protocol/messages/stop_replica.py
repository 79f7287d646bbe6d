"""StopReplica (API key 5): request and response.

Generated from the StopReplica schemas by scripts/generate.

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
    read_int32s,
    skip_tagged_fields,
    write_compact_string,
    write_int32s,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hi: Final = Struct(">hi").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqt: Final = Struct(">iiq?").pack
_pack_iiqti: Final = Struct(">iiq?i").pack
_pack_iitB: Final = Struct(">ii?B").pack
_pack_iiti: Final = Struct(">ii?i").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_iiq: Final = Struct(">iiq").unpack_from
_unpack_iiqt: Final = Struct(">iiq?").unpack_from
_unpack_iiqti: Final = Struct(">iiq?i").unpack_from
_unpack_iit: Final = Struct(">ii?").unpack_from
_unpack_iiti: Final = Struct(">ii?i").unpack_from


class StopReplicaPartitionV0(Part):
    """Part of StopReplicaRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",  # versions 0
        "partition_index",  # versions 0
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class StopReplicaTopicV1(Part):
    """Part of StopReplicaRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",  # versions 1-2
        "partition_indexes",  # versions 1-2
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is None else partition_indexes


class StopReplicaPartitionState(Part):
    """Part of StopReplicaRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",  # versions 3+
        "leader_epoch",  # versions 3+
        "delete_partition",  # versions 3+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = -1,
        delete_partition: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.delete_partition = delete_partition


class StopReplicaTopicState(Part):
    """Part of StopReplicaRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",  # versions 3+
        "partition_states",  # versions 3+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partition_states", StopReplicaPartitionState, True),)

    def __init__(
        self,
        topic_name: str = "",
        partition_states: list[StopReplicaPartitionState] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partition_states: list[StopReplicaPartitionState] = [] if partition_states is None else partition_states


class StopReplicaRequest(Message):
    """StopReplicaRequest (API key 5), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "controller_id",
        "controller_epoch",
        "broker_epoch",  # versions 1+
        "delete_partitions",  # versions 0-2
        "ungrouped_partitions",  # versions 0
        "topics",  # versions 1-2
        "topic_states",  # versions 3+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("ungrouped_partitions", StopReplicaPartitionV0, True),
        ("topics", StopReplicaTopicV1, True),
        ("topic_states", StopReplicaTopicState, True),
    )

    SCHEMA_NAME: ClassVar[str] = "StopReplicaRequest"
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[StopReplicaRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[StopReplicaRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        controller_id: int = 0,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        delete_partitions: bool = False,
        ungrouped_partitions: list[StopReplicaPartitionV0] | None = None,
        topics: list[StopReplicaTopicV1] | None = None,
        topic_states: list[StopReplicaTopicState] | None = None,
    ) -> None:
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.delete_partitions = delete_partitions
        self.ungrouped_partitions: list[StopReplicaPartitionV0] = (
            [] if ungrouped_partitions is None else ungrouped_partitions
        )
        self.topics: list[StopReplicaTopicV1] = [] if topics is None else topics
        self.topic_states: list[StopReplicaTopicState] = [] if topic_states is None else topic_states


class StopReplicaPartitionError(Part):
    """Part of StopReplicaResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",
        "partition_index",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.error_code = error_code


class StopReplicaResponse(Message):
    """StopReplicaResponse (API key 5), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition_errors",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partition_errors", StopReplicaPartitionError, True),)

    SCHEMA_NAME: ClassVar[str] = "StopReplicaResponse"
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[StopReplicaResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[StopReplicaResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        partition_errors: list[StopReplicaPartitionError] | None = None,
    ) -> None:
        self.error_code = error_code
        self.partition_errors: list[StopReplicaPartitionError] = [] if partition_errors is None else partition_errors


def _decode_stop_replica_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaRequest, int]:
    controller_id, controller_epoch, delete_partitions, ungrouped_partitions_count = _unpack_iiti(buf, pos)
    pos += 13
    elements_left = budget.elements_left - ungrouped_partitions_count
    if ungrouped_partitions_count < 0 or elements_left < 0 or ungrouped_partitions_count * 6 > len(buf) - pos:
        check_count(ungrouped_partitions_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    ungrouped_partitions: list[StopReplicaPartitionV0] = []
    for _ in range(ungrouped_partitions_count):
        (ungrouped_partitions_topic_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + ungrouped_partitions_topic_name_length
        if ungrouped_partitions_topic_name_length < 0 or end > len(buf):
            raise wrong_length("string", ungrouped_partitions_topic_name_length, pos, buf)
        ungrouped_partitions_topic_name = str(buf[pos:end], "utf-8")
        pos = end
        (ungrouped_partitions_partition_index,) = _unpack_i(buf, pos)
        pos += 4
        ungrouped_partitions.append(
            StopReplicaPartitionV0(ungrouped_partitions_topic_name, ungrouped_partitions_partition_index)
        )
    return StopReplicaRequest(controller_id, controller_epoch, -1, delete_partitions, ungrouped_partitions), pos


def _encode_stop_replica_request_v0(msg: StopReplicaRequest, out: WireBuffer) -> None:
    if msg.topics:
        raise not_in_version("StopReplicaRequest.topics")
    if msg.topic_states:
        raise not_in_version("StopReplicaRequest.topic_states")
    out += _pack_iiti(msg.controller_id, msg.controller_epoch, msg.delete_partitions, len(msg.ungrouped_partitions))
    for ungrouped_partitions_item in msg.ungrouped_partitions:
        topic_name_bytes = ungrouped_partitions_item.topic_name.encode()
        out += _pack_h(len(topic_name_bytes))
        out += topic_name_bytes
        out += _pack_i(ungrouped_partitions_item.partition_index)


def _decode_stop_replica_topic_v1_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaTopicV1, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_indexes_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_indexes_count
    if partition_indexes_count < 0 or elements_left < 0 or partition_indexes_count * 4 > len(buf) - pos:
        check_count(partition_indexes_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    partition_indexes = read_int32s(buf, pos, partition_indexes_count)
    pos += 4 * partition_indexes_count
    return StopReplicaTopicV1(name, partition_indexes), pos


def _encode_stop_replica_topic_v1_v1(msg: StopReplicaTopicV1, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_indexes))
    write_int32s(msg.partition_indexes, out)


def _decode_stop_replica_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaRequest, int]:
    controller_id, controller_epoch, broker_epoch, delete_partitions, topics_count = _unpack_iiqti(buf, pos)
    pos += 21
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[StopReplicaTopicV1] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_stop_replica_topic_v1_v1(buf, pos, budget)
        topics.append(topics_item)
    return StopReplicaRequest(controller_id, controller_epoch, broker_epoch, delete_partitions, [], topics), pos


def _encode_stop_replica_request_v1(msg: StopReplicaRequest, out: WireBuffer) -> None:
    if msg.ungrouped_partitions:
        raise not_in_version("StopReplicaRequest.ungrouped_partitions")
    if msg.topic_states:
        raise not_in_version("StopReplicaRequest.topic_states")
    out += _pack_iiqti(
        msg.controller_id, msg.controller_epoch, msg.broker_epoch, msg.delete_partitions, len(msg.topics)
    )
    for topics_item in msg.topics:
        _encode_stop_replica_topic_v1_v1(topics_item, out)


def _decode_stop_replica_topic_v1_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaTopicV1, int]:
    name, pos = read_compact_string(buf, pos)
    partition_indexes_count, pos = read_compact_count(buf, pos, 4, budget)
    partition_indexes = read_int32s(buf, pos, partition_indexes_count)
    pos += 4 * partition_indexes_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StopReplicaTopicV1(name, partition_indexes), pos


def _encode_stop_replica_topic_v1_v2(msg: StopReplicaTopicV1, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partition_indexes) + 1, out)
    write_int32s(msg.partition_indexes, out)
    out.append(0)


def _decode_stop_replica_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaRequest, int]:
    controller_id, controller_epoch, broker_epoch, delete_partitions = _unpack_iiqt(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 17, 3, budget)
    topics: list[StopReplicaTopicV1] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_stop_replica_topic_v1_v2(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StopReplicaRequest(controller_id, controller_epoch, broker_epoch, delete_partitions, [], topics), pos


def _encode_stop_replica_request_v2(msg: StopReplicaRequest, out: WireBuffer) -> None:
    if msg.ungrouped_partitions:
        raise not_in_version("StopReplicaRequest.ungrouped_partitions")
    if msg.topic_states:
        raise not_in_version("StopReplicaRequest.topic_states")
    out += _pack_iiqt(msg.controller_id, msg.controller_epoch, msg.broker_epoch, msg.delete_partitions)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_stop_replica_topic_v1_v2(topics_item, out)
    out.append(0)


def _decode_stop_replica_partition_state_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[StopReplicaPartitionState, int]:
    partition_index, leader_epoch, delete_partition = _unpack_iit(buf, pos)
    pos += 10
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StopReplicaPartitionState(partition_index, leader_epoch, delete_partition), pos


def _encode_stop_replica_partition_state_v3(msg: StopReplicaPartitionState, out: WireBuffer) -> None:
    out += _pack_iitB(msg.partition_index, msg.leader_epoch, msg.delete_partition, 0)


def _decode_stop_replica_topic_state_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaTopicState, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partition_states_count, pos = read_compact_count(buf, pos, 10, budget)
    partition_states: list[StopReplicaPartitionState] = []
    for _ in range(partition_states_count):
        partition_states_item, pos = _decode_stop_replica_partition_state_v3(buf, pos, budget)
        partition_states.append(partition_states_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StopReplicaTopicState(topic_name, partition_states), pos


def _encode_stop_replica_topic_state_v3(msg: StopReplicaTopicState, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partition_states) + 1, out)
    for partition_states_item in msg.partition_states:
        _encode_stop_replica_partition_state_v3(partition_states_item, out)
    out.append(0)


def _decode_stop_replica_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaRequest, int]:
    controller_id, controller_epoch, broker_epoch = _unpack_iiq(buf, pos)
    topic_states_count, pos = read_compact_count(buf, pos + 16, 3, budget)
    topic_states: list[StopReplicaTopicState] = []
    for _ in range(topic_states_count):
        topic_states_item, pos = _decode_stop_replica_topic_state_v3(buf, pos, budget)
        topic_states.append(topic_states_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StopReplicaRequest(controller_id, controller_epoch, broker_epoch, False, [], [], topic_states), pos


def _encode_stop_replica_request_v3(msg: StopReplicaRequest, out: WireBuffer) -> None:
    if msg.delete_partitions:
        raise not_in_version("StopReplicaRequest.delete_partitions")
    if msg.ungrouped_partitions:
        raise not_in_version("StopReplicaRequest.ungrouped_partitions")
    if msg.topics:
        raise not_in_version("StopReplicaRequest.topics")
    out += _pack_iiq(msg.controller_id, msg.controller_epoch, msg.broker_epoch)
    write_uvarint(len(msg.topic_states) + 1, out)
    for topic_states_item in msg.topic_states:
        _encode_stop_replica_topic_state_v3(topic_states_item, out)
    out.append(0)


def _decode_stop_replica_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaResponse, int]:
    error_code, partition_errors_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - partition_errors_count
    if partition_errors_count < 0 or elements_left < 0 or partition_errors_count * 8 > len(buf) - pos:
        check_count(partition_errors_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    partition_errors: list[StopReplicaPartitionError] = []
    for _ in range(partition_errors_count):
        (partition_errors_topic_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + partition_errors_topic_name_length
        if partition_errors_topic_name_length < 0 or end > len(buf):
            raise wrong_length("string", partition_errors_topic_name_length, pos, buf)
        partition_errors_topic_name = str(buf[pos:end], "utf-8")
        pos = end
        partition_errors_partition_index, partition_errors_error_code = _unpack_ih(buf, pos)
        pos += 6
        partition_errors.append(
            StopReplicaPartitionError(
                partition_errors_topic_name, partition_errors_partition_index, partition_errors_error_code
            )
        )
    return StopReplicaResponse(error_code, partition_errors), pos


def _encode_stop_replica_response_v0(msg: StopReplicaResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.partition_errors))
    for partition_errors_item in msg.partition_errors:
        topic_name_bytes = partition_errors_item.topic_name.encode()
        out += _pack_h(len(topic_name_bytes))
        out += topic_name_bytes
        out += _pack_ih(partition_errors_item.partition_index, partition_errors_item.error_code)


def _decode_stop_replica_partition_error_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[StopReplicaPartitionError, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partition_index, error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StopReplicaPartitionError(topic_name, partition_index, error_code), pos


def _encode_stop_replica_partition_error_v2(msg: StopReplicaPartitionError, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_ihB(msg.partition_index, msg.error_code, 0)


def _decode_stop_replica_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[StopReplicaResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    partition_errors_count, pos = read_compact_count(buf, pos + 2, 8, budget)
    partition_errors: list[StopReplicaPartitionError] = []
    for _ in range(partition_errors_count):
        partition_errors_item, pos = _decode_stop_replica_partition_error_v2(buf, pos, budget)
        partition_errors.append(partition_errors_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return StopReplicaResponse(error_code, partition_errors), pos


def _encode_stop_replica_response_v2(msg: StopReplicaResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.partition_errors) + 1, out)
    for partition_errors_item in msg.partition_errors:
        _encode_stop_replica_partition_error_v2(partition_errors_item, out)
    out.append(0)


StopReplicaRequest.DECODERS = (
    _decode_stop_replica_request_v0,
    _decode_stop_replica_request_v1,
    _decode_stop_replica_request_v2,
    _decode_stop_replica_request_v3,
)

StopReplicaRequest.ENCODERS = (
    _encode_stop_replica_request_v0,
    _encode_stop_replica_request_v1,
    _encode_stop_replica_request_v2,
    _encode_stop_replica_request_v3,
)

StopReplicaResponse.DECODERS = (
    _decode_stop_replica_response_v0,
    _decode_stop_replica_response_v0,
    _decode_stop_replica_response_v2,
    _decode_stop_replica_response_v2,
)

StopReplicaResponse.ENCODERS = (
    _encode_stop_replica_response_v0,
    _encode_stop_replica_response_v0,
    _encode_stop_replica_response_v2,
    _encode_stop_replica_response_v2,
)
