"""WriteTxnMarkers (API key 27): request and response.

Generated from the WriteTxnMarkers schemas by scripts/generate.

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
    read_int32s,
    write_int32s,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_qhti: Final = Struct(">qh?i").pack
_pack_qi: Final = Struct(">qi").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_qhti: Final = Struct(">qh?i").unpack_from
_unpack_qi: Final = Struct(">qi").unpack_from


class WritableTxnMarkerTopic(Part):
    """Part of WriteTxnMarkersRequest."""

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


class WritableTxnMarker(Part):
    """Part of WriteTxnMarkersRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", WritableTxnMarkerTopic, True),)

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] | None = None,
        coordinator_epoch: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics: list[WritableTxnMarkerTopic] = [] if topics is None else topics
        self.coordinator_epoch = coordinator_epoch


class WriteTxnMarkersRequest(Message):
    """WriteTxnMarkersRequest (API key 27), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("markers", WritableTxnMarker, True),)

    SCHEMA_NAME: ClassVar[str] = "WriteTxnMarkersRequest"
    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[WriteTxnMarkersRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[WriteTxnMarkersRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        markers: list[WritableTxnMarker] | None = None,
    ) -> None:
        self.markers: list[WritableTxnMarker] = [] if markers is None else markers


class WritableTxnMarkerPartitionResult(Part):
    """Part of WriteTxnMarkersResponse."""

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


class WritableTxnMarkerTopicResult(Part):
    """Part of WriteTxnMarkersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "partitions",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("partitions", WritableTxnMarkerPartitionResult, True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] | None = None,
    ) -> None:
        self.name = name
        self.partitions: list[WritableTxnMarkerPartitionResult] = [] if partitions is None else partitions


class WritableTxnMarkerResult(Part):
    """Part of WriteTxnMarkersResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", WritableTxnMarkerTopicResult, True),)

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.topics: list[WritableTxnMarkerTopicResult] = [] if topics is None else topics


class WriteTxnMarkersResponse(Message):
    """WriteTxnMarkersResponse (API key 27), versions 0."""

    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("markers", WritableTxnMarkerResult, True),)

    SCHEMA_NAME: ClassVar[str] = "WriteTxnMarkersResponse"
    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[WriteTxnMarkersResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[WriteTxnMarkersResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] | None = None,
    ) -> None:
        self.markers: list[WritableTxnMarkerResult] = [] if markers is None else markers


def _decode_writable_txn_marker_topic_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WritableTxnMarkerTopic, int]:
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
    return WritableTxnMarkerTopic(name, partition_indexes), pos


def _encode_writable_txn_marker_topic_v0(msg: WritableTxnMarkerTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partition_indexes))
    write_int32s(msg.partition_indexes, out)


def _decode_writable_txn_marker_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[WritableTxnMarker, int]:
    producer_id, producer_epoch, transaction_result, topics_count = _unpack_qhti(buf, pos)
    pos += 15
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[WritableTxnMarkerTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_writable_txn_marker_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    (coordinator_epoch,) = _unpack_i(buf, pos)
    return WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch), pos + 4


def _encode_writable_txn_marker_v0(msg: WritableTxnMarker, out: WireBuffer) -> None:
    out += _pack_qhti(msg.producer_id, msg.producer_epoch, msg.transaction_result, len(msg.topics))
    for topics_item in msg.topics:
        _encode_writable_txn_marker_topic_v0(topics_item, out)
    out += _pack_i(msg.coordinator_epoch)


def _decode_write_txn_markers_request_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WriteTxnMarkersRequest, int]:
    (markers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - markers_count
    if markers_count < 0 or elements_left < 0 or markers_count * 19 > len(buf) - pos:
        check_count(markers_count, len(buf) - pos, 19, budget)
    budget.elements_left = elements_left
    markers: list[WritableTxnMarker] = []
    for _ in range(markers_count):
        markers_item, pos = _decode_writable_txn_marker_v0(buf, pos, budget)
        markers.append(markers_item)
    return WriteTxnMarkersRequest(markers), pos


def _encode_write_txn_markers_request_v0(msg: WriteTxnMarkersRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.markers))
    for markers_item in msg.markers:
        _encode_writable_txn_marker_v0(markers_item, out)


def _decode_writable_txn_marker_topic_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WritableTxnMarkerTopicResult, int]:
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
    partitions: list[WritableTxnMarkerPartitionResult] = []
    for _ in range(partitions_count):
        partitions_partition_index, partitions_error_code = _unpack_ih(buf, pos)
        pos += 6
        partitions.append(WritableTxnMarkerPartitionResult(partitions_partition_index, partitions_error_code))
    return WritableTxnMarkerTopicResult(name, partitions), pos


def _encode_writable_txn_marker_topic_result_v0(msg: WritableTxnMarkerTopicResult, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_i(len(msg.partitions))
    for partitions_item in msg.partitions:
        out += _pack_ih(partitions_item.partition_index, partitions_item.error_code)


def _decode_writable_txn_marker_result_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WritableTxnMarkerResult, int]:
    producer_id, topics_count = _unpack_qi(buf, pos)
    pos += 12
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[WritableTxnMarkerTopicResult] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_writable_txn_marker_topic_result_v0(buf, pos, budget)
        topics.append(topics_item)
    return WritableTxnMarkerResult(producer_id, topics), pos


def _encode_writable_txn_marker_result_v0(msg: WritableTxnMarkerResult, out: WireBuffer) -> None:
    out += _pack_qi(msg.producer_id, len(msg.topics))
    for topics_item in msg.topics:
        _encode_writable_txn_marker_topic_result_v0(topics_item, out)


def _decode_write_txn_markers_response_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[WriteTxnMarkersResponse, int]:
    (markers_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - markers_count
    if markers_count < 0 or elements_left < 0 or markers_count * 12 > len(buf) - pos:
        check_count(markers_count, len(buf) - pos, 12, budget)
    budget.elements_left = elements_left
    markers: list[WritableTxnMarkerResult] = []
    for _ in range(markers_count):
        markers_item, pos = _decode_writable_txn_marker_result_v0(buf, pos, budget)
        markers.append(markers_item)
    return WriteTxnMarkersResponse(markers), pos


def _encode_write_txn_markers_response_v0(msg: WriteTxnMarkersResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.markers))
    for markers_item in msg.markers:
        _encode_writable_txn_marker_result_v0(markers_item, out)


WriteTxnMarkersRequest.DECODERS = (_decode_write_txn_markers_request_v0,)

WriteTxnMarkersRequest.ENCODERS = (_encode_write_txn_markers_request_v0,)

WriteTxnMarkersResponse.DECODERS = (_decode_write_txn_markers_response_v0,)

WriteTxnMarkersResponse.ENCODERS = (_encode_write_txn_markers_response_v0,)
