"""OffsetCommit (API key 8): request and response.

Generated from the OffsetCommit schemas by scripts/generate.

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
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihB: Final = Struct(">ihB").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_iqq: Final = Struct(">iqq").pack
_pack_qi: Final = Struct(">qi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_iqih: Final = Struct(">iqih").unpack_from
_unpack_iqqh: Final = Struct(">iqqh").unpack_from
_unpack_qi: Final = Struct(">qi").unpack_from


class OffsetCommitRequestPartition(Part):
    """Part of OffsetCommitRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "commit_timestamp",  # versions 1
        "committed_leader_epoch",  # versions 6+
        "committed_metadata",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        commit_timestamp: int = -1,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.commit_timestamp = commit_timestamp
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


class OffsetCommitRequestTopic(Part):
    """Part of OffsetCommitRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", OffsetCommitRequestPartition, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetCommitRequestPartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetCommitRequestPartition] = [] if partitions is None else partitions


class OffsetCommitRequest(Message):
    """OffsetCommitRequest (API key 8), versions 0-8."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "generation_id",  # versions 1+
        "member_id",  # versions 1+
        "retention_time_ms",  # versions 2-4
        "group_instance_id",  # versions 7+
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetCommitRequestTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "OffsetCommitRequest"
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 8
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetCommitRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetCommitRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = -1,
        member_id: str = "",
        retention_time_ms: int = -1,
        group_instance_id: str | None = None,
        topics: list[OffsetCommitRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.retention_time_ms = retention_time_ms
        self.group_instance_id = group_instance_id
        self.topics: list[OffsetCommitRequestTopic] = [] if topics is None else topics


class OffsetCommitResponsePartition(Part):
    """Part of OffsetCommitResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class OffsetCommitResponseTopic(Part):
    """Part of OffsetCommitResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", OffsetCommitResponsePartition, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetCommitResponsePartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetCommitResponsePartition] = [] if partitions is None else partitions


class OffsetCommitResponse(Message):
    """OffsetCommitResponse (API key 8), versions 0-8."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 3+
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetCommitResponseTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "OffsetCommitResponse"
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 8
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetCommitResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetCommitResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetCommitResponseTopic] = [] if topics is None else topics


def _decode_offset_commit_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitRequestTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 14 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 14, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_committed_offset, partitions_committed_metadata_length = _unpack_iqh(
            buf, pos
        )
        pos += 14
        partitions_committed_metadata: str | None = None
        if partitions_committed_metadata_length >= 0:
            end = pos + partitions_committed_metadata_length
            if end > len(buf):
                raise wrong_length("string", partitions_committed_metadata_length, pos, buf)
            partitions_committed_metadata = str(buf[pos:end], "utf-8")
            pos = end
        partitions.append(
            OffsetCommitRequestPartition(
                partitions_partition_index, partitions_committed_offset, -1, -1, partitions_committed_metadata
            )
        )
    return OffsetCommitRequestTopic(name, partitions), pos


def _encode_offset_commit_request_topic_v0(msg: OffsetCommitRequestTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.commit_timestamp != -1:
            raise not_in_version("OffsetCommitRequestPartition.commit_timestamp")
        out += _pack_iq(partitions_item.partition_index, partitions_item.committed_offset)
        write_nullable_string(partitions_item.committed_metadata, out)


def _decode_offset_commit_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitRequest(group_id, -1, "", -1, None, topics), pos


def _encode_offset_commit_request_v0(msg: OffsetCommitRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_request_topic_v0(topics_item, out)


def _decode_offset_commit_request_topic_v1(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitRequestTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 22 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 22, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(partitions_count):
        (
            partitions_partition_index,
            partitions_committed_offset,
            partitions_commit_timestamp,
            partitions_committed_metadata_length,
        ) = _unpack_iqqh(buf, pos)
        pos += 22
        partitions_committed_metadata: str | None = None
        if partitions_committed_metadata_length >= 0:
            end = pos + partitions_committed_metadata_length
            if end > len(buf):
                raise wrong_length("string", partitions_committed_metadata_length, pos, buf)
            partitions_committed_metadata = str(buf[pos:end], "utf-8")
            pos = end
        partitions.append(
            OffsetCommitRequestPartition(
                partitions_partition_index,
                partitions_committed_offset,
                partitions_commit_timestamp,
                -1,
                partitions_committed_metadata,
            )
        )
    return OffsetCommitRequestTopic(name, partitions), pos


def _encode_offset_commit_request_topic_v1(msg: OffsetCommitRequestTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iqq(
            partitions_item.partition_index, partitions_item.committed_offset, partitions_item.commit_timestamp
        )
        write_nullable_string(partitions_item.committed_metadata, out)


def _decode_offset_commit_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    generation_id, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_request_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitRequest(group_id, generation_id, member_id, -1, None, topics), pos


def _encode_offset_commit_request_v1(msg: OffsetCommitRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_request_topic_v1(topics_item, out)


def _decode_offset_commit_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    generation_id, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    retention_time_ms, topics_count = _unpack_qi(buf, pos)
    pos += 12
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitRequest(group_id, generation_id, member_id, retention_time_ms, None, topics), pos


def _encode_offset_commit_request_v2(msg: OffsetCommitRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    out += _pack_qi(msg.retention_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_request_topic_v0(topics_item, out)


def _decode_offset_commit_request_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    generation_id, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitRequest(group_id, generation_id, member_id, -1, None, topics), pos


def _encode_offset_commit_request_v5(msg: OffsetCommitRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_request_topic_v0(topics_item, out)


def _decode_offset_commit_request_topic_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitRequestTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
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
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(partitions_count):
        (
            partitions_partition_index,
            partitions_committed_offset,
            partitions_committed_leader_epoch,
            partitions_committed_metadata_length,
        ) = _unpack_iqih(buf, pos)
        pos += 18
        partitions_committed_metadata: str | None = None
        if partitions_committed_metadata_length >= 0:
            end = pos + partitions_committed_metadata_length
            if end > len(buf):
                raise wrong_length("string", partitions_committed_metadata_length, pos, buf)
            partitions_committed_metadata = str(buf[pos:end], "utf-8")
            pos = end
        partitions.append(
            OffsetCommitRequestPartition(
                partitions_partition_index,
                partitions_committed_offset,
                -1,
                partitions_committed_leader_epoch,
                partitions_committed_metadata,
            )
        )
    return OffsetCommitRequestTopic(name, partitions), pos


def _encode_offset_commit_request_topic_v6(msg: OffsetCommitRequestTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        if partitions_item.commit_timestamp != -1:
            raise not_in_version("OffsetCommitRequestPartition.commit_timestamp")
        out += _pack_iqi(
            partitions_item.partition_index, partitions_item.committed_offset, partitions_item.committed_leader_epoch
        )
        write_nullable_string(partitions_item.committed_metadata, out)


def _decode_offset_commit_request_v6(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    generation_id, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_request_topic_v6(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitRequest(group_id, generation_id, member_id, -1, None, topics), pos


def _encode_offset_commit_request_v6(msg: OffsetCommitRequest, out: WireBuffer) -> None:
    if msg.group_instance_id is not None:
        raise not_in_version("OffsetCommitRequest.group_instance_id")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_request_topic_v6(topics_item, out)


def _decode_offset_commit_request_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    generation_id, member_id_length = _unpack_ih(buf, pos)
    pos += 6
    end = pos + member_id_length
    if member_id_length < 0 or end > len(buf):
        raise wrong_length("string", member_id_length, pos, buf)
    member_id = str(buf[pos:end], "utf-8")
    pos = end
    (group_instance_id_length,) = _unpack_h(buf, pos)
    pos += 2
    group_instance_id: str | None = None
    if group_instance_id_length >= 0:
        end = pos + group_instance_id_length
        if end > len(buf):
            raise wrong_length("string", group_instance_id_length, pos, buf)
        group_instance_id = str(buf[pos:end], "utf-8")
        pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_request_topic_v6(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitRequest(group_id, generation_id, member_id, -1, group_instance_id, topics), pos


def _encode_offset_commit_request_v7(msg: OffsetCommitRequest, out: WireBuffer) -> None:
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    member_id_bytes = msg.member_id.encode()
    out += _pack_ih(msg.generation_id, len(member_id_bytes))
    out += member_id_bytes
    write_nullable_string(msg.group_instance_id, out)
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_request_topic_v6(topics_item, out)


def _decode_offset_commit_request_partition_v8(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitRequestPartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _unpack_iqi(buf, pos)
    committed_metadata, pos = read_compact_nullable_string(buf, pos + 16)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetCommitRequestPartition(
        partition_index, committed_offset, -1, committed_leader_epoch, committed_metadata
    ), pos


def _encode_offset_commit_request_partition_v8(msg: OffsetCommitRequestPartition, out: WireBuffer) -> None:
    if msg.commit_timestamp != -1:
        raise not_in_version("OffsetCommitRequestPartition.commit_timestamp")
    out += _pack_iqi(msg.partition_index, msg.committed_offset, msg.committed_leader_epoch)
    write_compact_nullable_string(msg.committed_metadata, out)
    out.append(0)


def _decode_offset_commit_request_topic_v8(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 18, budget)
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_offset_commit_request_partition_v8(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetCommitRequestTopic(name, partitions), pos


def _encode_offset_commit_request_topic_v8(msg: OffsetCommitRequestTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_offset_commit_request_partition_v8(partitions_item, out)
    out.append(0)


def _decode_offset_commit_request_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    (generation_id,) = _unpack_i(buf, pos)
    member_id, pos = read_compact_string(buf, pos + 4)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_request_topic_v8(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetCommitRequest(group_id, generation_id, member_id, -1, group_instance_id, topics), pos


def _encode_offset_commit_request_v8(msg: OffsetCommitRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    out += _pack_i(msg.generation_id)
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_offset_commit_request_topic_v8(topics_item, out)
    out.append(0)


def _decode_offset_commit_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitResponseTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    (partitions_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - partitions_count
    if partitions_count < 0 or elements_left < 0 or partitions_count * 6 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetCommitResponsePartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_error_code = _unpack_ih(buf, pos)
        pos += 6
        partitions.append(OffsetCommitResponsePartition(partitions_partition_index, partitions_error_code))
    return OffsetCommitResponseTopic(name, partitions), pos


def _encode_offset_commit_response_topic_v0(msg: OffsetCommitResponseTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_ih(partitions_item.partition_index, partitions_item.error_code)


def _decode_offset_commit_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitResponse(0, topics), pos


def _encode_offset_commit_response_v0(msg: OffsetCommitResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_response_topic_v0(topics_item, out)


def _decode_offset_commit_response_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetCommitResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetCommitResponse(throttle_time_ms, topics), pos


def _encode_offset_commit_response_v3(msg: OffsetCommitResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_commit_response_topic_v0(topics_item, out)


def _decode_offset_commit_response_partition_v8(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitResponsePartition, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetCommitResponsePartition(partition_index, error_code), pos


def _encode_offset_commit_response_partition_v8(msg: OffsetCommitResponsePartition, out: WireBuffer) -> None:
    out += _pack_ihB(msg.partition_index, msg.error_code, 0)


def _decode_offset_commit_response_topic_v8(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetCommitResponseTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 7, budget)
    partitions: list[OffsetCommitResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_offset_commit_response_partition_v8(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetCommitResponseTopic(name, partitions), pos


def _encode_offset_commit_response_topic_v8(msg: OffsetCommitResponseTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_offset_commit_response_partition_v8(partitions_item, out)
    out.append(0)


def _decode_offset_commit_response_v8(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetCommitResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[OffsetCommitResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_commit_response_topic_v8(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetCommitResponse(throttle_time_ms, topics), pos


def _encode_offset_commit_response_v8(msg: OffsetCommitResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_offset_commit_response_topic_v8(topics_item, out)
    out.append(0)


OffsetCommitRequest.DECODERS = (
    _decode_offset_commit_request_v0,
    _decode_offset_commit_request_v1,
    _decode_offset_commit_request_v2,
    _decode_offset_commit_request_v2,
    _decode_offset_commit_request_v2,
    _decode_offset_commit_request_v5,
    _decode_offset_commit_request_v6,
    _decode_offset_commit_request_v7,
    _decode_offset_commit_request_v8,
)

OffsetCommitRequest.ENCODERS = (
    _encode_offset_commit_request_v0,
    _encode_offset_commit_request_v1,
    _encode_offset_commit_request_v2,
    _encode_offset_commit_request_v2,
    _encode_offset_commit_request_v2,
    _encode_offset_commit_request_v5,
    _encode_offset_commit_request_v6,
    _encode_offset_commit_request_v7,
    _encode_offset_commit_request_v8,
)

OffsetCommitResponse.DECODERS = (
    _decode_offset_commit_response_v0,
    _decode_offset_commit_response_v0,
    _decode_offset_commit_response_v0,
    _decode_offset_commit_response_v3,
    _decode_offset_commit_response_v3,
    _decode_offset_commit_response_v3,
    _decode_offset_commit_response_v3,
    _decode_offset_commit_response_v3,
    _decode_offset_commit_response_v8,
)

OffsetCommitResponse.ENCODERS = (
    _encode_offset_commit_response_v0,
    _encode_offset_commit_response_v0,
    _encode_offset_commit_response_v0,
    _encode_offset_commit_response_v3,
    _encode_offset_commit_response_v3,
    _encode_offset_commit_response_v3,
    _encode_offset_commit_response_v3,
    _encode_offset_commit_response_v3,
    _encode_offset_commit_response_v8,
)
