"""OffsetFetch (API key 9): request and response.

Generated from the OffsetFetch schemas by scripts/generate.

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
_pack_hB: Final = Struct(">hB").pack
_pack_i: Final = Struct(">i").pack
_pack_ii: Final = Struct(">ii").pack
_pack_iq: Final = Struct(">iq").pack
_pack_iqi: Final = Struct(">iqi").pack
_pack_tB: Final = Struct(">?B").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_iqih: Final = Struct(">iqih").unpack_from
_unpack_t: Final = Struct(">?").unpack_from


class OffsetFetchRequestTopic(Part):
    """Part of OffsetFetchRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partition_indexes",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] | None = None,
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is None else partition_indexes


class OffsetFetchRequest(Message):
    """OffsetFetchRequest (API key 9), versions 0-7."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "topics",
        "require_stable",  # versions 7+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetFetchRequestTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "OffsetFetchRequest"
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 7
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetFetchRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetFetchRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None | Missing = MISSING,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetFetchRequestTopic] | None = [] if isinstance(topics, Missing) else topics
        self.require_stable = require_stable


class OffsetFetchResponsePartition(Part):
    """Part of OffsetFetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",  # versions 5+
        "metadata",
        "error_code",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopic(Part):
    """Part of OffsetFetchResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", OffsetFetchResponsePartition, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[OffsetFetchResponsePartition] = [] if partitions is None else partitions


class OffsetFetchResponse(Message):
    """OffsetFetchResponse (API key 9), versions 0-7."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 3+
        "topics",
        "error_code",  # versions 2+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", OffsetFetchResponseTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "OffsetFetchResponse"
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 7
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[OffsetFetchResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[OffsetFetchResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] | None = None,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetFetchResponseTopic] = [] if topics is None else topics
        self.error_code = error_code


def _decode_offset_fetch_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetFetchRequestTopic, int]:
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
    return OffsetFetchRequestTopic(name, partition_indexes), pos


def _encode_offset_fetch_request_topic_v0(msg: OffsetFetchRequestTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_indexes))
    write_int32s(msg.partition_indexes, out)


def _decode_offset_fetch_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
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
    topics: list[OffsetFetchRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_fetch_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetFetchRequest(group_id, topics), pos


def _encode_offset_fetch_request_v0(msg: OffsetFetchRequest, out: WireBuffer) -> None:
    if msg.require_stable:
        raise not_in_version("OffsetFetchRequest.require_stable")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    topics = msg.topics
    if topics is None:
        raise not_nullable("OffsetFetchRequest.topics")
    out += _pack_i(len(topics))
    for topics_item in topics:
        _encode_offset_fetch_request_topic_v0(topics_item, out)


def _decode_offset_fetch_request_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    topics: list[OffsetFetchRequestTopic] | None = None
    if topics_count >= 0:
        elements_left = budget.elements_left - topics_count
        if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
            check_count(topics_count, len(buf) - pos, 6, budget)
        budget.elements_left = elements_left
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_offset_fetch_request_topic_v0(buf, pos, budget)
            topics.append(topics_item)
    return OffsetFetchRequest(group_id, topics), pos


def _encode_offset_fetch_request_v2(msg: OffsetFetchRequest, out: WireBuffer) -> None:
    if msg.require_stable:
        raise not_in_version("OffsetFetchRequest.require_stable")
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    out += _pack_i(-1 if msg.topics is None else len(msg.topics))
    if msg.topics:
        for topics_item in msg.topics:
            _encode_offset_fetch_request_topic_v0(topics_item, out)


def _decode_offset_fetch_request_topic_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetFetchRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partition_indexes_count, pos = read_compact_count(buf, pos, 4, budget)
    partition_indexes = read_int32s(buf, pos, partition_indexes_count)
    pos += 4 * partition_indexes_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetFetchRequestTopic(name, partition_indexes), pos


def _encode_offset_fetch_request_topic_v6(msg: OffsetFetchRequestTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partition_indexes) + 1, out)
    write_int32s(msg.partition_indexes, out)
    out.append(0)


def _decode_offset_fetch_request_v6(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    topics: list[OffsetFetchRequestTopic] | None = None
    if topics_count >= 0:
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_offset_fetch_request_topic_v6(buf, pos, budget)
            topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetFetchRequest(group_id, topics), pos


def _encode_offset_fetch_request_v6(msg: OffsetFetchRequest, out: WireBuffer) -> None:
    if msg.require_stable:
        raise not_in_version("OffsetFetchRequest.require_stable")
    write_compact_string(msg.group_id, out)
    write_uvarint(0 if msg.topics is None else len(msg.topics) + 1, out)
    if msg.topics:
        for topics_item in msg.topics:
            _encode_offset_fetch_request_topic_v6(topics_item, out)
    out.append(0)


def _decode_offset_fetch_request_v7(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    topics_count, pos = read_compact_nullable_count(buf, pos, 3, budget)
    topics: list[OffsetFetchRequestTopic] | None = None
    if topics_count >= 0:
        topics = []
        for _ in range(topics_count):
            topics_item, pos = _decode_offset_fetch_request_topic_v6(buf, pos, budget)
            topics.append(topics_item)
    (require_stable,) = _unpack_t(buf, pos)
    pos += 2
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetFetchRequest(group_id, topics, require_stable), pos


def _encode_offset_fetch_request_v7(msg: OffsetFetchRequest, out: WireBuffer) -> None:
    write_compact_string(msg.group_id, out)
    write_uvarint(0 if msg.topics is None else len(msg.topics) + 1, out)
    if msg.topics:
        for topics_item in msg.topics:
            _encode_offset_fetch_request_topic_v6(topics_item, out)
    out += _pack_tB(msg.require_stable, 0)


def _decode_offset_fetch_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetFetchResponseTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 16 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 16, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetFetchResponsePartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_committed_offset, partitions_metadata_length = _unpack_iqh(buf, pos)
        pos += 14
        partitions_metadata: str | None = None
        if partitions_metadata_length >= 0:
            end = pos + partitions_metadata_length
            if end > len(buf):
                raise wrong_length("string", partitions_metadata_length, pos, buf)
            partitions_metadata = str(buf[pos:end], "utf-8")
            pos = end
        (partitions_error_code,) = _unpack_h(buf, pos)
        pos += 2
        partitions.append(
            OffsetFetchResponsePartition(
                partitions_partition_index, partitions_committed_offset, -1, partitions_metadata, partitions_error_code
            )
        )
    return OffsetFetchResponseTopic(name, partitions), pos


def _encode_offset_fetch_response_topic_v0(msg: OffsetFetchResponseTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iq(partitions_item.partition_index, partitions_item.committed_offset)
        write_nullable_string(partitions_item.metadata, out)
        out += _pack_h(partitions_item.error_code)


def _decode_offset_fetch_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_fetch_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetFetchResponse(0, topics), pos


def _encode_offset_fetch_response_v0(msg: OffsetFetchResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_fetch_response_topic_v0(topics_item, out)


def _decode_offset_fetch_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_fetch_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    (error_code,) = _unpack_h(buf, pos)
    return OffsetFetchResponse(0, topics, error_code), pos + 2


def _encode_offset_fetch_response_v2(msg: OffsetFetchResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_fetch_response_topic_v0(topics_item, out)
    out += _pack_h(msg.error_code)


def _decode_offset_fetch_response_v3(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_fetch_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    (error_code,) = _unpack_h(buf, pos)
    return OffsetFetchResponse(throttle_time_ms, topics, error_code), pos + 2


def _encode_offset_fetch_response_v3(msg: OffsetFetchResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_fetch_response_topic_v0(topics_item, out)
    out += _pack_h(msg.error_code)


def _decode_offset_fetch_response_topic_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetFetchResponseTopic, int]:
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
    if partitions_count < 0 or elements_left < 0 or partitions_count * 20 > len(buf) - pos:
        check_count(partitions_count, len(buf) - pos, 20, budget)
    budget.elements_left = elements_left
    partitions: list[OffsetFetchResponsePartition] = []
    for _ in range(partitions_count):
        (
            partitions_partition_index,
            partitions_committed_offset,
            partitions_committed_leader_epoch,
            partitions_metadata_length,
        ) = _unpack_iqih(buf, pos)
        pos += 18
        partitions_metadata: str | None = None
        if partitions_metadata_length >= 0:
            end = pos + partitions_metadata_length
            if end > len(buf):
                raise wrong_length("string", partitions_metadata_length, pos, buf)
            partitions_metadata = str(buf[pos:end], "utf-8")
            pos = end
        (partitions_error_code,) = _unpack_h(buf, pos)
        pos += 2
        partitions.append(
            OffsetFetchResponsePartition(
                partitions_partition_index,
                partitions_committed_offset,
                partitions_committed_leader_epoch,
                partitions_metadata,
                partitions_error_code,
            )
        )
    return OffsetFetchResponseTopic(name, partitions), pos


def _encode_offset_fetch_response_topic_v5(msg: OffsetFetchResponseTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iqi(
            partitions_item.partition_index, partitions_item.committed_offset, partitions_item.committed_leader_epoch
        )
        write_nullable_string(partitions_item.metadata, out)
        out += _pack_h(partitions_item.error_code)


def _decode_offset_fetch_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_fetch_response_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    (error_code,) = _unpack_h(buf, pos)
    return OffsetFetchResponse(throttle_time_ms, topics, error_code), pos + 2


def _encode_offset_fetch_response_v5(msg: OffsetFetchResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_offset_fetch_response_topic_v5(topics_item, out)
    out += _pack_h(msg.error_code)


def _decode_offset_fetch_response_partition_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetFetchResponsePartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _unpack_iqi(buf, pos)
    metadata, pos = read_compact_nullable_string(buf, pos + 16)
    (error_code,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetFetchResponsePartition(
        partition_index, committed_offset, committed_leader_epoch, metadata, error_code
    ), pos


def _encode_offset_fetch_response_partition_v6(msg: OffsetFetchResponsePartition, out: WireBuffer) -> None:
    out += _pack_iqi(msg.partition_index, msg.committed_offset, msg.committed_leader_epoch)
    write_compact_nullable_string(msg.metadata, out)
    out += _pack_hB(msg.error_code, 0)


def _decode_offset_fetch_response_topic_v6(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[OffsetFetchResponseTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 20, budget)
    partitions: list[OffsetFetchResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_offset_fetch_response_partition_v6(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetFetchResponseTopic(name, partitions), pos


def _encode_offset_fetch_response_topic_v6(msg: OffsetFetchResponseTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_offset_fetch_response_partition_v6(partitions_item, out)
    out.append(0)


def _decode_offset_fetch_response_v6(buf: memoryview, pos: int, budget: Budget) -> tuple[OffsetFetchResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_offset_fetch_response_topic_v6(buf, pos, budget)
        topics.append(topics_item)
    (error_code,) = _unpack_h(buf, pos)
    pos += 3
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return OffsetFetchResponse(throttle_time_ms, topics, error_code), pos


def _encode_offset_fetch_response_v6(msg: OffsetFetchResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_offset_fetch_response_topic_v6(topics_item, out)
    out += _pack_hB(msg.error_code, 0)


OffsetFetchRequest.DECODERS = (
    _decode_offset_fetch_request_v0,
    _decode_offset_fetch_request_v0,
    _decode_offset_fetch_request_v2,
    _decode_offset_fetch_request_v2,
    _decode_offset_fetch_request_v2,
    _decode_offset_fetch_request_v2,
    _decode_offset_fetch_request_v6,
    _decode_offset_fetch_request_v7,
)

OffsetFetchRequest.ENCODERS = (
    _encode_offset_fetch_request_v0,
    _encode_offset_fetch_request_v0,
    _encode_offset_fetch_request_v2,
    _encode_offset_fetch_request_v2,
    _encode_offset_fetch_request_v2,
    _encode_offset_fetch_request_v2,
    _encode_offset_fetch_request_v6,
    _encode_offset_fetch_request_v7,
)

OffsetFetchResponse.DECODERS = (
    _decode_offset_fetch_response_v0,
    _decode_offset_fetch_response_v0,
    _decode_offset_fetch_response_v2,
    _decode_offset_fetch_response_v3,
    _decode_offset_fetch_response_v3,
    _decode_offset_fetch_response_v5,
    _decode_offset_fetch_response_v6,
    _decode_offset_fetch_response_v6,
)

OffsetFetchResponse.ENCODERS = (
    _encode_offset_fetch_response_v0,
    _encode_offset_fetch_response_v0,
    _encode_offset_fetch_response_v2,
    _encode_offset_fetch_response_v3,
    _encode_offset_fetch_response_v3,
    _encode_offset_fetch_response_v5,
    _encode_offset_fetch_response_v6,
    _encode_offset_fetch_response_v6,
)
