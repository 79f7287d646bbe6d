"""LeaderAndIsr (API key 4): request and response.

Generated from the LeaderAndIsr schemas by scripts/generate.

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
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_iiiii: Final = Struct(">iiiii").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqi: Final = Struct(">iiqi").pack
_pack_t: Final = Struct(">?").pack
_pack_tB: Final = Struct(">?B").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hi: Final = Struct(">hi").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_iiii: Final = Struct(">iiii").unpack_from
_unpack_iiiii: Final = Struct(">iiiii").unpack_from
_unpack_iiq: Final = Struct(">iiq").unpack_from
_unpack_iiqi: Final = Struct(">iiqi").unpack_from
_unpack_t: Final = Struct(">?").unpack_from


class LeaderAndIsrPartitionState(Part):
    """Part of LeaderAndIsrRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",  # versions 0-1
        "partition_index",  # versions 0-1
        "controller_epoch",  # versions 0-1
        "leader",  # versions 0-1
        "leader_epoch",  # versions 0-1
        "isr",  # versions 0-1
        "zk_version",  # versions 0-1
        "replicas",  # versions 0-1
        "is_new",  # versions 1
    )
    __slots__ = FIELDS

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: list[int] | None = None,
        zk_version: int = 0,
        replicas: list[int] | None = None,
        is_new: bool = False,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr: list[int] = [] if isr is None else isr
        self.zk_version = zk_version
        self.replicas: list[int] = [] if replicas is None else replicas
        self.is_new = is_new


class LeaderAndIsrPartitionState2(Part):
    """Part of LeaderAndIsrRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",  # versions 2+
        "controller_epoch",  # versions 2+
        "leader",  # versions 2+
        "leader_epoch",  # versions 2+
        "isr",  # versions 2+
        "zk_version",  # versions 2+
        "replicas",  # versions 2+
        "adding_replicas",  # versions 3+
        "removing_replicas",  # versions 3+
        "is_new",  # versions 2+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        controller_epoch: int = 0,
        leader: int = 0,
        leader_epoch: int = 0,
        isr: list[int] | None = None,
        zk_version: int = 0,
        replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        is_new: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr: list[int] = [] if isr is None else isr
        self.zk_version = zk_version
        self.replicas: list[int] = [] if replicas is None else replicas
        self.adding_replicas: list[int] = [] if adding_replicas is None else adding_replicas
        self.removing_replicas: list[int] = [] if removing_replicas is None else removing_replicas
        self.is_new = is_new


class LeaderAndIsrTopicState(Part):
    """Part of LeaderAndIsrRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",  # versions 2+
        "partition_states",  # versions 2+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("partition_states", LeaderAndIsrPartitionState2, True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_states: list[LeaderAndIsrPartitionState2] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partition_states: list[LeaderAndIsrPartitionState2] = [] if partition_states is None else partition_states


class LeaderAndIsrLiveLeader(Part):
    """Part of LeaderAndIsrRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "host_name",
        "port",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        broker_id: int = 0,
        host_name: str = "",
        port: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.host_name = host_name
        self.port = port


class LeaderAndIsrRequest(Message):
    """LeaderAndIsrRequest (API key 4), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "controller_id",
        "controller_epoch",
        "ungrouped_partition_states",  # versions 0-1
        "broker_epoch",  # versions 2+
        "topic_states",  # versions 2+
        "live_leaders",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("ungrouped_partition_states", LeaderAndIsrPartitionState, True),
        ("topic_states", LeaderAndIsrTopicState, True),
        ("live_leaders", LeaderAndIsrLiveLeader, True),
    )

    SCHEMA_NAME: ClassVar[str] = "LeaderAndIsrRequest"
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[LeaderAndIsrRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[LeaderAndIsrRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        controller_id: int = 0,
        controller_epoch: int = 0,
        ungrouped_partition_states: list[LeaderAndIsrPartitionState] | None = None,
        broker_epoch: int = -1,
        topic_states: list[LeaderAndIsrTopicState] | None = None,
        live_leaders: list[LeaderAndIsrLiveLeader] | None = None,
    ) -> None:
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.ungrouped_partition_states: list[LeaderAndIsrPartitionState] = (
            [] if ungrouped_partition_states is None else ungrouped_partition_states
        )
        self.broker_epoch = broker_epoch
        self.topic_states: list[LeaderAndIsrTopicState] = [] if topic_states is None else topic_states
        self.live_leaders: list[LeaderAndIsrLiveLeader] = [] if live_leaders is None else live_leaders


class LeaderAndIsrPartitionError(Part):
    """Part of LeaderAndIsrResponse."""

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


class LeaderAndIsrResponse(Message):
    """LeaderAndIsrResponse (API key 4), versions 0-4."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition_errors",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("partition_errors", LeaderAndIsrPartitionError, True),
    )

    SCHEMA_NAME: ClassVar[str] = "LeaderAndIsrResponse"
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[LeaderAndIsrResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[LeaderAndIsrResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
        partition_errors: list[LeaderAndIsrPartitionError] | None = None,
    ) -> None:
        self.error_code = error_code
        self.partition_errors: list[LeaderAndIsrPartitionError] = [] if partition_errors is None else partition_errors


def _decode_leader_and_isr_partition_state_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrPartitionState, int]:
    (topic_name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_name_length
    if topic_name_length < 0 or end > len(buf):
        raise wrong_length("string", topic_name_length, pos, buf)
    topic_name = str(buf[pos:end], "utf-8")
    pos = end
    partition_index, controller_epoch, leader, leader_epoch, isr_count = _unpack_iiiii(buf, pos)
    pos += 20
    elements_left = budget.elements_left - isr_count
    if isr_count < 0 or elements_left < 0 or isr_count * 4 > len(buf) - pos:
        check_count(isr_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    zk_version, replicas_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - replicas_count
    if replicas_count < 0 or elements_left < 0 or replicas_count * 4 > len(buf) - pos:
        check_count(replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    replicas = read_int32s(buf, pos, replicas_count)
    pos += 4 * replicas_count
    return LeaderAndIsrPartitionState(
        topic_name, partition_index, controller_epoch, leader, leader_epoch, isr, zk_version, replicas
    ), pos


def _encode_leader_and_isr_partition_state_v0(msg: LeaderAndIsrPartitionState, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_iiiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch, len(msg.isr))
    write_int32s(msg.isr, out)
    out += _pack_ii(msg.zk_version, len(msg.replicas))
    write_int32s(msg.replicas, out)


def _decode_leader_and_isr_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderAndIsrRequest, int]:
    controller_id, controller_epoch, ungrouped_partition_states_count = _unpack_iii(buf, pos)
    pos += 12
    elements_left = budget.elements_left - ungrouped_partition_states_count
    if (
        ungrouped_partition_states_count < 0
        or elements_left < 0
        or ungrouped_partition_states_count * 30 > len(buf) - pos
    ):
        check_count(ungrouped_partition_states_count, len(buf) - pos, 30, budget)
    budget.elements_left = elements_left
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = []
    for _ in range(ungrouped_partition_states_count):
        ungrouped_partition_states_item, pos = _decode_leader_and_isr_partition_state_v0(buf, pos, budget)
        ungrouped_partition_states.append(ungrouped_partition_states_item)
    (live_leaders_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_leaders_count
    if live_leaders_count < 0 or elements_left < 0 or live_leaders_count * 10 > len(buf) - pos:
        check_count(live_leaders_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_leaders: list[LeaderAndIsrLiveLeader] = []
    for _ in range(live_leaders_count):
        live_leaders_broker_id, live_leaders_host_name_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + live_leaders_host_name_length
        if live_leaders_host_name_length < 0 or end > len(buf):
            raise wrong_length("string", live_leaders_host_name_length, pos, buf)
        live_leaders_host_name = str(buf[pos:end], "utf-8")
        pos = end
        (live_leaders_port,) = _unpack_i(buf, pos)
        pos += 4
        live_leaders.append(LeaderAndIsrLiveLeader(live_leaders_broker_id, live_leaders_host_name, live_leaders_port))
    return LeaderAndIsrRequest(controller_id, controller_epoch, ungrouped_partition_states, -1, [], live_leaders), pos


def _encode_leader_and_isr_request_v0(msg: LeaderAndIsrRequest, out: WireBuffer) -> None:
    if msg.topic_states:
        raise not_in_version("LeaderAndIsrRequest.topic_states")
    out += _pack_iii(msg.controller_id, msg.controller_epoch, len(msg.ungrouped_partition_states))
    for ungrouped_partition_states_item in msg.ungrouped_partition_states:
        _encode_leader_and_isr_partition_state_v0(ungrouped_partition_states_item, out)
    out += _pack_i(len(msg.live_leaders))
    for live_leaders_item in msg.live_leaders:
        host_name_bytes = live_leaders_item.host_name.encode()
        out += _pack_ih(live_leaders_item.broker_id, len(host_name_bytes))
        out += host_name_bytes
        out += _pack_i(live_leaders_item.port)


def _decode_leader_and_isr_partition_state_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrPartitionState, int]:
    (topic_name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_name_length
    if topic_name_length < 0 or end > len(buf):
        raise wrong_length("string", topic_name_length, pos, buf)
    topic_name = str(buf[pos:end], "utf-8")
    pos = end
    partition_index, controller_epoch, leader, leader_epoch, isr_count = _unpack_iiiii(buf, pos)
    pos += 20
    elements_left = budget.elements_left - isr_count
    if isr_count < 0 or elements_left < 0 or isr_count * 4 > len(buf) - pos:
        check_count(isr_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    zk_version, replicas_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - replicas_count
    if replicas_count < 0 or elements_left < 0 or replicas_count * 4 > len(buf) - pos:
        check_count(replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    replicas = read_int32s(buf, pos, replicas_count)
    pos += 4 * replicas_count
    (is_new,) = _unpack_t(buf, pos)
    return LeaderAndIsrPartitionState(
        topic_name, partition_index, controller_epoch, leader, leader_epoch, isr, zk_version, replicas, is_new
    ), pos + 1


def _encode_leader_and_isr_partition_state_v1(msg: LeaderAndIsrPartitionState, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_iiiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch, len(msg.isr))
    write_int32s(msg.isr, out)
    out += _pack_ii(msg.zk_version, len(msg.replicas))
    write_int32s(msg.replicas, out)
    out += _pack_t(msg.is_new)


def _decode_leader_and_isr_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderAndIsrRequest, int]:
    controller_id, controller_epoch, ungrouped_partition_states_count = _unpack_iii(buf, pos)
    pos += 12
    elements_left = budget.elements_left - ungrouped_partition_states_count
    if (
        ungrouped_partition_states_count < 0
        or elements_left < 0
        or ungrouped_partition_states_count * 31 > len(buf) - pos
    ):
        check_count(ungrouped_partition_states_count, len(buf) - pos, 31, budget)
    budget.elements_left = elements_left
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = []
    for _ in range(ungrouped_partition_states_count):
        ungrouped_partition_states_item, pos = _decode_leader_and_isr_partition_state_v1(buf, pos, budget)
        ungrouped_partition_states.append(ungrouped_partition_states_item)
    (live_leaders_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_leaders_count
    if live_leaders_count < 0 or elements_left < 0 or live_leaders_count * 10 > len(buf) - pos:
        check_count(live_leaders_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_leaders: list[LeaderAndIsrLiveLeader] = []
    for _ in range(live_leaders_count):
        live_leaders_broker_id, live_leaders_host_name_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + live_leaders_host_name_length
        if live_leaders_host_name_length < 0 or end > len(buf):
            raise wrong_length("string", live_leaders_host_name_length, pos, buf)
        live_leaders_host_name = str(buf[pos:end], "utf-8")
        pos = end
        (live_leaders_port,) = _unpack_i(buf, pos)
        pos += 4
        live_leaders.append(LeaderAndIsrLiveLeader(live_leaders_broker_id, live_leaders_host_name, live_leaders_port))
    return LeaderAndIsrRequest(controller_id, controller_epoch, ungrouped_partition_states, -1, [], live_leaders), pos


def _encode_leader_and_isr_request_v1(msg: LeaderAndIsrRequest, out: WireBuffer) -> None:
    if msg.topic_states:
        raise not_in_version("LeaderAndIsrRequest.topic_states")
    out += _pack_iii(msg.controller_id, msg.controller_epoch, len(msg.ungrouped_partition_states))
    for ungrouped_partition_states_item in msg.ungrouped_partition_states:
        _encode_leader_and_isr_partition_state_v1(ungrouped_partition_states_item, out)
    out += _pack_i(len(msg.live_leaders))
    for live_leaders_item in msg.live_leaders:
        host_name_bytes = live_leaders_item.host_name.encode()
        out += _pack_ih(live_leaders_item.broker_id, len(host_name_bytes))
        out += host_name_bytes
        out += _pack_i(live_leaders_item.port)


def _decode_leader_and_isr_partition_state2_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrPartitionState2, int]:
    partition_index, controller_epoch, leader, leader_epoch, isr_count = _unpack_iiiii(buf, pos)
    pos += 20
    elements_left = budget.elements_left - isr_count
    if isr_count < 0 or elements_left < 0 or isr_count * 4 > len(buf) - pos:
        check_count(isr_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    zk_version, replicas_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - replicas_count
    if replicas_count < 0 or elements_left < 0 or replicas_count * 4 > len(buf) - pos:
        check_count(replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    replicas = read_int32s(buf, pos, replicas_count)
    pos += 4 * replicas_count
    (is_new,) = _unpack_t(buf, pos)
    return LeaderAndIsrPartitionState2(
        partition_index, controller_epoch, leader, leader_epoch, isr, zk_version, replicas, [], [], is_new
    ), pos + 1


def _encode_leader_and_isr_partition_state2_v2(msg: LeaderAndIsrPartitionState2, out: WireBuffer) -> None:
    out += _pack_iiiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch, len(msg.isr))
    write_int32s(msg.isr, out)
    out += _pack_ii(msg.zk_version, len(msg.replicas))
    write_int32s(msg.replicas, out)
    out += _pack_t(msg.is_new)


def _decode_leader_and_isr_topic_state_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrTopicState, int]:
    (topic_name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_name_length
    if topic_name_length < 0 or end > len(buf):
        raise wrong_length("string", topic_name_length, pos, buf)
    topic_name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_states_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_states_count
    if partition_states_count < 0 or elements_left < 0 or partition_states_count * 29 > len(buf) - pos:
        check_count(partition_states_count, len(buf) - pos, 29, budget)
    budget.elements_left = elements_left
    partition_states: list[LeaderAndIsrPartitionState2] = []
    for _ in range(partition_states_count):
        partition_states_item, pos = _decode_leader_and_isr_partition_state2_v2(buf, pos, budget)
        partition_states.append(partition_states_item)
    return LeaderAndIsrTopicState(topic_name, partition_states), pos


def _encode_leader_and_isr_topic_state_v2(msg: LeaderAndIsrTopicState, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_i(len(msg.partition_states))
    for partition_states_item in msg.partition_states:
        _encode_leader_and_isr_partition_state2_v2(partition_states_item, out)


def _decode_leader_and_isr_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderAndIsrRequest, int]:
    controller_id, controller_epoch, broker_epoch, topic_states_count = _unpack_iiqi(buf, pos)
    pos += 20
    elements_left = budget.elements_left - topic_states_count
    if topic_states_count < 0 or elements_left < 0 or topic_states_count * 6 > len(buf) - pos:
        check_count(topic_states_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topic_states: list[LeaderAndIsrTopicState] = []
    for _ in range(topic_states_count):
        topic_states_item, pos = _decode_leader_and_isr_topic_state_v2(buf, pos, budget)
        topic_states.append(topic_states_item)
    (live_leaders_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_leaders_count
    if live_leaders_count < 0 or elements_left < 0 or live_leaders_count * 10 > len(buf) - pos:
        check_count(live_leaders_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_leaders: list[LeaderAndIsrLiveLeader] = []
    for _ in range(live_leaders_count):
        live_leaders_broker_id, live_leaders_host_name_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + live_leaders_host_name_length
        if live_leaders_host_name_length < 0 or end > len(buf):
            raise wrong_length("string", live_leaders_host_name_length, pos, buf)
        live_leaders_host_name = str(buf[pos:end], "utf-8")
        pos = end
        (live_leaders_port,) = _unpack_i(buf, pos)
        pos += 4
        live_leaders.append(LeaderAndIsrLiveLeader(live_leaders_broker_id, live_leaders_host_name, live_leaders_port))
    return LeaderAndIsrRequest(controller_id, controller_epoch, [], broker_epoch, topic_states, live_leaders), pos


def _encode_leader_and_isr_request_v2(msg: LeaderAndIsrRequest, out: WireBuffer) -> None:
    if msg.ungrouped_partition_states:
        raise not_in_version("LeaderAndIsrRequest.ungrouped_partition_states")
    out += _pack_iiqi(msg.controller_id, msg.controller_epoch, msg.broker_epoch, len(msg.topic_states))
    for topic_states_item in msg.topic_states:
        _encode_leader_and_isr_topic_state_v2(topic_states_item, out)
    out += _pack_i(len(msg.live_leaders))
    for live_leaders_item in msg.live_leaders:
        host_name_bytes = live_leaders_item.host_name.encode()
        out += _pack_ih(live_leaders_item.broker_id, len(host_name_bytes))
        out += host_name_bytes
        out += _pack_i(live_leaders_item.port)


def _decode_leader_and_isr_partition_state2_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrPartitionState2, int]:
    partition_index, controller_epoch, leader, leader_epoch, isr_count = _unpack_iiiii(buf, pos)
    pos += 20
    elements_left = budget.elements_left - isr_count
    if isr_count < 0 or elements_left < 0 or isr_count * 4 > len(buf) - pos:
        check_count(isr_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    zk_version, replicas_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - replicas_count
    if replicas_count < 0 or elements_left < 0 or replicas_count * 4 > len(buf) - pos:
        check_count(replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    replicas = read_int32s(buf, pos, replicas_count)
    pos += 4 * replicas_count
    (adding_replicas_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - adding_replicas_count
    if adding_replicas_count < 0 or elements_left < 0 or adding_replicas_count * 4 > len(buf) - pos:
        check_count(adding_replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    adding_replicas = read_int32s(buf, pos, adding_replicas_count)
    pos += 4 * adding_replicas_count
    (removing_replicas_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - removing_replicas_count
    if removing_replicas_count < 0 or elements_left < 0 or removing_replicas_count * 4 > len(buf) - pos:
        check_count(removing_replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    removing_replicas = read_int32s(buf, pos, removing_replicas_count)
    pos += 4 * removing_replicas_count
    (is_new,) = _unpack_t(buf, pos)
    return LeaderAndIsrPartitionState2(
        partition_index,
        controller_epoch,
        leader,
        leader_epoch,
        isr,
        zk_version,
        replicas,
        adding_replicas,
        removing_replicas,
        is_new,
    ), pos + 1


def _encode_leader_and_isr_partition_state2_v3(msg: LeaderAndIsrPartitionState2, out: WireBuffer) -> None:
    out += _pack_iiiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch, len(msg.isr))
    write_int32s(msg.isr, out)
    out += _pack_ii(msg.zk_version, len(msg.replicas))
    write_int32s(msg.replicas, out)
    out += _pack_i(len(msg.adding_replicas))
    write_int32s(msg.adding_replicas, out)
    out += _pack_i(len(msg.removing_replicas))
    write_int32s(msg.removing_replicas, out)
    out += _pack_t(msg.is_new)


def _decode_leader_and_isr_topic_state_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrTopicState, int]:
    (topic_name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + topic_name_length
    if topic_name_length < 0 or end > len(buf):
        raise wrong_length("string", topic_name_length, pos, buf)
    topic_name = str(buf[pos:end], "utf-8")
    pos = end
    (partition_states_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partition_states_count
    if partition_states_count < 0 or elements_left < 0 or partition_states_count * 37 > len(buf) - pos:
        check_count(partition_states_count, len(buf) - pos, 37, budget)
    budget.elements_left = elements_left
    partition_states: list[LeaderAndIsrPartitionState2] = []
    for _ in range(partition_states_count):
        partition_states_item, pos = _decode_leader_and_isr_partition_state2_v3(buf, pos, budget)
        partition_states.append(partition_states_item)
    return LeaderAndIsrTopicState(topic_name, partition_states), pos


def _encode_leader_and_isr_topic_state_v3(msg: LeaderAndIsrTopicState, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_i(len(msg.partition_states))
    for partition_states_item in msg.partition_states:
        _encode_leader_and_isr_partition_state2_v3(partition_states_item, out)


def _decode_leader_and_isr_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderAndIsrRequest, int]:
    controller_id, controller_epoch, broker_epoch, topic_states_count = _unpack_iiqi(buf, pos)
    pos += 20
    elements_left = budget.elements_left - topic_states_count
    if topic_states_count < 0 or elements_left < 0 or topic_states_count * 6 > len(buf) - pos:
        check_count(topic_states_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topic_states: list[LeaderAndIsrTopicState] = []
    for _ in range(topic_states_count):
        topic_states_item, pos = _decode_leader_and_isr_topic_state_v3(buf, pos, budget)
        topic_states.append(topic_states_item)
    (live_leaders_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_leaders_count
    if live_leaders_count < 0 or elements_left < 0 or live_leaders_count * 10 > len(buf) - pos:
        check_count(live_leaders_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_leaders: list[LeaderAndIsrLiveLeader] = []
    for _ in range(live_leaders_count):
        live_leaders_broker_id, live_leaders_host_name_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + live_leaders_host_name_length
        if live_leaders_host_name_length < 0 or end > len(buf):
            raise wrong_length("string", live_leaders_host_name_length, pos, buf)
        live_leaders_host_name = str(buf[pos:end], "utf-8")
        pos = end
        (live_leaders_port,) = _unpack_i(buf, pos)
        pos += 4
        live_leaders.append(LeaderAndIsrLiveLeader(live_leaders_broker_id, live_leaders_host_name, live_leaders_port))
    return LeaderAndIsrRequest(controller_id, controller_epoch, [], broker_epoch, topic_states, live_leaders), pos


def _encode_leader_and_isr_request_v3(msg: LeaderAndIsrRequest, out: WireBuffer) -> None:
    if msg.ungrouped_partition_states:
        raise not_in_version("LeaderAndIsrRequest.ungrouped_partition_states")
    out += _pack_iiqi(msg.controller_id, msg.controller_epoch, msg.broker_epoch, len(msg.topic_states))
    for topic_states_item in msg.topic_states:
        _encode_leader_and_isr_topic_state_v3(topic_states_item, out)
    out += _pack_i(len(msg.live_leaders))
    for live_leaders_item in msg.live_leaders:
        host_name_bytes = live_leaders_item.host_name.encode()
        out += _pack_ih(live_leaders_item.broker_id, len(host_name_bytes))
        out += host_name_bytes
        out += _pack_i(live_leaders_item.port)


def _decode_leader_and_isr_partition_state2_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrPartitionState2, int]:
    partition_index, controller_epoch, leader, leader_epoch = _unpack_iiii(buf, pos)
    isr_count, pos = read_compact_count(buf, pos + 16, 4, budget)
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    (zk_version,) = _unpack_i(buf, pos)
    replicas_count, pos = read_compact_count(buf, pos + 4, 4, budget)
    replicas = read_int32s(buf, pos, replicas_count)
    pos += 4 * replicas_count
    adding_replicas_count, pos = read_compact_count(buf, pos, 4, budget)
    adding_replicas = read_int32s(buf, pos, adding_replicas_count)
    pos += 4 * adding_replicas_count
    removing_replicas_count, pos = read_compact_count(buf, pos, 4, budget)
    removing_replicas = read_int32s(buf, pos, removing_replicas_count)
    pos += 4 * removing_replicas_count
    (is_new,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderAndIsrPartitionState2(
        partition_index,
        controller_epoch,
        leader,
        leader_epoch,
        isr,
        zk_version,
        replicas,
        adding_replicas,
        removing_replicas,
        is_new,
    ), pos


def _encode_leader_and_isr_partition_state2_v4(msg: LeaderAndIsrPartitionState2, out: WireBuffer) -> None:
    out += _pack_iiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch)
    write_uvarint(len(msg.isr) + 1, out)
    write_int32s(msg.isr, out)
    out += _pack_i(msg.zk_version)
    write_uvarint(len(msg.replicas) + 1, out)
    write_int32s(msg.replicas, out)
    write_uvarint(len(msg.adding_replicas) + 1, out)
    write_int32s(msg.adding_replicas, out)
    write_uvarint(len(msg.removing_replicas) + 1, out)
    write_int32s(msg.removing_replicas, out)
    out += _pack_tB(msg.is_new, 0)


def _decode_leader_and_isr_topic_state_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrTopicState, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partition_states_count, pos = read_compact_count(buf, pos, 26, budget)
    partition_states: list[LeaderAndIsrPartitionState2] = []
    for _ in range(partition_states_count):
        partition_states_item, pos = _decode_leader_and_isr_partition_state2_v4(buf, pos, budget)
        partition_states.append(partition_states_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderAndIsrTopicState(topic_name, partition_states), pos


def _encode_leader_and_isr_topic_state_v4(msg: LeaderAndIsrTopicState, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partition_states) + 1, out)
    for partition_states_item in msg.partition_states:
        _encode_leader_and_isr_partition_state2_v4(partition_states_item, out)
    out.append(0)


def _decode_leader_and_isr_live_leader_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrLiveLeader, int]:
    (broker_id,) = _unpack_i(buf, pos)
    host_name, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderAndIsrLiveLeader(broker_id, host_name, port), pos


def _encode_leader_and_isr_live_leader_v4(msg: LeaderAndIsrLiveLeader, out: WireBuffer) -> None:
    out += _pack_i(msg.broker_id)
    write_compact_string(msg.host_name, out)
    out += _pack_iB(msg.port, 0)


def _decode_leader_and_isr_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderAndIsrRequest, int]:
    controller_id, controller_epoch, broker_epoch = _unpack_iiq(buf, pos)
    topic_states_count, pos = read_compact_count(buf, pos + 16, 3, budget)
    topic_states: list[LeaderAndIsrTopicState] = []
    for _ in range(topic_states_count):
        topic_states_item, pos = _decode_leader_and_isr_topic_state_v4(buf, pos, budget)
        topic_states.append(topic_states_item)
    live_leaders_count, pos = read_compact_count(buf, pos, 10, budget)
    live_leaders: list[LeaderAndIsrLiveLeader] = []
    for _ in range(live_leaders_count):
        live_leaders_item, pos = _decode_leader_and_isr_live_leader_v4(buf, pos, budget)
        live_leaders.append(live_leaders_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderAndIsrRequest(controller_id, controller_epoch, [], broker_epoch, topic_states, live_leaders), pos


def _encode_leader_and_isr_request_v4(msg: LeaderAndIsrRequest, out: WireBuffer) -> None:
    if msg.ungrouped_partition_states:
        raise not_in_version("LeaderAndIsrRequest.ungrouped_partition_states")
    out += _pack_iiq(msg.controller_id, msg.controller_epoch, msg.broker_epoch)
    write_uvarint(len(msg.topic_states) + 1, out)
    for topic_states_item in msg.topic_states:
        _encode_leader_and_isr_topic_state_v4(topic_states_item, out)
    write_uvarint(len(msg.live_leaders) + 1, out)
    for live_leaders_item in msg.live_leaders:
        _encode_leader_and_isr_live_leader_v4(live_leaders_item, out)
    out.append(0)


def _decode_leader_and_isr_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderAndIsrResponse, int]:
    error_code, partition_errors_count = _unpack_hi(buf, pos)
    pos += 6
    elements_left = budget.elements_left - partition_errors_count
    if partition_errors_count < 0 or elements_left < 0 or partition_errors_count * 8 > len(buf) - pos:
        check_count(partition_errors_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    partition_errors: list[LeaderAndIsrPartitionError] = []
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
            LeaderAndIsrPartitionError(
                partition_errors_topic_name, partition_errors_partition_index, partition_errors_error_code
            )
        )
    return LeaderAndIsrResponse(error_code, partition_errors), pos


def _encode_leader_and_isr_response_v0(msg: LeaderAndIsrResponse, out: WireBuffer) -> None:
    out += _pack_hi(msg.error_code, len(msg.partition_errors))
    for partition_errors_item in msg.partition_errors:
        topic_name_bytes = partition_errors_item.topic_name.encode()
        out += _pack_h(len(topic_name_bytes))
        out += topic_name_bytes
        out += _pack_ih(partition_errors_item.partition_index, partition_errors_item.error_code)


def _decode_leader_and_isr_partition_error_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[LeaderAndIsrPartitionError, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partition_index, error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderAndIsrPartitionError(topic_name, partition_index, error_code), pos


def _encode_leader_and_isr_partition_error_v4(msg: LeaderAndIsrPartitionError, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    out += _pack_ihB(msg.partition_index, msg.error_code, 0)


def _decode_leader_and_isr_response_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderAndIsrResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    partition_errors_count, pos = read_compact_count(buf, pos + 2, 8, budget)
    partition_errors: list[LeaderAndIsrPartitionError] = []
    for _ in range(partition_errors_count):
        partition_errors_item, pos = _decode_leader_and_isr_partition_error_v4(buf, pos, budget)
        partition_errors.append(partition_errors_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderAndIsrResponse(error_code, partition_errors), pos


def _encode_leader_and_isr_response_v4(msg: LeaderAndIsrResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_uvarint(len(msg.partition_errors) + 1, out)
    for partition_errors_item in msg.partition_errors:
        _encode_leader_and_isr_partition_error_v4(partition_errors_item, out)
    out.append(0)


LeaderAndIsrRequest.DECODERS = (
    _decode_leader_and_isr_request_v0,
    _decode_leader_and_isr_request_v1,
    _decode_leader_and_isr_request_v2,
    _decode_leader_and_isr_request_v3,
    _decode_leader_and_isr_request_v4,
)

LeaderAndIsrRequest.ENCODERS = (
    _encode_leader_and_isr_request_v0,
    _encode_leader_and_isr_request_v1,
    _encode_leader_and_isr_request_v2,
    _encode_leader_and_isr_request_v3,
    _encode_leader_and_isr_request_v4,
)

LeaderAndIsrResponse.DECODERS = (
    _decode_leader_and_isr_response_v0,
    _decode_leader_and_isr_response_v0,
    _decode_leader_and_isr_response_v0,
    _decode_leader_and_isr_response_v0,
    _decode_leader_and_isr_response_v4,
)

LeaderAndIsrResponse.ENCODERS = (
    _encode_leader_and_isr_response_v0,
    _encode_leader_and_isr_response_v0,
    _encode_leader_and_isr_response_v0,
    _encode_leader_and_isr_response_v0,
    _encode_leader_and_isr_response_v4,
)
