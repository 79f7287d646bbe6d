"""Metadata (API key 3): request and response.

Generated from the Metadata schemas by scripts/generate.

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
    not_nullable,
    read_compact_count,
    read_compact_nullable_count,
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
_pack_hh: Final = Struct(">hh").pack
_pack_hiii: Final = Struct(">hiii").pack
_pack_hiiii: Final = Struct(">hiiii").pack
_pack_i: Final = Struct(">i").pack
_pack_iB: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ii: Final = Struct(">ii").pack
_pack_t: Final = Struct(">?").pack
_pack_ti: Final = Struct(">?i").pack
_pack_ttt: Final = Struct(">???").pack
_pack_tttB: Final = Struct(">???B").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_hiii: Final = Struct(">hiii").unpack_from
_unpack_hiiii: Final = Struct(">hiiii").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_t: Final = Struct(">?").unpack_from
_unpack_ti: Final = Struct(">?i").unpack_from
_unpack_ttt: Final = Struct(">???").unpack_from


class MetadataRequestTopic(Part):
    """Part of MetadataRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = ("name",)
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class MetadataRequest(Message):
    """MetadataRequest (API key 3), versions 0-9."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "allow_auto_topic_creation",  # versions 4+
        "include_cluster_authorized_operations",  # versions 8+
        "include_topic_authorized_operations",  # versions 8+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", MetadataRequestTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "MetadataRequest"
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[MetadataRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[MetadataRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None | Missing = MISSING,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics: list[MetadataRequestTopic] | None = [] if isinstance(topics, Missing) else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations


class MetadataResponseBroker(Part):
    """Part of MetadataResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "node_id",
        "host",
        "port",
        "rack",  # versions 1+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class MetadataResponsePartition(Part):
    """Part of MetadataResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",  # versions 7+
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",  # versions 5+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] | None = None,
        isr_nodes: list[int] | None = None,
        offline_replicas: list[int] | None = None,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is None else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is None else isr_nodes
        self.offline_replicas: list[int] = [] if offline_replicas is None else offline_replicas


class MetadataResponseTopic(Part):
    """Part of MetadataResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "name",
        "is_internal",  # versions 1+
        "partitions",
        "topic_authorized_operations",  # versions 8+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", MetadataResponsePartition, True),)

    def __init__(
        self,
        error_code: int = 0,
        name: str = "",
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] | None = None,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.is_internal = is_internal
        self.partitions: list[MetadataResponsePartition] = [] if partitions is None else partitions
        self.topic_authorized_operations = topic_authorized_operations


class MetadataResponse(Message):
    """MetadataResponse (API key 3), versions 0-9."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 3+
        "brokers",
        "cluster_id",  # versions 2+
        "controller_id",  # versions 1+
        "topics",
        "cluster_authorized_operations",  # versions 8+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("brokers", MetadataResponseBroker, True),
        ("topics", MetadataResponseTopic, True),
    )

    SCHEMA_NAME: ClassVar[str] = "MetadataResponse"
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[MetadataResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[MetadataResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] | None = None,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] | None = None,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers: list[MetadataResponseBroker] = [] if brokers is None else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics: list[MetadataResponseTopic] = [] if topics is None else topics
        self.cluster_authorized_operations = cluster_authorized_operations


def _decode_metadata_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 2 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 2, budget)
    budget.elements_left = elements_left
    topics: list[MetadataRequestTopic] = []
    for _ in range(topics_count):
        (topics_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + topics_name_length
        if topics_name_length < 0 or end > len(buf):
            raise wrong_length("string", topics_name_length, pos, buf)
        topics_name = str(buf[pos:end], "utf-8")
        pos = end
        topics.append(MetadataRequestTopic(topics_name))
    return MetadataRequest(topics), pos


def _encode_metadata_request_v0(msg: MetadataRequest, out: WireBuffer) -> None:
    if not msg.allow_auto_topic_creation:
        raise not_in_version("MetadataRequest.allow_auto_topic_creation")
    if msg.include_cluster_authorized_operations:
        raise not_in_version("MetadataRequest.include_cluster_authorized_operations")
    if msg.include_topic_authorized_operations:
        raise not_in_version("MetadataRequest.include_topic_authorized_operations")
    topics = msg.topics
    if topics is None:
        raise not_nullable("MetadataRequest.topics")
    out += _pack_i(len(topics))
    for topics_item in topics:
        name_bytes = topics_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes


def _decode_metadata_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    topics: list[MetadataRequestTopic] | None = None
    if topics_count >= 0:
        elements_left = budget.elements_left - topics_count
        if topics_count < 0 or elements_left < 0 or topics_count * 2 > len(buf) - pos:
            check_count(topics_count, len(buf) - pos, 2, budget)
        budget.elements_left = elements_left
        topics = []
        for _ in range(topics_count):
            (topics_name_length,) = _unpack_h(buf, pos)
            pos += 2
            end = pos + topics_name_length
            if topics_name_length < 0 or end > len(buf):
                raise wrong_length("string", topics_name_length, pos, buf)
            topics_name = str(buf[pos:end], "utf-8")
            pos = end
            topics.append(MetadataRequestTopic(topics_name))
    return MetadataRequest(topics), pos


def _encode_metadata_request_v1(msg: MetadataRequest, out: WireBuffer) -> None:
    if not msg.allow_auto_topic_creation:
        raise not_in_version("MetadataRequest.allow_auto_topic_creation")
    if msg.include_cluster_authorized_operations:
        raise not_in_version("MetadataRequest.include_cluster_authorized_operations")
    if msg.include_topic_authorized_operations:
        raise not_in_version("MetadataRequest.include_topic_authorized_operations")
    out += _pack_i(-1 if msg.topics is None else len(msg.topics))
    if msg.topics:
        for topics_item in msg.topics:
            name_bytes = topics_item.name.encode()
            out += _pack_h(len(name_bytes))
            out += name_bytes


def _decode_metadata_request_v4(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    topics: list[MetadataRequestTopic] | None = None
    if topics_count >= 0:
        elements_left = budget.elements_left - topics_count
        if topics_count < 0 or elements_left < 0 or topics_count * 2 > len(buf) - pos:
            check_count(topics_count, len(buf) - pos, 2, budget)
        budget.elements_left = elements_left
        topics = []
        for _ in range(topics_count):
            (topics_name_length,) = _unpack_h(buf, pos)
            pos += 2
            end = pos + topics_name_length
            if topics_name_length < 0 or end > len(buf):
                raise wrong_length("string", topics_name_length, pos, buf)
            topics_name = str(buf[pos:end], "utf-8")
            pos = end
            topics.append(MetadataRequestTopic(topics_name))
    (allow_auto_topic_creation,) = _unpack_t(buf, pos)
    return MetadataRequest(topics, allow_auto_topic_creation), pos + 1


def _encode_metadata_request_v4(msg: MetadataRequest, out: WireBuffer) -> None:
    if msg.include_cluster_authorized_operations:
        raise not_in_version("MetadataRequest.include_cluster_authorized_operations")
    if msg.include_topic_authorized_operations:
        raise not_in_version("MetadataRequest.include_topic_authorized_operations")
    out += _pack_i(-1 if msg.topics is None else len(msg.topics))
    if msg.topics:
        for topics_item in msg.topics:
            name_bytes = topics_item.name.encode()
            out += _pack_h(len(name_bytes))
            out += name_bytes
    out += _pack_t(msg.allow_auto_topic_creation)


def _decode_metadata_request_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    topics: list[MetadataRequestTopic] | None = None
    if topics_count >= 0:
        elements_left = budget.elements_left - topics_count
        if topics_count < 0 or elements_left < 0 or topics_count * 2 > len(buf) - pos:
            check_count(topics_count, len(buf) - pos, 2, budget)
        budget.elements_left = elements_left
        topics = []
        for _ in range(topics_count):
            (topics_name_length,) = _unpack_h(buf, pos)
            pos += 2
            end = pos + topics_name_length
            if topics_name_length < 0 or end > len(buf):
                raise wrong_length("string", topics_name_length, pos, buf)
            topics_name = str(buf[pos:end], "utf-8")
            pos = end
            topics.append(MetadataRequestTopic(topics_name))
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _unpack_ttt(
        buf, pos
    )
    return MetadataRequest(
        topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations
    ), pos + 3


def _encode_metadata_request_v8(msg: MetadataRequest, out: WireBuffer) -> None:
    out += _pack_i(-1 if msg.topics is None else len(msg.topics))
    if msg.topics:
        for topics_item in msg.topics:
            name_bytes = topics_item.name.encode()
            out += _pack_h(len(name_bytes))
            out += name_bytes
    out += _pack_ttt(
        msg.allow_auto_topic_creation,
        msg.include_cluster_authorized_operations,
        msg.include_topic_authorized_operations,
    )


def _decode_metadata_request_topic_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MetadataRequestTopic(name), pos


def _encode_metadata_request_topic_v9(msg: MetadataRequestTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out.append(0)


def _decode_metadata_request_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    topics_count, pos = read_compact_nullable_count(buf, pos, 2, budget)
    topics: list[MetadataRequestTopic] | None = None
    if topics_count >= 0:
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_metadata_request_topic_v9(buf, pos, budget)
            topics.append(topics_item)
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _unpack_ttt(
        buf, pos
    )
    pos += 4
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MetadataRequest(
        topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations
    ), pos


def _encode_metadata_request_v9(msg: MetadataRequest, out: WireBuffer) -> None:
    write_uvarint(0 if msg.topics is None else len(msg.topics) + 1, out)
    if msg.topics:
        for topics_item in msg.topics:
            _encode_metadata_request_topic_v9(topics_item, out)
    out += _pack_tttB(
        msg.allow_auto_topic_creation,
        msg.include_cluster_authorized_operations,
        msg.include_topic_authorized_operations,
        0,
    )


def _decode_metadata_response_partition_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id, replica_nodes_count = _unpack_hiii(buf, pos)
    pos += 14
    elements_left = budget.elements_left - replica_nodes_count
    if replica_nodes_count < 0 or elements_left < 0 or replica_nodes_count * 4 > len(buf) - pos:
        check_count(replica_nodes_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    replica_nodes = read_int32s(buf, pos, replica_nodes_count)
    pos += 4 * replica_nodes_count
    (isr_nodes_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - isr_nodes_count
    if isr_nodes_count < 0 or elements_left < 0 or isr_nodes_count * 4 > len(buf) - pos:
        check_count(isr_nodes_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    isr_nodes = read_int32s(buf, pos, isr_nodes_count)
    pos += 4 * isr_nodes_count
    return MetadataResponsePartition(error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes), pos


def _encode_metadata_response_partition_v0(msg: MetadataResponsePartition, out: WireBuffer) -> None:
    out += _pack_hiii(msg.error_code, msg.partition_index, msg.leader_id, len(msg.replica_nodes))
    write_int32s(msg.replica_nodes, out)
    out += _pack_i(len(msg.isr_nodes))
    write_int32s(msg.isr_nodes, out)


def _decode_metadata_response_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponseTopic, int]:
    error_code, name_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 18 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 18, budget)
    budget.elements_left = elements_left
    partitions: list[MetadataResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_metadata_response_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return MetadataResponseTopic(error_code, name, False, partitions), pos


def _encode_metadata_response_topic_v0(msg: MetadataResponseTopic, out: WireBuffer) -> None:
    if msg.topic_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponseTopic.topic_authorized_operations")
    name_bytes = msg.name.encode()
    out += _pack_hh(msg.error_code, len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_metadata_response_partition_v0(partitions_item, out)


def _decode_metadata_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    (brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - brokers_count
    if brokers_count < 0 or elements_left < 0 or brokers_count * 10 > len(buf) - pos:
        check_count(brokers_count, len(buf) - pos, 10, budget)
    budget.elements_left = elements_left
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_node_id, brokers_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + brokers_host_length
        if brokers_host_length < 0 or end > len(buf):
            raise wrong_length("string", brokers_host_length, pos, buf)
        brokers_host = str(buf[pos:end], "utf-8")
        pos = end
        (brokers_port,) = _unpack_i(buf, pos)
        pos += 4
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port))
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 8 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return MetadataResponse(0, brokers, None, -1, topics), pos


def _encode_metadata_response_v0(msg: MetadataResponse, out: WireBuffer) -> None:
    if msg.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse.cluster_authorized_operations")
    out += _pack_i(len(msg.brokers))
    for brokers_item in msg.brokers:
        host_bytes = brokers_item.host.encode()
        out += _pack_ih(brokers_item.node_id, len(host_bytes))
        out += host_bytes
        out += _pack_i(brokers_item.port)
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v0(topics_item, out)


def _decode_metadata_response_topic_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponseTopic, int]:
    error_code, name_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    is_internal, partitions_count = _unpack_ti(buf, pos)
    pos += 5
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 18 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 18, budget)
    budget.elements_left = elements_left
    partitions: list[MetadataResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_metadata_response_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return MetadataResponseTopic(error_code, name, is_internal, partitions), pos


def _encode_metadata_response_topic_v1(msg: MetadataResponseTopic, out: WireBuffer) -> None:
    if msg.topic_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponseTopic.topic_authorized_operations")
    name_bytes = msg.name.encode()
    out += _pack_hh(msg.error_code, len(name_bytes))
    out += name_bytes
    out += _pack_ti(msg.is_internal, len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_metadata_response_partition_v0(partitions_item, out)


def _decode_metadata_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    (brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - brokers_count
    if brokers_count < 0 or elements_left < 0 or brokers_count * 12 > len(buf) - pos:
        check_count(brokers_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_node_id, brokers_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + brokers_host_length
        if brokers_host_length < 0 or end > len(buf):
            raise wrong_length("string", brokers_host_length, pos, buf)
        brokers_host = str(buf[pos:end], "utf-8")
        pos = end
        brokers_port, brokers_rack_length = _unpack_ih(buf, pos)
        pos += 6
        brokers_rack: str | None = None
        if brokers_rack_length >= 0:
            end = pos + brokers_rack_length
            if end > len(buf):
                raise wrong_length("string", brokers_rack_length, pos, buf)
            brokers_rack = str(buf[pos:end], "utf-8")
            pos = end
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
    controller_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 9 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 9, budget)
    budget.elements_left = elements_left
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return MetadataResponse(0, brokers, None, controller_id, topics), pos


def _encode_metadata_response_v1(msg: MetadataResponse, out: WireBuffer) -> None:
    if msg.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse.cluster_authorized_operations")
    out += _pack_i(len(msg.brokers))
    for brokers_item in msg.brokers:
        host_bytes = brokers_item.host.encode()
        out += _pack_ih(brokers_item.node_id, len(host_bytes))
        out += host_bytes
        out += _pack_i(brokers_item.port)
        write_nullable_string(brokers_item.rack, out)
    out += _pack_ii(msg.controller_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v1(topics_item, out)


def _decode_metadata_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    (brokers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - brokers_count
    if brokers_count < 0 or elements_left < 0 or brokers_count * 12 > len(buf) - pos:
        check_count(brokers_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_node_id, brokers_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + brokers_host_length
        if brokers_host_length < 0 or end > len(buf):
            raise wrong_length("string", brokers_host_length, pos, buf)
        brokers_host = str(buf[pos:end], "utf-8")
        pos = end
        brokers_port, brokers_rack_length = _unpack_ih(buf, pos)
        pos += 6
        brokers_rack: str | None = None
        if brokers_rack_length >= 0:
            end = pos + brokers_rack_length
            if end > len(buf):
                raise wrong_length("string", brokers_rack_length, pos, buf)
            brokers_rack = str(buf[pos:end], "utf-8")
            pos = end
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
    (cluster_id_length,) = _unpack_h(buf, pos)
    pos += 2
    cluster_id: str | None = None
    if cluster_id_length >= 0:
        end = pos + cluster_id_length
        if end > len(buf):
            raise wrong_length("string", cluster_id_length, pos, buf)
        cluster_id = str(buf[pos:end], "utf-8")
        pos = end
    controller_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 9 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 9, budget)
    budget.elements_left = elements_left
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return MetadataResponse(0, brokers, cluster_id, controller_id, topics), pos


def _encode_metadata_response_v2(msg: MetadataResponse, out: WireBuffer) -> None:
    if msg.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse.cluster_authorized_operations")
    out += _pack_i(len(msg.brokers))
    for brokers_item in msg.brokers:
        host_bytes = brokers_item.host.encode()
        out += _pack_ih(brokers_item.node_id, len(host_bytes))
        out += host_bytes
        out += _pack_i(brokers_item.port)
        write_nullable_string(brokers_item.rack, out)
    write_nullable_string(msg.cluster_id, out)
    out += _pack_ii(msg.controller_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v1(topics_item, out)


def _decode_metadata_response_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    throttle_time_ms, brokers_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - brokers_count
    if brokers_count < 0 or elements_left < 0 or brokers_count * 12 > len(buf) - pos:
        check_count(brokers_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_node_id, brokers_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + brokers_host_length
        if brokers_host_length < 0 or end > len(buf):
            raise wrong_length("string", brokers_host_length, pos, buf)
        brokers_host = str(buf[pos:end], "utf-8")
        pos = end
        brokers_port, brokers_rack_length = _unpack_ih(buf, pos)
        pos += 6
        brokers_rack: str | None = None
        if brokers_rack_length >= 0:
            end = pos + brokers_rack_length
            if end > len(buf):
                raise wrong_length("string", brokers_rack_length, pos, buf)
            brokers_rack = str(buf[pos:end], "utf-8")
            pos = end
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
    (cluster_id_length,) = _unpack_h(buf, pos)
    pos += 2
    cluster_id: str | None = None
    if cluster_id_length >= 0:
        end = pos + cluster_id_length
        if end > len(buf):
            raise wrong_length("string", cluster_id_length, pos, buf)
        cluster_id = str(buf[pos:end], "utf-8")
        pos = end
    controller_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 9 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 9, budget)
    budget.elements_left = elements_left
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics), pos


def _encode_metadata_response_v3(msg: MetadataResponse, out: WireBuffer) -> None:
    if msg.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse.cluster_authorized_operations")
    out += _pack_ii(msg.throttle_time_ms, len(msg.brokers))
    for brokers_item in msg.brokers:
        host_bytes = brokers_item.host.encode()
        out += _pack_ih(brokers_item.node_id, len(host_bytes))
        out += host_bytes
        out += _pack_i(brokers_item.port)
        write_nullable_string(brokers_item.rack, out)
    write_nullable_string(msg.cluster_id, out)
    out += _pack_ii(msg.controller_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v1(topics_item, out)


def _decode_metadata_response_partition_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id, replica_nodes_count = _unpack_hiii(buf, pos)
    pos += 14
    elements_left = budget.elements_left - replica_nodes_count
    if replica_nodes_count < 0 or elements_left < 0 or replica_nodes_count * 4 > len(buf) - pos:
        check_count(replica_nodes_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    replica_nodes = read_int32s(buf, pos, replica_nodes_count)
    pos += 4 * replica_nodes_count
    (isr_nodes_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - isr_nodes_count
    if isr_nodes_count < 0 or elements_left < 0 or isr_nodes_count * 4 > len(buf) - pos:
        check_count(isr_nodes_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    isr_nodes = read_int32s(buf, pos, isr_nodes_count)
    pos += 4 * isr_nodes_count
    (offline_replicas_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - offline_replicas_count
    if offline_replicas_count < 0 or elements_left < 0 or offline_replicas_count * 4 > len(buf) - pos:
        check_count(offline_replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    offline_replicas = read_int32s(buf, pos, offline_replicas_count)
    pos += 4 * offline_replicas_count
    return MetadataResponsePartition(
        error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes, offline_replicas
    ), pos


def _encode_metadata_response_partition_v5(msg: MetadataResponsePartition, out: WireBuffer) -> None:
    out += _pack_hiii(msg.error_code, msg.partition_index, msg.leader_id, len(msg.replica_nodes))
    write_int32s(msg.replica_nodes, out)
    out += _pack_i(len(msg.isr_nodes))
    write_int32s(msg.isr_nodes, out)
    out += _pack_i(len(msg.offline_replicas))
    write_int32s(msg.offline_replicas, out)


def _decode_metadata_response_topic_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponseTopic, int]:
    error_code, name_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    is_internal, partitions_count = _unpack_ti(buf, pos)
    pos += 5
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 22 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 22, budget)
    budget.elements_left = elements_left
    partitions: list[MetadataResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_metadata_response_partition_v5(buf, pos, budget)
        partitions.append(partitions_item)
    return MetadataResponseTopic(error_code, name, is_internal, partitions), pos


def _encode_metadata_response_topic_v5(msg: MetadataResponseTopic, out: WireBuffer) -> None:
    if msg.topic_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponseTopic.topic_authorized_operations")
    name_bytes = msg.name.encode()
    out += _pack_hh(msg.error_code, len(name_bytes))
    out += name_bytes
    out += _pack_ti(msg.is_internal, len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_metadata_response_partition_v5(partitions_item, out)


def _decode_metadata_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    throttle_time_ms, brokers_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - brokers_count
    if brokers_count < 0 or elements_left < 0 or brokers_count * 12 > len(buf) - pos:
        check_count(brokers_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_node_id, brokers_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + brokers_host_length
        if brokers_host_length < 0 or end > len(buf):
            raise wrong_length("string", brokers_host_length, pos, buf)
        brokers_host = str(buf[pos:end], "utf-8")
        pos = end
        brokers_port, brokers_rack_length = _unpack_ih(buf, pos)
        pos += 6
        brokers_rack: str | None = None
        if brokers_rack_length >= 0:
            end = pos + brokers_rack_length
            if end > len(buf):
                raise wrong_length("string", brokers_rack_length, pos, buf)
            brokers_rack = str(buf[pos:end], "utf-8")
            pos = end
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
    (cluster_id_length,) = _unpack_h(buf, pos)
    pos += 2
    cluster_id: str | None = None
    if cluster_id_length >= 0:
        end = pos + cluster_id_length
        if end > len(buf):
            raise wrong_length("string", cluster_id_length, pos, buf)
        cluster_id = str(buf[pos:end], "utf-8")
        pos = end
    controller_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 9 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 9, budget)
    budget.elements_left = elements_left
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics), pos


def _encode_metadata_response_v5(msg: MetadataResponse, out: WireBuffer) -> None:
    if msg.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse.cluster_authorized_operations")
    out += _pack_ii(msg.throttle_time_ms, len(msg.brokers))
    for brokers_item in msg.brokers:
        host_bytes = brokers_item.host.encode()
        out += _pack_ih(brokers_item.node_id, len(host_bytes))
        out += host_bytes
        out += _pack_i(brokers_item.port)
        write_nullable_string(brokers_item.rack, out)
    write_nullable_string(msg.cluster_id, out)
    out += _pack_ii(msg.controller_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v5(topics_item, out)


def _decode_metadata_response_partition_v7(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id, leader_epoch, replica_nodes_count = _unpack_hiiii(buf, pos)
    pos += 18
    elements_left = budget.elements_left - replica_nodes_count
    if replica_nodes_count < 0 or elements_left < 0 or replica_nodes_count * 4 > len(buf) - pos:
        check_count(replica_nodes_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    replica_nodes = read_int32s(buf, pos, replica_nodes_count)
    pos += 4 * replica_nodes_count
    (isr_nodes_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - isr_nodes_count
    if isr_nodes_count < 0 or elements_left < 0 or isr_nodes_count * 4 > len(buf) - pos:
        check_count(isr_nodes_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    isr_nodes = read_int32s(buf, pos, isr_nodes_count)
    pos += 4 * isr_nodes_count
    (offline_replicas_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - offline_replicas_count
    if offline_replicas_count < 0 or elements_left < 0 or offline_replicas_count * 4 > len(buf) - pos:
        check_count(offline_replicas_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    offline_replicas = read_int32s(buf, pos, offline_replicas_count)
    pos += 4 * offline_replicas_count
    return MetadataResponsePartition(
        error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas
    ), pos


def _encode_metadata_response_partition_v7(msg: MetadataResponsePartition, out: WireBuffer) -> None:
    out += _pack_hiiii(msg.error_code, msg.partition_index, msg.leader_id, msg.leader_epoch, len(msg.replica_nodes))
    write_int32s(msg.replica_nodes, out)
    out += _pack_i(len(msg.isr_nodes))
    write_int32s(msg.isr_nodes, out)
    out += _pack_i(len(msg.offline_replicas))
    write_int32s(msg.offline_replicas, out)


def _decode_metadata_response_topic_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponseTopic, int]:
    error_code, name_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    is_internal, partitions_count = _unpack_ti(buf, pos)
    pos += 5
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 26 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 26, budget)
    budget.elements_left = elements_left
    partitions: list[MetadataResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_metadata_response_partition_v7(buf, pos, budget)
        partitions.append(partitions_item)
    return MetadataResponseTopic(error_code, name, is_internal, partitions), pos


def _encode_metadata_response_topic_v7(msg: MetadataResponseTopic, out: WireBuffer) -> None:
    if msg.topic_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponseTopic.topic_authorized_operations")
    name_bytes = msg.name.encode()
    out += _pack_hh(msg.error_code, len(name_bytes))
    out += name_bytes
    out += _pack_ti(msg.is_internal, len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_metadata_response_partition_v7(partitions_item, out)


def _decode_metadata_response_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    throttle_time_ms, brokers_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - brokers_count
    if brokers_count < 0 or elements_left < 0 or brokers_count * 12 > len(buf) - pos:
        check_count(brokers_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_node_id, brokers_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + brokers_host_length
        if brokers_host_length < 0 or end > len(buf):
            raise wrong_length("string", brokers_host_length, pos, buf)
        brokers_host = str(buf[pos:end], "utf-8")
        pos = end
        brokers_port, brokers_rack_length = _unpack_ih(buf, pos)
        pos += 6
        brokers_rack: str | None = None
        if brokers_rack_length >= 0:
            end = pos + brokers_rack_length
            if end > len(buf):
                raise wrong_length("string", brokers_rack_length, pos, buf)
            brokers_rack = str(buf[pos:end], "utf-8")
            pos = end
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
    (cluster_id_length,) = _unpack_h(buf, pos)
    pos += 2
    cluster_id: str | None = None
    if cluster_id_length >= 0:
        end = pos + cluster_id_length
        if end > len(buf):
            raise wrong_length("string", cluster_id_length, pos, buf)
        cluster_id = str(buf[pos:end], "utf-8")
        pos = end
    controller_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 9 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 9, budget)
    budget.elements_left = elements_left
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v7(buf, pos, budget)
        topics.append(topics_item)
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics), pos


def _encode_metadata_response_v7(msg: MetadataResponse, out: WireBuffer) -> None:
    if msg.cluster_authorized_operations != -2147483648:
        raise not_in_version("MetadataResponse.cluster_authorized_operations")
    out += _pack_ii(msg.throttle_time_ms, len(msg.brokers))
    for brokers_item in msg.brokers:
        host_bytes = brokers_item.host.encode()
        out += _pack_ih(brokers_item.node_id, len(host_bytes))
        out += host_bytes
        out += _pack_i(brokers_item.port)
        write_nullable_string(brokers_item.rack, out)
    write_nullable_string(msg.cluster_id, out)
    out += _pack_ii(msg.controller_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v7(topics_item, out)


def _decode_metadata_response_topic_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponseTopic, int]:
    error_code, name_length = _unpack_hh(buf, pos)
    pos += 4
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    is_internal, partitions_count = _unpack_ti(buf, pos)
    pos += 5
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 26 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 26, budget)
    budget.elements_left = elements_left
    partitions: list[MetadataResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_metadata_response_partition_v7(buf, pos, budget)
        partitions.append(partitions_item)
    (topic_authorized_operations,) = _unpack_i(buf, pos)
    return MetadataResponseTopic(error_code, name, is_internal, partitions, topic_authorized_operations), pos + 4


def _encode_metadata_response_topic_v8(msg: MetadataResponseTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_hh(msg.error_code, len(name_bytes))
    out += name_bytes
    out += _pack_ti(msg.is_internal, len(msg.partitions))
    for partitions_item in msg.partitions:
        _encode_metadata_response_partition_v7(partitions_item, out)
    out += _pack_i(msg.topic_authorized_operations)


def _decode_metadata_response_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    throttle_time_ms, brokers_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - brokers_count
    if brokers_count < 0 or elements_left < 0 or brokers_count * 12 > len(buf) - pos:
        check_count(brokers_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_node_id, brokers_host_length = _unpack_ih(buf, pos)
        pos += 6
        end = pos + brokers_host_length
        if brokers_host_length < 0 or end > len(buf):
            raise wrong_length("string", brokers_host_length, pos, buf)
        brokers_host = str(buf[pos:end], "utf-8")
        pos = end
        brokers_port, brokers_rack_length = _unpack_ih(buf, pos)
        pos += 6
        brokers_rack: str | None = None
        if brokers_rack_length >= 0:
            end = pos + brokers_rack_length
            if end > len(buf):
                raise wrong_length("string", brokers_rack_length, pos, buf)
            brokers_rack = str(buf[pos:end], "utf-8")
            pos = end
        brokers.append(MetadataResponseBroker(brokers_node_id, brokers_host, brokers_port, brokers_rack))
    (cluster_id_length,) = _unpack_h(buf, pos)
    pos += 2
    cluster_id: str | None = None
    if cluster_id_length >= 0:
        end = pos + cluster_id_length
        if end > len(buf):
            raise wrong_length("string", cluster_id_length, pos, buf)
        cluster_id = str(buf[pos:end], "utf-8")
        pos = end
    controller_id, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 13 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 13, budget)
    budget.elements_left = elements_left
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v8(buf, pos, budget)
        topics.append(topics_item)
    (cluster_authorized_operations,) = _unpack_i(buf, pos)
    return MetadataResponse(
        throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations
    ), pos + 4


def _encode_metadata_response_v8(msg: MetadataResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.brokers))
    for brokers_item in msg.brokers:
        host_bytes = brokers_item.host.encode()
        out += _pack_ih(brokers_item.node_id, len(host_bytes))
        out += host_bytes
        out += _pack_i(brokers_item.port)
        write_nullable_string(brokers_item.rack, out)
    write_nullable_string(msg.cluster_id, out)
    out += _pack_ii(msg.controller_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v8(topics_item, out)
    out += _pack_i(msg.cluster_authorized_operations)


def _decode_metadata_response_broker_v9(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[MetadataResponseBroker, int]:
    (node_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_i(buf, pos)
    rack, pos = read_compact_nullable_string(buf, pos + 4)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MetadataResponseBroker(node_id, host, port, rack), pos


def _encode_metadata_response_broker_v9(msg: MetadataResponseBroker, out: WireBuffer) -> None:
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_i(msg.port)
    write_compact_nullable_string(msg.rack, out)
    out.append(0)


def _decode_metadata_response_partition_v9(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id, leader_epoch = _unpack_hiii(buf, pos)
    replica_nodes_count, pos = read_compact_count(buf, pos + 14, 4, budget)
    replica_nodes = read_int32s(buf, pos, replica_nodes_count)
    pos += 4 * replica_nodes_count
    isr_nodes_count, pos = read_compact_count(buf, pos, 4, budget)
    isr_nodes = read_int32s(buf, pos, isr_nodes_count)
    pos += 4 * isr_nodes_count
    offline_replicas_count, pos = read_compact_count(buf, pos, 4, budget)
    offline_replicas = read_int32s(buf, pos, offline_replicas_count)
    pos += 4 * offline_replicas_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MetadataResponsePartition(
        error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas
    ), pos


def _encode_metadata_response_partition_v9(msg: MetadataResponsePartition, out: WireBuffer) -> None:
    out += _pack_hiii(msg.error_code, msg.partition_index, msg.leader_id, msg.leader_epoch)
    write_uvarint(len(msg.replica_nodes) + 1, out)
    write_int32s(msg.replica_nodes, out)
    write_uvarint(len(msg.isr_nodes) + 1, out)
    write_int32s(msg.isr_nodes, out)
    write_uvarint(len(msg.offline_replicas) + 1, out)
    write_int32s(msg.offline_replicas, out)
    out.append(0)


def _decode_metadata_response_topic_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponseTopic, int]:
    (error_code,) = _unpack_h(buf, pos)
    name, pos = read_compact_string(buf, pos + 2)
    (is_internal,) = _unpack_t(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos + 1, 18, budget)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_metadata_response_partition_v9(buf, pos, budget)
        partitions.append(partitions_item)
    (topic_authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MetadataResponseTopic(error_code, name, is_internal, partitions, topic_authorized_operations), pos


def _encode_metadata_response_topic_v9(msg: MetadataResponseTopic, out: WireBuffer) -> None:
    out += _pack_h(msg.error_code)
    write_compact_string(msg.name, out)
    out += _pack_t(msg.is_internal)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_metadata_response_partition_v9(partitions_item, out)
    out += _pack_iB(msg.topic_authorized_operations, 0)


def _decode_metadata_response_v9(buf: memoryview, pos: int, budget: Budget) -> tuple[MetadataResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    brokers_count, pos = read_compact_count(buf, pos + 4, 11, budget)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(brokers_count):
        brokers_item, pos = _decode_metadata_response_broker_v9(buf, pos, budget)
        brokers.append(brokers_item)
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    (controller_id,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 10, budget)
    topics: list[MetadataResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_metadata_response_topic_v9(buf, pos, budget)
        topics.append(topics_item)
    (cluster_authorized_operations,) = _unpack_i(buf, pos)
    pos += 5
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return MetadataResponse(
        throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations
    ), pos


def _encode_metadata_response_v9(msg: MetadataResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.brokers) + 1, out)
    for brokers_item in msg.brokers:
        _encode_metadata_response_broker_v9(brokers_item, out)
    write_compact_nullable_string(msg.cluster_id, out)
    out += _pack_i(msg.controller_id)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_metadata_response_topic_v9(topics_item, out)
    out += _pack_iB(msg.cluster_authorized_operations, 0)


MetadataRequest.DECODERS = (
    _decode_metadata_request_v0,
    _decode_metadata_request_v1,
    _decode_metadata_request_v1,
    _decode_metadata_request_v1,
    _decode_metadata_request_v4,
    _decode_metadata_request_v4,
    _decode_metadata_request_v4,
    _decode_metadata_request_v4,
    _decode_metadata_request_v8,
    _decode_metadata_request_v9,
)

MetadataRequest.ENCODERS = (
    _encode_metadata_request_v0,
    _encode_metadata_request_v1,
    _encode_metadata_request_v1,
    _encode_metadata_request_v1,
    _encode_metadata_request_v4,
    _encode_metadata_request_v4,
    _encode_metadata_request_v4,
    _encode_metadata_request_v4,
    _encode_metadata_request_v8,
    _encode_metadata_request_v9,
)

MetadataResponse.DECODERS = (
    _decode_metadata_response_v0,
    _decode_metadata_response_v1,
    _decode_metadata_response_v2,
    _decode_metadata_response_v3,
    _decode_metadata_response_v3,
    _decode_metadata_response_v5,
    _decode_metadata_response_v5,
    _decode_metadata_response_v7,
    _decode_metadata_response_v8,
    _decode_metadata_response_v9,
)

MetadataResponse.ENCODERS = (
    _encode_metadata_response_v0,
    _encode_metadata_response_v1,
    _encode_metadata_response_v2,
    _encode_metadata_response_v3,
    _encode_metadata_response_v3,
    _encode_metadata_response_v5,
    _encode_metadata_response_v5,
    _encode_metadata_response_v7,
    _encode_metadata_response_v8,
    _encode_metadata_response_v9,
)
