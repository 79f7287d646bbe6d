"""UpdateMetadata (API key 6): request and response.

Generated from the UpdateMetadata schemas by scripts/generate.

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
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_hB: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iii: Final = Struct(">iii").pack
_pack_iiii: Final = Struct(">iiii").pack
_pack_iiiii: Final = Struct(">iiiii").pack
_pack_iiq: Final = Struct(">iiq").pack
_pack_iiqi: Final = Struct(">iiqi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iii: Final = Struct(">iii").unpack_from
_unpack_iiii: Final = Struct(">iiii").unpack_from
_unpack_iiiii: Final = Struct(">iiiii").unpack_from
_unpack_iiq: Final = Struct(">iiq").unpack_from
_unpack_iiqi: Final = Struct(">iiqi").unpack_from


class UpdateMetadataPartitionState(Part):
    """Part of UpdateMetadataRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",  # versions 0-4
        "partition_index",  # versions 0-4
        "controller_epoch",  # versions 0-4
        "leader",  # versions 0-4
        "leader_epoch",  # versions 0-4
        "isr",  # versions 0-4
        "zk_version",  # versions 0-4
        "replicas",  # versions 0-4
        "offline_replicas",  # versions 4
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
        offline_replicas: list[int] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr: list[int] = [] if isr is None else isr
        self.zk_version = zk_version
        self.replicas: list[int] = [] if replicas is None else replicas
        self.offline_replicas: list[int] = [] if offline_replicas is None else offline_replicas


class UpdateMetadataPartitionState2(Part):
    """Part of UpdateMetadataRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",  # versions 5+
        "controller_epoch",  # versions 5+
        "leader",  # versions 5+
        "leader_epoch",  # versions 5+
        "isr",  # versions 5+
        "zk_version",  # versions 5+
        "replicas",  # versions 5+
        "offline_replicas",  # versions 5+
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
        offline_replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr: list[int] = [] if isr is None else isr
        self.zk_version = zk_version
        self.replicas: list[int] = [] if replicas is None else replicas
        self.offline_replicas: list[int] = [] if offline_replicas is None else offline_replicas


class UpdateMetadataTopicState(Part):
    """Part of UpdateMetadataRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topic_name",  # versions 5+
        "partition_states",  # versions 5+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("partition_states", UpdateMetadataPartitionState2, True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_states: list[UpdateMetadataPartitionState2] | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.partition_states: list[UpdateMetadataPartitionState2] = (
            [] if partition_states is None else partition_states
        )


class UpdateMetadataEndpoint(Part):
    """Part of UpdateMetadataRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "port",  # versions 1+
        "host",  # versions 1+
        "listener",  # versions 3+
        "security_protocol",  # versions 1+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        port: int = 0,
        host: str = "",
        listener: str = "",
        security_protocol: int = 0,
    ) -> None:
        self.port = port
        self.host = host
        self.listener = listener
        self.security_protocol = security_protocol


class UpdateMetadataBroker(Part):
    """Part of UpdateMetadataRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "id",
        "v0_host",  # versions 0
        "v0_port",  # versions 0
        "endpoints",  # versions 1+
        "rack",  # versions 2+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("endpoints", UpdateMetadataEndpoint, True),)

    def __init__(
        self,
        id: int = 0,
        v0_host: str = "",
        v0_port: int = 0,
        endpoints: list[UpdateMetadataEndpoint] | None = None,
        rack: str | None = "",
    ) -> None:
        self.id = id
        self.v0_host = v0_host
        self.v0_port = v0_port
        self.endpoints: list[UpdateMetadataEndpoint] = [] if endpoints is None else endpoints
        self.rack = rack


class UpdateMetadataRequest(Message):
    """UpdateMetadataRequest (API key 6), versions 0-6."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "controller_id",
        "controller_epoch",
        "ungrouped_partition_states",  # versions 0-4
        "broker_epoch",  # versions 5+
        "topic_states",  # versions 5+
        "live_brokers",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("ungrouped_partition_states", UpdateMetadataPartitionState, True),
        ("topic_states", UpdateMetadataTopicState, True),
        ("live_brokers", UpdateMetadataBroker, True),
    )

    SCHEMA_NAME: ClassVar[str] = "UpdateMetadataRequest"
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UpdateMetadataRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UpdateMetadataRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        controller_id: int = 0,
        controller_epoch: int = 0,
        ungrouped_partition_states: list[UpdateMetadataPartitionState] | None = None,
        broker_epoch: int = -1,
        topic_states: list[UpdateMetadataTopicState] | None = None,
        live_brokers: list[UpdateMetadataBroker] | None = None,
    ) -> None:
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.ungrouped_partition_states: list[UpdateMetadataPartitionState] = (
            [] if ungrouped_partition_states is None else ungrouped_partition_states
        )
        self.broker_epoch = broker_epoch
        self.topic_states: list[UpdateMetadataTopicState] = [] if topic_states is None else topic_states
        self.live_brokers: list[UpdateMetadataBroker] = [] if live_brokers is None else live_brokers


class UpdateMetadataResponse(Message):
    """UpdateMetadataResponse (API key 6), versions 0-6."""

    FIELDS: ClassVar[tuple[str, ...]] = ("error_code",)
    __slots__ = FIELDS

    SCHEMA_NAME: ClassVar[str] = "UpdateMetadataResponse"
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[UpdateMetadataResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[UpdateMetadataResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        error_code: int = 0,
    ) -> None:
        self.error_code = error_code


def _decode_update_metadata_partition_state_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataPartitionState, int]:
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
    return UpdateMetadataPartitionState(
        topic_name, partition_index, controller_epoch, leader, leader_epoch, isr, zk_version, replicas
    ), pos


def _encode_update_metadata_partition_state_v0(msg: UpdateMetadataPartitionState, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_iiiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch, len(msg.isr))
    write_int32s(msg.isr, out)
    out += _pack_ii(msg.zk_version, len(msg.replicas))
    write_int32s(msg.replicas, out)


def _decode_update_metadata_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataRequest, int]:
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
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = []
    for _ in range(ungrouped_partition_states_count):
        ungrouped_partition_states_item, pos = _decode_update_metadata_partition_state_v0(buf, pos, budget)
        ungrouped_partition_states.append(ungrouped_partition_states_item)
    (live_brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_brokers_count
    if live_brokers_count < 0 or elements_left < 0 or live_brokers_count * 10 > len(buf) - pos:
        check_count(live_brokers_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_brokers: list[UpdateMetadataBroker] = []
    for _ in range(live_brokers_count):
        live_brokers_id, live_brokers_v0_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + live_brokers_v0_host_length
        if live_brokers_v0_host_length < 0 or end > len(buf):
            raise wrong_length("string", live_brokers_v0_host_length, pos, buf)
        live_brokers_v0_host = str(buf[pos:end], "utf-8")
        pos = end
        (live_brokers_v0_port,) = _unpack_i(buf, pos)
        pos += 4
        live_brokers.append(UpdateMetadataBroker(live_brokers_id, live_brokers_v0_host, live_brokers_v0_port))
    return UpdateMetadataRequest(controller_id, controller_epoch, ungrouped_partition_states, -1, [], live_brokers), pos


def _encode_update_metadata_request_v0(msg: UpdateMetadataRequest, out: WireBuffer) -> None:
    if msg.topic_states:
        raise not_in_version("UpdateMetadataRequest.topic_states")
    out += _pack_iii(msg.controller_id, msg.controller_epoch, len(msg.ungrouped_partition_states))
    for ungrouped_partition_states_item in msg.ungrouped_partition_states:
        _encode_update_metadata_partition_state_v0(ungrouped_partition_states_item, out)
    out += _pack_i(len(msg.live_brokers))
    for live_brokers_item in msg.live_brokers:
        v0_host_bytes = live_brokers_item.v0_host.encode()
        out += _pack_ih(live_brokers_item.id, len(v0_host_bytes))
        out += v0_host_bytes
        out += _pack_i(live_brokers_item.v0_port)


def _decode_update_metadata_broker_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataBroker, int]:
    id, endpoints_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - endpoints_count
    if endpoints_count < 0 or elements_left < 0 or endpoints_count * 8 > len(buf) - pos:
        check_count(endpoints_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    endpoints: list[UpdateMetadataEndpoint] = []
    for _ in range(endpoints_count):
        endpoints_port, endpoints_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + endpoints_host_length
        if endpoints_host_length < 0 or end > len(buf):
            raise wrong_length("string", endpoints_host_length, pos, buf)
        endpoints_host = str(buf[pos:end], "utf-8")
        pos = end
        (endpoints_security_protocol,) = _unpack_h(buf, pos)
        pos += 2
        endpoints.append(UpdateMetadataEndpoint(endpoints_port, endpoints_host, "", endpoints_security_protocol))
    return UpdateMetadataBroker(id, "", 0, endpoints), pos


def _encode_update_metadata_broker_v1(msg: UpdateMetadataBroker, out: WireBuffer) -> None:
    out += _pack_ii(msg.id, len(msg.endpoints))
    for endpoints_item in msg.endpoints:
        host_bytes = endpoints_item.host.encode()
        out += _pack_ih(endpoints_item.port, len(host_bytes))
        out += host_bytes
        out += _pack_h(endpoints_item.security_protocol)


def _decode_update_metadata_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataRequest, int]:
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
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = []
    for _ in range(ungrouped_partition_states_count):
        ungrouped_partition_states_item, pos = _decode_update_metadata_partition_state_v0(buf, pos, budget)
        ungrouped_partition_states.append(ungrouped_partition_states_item)
    (live_brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_brokers_count
    if live_brokers_count < 0 or elements_left < 0 or live_brokers_count * 8 > len(buf) - pos:
        check_count(live_brokers_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    live_brokers: list[UpdateMetadataBroker] = []
    for _ in range(live_brokers_count):
        live_brokers_item, pos = _decode_update_metadata_broker_v1(buf, pos, budget)
        live_brokers.append(live_brokers_item)
    return UpdateMetadataRequest(controller_id, controller_epoch, ungrouped_partition_states, -1, [], live_brokers), pos


def _encode_update_metadata_request_v1(msg: UpdateMetadataRequest, out: WireBuffer) -> None:
    if msg.topic_states:
        raise not_in_version("UpdateMetadataRequest.topic_states")
    out += _pack_iii(msg.controller_id, msg.controller_epoch, len(msg.ungrouped_partition_states))
    for ungrouped_partition_states_item in msg.ungrouped_partition_states:
        _encode_update_metadata_partition_state_v0(ungrouped_partition_states_item, out)
    out += _pack_i(len(msg.live_brokers))
    for live_brokers_item in msg.live_brokers:
        _encode_update_metadata_broker_v1(live_brokers_item, out)


def _decode_update_metadata_broker_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataBroker, int]:
    id, endpoints_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - endpoints_count
    if endpoints_count < 0 or elements_left < 0 or endpoints_count * 8 > len(buf) - pos:
        check_count(endpoints_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    endpoints: list[UpdateMetadataEndpoint] = []
    for _ in range(endpoints_count):
        endpoints_port, endpoints_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + endpoints_host_length
        if endpoints_host_length < 0 or end > len(buf):
            raise wrong_length("string", endpoints_host_length, pos, buf)
        endpoints_host = str(buf[pos:end], "utf-8")
        pos = end
        (endpoints_security_protocol,) = _unpack_h(buf, pos)
        pos += 2
        endpoints.append(UpdateMetadataEndpoint(endpoints_port, endpoints_host, "", endpoints_security_protocol))
    (rack_length,) = _unpack_h(buf, pos)
    pos += 2
    rack: str | None = None
    if rack_length >= 0:
        end = pos + rack_length
        if end > len(buf):
            raise wrong_length("string", rack_length, pos, buf)
        rack = str(buf[pos:end], "utf-8")
        pos = end
    return UpdateMetadataBroker(id, "", 0, endpoints, rack), pos


def _encode_update_metadata_broker_v2(msg: UpdateMetadataBroker, out: WireBuffer) -> None:
    out += _pack_ii(msg.id, len(msg.endpoints))
    for endpoints_item in msg.endpoints:
        host_bytes = endpoints_item.host.encode()
        out += _pack_ih(endpoints_item.port, len(host_bytes))
        out += host_bytes
        out += _pack_h(endpoints_item.security_protocol)
    write_nullable_string(msg.rack, out)


def _decode_update_metadata_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataRequest, int]:
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
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = []
    for _ in range(ungrouped_partition_states_count):
        ungrouped_partition_states_item, pos = _decode_update_metadata_partition_state_v0(buf, pos, budget)
        ungrouped_partition_states.append(ungrouped_partition_states_item)
    (live_brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_brokers_count
    if live_brokers_count < 0 or elements_left < 0 or live_brokers_count * 10 > len(buf) - pos:
        check_count(live_brokers_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_brokers: list[UpdateMetadataBroker] = []
    for _ in range(live_brokers_count):
        live_brokers_item, pos = _decode_update_metadata_broker_v2(buf, pos, budget)
        live_brokers.append(live_brokers_item)
    return UpdateMetadataRequest(controller_id, controller_epoch, ungrouped_partition_states, -1, [], live_brokers), pos


def _encode_update_metadata_request_v2(msg: UpdateMetadataRequest, out: WireBuffer) -> None:
    if msg.topic_states:
        raise not_in_version("UpdateMetadataRequest.topic_states")
    out += _pack_iii(msg.controller_id, msg.controller_epoch, len(msg.ungrouped_partition_states))
    for ungrouped_partition_states_item in msg.ungrouped_partition_states:
        _encode_update_metadata_partition_state_v0(ungrouped_partition_states_item, out)
    out += _pack_i(len(msg.live_brokers))
    for live_brokers_item in msg.live_brokers:
        _encode_update_metadata_broker_v2(live_brokers_item, out)


def _decode_update_metadata_broker_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataBroker, int]:
    id, endpoints_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - endpoints_count
    if endpoints_count < 0 or elements_left < 0 or endpoints_count * 10 > len(buf) - pos:
        check_count(endpoints_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    endpoints: list[UpdateMetadataEndpoint] = []
    for _ in range(endpoints_count):
        endpoints_port, endpoints_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + endpoints_host_length
        if endpoints_host_length < 0 or end > len(buf):
            raise wrong_length("string", endpoints_host_length, pos, buf)
        endpoints_host = str(buf[pos:end], "utf-8")
        pos = end
        (endpoints_listener_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + endpoints_listener_length
        if endpoints_listener_length < 0 or end > len(buf):
            raise wrong_length("string", endpoints_listener_length, pos, buf)
        endpoints_listener = str(buf[pos:end], "utf-8")
        pos = end
        (endpoints_security_protocol,) = _unpack_h(buf, pos)
        pos += 2
        endpoints.append(
            UpdateMetadataEndpoint(endpoints_port, endpoints_host, endpoints_listener, endpoints_security_protocol)
        )
    (rack_length,) = _unpack_h(buf, pos)
    pos += 2
    rack: str | None = None
    if rack_length >= 0:
        end = pos + rack_length
        if end > len(buf):
            raise wrong_length("string", rack_length, pos, buf)
        rack = str(buf[pos:end], "utf-8")
        pos = end
    return UpdateMetadataBroker(id, "", 0, endpoints, rack), pos


def _encode_update_metadata_broker_v3(msg: UpdateMetadataBroker, out: WireBuffer) -> None:
    out += _pack_ii(msg.id, len(msg.endpoints))
    for endpoints_item in msg.endpoints:
        host_bytes = endpoints_item.host.encode()
        out += _pack_ih(endpoints_item.port, len(host_bytes))
        out += host_bytes
        listener_bytes = endpoints_item.listener.encode()
        out += _pack_h(len(listener_bytes))
        out += listener_bytes
        out += _pack_h(endpoints_item.security_protocol)
    write_nullable_string(msg.rack, out)


def _decode_update_metadata_request_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataRequest, int]:
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
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = []
    for _ in range(ungrouped_partition_states_count):
        ungrouped_partition_states_item, pos = _decode_update_metadata_partition_state_v0(buf, pos, budget)
        ungrouped_partition_states.append(ungrouped_partition_states_item)
    (live_brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_brokers_count
    if live_brokers_count < 0 or elements_left < 0 or live_brokers_count * 10 > len(buf) - pos:
        check_count(live_brokers_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_brokers: list[UpdateMetadataBroker] = []
    for _ in range(live_brokers_count):
        live_brokers_item, pos = _decode_update_metadata_broker_v3(buf, pos, budget)
        live_brokers.append(live_brokers_item)
    return UpdateMetadataRequest(controller_id, controller_epoch, ungrouped_partition_states, -1, [], live_brokers), pos


def _encode_update_metadata_request_v3(msg: UpdateMetadataRequest, out: WireBuffer) -> None:
    if msg.topic_states:
        raise not_in_version("UpdateMetadataRequest.topic_states")
    out += _pack_iii(msg.controller_id, msg.controller_epoch, len(msg.ungrouped_partition_states))
    for ungrouped_partition_states_item in msg.ungrouped_partition_states:
        _encode_update_metadata_partition_state_v0(ungrouped_partition_states_item, out)
    out += _pack_i(len(msg.live_brokers))
    for live_brokers_item in msg.live_brokers:
        _encode_update_metadata_broker_v3(live_brokers_item, out)


def _decode_update_metadata_partition_state_v4(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataPartitionState, int]:
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
    (offline_replicas_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - offline_replicas_count
    if offline_replicas_count < 0 or elements_left < 0 or offline_replicas_count * 4 > len(buf) - pos:
        check_count(offline_replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    offline_replicas = read_int32s(buf, pos, offline_replicas_count)
    pos += 4 * offline_replicas_count
    return UpdateMetadataPartitionState(
        topic_name, partition_index, controller_epoch, leader, leader_epoch, isr, zk_version, replicas, offline_replicas
    ), pos


def _encode_update_metadata_partition_state_v4(msg: UpdateMetadataPartitionState, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_iiiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch, len(msg.isr))
    write_int32s(msg.isr, out)
    out += _pack_ii(msg.zk_version, len(msg.replicas))
    write_int32s(msg.replicas, out)
    out += _pack_i(len(msg.offline_replicas))
    write_int32s(msg.offline_replicas, out)


def _decode_update_metadata_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataRequest, int]:
    controller_id, controller_epoch, ungrouped_partition_states_count = _unpack_iii(buf, pos)
    pos += 12
    elements_left = budget.elements_left - ungrouped_partition_states_count
    if (
        ungrouped_partition_states_count < 0
        or elements_left < 0
        or ungrouped_partition_states_count * 34 > len(buf) - pos
    ):
        check_count(ungrouped_partition_states_count, len(buf) - pos, 34, budget)
    budget.elements_left = elements_left
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = []
    for _ in range(ungrouped_partition_states_count):
        ungrouped_partition_states_item, pos = _decode_update_metadata_partition_state_v4(buf, pos, budget)
        ungrouped_partition_states.append(ungrouped_partition_states_item)
    (live_brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_brokers_count
    if live_brokers_count < 0 or elements_left < 0 or live_brokers_count * 10 > len(buf) - pos:
        check_count(live_brokers_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_brokers: list[UpdateMetadataBroker] = []
    for _ in range(live_brokers_count):
        live_brokers_item, pos = _decode_update_metadata_broker_v3(buf, pos, budget)
        live_brokers.append(live_brokers_item)
    return UpdateMetadataRequest(controller_id, controller_epoch, ungrouped_partition_states, -1, [], live_brokers), pos


def _encode_update_metadata_request_v4(msg: UpdateMetadataRequest, out: WireBuffer) -> None:
    if msg.topic_states:
        raise not_in_version("UpdateMetadataRequest.topic_states")
    out += _pack_iii(msg.controller_id, msg.controller_epoch, len(msg.ungrouped_partition_states))
    for ungrouped_partition_states_item in msg.ungrouped_partition_states:
        _encode_update_metadata_partition_state_v4(ungrouped_partition_states_item, out)
    out += _pack_i(len(msg.live_brokers))
    for live_brokers_item in msg.live_brokers:
        _encode_update_metadata_broker_v3(live_brokers_item, out)


def _decode_update_metadata_partition_state2_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataPartitionState2, int]:
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
    (offline_replicas_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - offline_replicas_count
    if offline_replicas_count < 0 or elements_left < 0 or offline_replicas_count * 4 > len(buf) - pos:
        check_count(offline_replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    offline_replicas = read_int32s(buf, pos, offline_replicas_count)
    pos += 4 * offline_replicas_count
    return UpdateMetadataPartitionState2(
        partition_index, controller_epoch, leader, leader_epoch, isr, zk_version, replicas, offline_replicas
    ), pos


def _encode_update_metadata_partition_state2_v5(msg: UpdateMetadataPartitionState2, out: WireBuffer) -> None:
    out += _pack_iiiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch, len(msg.isr))
    write_int32s(msg.isr, out)
    out += _pack_ii(msg.zk_version, len(msg.replicas))
    write_int32s(msg.replicas, out)
    out += _pack_i(len(msg.offline_replicas))
    write_int32s(msg.offline_replicas, out)


def _decode_update_metadata_topic_state_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataTopicState, int]:
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
    if partition_states_count < 0 or elements_left < 0 or partition_states_count * 32 > len(buf) - pos:
        check_count(partition_states_count, len(buf) - pos, 32, budget)
    budget.elements_left = elements_left
    partition_states: list[UpdateMetadataPartitionState2] = []
    for _ in range(partition_states_count):
        partition_states_item, pos = _decode_update_metadata_partition_state2_v5(buf, pos, budget)
        partition_states.append(partition_states_item)
    return UpdateMetadataTopicState(topic_name, partition_states), pos


def _encode_update_metadata_topic_state_v5(msg: UpdateMetadataTopicState, out: WireBuffer) -> None:
    topic_name_bytes = msg.topic_name.encode()
    out += _pack_h(len(topic_name_bytes))
    out += topic_name_bytes
    out += _pack_i(len(msg.partition_states))
    for partition_states_item in msg.partition_states:
        _encode_update_metadata_partition_state2_v5(partition_states_item, out)


def _decode_update_metadata_request_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataRequest, int]:
    controller_id, controller_epoch, broker_epoch, topic_states_count = _unpack_iiqi(buf, pos)
    pos += 20
    elements_left = budget.elements_left - topic_states_count
    if topic_states_count < 0 or elements_left < 0 or topic_states_count * 6 > len(buf) - pos:
        check_count(topic_states_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topic_states: list[UpdateMetadataTopicState] = []
    for _ in range(topic_states_count):
        topic_states_item, pos = _decode_update_metadata_topic_state_v5(buf, pos, budget)
        topic_states.append(topic_states_item)
    (live_brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - live_brokers_count
    if live_brokers_count < 0 or elements_left < 0 or live_brokers_count * 10 > len(buf) - pos:
        check_count(live_brokers_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    live_brokers: list[UpdateMetadataBroker] = []
    for _ in range(live_brokers_count):
        live_brokers_item, pos = _decode_update_metadata_broker_v3(buf, pos, budget)
        live_brokers.append(live_brokers_item)
    return UpdateMetadataRequest(controller_id, controller_epoch, [], broker_epoch, topic_states, live_brokers), pos


def _encode_update_metadata_request_v5(msg: UpdateMetadataRequest, out: WireBuffer) -> None:
    if msg.ungrouped_partition_states:
        raise not_in_version("UpdateMetadataRequest.ungrouped_partition_states")
    out += _pack_iiqi(msg.controller_id, msg.controller_epoch, msg.broker_epoch, len(msg.topic_states))
    for topic_states_item in msg.topic_states:
        _encode_update_metadata_topic_state_v5(topic_states_item, out)
    out += _pack_i(len(msg.live_brokers))
    for live_brokers_item in msg.live_brokers:
        _encode_update_metadata_broker_v3(live_brokers_item, out)


def _decode_update_metadata_partition_state2_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataPartitionState2, int]:
    partition_index, controller_epoch, leader, leader_epoch = _unpack_iiii(buf, pos)
    isr_count, pos = read_compact_count(buf, pos + 16, 4, budget)
    isr = read_int32s(buf, pos, isr_count)
    pos += 4 * isr_count
    (zk_version,) = _unpack_i(buf, pos)
    replicas_count, pos = read_compact_count(buf, pos + 4, 4, budget)
    replicas = read_int32s(buf, pos, replicas_count)
    pos += 4 * replicas_count
    offline_replicas_count, pos = read_compact_count(buf, pos, 4, budget)
    offline_replicas = read_int32s(buf, pos, offline_replicas_count)
    pos += 4 * offline_replicas_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateMetadataPartitionState2(
        partition_index, controller_epoch, leader, leader_epoch, isr, zk_version, replicas, offline_replicas
    ), pos


def _encode_update_metadata_partition_state2_v6(msg: UpdateMetadataPartitionState2, out: WireBuffer) -> None:
    out += _pack_iiii(msg.partition_index, msg.controller_epoch, msg.leader, msg.leader_epoch)
    write_uvarint(len(msg.isr) + 1, out)
    write_int32s(msg.isr, out)
    out += _pack_i(msg.zk_version)
    write_uvarint(len(msg.replicas) + 1, out)
    write_int32s(msg.replicas, out)
    write_uvarint(len(msg.offline_replicas) + 1, out)
    write_int32s(msg.offline_replicas, out)
    out.append(0)


def _decode_update_metadata_topic_state_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataTopicState, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partition_states_count, pos = read_compact_count(buf, pos, 24, budget)
    partition_states: list[UpdateMetadataPartitionState2] = []
    for _ in range(partition_states_count):
        partition_states_item, pos = _decode_update_metadata_partition_state2_v6(buf, pos, budget)
        partition_states.append(partition_states_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateMetadataTopicState(topic_name, partition_states), pos


def _encode_update_metadata_topic_state_v6(msg: UpdateMetadataTopicState, out: WireBuffer) -> None:
    write_compact_string(msg.topic_name, out)
    write_uvarint(len(msg.partition_states) + 1, out)
    for partition_states_item in msg.partition_states:
        _encode_update_metadata_partition_state2_v6(partition_states_item, out)
    out.append(0)


def _decode_update_metadata_endpoint_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataEndpoint, int]:
    (port,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    listener, pos = read_compact_string(buf, pos)
    (security_protocol,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateMetadataEndpoint(port, host, listener, security_protocol), pos


def _encode_update_metadata_endpoint_v6(msg: UpdateMetadataEndpoint, out: WireBuffer) -> None:
    out += _pack_i(msg.port)
    write_compact_string(msg.host, out)
    write_compact_string(msg.listener, out)
    out += _pack_hB(msg.security_protocol, 0)


def _decode_update_metadata_broker_v6(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataBroker, int]:
    (id,) = _unpack_i(buf, pos)
    endpoints_count, pos = read_compact_count(buf, pos + 4, 9, budget)
    endpoints: list[UpdateMetadataEndpoint] = []
    for _ in range(endpoints_count):
        endpoints_item, pos = _decode_update_metadata_endpoint_v6(buf, pos, budget)
        endpoints.append(endpoints_item)
    rack, pos = read_compact_nullable_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateMetadataBroker(id, "", 0, endpoints, rack), pos


def _encode_update_metadata_broker_v6(msg: UpdateMetadataBroker, out: WireBuffer) -> None:
    out += _pack_i(msg.id)
    write_uvarint(len(msg.endpoints) + 1, out)
    for endpoints_item in msg.endpoints:
        _encode_update_metadata_endpoint_v6(endpoints_item, out)
    write_compact_nullable_string(msg.rack, out)
    out.append(0)


def _decode_update_metadata_request_v6(buf: memoryview, pos: int, budget: Budget) -> tuple[UpdateMetadataRequest, int]:
    controller_id, controller_epoch, broker_epoch = _unpack_iiq(buf, pos)
    topic_states_count, pos = read_compact_count(buf, pos + 16, 3, budget)
    topic_states: list[UpdateMetadataTopicState] = []
    for _ in range(topic_states_count):
        topic_states_item, pos = _decode_update_metadata_topic_state_v6(buf, pos, budget)
        topic_states.append(topic_states_item)
    live_brokers_count, pos = read_compact_count(buf, pos, 7, budget)
    live_brokers: list[UpdateMetadataBroker] = []
    for _ in range(live_brokers_count):
        live_brokers_item, pos = _decode_update_metadata_broker_v6(buf, pos, budget)
        live_brokers.append(live_brokers_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateMetadataRequest(controller_id, controller_epoch, [], broker_epoch, topic_states, live_brokers), pos


def _encode_update_metadata_request_v6(msg: UpdateMetadataRequest, out: WireBuffer) -> None:
    if msg.ungrouped_partition_states:
        raise not_in_version("UpdateMetadataRequest.ungrouped_partition_states")
    out += _pack_iiq(msg.controller_id, msg.controller_epoch, msg.broker_epoch)
    write_uvarint(len(msg.topic_states) + 1, out)
    for topic_states_item in msg.topic_states:
        _encode_update_metadata_topic_state_v6(topic_states_item, out)
    write_uvarint(len(msg.live_brokers) + 1, out)
    for live_brokers_item in msg.live_brokers:
        _encode_update_metadata_broker_v6(live_brokers_item, out)
    out.append(0)


def _decode_update_metadata_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    return UpdateMetadataResponse(error_code), pos + 2


def _encode_update_metadata_response_v0(msg: UpdateMetadataResponse, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)


def _decode_update_metadata_response_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[UpdateMetadataResponse, int]:
    (error_code,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return UpdateMetadataResponse(error_code), pos


def _encode_update_metadata_response_v6(msg: UpdateMetadataResponse, out: WireBuffer) -> None:
    out += _pack_hB(msg.error_code, 0)


UpdateMetadataRequest.DECODERS = (
    _decode_update_metadata_request_v0,
    _decode_update_metadata_request_v1,
    _decode_update_metadata_request_v2,
    _decode_update_metadata_request_v3,
    _decode_update_metadata_request_v4,
    _decode_update_metadata_request_v5,
    _decode_update_metadata_request_v6,
)

UpdateMetadataRequest.ENCODERS = (
    _encode_update_metadata_request_v0,
    _encode_update_metadata_request_v1,
    _encode_update_metadata_request_v2,
    _encode_update_metadata_request_v3,
    _encode_update_metadata_request_v4,
    _encode_update_metadata_request_v5,
    _encode_update_metadata_request_v6,
)

UpdateMetadataResponse.DECODERS = (
    _decode_update_metadata_response_v0,
    _decode_update_metadata_response_v0,
    _decode_update_metadata_response_v0,
    _decode_update_metadata_response_v0,
    _decode_update_metadata_response_v0,
    _decode_update_metadata_response_v0,
    _decode_update_metadata_response_v6,
)

UpdateMetadataResponse.ENCODERS = (
    _encode_update_metadata_response_v0,
    _encode_update_metadata_response_v0,
    _encode_update_metadata_response_v0,
    _encode_update_metadata_response_v0,
    _encode_update_metadata_response_v0,
    _encode_update_metadata_response_v0,
    _encode_update_metadata_response_v6,
)
