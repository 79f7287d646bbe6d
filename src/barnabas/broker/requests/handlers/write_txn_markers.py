"""WriteTxnMarkers (API key 27, v0): write transaction markers to partitions that this broker leads.

Transaction coordinators send it, including this broker's own. A marker for a producer without an open transaction in
the partition is written too, because it fences the producer.

Source: protocol guide, WriteTxnMarkers; semantics, transactions.
"""

from functools import partial

from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, shaped
from barnabas.broker.requests.slices import MORE, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.config.versions import message_magic
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from barnabas.wire.records.batch import MAGIC
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_ALL_IN_SYNC = -1


@in_slices
def write_txn_markers(ctx: RequestContext, request: WriteTxnMarkersRequest) -> Steps[WriteTxnMarkersResponse]:
    """Append each marker to each of its partitions; answer when all in-sync replicas have them."""
    if not ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER):
        yield shaped(ctx, lambda: refuse(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return
    answers = _Answers()
    for marker in request.markers:
        for topic in marker.topics:
            for index in topic.partition_indexes:
                _append(ctx, marker, TopicPartition(topic.name, index), answers)
                if ctx.is_large:
                    yield MORE
    answers.begun()
    if ctx.is_large:
        yield Step(answers.pending)
    yield answers.pending


def _append(ctx: RequestContext, marker: WritableTxnMarker, key: TopicPartition, answers: "_Answers") -> None:
    services = ctx.services
    hosted = services.replicas.partition(key)
    if hosted is None:
        answers.set(marker.producer_id, key, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return
    if message_magic(hosted.log.config.message_format_version) < MAGIC:
        answers.set(marker.producer_id, key, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
        return
    marker_type = MarkerType.COMMIT if marker.transaction_result else MarkerType.ABORT
    batch = build_marker(
        marker.producer_id,
        marker.producer_epoch,
        EndTransactionMarker(marker_type, marker.coordinator_epoch),
        services.clock.now_ms(),
    )

    def appended(result: AppendResult) -> None:
        if key.topic == GROUP_OFFSETS_TOPIC and result.error_code == ErrorCode.NONE:
            services.groups.transaction_ended(marker.producer_id, key.partition, marker.transaction_result)
        answers.set(marker.producer_id, key, result.error_code, is_late=True)

    answers.wait()
    services.replicas.append(key, batch, _ALL_IN_SYNC, services.config.request_timeout_ms).then(
        appended, partial(_failed, marker.producer_id, key, answers)
    )


def _failed(producer_id: int, key: TopicPartition, answers: "_Answers", error: BaseException) -> None:
    answers.set(producer_id, key, ErrorCode.UNKNOWN_SERVER_ERROR, is_late=True)


class _Answers:
    """The errors of all partitions by producer, and the number of missing ones.

    Attributes:
        pending: The answer to the request.
    """

    __slots__ = ("_by_producer", "_left_count", "pending")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[TopicPartition, ErrorCode]] = {}
        self._left_count = 1
        self.pending: Pending[WriteTxnMarkersResponse] = Pending()

    def wait(self) -> None:
        """Count one more pending append."""
        self._left_count += 1

    def set(self, producer_id: int, key: TopicPartition, error_code: ErrorCode, is_late: bool = False) -> None:
        """Record the answer of one partition.

        Args:
            is_late: Whether `wait` has counted it.
        """
        self._by_producer.setdefault(producer_id, {})[key] = error_code
        if is_late:
            self.begun()

    def begun(self) -> None:
        """Count down the pending appends; the last one completes the answer."""
        self._left_count -= 1
        if not self._left_count:
            self.pending.complete(_response(self._by_producer))


def _response(by_producer: dict[int, dict[TopicPartition, ErrorCode]]) -> WriteTxnMarkersResponse:
    markers = []
    for producer_id, errors in by_producer.items():
        by_topic: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
        for (topic, index), error_code in errors.items():
            by_topic.setdefault(topic, []).append(WritableTxnMarkerPartitionResult(index, error_code))
        topics = [WritableTxnMarkerTopicResult(topic, partitions) for topic, partitions in by_topic.items()]
        markers.append(WritableTxnMarkerResult(producer_id, topics))
    return WriteTxnMarkersResponse(markers)


def refuse(ctx: RequestContext, request: WriteTxnMarkersRequest, error_code: ErrorCode) -> WriteTxnMarkersResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    by_producer: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for marker in request.markers:
        errors = by_producer.setdefault(marker.producer_id, {})
        for topic in marker.topics:
            errors.update((TopicPartition(topic.name, index), error_code) for index in topic.partition_indexes)
    return _response(by_producer)


HANDLER = Handler(WriteTxnMarkersRequest, 0, 0, write_txn_markers, refuse, goes_on=True)
