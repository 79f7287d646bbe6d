"""TxnOffsetCommit (API key 28): request and response.

Generated from the TxnOffsetCommit schemas by scripts/generate.

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
_pack_qhi: Final = Struct(">qhi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_iqh: Final = Struct(">iqh").unpack_from
_unpack_iqi: Final = Struct(">iqi").unpack_from
_unpack_iqih: Final = Struct(">iqih").unpack_from
_unpack_qhi: Final = Struct(">qhi").unpack_from


class TxnOffsetCommitRequestPartition(Part):
    """Part of TxnOffsetCommitRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",  # versions 2+
        "committed_metadata",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


class TxnOffsetCommitRequestTopic(Part):
    """Part of TxnOffsetCommitRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("partitions", TxnOffsetCommitRequestPartition, True),)

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitRequestPartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[TxnOffsetCommitRequestPartition] = [] if partitions is None else partitions


class TxnOffsetCommitRequest(Message):
    """TxnOffsetCommitRequest (API key 28), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",  # versions 3+
        "member_id",  # versions 3+
        "group_instance_id",  # versions 3+
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", TxnOffsetCommitRequestTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "TxnOffsetCommitRequest"
    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[TxnOffsetCommitRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[TxnOffsetCommitRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics: list[TxnOffsetCommitRequestTopic] = [] if topics is None else topics


class TxnOffsetCommitResponsePartition(Part):
    """Part of TxnOffsetCommitResponse."""

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


class TxnOffsetCommitResponseTopic(Part):
    """Part of TxnOffsetCommitResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("partitions", TxnOffsetCommitResponsePartition, True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[TxnOffsetCommitResponsePartition] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[TxnOffsetCommitResponsePartition] = [] if partitions is None else partitions


class TxnOffsetCommitResponse(Message):
    """TxnOffsetCommitResponse (API key 28), versions 0-3."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", TxnOffsetCommitResponseTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "TxnOffsetCommitResponse"
    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[TxnOffsetCommitResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[TxnOffsetCommitResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[TxnOffsetCommitResponseTopic] = [] if topics is None else topics


def _decode_txn_offset_commit_request_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitRequestTopic, int]:
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
    partitions: list[TxnOffsetCommitRequestPartition] = []
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
            TxnOffsetCommitRequestPartition(
                partitions_partition_index, partitions_committed_offset, -1, partitions_committed_metadata
            )
        )
    return TxnOffsetCommitRequestTopic(name, partitions), pos


def _encode_txn_offset_commit_request_topic_v0(msg: TxnOffsetCommitRequestTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iq(partitions_item.partition_index, partitions_item.committed_offset)
        write_nullable_string(partitions_item.committed_metadata, out)


def _decode_txn_offset_commit_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitRequest, int]:
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + transactional_id_length
    if transactional_id_length < 0 or end > len(buf):
        raise wrong_length("string", transactional_id_length, pos, buf)
    transactional_id = str(buf[pos:end], "utf-8")
    pos = end
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    producer_id, producer_epoch, topics_count = _unpack_qhi(buf, pos)
    pos += 14
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_txn_offset_commit_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics), pos


def _encode_txn_offset_commit_request_v0(msg: TxnOffsetCommitRequest, out: WireBuffer) -> None:
    if msg.generation_id != -1:
        raise not_in_version("TxnOffsetCommitRequest.generation_id")
    if msg.member_id != "":
        raise not_in_version("TxnOffsetCommitRequest.member_id")
    if msg.group_instance_id is not None:
        raise not_in_version("TxnOffsetCommitRequest.group_instance_id")
    transactional_id_bytes = msg.transactional_id.encode()
    out += _pack_h(len(transactional_id_bytes))
    out += transactional_id_bytes
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    out += _pack_qhi(msg.producer_id, msg.producer_epoch, len(msg.topics))
    for topics_item in msg.topics:
        _encode_txn_offset_commit_request_topic_v0(topics_item, out)


def _decode_txn_offset_commit_request_topic_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitRequestTopic, int]:
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
    partitions: list[TxnOffsetCommitRequestPartition] = []
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
            TxnOffsetCommitRequestPartition(
                partitions_partition_index,
                partitions_committed_offset,
                partitions_committed_leader_epoch,
                partitions_committed_metadata,
            )
        )
    return TxnOffsetCommitRequestTopic(name, partitions), pos


def _encode_txn_offset_commit_request_topic_v2(msg: TxnOffsetCommitRequestTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_iqi(
            partitions_item.partition_index, partitions_item.committed_offset, partitions_item.committed_leader_epoch
        )
        write_nullable_string(partitions_item.committed_metadata, out)


def _decode_txn_offset_commit_request_v2(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitRequest, int]:
    (transactional_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + transactional_id_length
    if transactional_id_length < 0 or end > len(buf):
        raise wrong_length("string", transactional_id_length, pos, buf)
    transactional_id = str(buf[pos:end], "utf-8")
    pos = end
    (group_id_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + group_id_length
    if group_id_length < 0 or end > len(buf):
        raise wrong_length("string", group_id_length, pos, buf)
    group_id = str(buf[pos:end], "utf-8")
    pos = end
    producer_id, producer_epoch, topics_count = _unpack_qhi(buf, pos)
    pos += 14
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_txn_offset_commit_request_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics), pos


def _encode_txn_offset_commit_request_v2(msg: TxnOffsetCommitRequest, out: WireBuffer) -> None:
    if msg.generation_id != -1:
        raise not_in_version("TxnOffsetCommitRequest.generation_id")
    if msg.member_id != "":
        raise not_in_version("TxnOffsetCommitRequest.member_id")
    if msg.group_instance_id is not None:
        raise not_in_version("TxnOffsetCommitRequest.group_instance_id")
    transactional_id_bytes = msg.transactional_id.encode()
    out += _pack_h(len(transactional_id_bytes))
    out += transactional_id_bytes
    group_id_bytes = msg.group_id.encode()
    out += _pack_h(len(group_id_bytes))
    out += group_id_bytes
    out += _pack_qhi(msg.producer_id, msg.producer_epoch, len(msg.topics))
    for topics_item in msg.topics:
        _encode_txn_offset_commit_request_topic_v2(topics_item, out)


def _decode_txn_offset_commit_request_partition_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitRequestPartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _unpack_iqi(buf, pos)
    committed_metadata, pos = read_compact_nullable_string(buf, pos + 16)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TxnOffsetCommitRequestPartition(
        partition_index, committed_offset, committed_leader_epoch, committed_metadata
    ), pos


def _encode_txn_offset_commit_request_partition_v3(msg: TxnOffsetCommitRequestPartition, out: WireBuffer) -> None:
    out += _pack_iqi(msg.partition_index, msg.committed_offset, msg.committed_leader_epoch)
    write_compact_nullable_string(msg.committed_metadata, out)
    out.append(0)


def _decode_txn_offset_commit_request_topic_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 18, budget)
    partitions: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_txn_offset_commit_request_partition_v3(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TxnOffsetCommitRequestTopic(name, partitions), pos


def _encode_txn_offset_commit_request_topic_v3(msg: TxnOffsetCommitRequestTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_txn_offset_commit_request_partition_v3(partitions_item, out)
    out.append(0)


def _decode_txn_offset_commit_request_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitRequest, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    group_id, pos = read_compact_string(buf, pos)
    producer_id, producer_epoch, generation_id = _unpack_qhi(buf, pos)
    member_id, pos = read_compact_string(buf, pos + 14)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    topics_count, pos = read_compact_count(buf, pos, 3, budget)
    topics: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_txn_offset_commit_request_topic_v3(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TxnOffsetCommitRequest(
        transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics
    ), pos


def _encode_txn_offset_commit_request_v3(msg: TxnOffsetCommitRequest, out: WireBuffer) -> None:
    write_compact_string(msg.transactional_id, out)
    write_compact_string(msg.group_id, out)
    out += _pack_qhi(msg.producer_id, msg.producer_epoch, msg.generation_id)
    write_compact_string(msg.member_id, out)
    write_compact_nullable_string(msg.group_instance_id, out)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_txn_offset_commit_request_topic_v3(topics_item, out)
    out.append(0)


def _decode_txn_offset_commit_response_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitResponseTopic, int]:
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
    partitions: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_error_code = _unpack_ih(buf, pos)
        pos += 6
        partitions.append(TxnOffsetCommitResponsePartition(partitions_partition_index, partitions_error_code))
    return TxnOffsetCommitResponseTopic(name, partitions), pos


def _encode_txn_offset_commit_response_topic_v0(msg: TxnOffsetCommitResponseTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_ih(partitions_item.partition_index, partitions_item.error_code)


def _decode_txn_offset_commit_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_txn_offset_commit_response_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return TxnOffsetCommitResponse(throttle_time_ms, topics), pos


def _encode_txn_offset_commit_response_v0(msg: TxnOffsetCommitResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        _encode_txn_offset_commit_response_topic_v0(topics_item, out)


def _decode_txn_offset_commit_response_partition_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitResponsePartition, int]:
    partition_index, error_code = _unpack_ih(buf, pos)
    pos += 7
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TxnOffsetCommitResponsePartition(partition_index, error_code), pos


def _encode_txn_offset_commit_response_partition_v3(msg: TxnOffsetCommitResponsePartition, out: WireBuffer) -> None:
    out += _pack_ihB(msg.partition_index, msg.error_code, 0)


def _decode_txn_offset_commit_response_topic_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitResponseTopic, int]:
    name, pos = read_compact_string(buf, pos)
    partitions_count, pos = read_compact_count(buf, pos, 7, budget)
    partitions: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(partitions_count):
        partitions_item, pos = _decode_txn_offset_commit_response_partition_v3(buf, pos, budget)
        partitions.append(partitions_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TxnOffsetCommitResponseTopic(name, partitions), pos


def _encode_txn_offset_commit_response_topic_v3(msg: TxnOffsetCommitResponseTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_uvarint(len(msg.partitions) + 1, out)
    for partitions_item in msg.partitions:
        _encode_txn_offset_commit_response_partition_v3(partitions_item, out)
    out.append(0)


def _decode_txn_offset_commit_response_v3(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[TxnOffsetCommitResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 3, budget)
    topics: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_txn_offset_commit_response_topic_v3(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return TxnOffsetCommitResponse(throttle_time_ms, topics), pos


def _encode_txn_offset_commit_response_v3(msg: TxnOffsetCommitResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_txn_offset_commit_response_topic_v3(topics_item, out)
    out.append(0)


TxnOffsetCommitRequest.DECODERS = (
    _decode_txn_offset_commit_request_v0,
    _decode_txn_offset_commit_request_v0,
    _decode_txn_offset_commit_request_v2,
    _decode_txn_offset_commit_request_v3,
)

TxnOffsetCommitRequest.ENCODERS = (
    _encode_txn_offset_commit_request_v0,
    _encode_txn_offset_commit_request_v0,
    _encode_txn_offset_commit_request_v2,
    _encode_txn_offset_commit_request_v3,
)

TxnOffsetCommitResponse.DECODERS = (
    _decode_txn_offset_commit_response_v0,
    _decode_txn_offset_commit_response_v0,
    _decode_txn_offset_commit_response_v0,
    _decode_txn_offset_commit_response_v3,
)

TxnOffsetCommitResponse.ENCODERS = (
    _encode_txn_offset_commit_response_v0,
    _encode_txn_offset_commit_response_v0,
    _encode_txn_offset_commit_response_v0,
    _encode_txn_offset_commit_response_v3,
)
