"""FetchSnapshot (API key 59): request and response.

Generated from the FetchSnapshot schemas by scripts/generate.

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
    Records,
    WireBuffer,
    ZERO_UUID,
    check_tag_end,
    not_in_version,
    read_compact_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged_fields,
    write_uvarint,
)

_pack_HB = Struct(">HB").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiB = Struct(">iiB").pack
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack
_pack_qiB = Struct(">qiB").pack
_pack_qq = Struct(">qq").pack
_pack_u = Struct(">16s").pack
_unpack_H = Struct(">H").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qi = Struct(">qi").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_unpack_u = Struct(">16s").unpack_from


class SnapshotId(Part):
    """Part of FetchSnapshotRequest."""

    __slots__ = (
        "end_offset",
        "epoch",
    )

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class FetchSnapshotRequestPartitionSnapshot(Part):
    """Part of FetchSnapshotRequest."""

    __slots__ = (
        "partition",
        "current_leader_epoch",
        "snapshot_id",
        "position",
        "replica_directory_id",  # versions 1+, tag 0
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId | None = None,
        position: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is None else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id


class FetchSnapshotRequestTopicSnapshot(Part):
    """Part of FetchSnapshotRequest."""

    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotRequestPartitionSnapshot] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[FetchSnapshotRequestPartitionSnapshot] = [] if partitions is None else partitions


class FetchSnapshotRequest(Message):
    """FetchSnapshotRequest (API key 59), versions 0-1."""

    __slots__ = (
        "cluster_id",  # tag 0
        "replica_id",
        "max_bytes",
        "topics",
    )

    SCHEMA_NAME: ClassVar[str] = "FetchSnapshotRequest"
    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FetchSnapshotRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FetchSnapshotRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[FetchSnapshotRequestTopicSnapshot] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics: list[FetchSnapshotRequestTopicSnapshot] = [] if topics is None else topics


class LeaderIdAndEpoch(Part):
    """Part of FetchSnapshotResponse."""

    __slots__ = (
        "leader_id",
        "leader_epoch",
    )

    def __init__(
        self,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class FetchSnapshotResponsePartitionSnapshot(Part):
    """Part of FetchSnapshotResponse."""

    __slots__ = (
        "index",
        "error_code",
        "snapshot_id",
        "current_leader",  # tag 0
        "size",
        "position",
        "unaligned_records",
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        size: int = 0,
        position: int = 0,
        unaligned_records: Records | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is None else snapshot_id
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records


class FetchSnapshotResponseTopicSnapshot(Part):
    """Part of FetchSnapshotResponse."""

    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotResponsePartitionSnapshot] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[FetchSnapshotResponsePartitionSnapshot] = [] if partitions is None else partitions


class NodeEndpoint(Part):
    """Part of FetchSnapshotResponse."""

    __slots__ = (
        "node_id",  # versions 1+
        "host",  # versions 1+
        "port",  # versions 1+
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port


class FetchSnapshotResponse(Message):
    """FetchSnapshotResponse (API key 59), versions 0-1."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "topics",
        "node_endpoints",  # versions 1+, tag 0
    )

    SCHEMA_NAME: ClassVar[str] = "FetchSnapshotResponse"
    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[FetchSnapshotResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[FetchSnapshotResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[FetchSnapshotResponseTopicSnapshot] | None = None,
        node_endpoints: list[NodeEndpoint] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics: list[FetchSnapshotResponseTopicSnapshot] = [] if topics is None else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is None else node_endpoints


def _decode_snapshot_id_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[SnapshotId, int]:
    end_offset, epoch = _unpack_qi(buf, pos)
    pos += 13
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return SnapshotId(end_offset, epoch), pos


def _encode_snapshot_id_v0(msg: SnapshotId, out: WireBuffer) -> None:
    out += _pack_qiB(msg.end_offset, msg.epoch, 0)


def _decode_fetch_snapshot_request_partition_snapshot_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchSnapshotRequestPartitionSnapshot, int]:
    partition, current_leader_epoch = _unpack_ii(buf, pos)
    snapshot_id, pos = _decode_snapshot_id_v0(buf, pos + 8, budget)
    (position,) = _unpack_q(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchSnapshotRequestPartitionSnapshot(partition, current_leader_epoch, snapshot_id, position), pos


def _encode_fetch_snapshot_request_partition_snapshot_v0(
    msg: FetchSnapshotRequestPartitionSnapshot, out: WireBuffer
) -> None:
    out += _pack_ii(msg.partition, msg.current_leader_epoch)
    _encode_snapshot_id_v0(msg.snapshot_id, out)
    out += _pack_qB(msg.position, 0)


def _decode_fetch_snapshot_request_topic_snapshot_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchSnapshotRequestTopicSnapshot, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 30, budget)
    partitions: list[FetchSnapshotRequestPartitionSnapshot] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_fetch_snapshot_request_partition_snapshot_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchSnapshotRequestTopicSnapshot(name, partitions), pos


def _encode_fetch_snapshot_request_topic_snapshot_v0(msg: FetchSnapshotRequestTopicSnapshot, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_fetch_snapshot_request_partition_snapshot_v0(partitions_item, out)
    out.append(0)


def _decode_fetch_snapshot_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchSnapshotRequest, int]:
    replica_id, max_bytes = _unpack_ii(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 8, 3, budget)
    topics: list[FetchSnapshotRequestTopicSnapshot] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_snapshot_request_topic_snapshot_v0(buf, pos, budget)
        topics.append(topics_item)
    cluster_id: str | None = None
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            cluster_id, pos = read_compact_nullable_string(buf, pos)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return FetchSnapshotRequest(cluster_id, replica_id, max_bytes, topics), pos


def _encode_fetch_snapshot_request_v0(msg: FetchSnapshotRequest, out: WireBuffer) -> None:
    out += _pack_ii(msg.replica_id, msg.max_bytes)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_fetch_snapshot_request_topic_snapshot_v0(topics_item, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.cluster_id is not None:
        cluster_id_value = WireBuffer()
        write_compact_nullable_string(msg.cluster_id, cluster_id_value)
        tagged.append((0, cluster_id_value))
    write_tagged_fields(tagged, out)


def _decode_fetch_snapshot_request_partition_snapshot_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchSnapshotRequestPartitionSnapshot, int]:
    partition, current_leader_epoch = _unpack_ii(buf, pos)
    snapshot_id, pos = _decode_snapshot_id_v0(buf, pos + 8, budget)
    (position,) = _unpack_q(buf, pos)
    replica_directory_id: bytes = ZERO_UUID
    tagged_count, pos = read_tagged_count(buf, pos + 8, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            (replica_directory_id,) = _unpack_u(buf, pos)
            pos += 16
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return FetchSnapshotRequestPartitionSnapshot(
        partition, current_leader_epoch, snapshot_id, position, replica_directory_id
    ), pos


def _encode_fetch_snapshot_request_partition_snapshot_v1(
    msg: FetchSnapshotRequestPartitionSnapshot, out: WireBuffer
) -> None:
    out += _pack_ii(msg.partition, msg.current_leader_epoch)
    _encode_snapshot_id_v0(msg.snapshot_id, out)
    out += _pack_q(msg.position)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.replica_directory_id != ZERO_UUID:
        replica_directory_id_value = WireBuffer()
        replica_directory_id_value += _pack_u(msg.replica_directory_id)
        tagged.append((0, replica_directory_id_value))
    write_tagged_fields(tagged, out)


def _decode_fetch_snapshot_request_topic_snapshot_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchSnapshotRequestTopicSnapshot, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 30, budget)
    partitions: list[FetchSnapshotRequestPartitionSnapshot] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_fetch_snapshot_request_partition_snapshot_v1(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchSnapshotRequestTopicSnapshot(name, partitions), pos


def _encode_fetch_snapshot_request_topic_snapshot_v1(msg: FetchSnapshotRequestTopicSnapshot, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_fetch_snapshot_request_partition_snapshot_v1(partitions_item, out)
    out.append(0)


def _decode_fetch_snapshot_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchSnapshotRequest, int]:
    replica_id, max_bytes = _unpack_ii(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 8, 3, budget)
    topics: list[FetchSnapshotRequestTopicSnapshot] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_snapshot_request_topic_snapshot_v1(buf, pos, budget)
        topics.append(topics_item)
    cluster_id: str | None = None
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            cluster_id, pos = read_compact_nullable_string(buf, pos)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return FetchSnapshotRequest(cluster_id, replica_id, max_bytes, topics), pos


def _encode_fetch_snapshot_request_v1(msg: FetchSnapshotRequest, out: WireBuffer) -> None:
    out += _pack_ii(msg.replica_id, msg.max_bytes)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_fetch_snapshot_request_topic_snapshot_v1(topics_item, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.cluster_id is not None:
        cluster_id_value = WireBuffer()
        write_compact_nullable_string(msg.cluster_id, cluster_id_value)
        tagged.append((0, cluster_id_value))
    write_tagged_fields(tagged, out)


def _decode_leader_id_and_epoch_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _unpack_ii(buf, pos)
    pos += 9
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return LeaderIdAndEpoch(leader_id, leader_epoch), pos


def _encode_leader_id_and_epoch_v0(msg: LeaderIdAndEpoch, out: WireBuffer) -> None:
    out += _pack_iiB(msg.leader_id, msg.leader_epoch, 0)


def _decode_fetch_snapshot_response_partition_snapshot_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchSnapshotResponsePartitionSnapshot, int]:
    index, error_code = _unpack_ih(buf, pos)
    snapshot_id, pos = _decode_snapshot_id_v0(buf, pos + 6, budget)
    size, position = _unpack_qq(buf, pos)
    unaligned_records, pos = read_compact_nullable_records(buf, pos + 16)
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            current_leader, pos = _decode_leader_id_and_epoch_v0(buf, pos, budget)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return FetchSnapshotResponsePartitionSnapshot(
        index, error_code, snapshot_id, current_leader, size, position, unaligned_records
    ), pos


def _encode_fetch_snapshot_response_partition_snapshot_v0(
    msg: FetchSnapshotResponsePartitionSnapshot, out: WireBuffer
) -> None:
    out += _pack_ih(msg.index, msg.error_code)
    _encode_snapshot_id_v0(msg.snapshot_id, out)
    out += _pack_qq(msg.size, msg.position)
    write_compact_nullable_records(msg.unaligned_records, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.current_leader.leader_id != 0 or msg.current_leader.leader_epoch != 0:
        current_leader_value = WireBuffer()
        _encode_leader_id_and_epoch_v0(msg.current_leader, current_leader_value)
        tagged.append((0, current_leader_value))
    write_tagged_fields(tagged, out)


def _decode_fetch_snapshot_response_topic_snapshot_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[FetchSnapshotResponseTopicSnapshot, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 37, budget)
    partitions: list[FetchSnapshotResponsePartitionSnapshot] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_fetch_snapshot_response_partition_snapshot_v0(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchSnapshotResponseTopicSnapshot(name, partitions), pos


def _encode_fetch_snapshot_response_topic_snapshot_v0(msg: FetchSnapshotResponseTopicSnapshot, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_fetch_snapshot_response_partition_snapshot_v0(partitions_item, out)
    out.append(0)


def _decode_fetch_snapshot_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchSnapshotResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    topics: list[FetchSnapshotResponseTopicSnapshot] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_snapshot_response_topic_snapshot_v0(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return FetchSnapshotResponse(throttle_time_ms, error_code, topics), pos


def _encode_fetch_snapshot_response_v0(msg: FetchSnapshotResponse, out: WireBuffer) -> None:
    if msg.node_endpoints:
        raise not_in_version("FetchSnapshotResponse.node_endpoints")
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_fetch_snapshot_response_topic_snapshot_v0(topics_item, out)
    out.append(0)


def _decode_node_endpoint_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[NodeEndpoint, int]:
    (node_id,) = _unpack_i(buf, pos)
    host, pos = read_compact_string(buf, pos + 4)
    (port,) = _unpack_H(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return NodeEndpoint(node_id, host, port), pos


def _encode_node_endpoint_v1(msg: NodeEndpoint, out: WireBuffer) -> None:
    out += _pack_i(msg.node_id)
    write_compact_string(msg.host, out)
    out += _pack_HB(msg.port, 0)


def _decode_fetch_snapshot_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[FetchSnapshotResponse, int]:
    throttle_time_ms, error_code = _unpack_ih(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 6, 3, budget)
    topics: list[FetchSnapshotResponseTopicSnapshot] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_fetch_snapshot_response_topic_snapshot_v0(buf, pos, budget)
        topics.append(topics_item)
    node_endpoints: list[NodeEndpoint] = []
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            node_endpoints_count, pos = read_compact_count(buf, pos, 8, budget)
            node_endpoints = []
            for _ in range(node_endpoints_count):
                node_endpoints_item, pos = _decode_node_endpoint_v1(buf, pos, budget)
                node_endpoints.append(node_endpoints_item)
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return FetchSnapshotResponse(throttle_time_ms, error_code, topics, node_endpoints), pos


def _encode_fetch_snapshot_response_v1(msg: FetchSnapshotResponse, out: WireBuffer) -> None:
    out += _pack_ih(msg.throttle_time_ms, msg.error_code)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_fetch_snapshot_response_topic_snapshot_v0(topics_item, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.node_endpoints:
        node_endpoints_value = WireBuffer()
        write_uvarint(len(msg.node_endpoints) + 1, node_endpoints_value)
        for node_endpoints_item in msg.node_endpoints:
            _encode_node_endpoint_v1(node_endpoints_item, node_endpoints_value)
        tagged.append((0, node_endpoints_value))
    write_tagged_fields(tagged, out)


FetchSnapshotRequest.DECODERS = (
    _decode_fetch_snapshot_request_v0,
    _decode_fetch_snapshot_request_v1,
)

FetchSnapshotRequest.ENCODERS = (
    _encode_fetch_snapshot_request_v0,
    _encode_fetch_snapshot_request_v1,
)

FetchSnapshotResponse.DECODERS = (
    _decode_fetch_snapshot_response_v0,
    _decode_fetch_snapshot_response_v1,
)

FetchSnapshotResponse.ENCODERS = (
    _encode_fetch_snapshot_response_v0,
    _encode_fetch_snapshot_response_v1,
)
