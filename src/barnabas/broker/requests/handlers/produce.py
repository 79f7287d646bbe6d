"""Produce (API key 0, v0-8): append record batches to partitions.

Source: protocol guide, Produce; semantics, Produce.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from barnabas.broker.log.append_result import AppendResult
from barnabas.broker.replicas.manager import ALL
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, resolve, shaped
from barnabas.broker.requests.slices import MORE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ProtocolError, UnanswerableError
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.wire.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER_BYTES,
    MAGIC,
    MAGIC_POSITION,
    PRODUCER_ID_POSITION,
    TRANSACTIONAL_BIT,
    Codec,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_FIRST_VERSION_WITH_BATCHES: Final = 3
_FIRST_VERSION_WITH_STORAGE_ERROR: Final = 4
_FIRST_VERSION_WITH_ZSTD: Final = 7
_ACKS: Final = (-1, 0, 1)
# No version of the request refuses a batch without this bit.
_MAY_BE_REFUSED: Final = Codec.ZSTD
# The Java admin client repairs internal topics under this name.
_ADMIN_CLIENT_ID: Final = "__admin_client"
# Added to a batch's attributes if it has a producer id.
_IDEMPOTENT_BIT: Final = 0x100
# Only batches with one of these bits need more rights than those on their topics.
_MAY_BE_DENIED: Final = TRANSACTIONAL_BIT | _IDEMPOTENT_BIT
# Saves the lookup of the members in their enums.
_WRITE: Final = Operation.WRITE
_NO_ERROR: Final = ErrorCode.NONE
_BEFORE_REFUSALS: Final = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@in_slices
def produce(ctx: RequestContext, request: ProduceRequest) -> Steps[ProduceResponse | None]:
    """Append each partition's batch as its leader; with acks=0 there is no answer.

    Raises:
        ProtocolError: Records are missing.
        UnanswerableError: An append failed, and acks=0 allows no answer.
    """
    # hot path: benchmarks/load (every produce request)
    acks = request.acks
    topic_data = request.topic_data
    is_large = ctx.is_large
    attributes = 0
    for topic in topic_data:
        for data in topic.partition_data:
            attributes |= _attributes(data)
            if is_large:
                yield MORE
    # Without access rules idempotent writes are not checked.
    if attributes & (TRANSACTIONAL_BIT if ctx.services.authorizer.allows_everything else _MAY_BE_DENIED):
        error_code = _denial(ctx, request, attributes)
        if error_code:
            yield shaped(ctx, partial(refuse, ctx, request, error_code))
            return
    if len(topic_data) != 1 or len(topic_data[0].partition_data) != 1:
        topic_data = _without_repetitions(topic_data)
    responses = []
    late: list[_Late] = []
    for topic in topic_data:
        name = topic.name
        refusal = _refusal(ctx, name, acks)
        answers: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            if is_large:
                yield MORE
            _append(ctx, name, refusal, data, acks, attributes, answers, late)
        responses.append(TopicProduceResponse(name, answers))
    if late:
        completion = _Completion(ctx, late, responses, acks, request.timeout_ms)
        for each in late:
            completion.wait_for(each)
            if is_large:
                yield MORE
        yield completion.pending
    elif acks:
        yield ProduceResponse(responses)
    else:
        _close_on_error(responses)
        yield None


def _append(
    ctx: RequestContext,
    topic: str,
    refusal: ErrorCode,
    data: PartitionProduceData,
    acks: int,
    attributes: int,
    answers: list[PartitionProduceResponse],
    late: list["_Late"],
) -> None:
    """Append the data of one partition, now or after its preparation.

    Args:
        refusal: The error of the whole topic.
        attributes: The low attribute bits of all batches of the request, combined.
        answers: Receives the answer.
        late: Receives the pending append, if the answer must wait for it.
    """
    index = data.index
    records = data.records
    assert isinstance(records, memoryview)
    partition = resolve(ctx, _WRITE, topic, index)
    if isinstance(partition, ErrorCode):
        # The error of the topic precedes that of a partition that another broker leads.
        absent = AppendResult(partition if partition in _BEFORE_REFUSALS else refusal or partition)
        _translate(absent, ctx.api_version)
        answers.append(_answer(index, absent))
        return
    error_code = refusal
    if not error_code and attributes & _MAY_BE_REFUSED:
        error_code = _request_error(ctx, records)
    if error_code:
        answers.append(PartitionProduceResponse(index, error_code, -1))
        return
    is_any_format = ctx.api_version < _FIRST_VERSION_WITH_BATCHES
    # By position: a call with names costs more.
    result = ctx.services.replicas.append_to(partition, records, acks, is_any_format, True, ctx.timed)
    if isinstance(result, Pending):
        answers.append(PartitionProduceResponse(index))
        # Keep the frame at once: received bytes must not overwrite records that are being prepared.
        late.append(_Late(partition, partition.leading_since, answers, len(answers) - 1, result, ctx.keep_frame()))
        return
    if result.error_code:
        _translate(result, ctx.api_version)
        answers.append(_answer(index, result))
        return
    answers.append(
        PartitionProduceResponse(
            index, result.error_code, result.base_offset, result.append_time_ms, result.log_start_offset
        )
    )
    if acks and ((acks == ALL and partition.followers is not None) or result.is_flush_due):
        late.append(_Late(partition, partition.leading_since, answers, len(answers) - 1, result, None))


class _Late(NamedTuple):
    """An answer that must wait: for the append itself, then for flush.messages, then for followers.

    Attributes:
        partition: The partition of its records.
        leading_since: The partition's `leading_since` at the time of the request.
        answers, place: The list that contains the answer, and its index there.
        appended: The result of the append, or a pending one.
        release: Must be called when the request's bytes are no longer needed.
    """

    partition: Partition
    leading_since: int
    answers: list[PartitionProduceResponse]
    place: int
    appended: Pending[AppendResult] | AppendResult
    release: Callable[[], object] | None

    def set(self, result: AppendResult) -> None:
        self.answers[self.place] = _answer(self.answers[self.place].index, result)


class _Completion:
    """Counts down the appends, flushes and followers that an answer waits for.

    This is a class because functions within the compiled generator would form a reference cycle, which keeps the
    received frame until a garbage collection (docs/adr/0004).

    Attributes:
        pending: The answer.
    """

    __slots__ = ("_acks", "_ctx", "_late", "_left_count", "_responses", "_timeout_ms", "pending")

    def __init__(
        self,
        ctx: RequestContext,
        late: list[_Late],
        responses: list[TopicProduceResponse],
        acks: int,
        timeout_ms: int,
    ) -> None:
        self._ctx = ctx
        self._late = late
        self._left_count = len(late)
        self._responses = responses
        self._acks = acks
        self._timeout_ms = timeout_ms
        self.pending: Pending[ProduceResponse | None] = Pending()

    def wait_for(self, each: _Late) -> None:
        """Count `each` once it is as durable as the producer's acks require."""
        appended = each.appended
        if isinstance(appended, Pending):
            self._ctx.waited_for = "append"
            appended.then(partial(self._appended, each))
        else:
            self._appended(each, appended)

    def _appended(self, each: _Late, result: AppendResult) -> None:
        log = each.partition.log
        if self._acks and not result.error_code and log.is_flush_due():
            self._ctx.waited_for = "flush"
            log.flush(partial(self._flushed, each, result))
        else:
            self._written(each, result)

    def _flushed(self, each: _Late, result: AppendResult, error: BaseException | None) -> None:
        self._written(each, result if error is None else AppendResult(ErrorCode.KAFKA_STORAGE_ERROR))

    def _written(self, each: _Late, result: AppendResult) -> None:
        partition = each.partition
        # A broker that has resigned as leader meanwhile has no followers either.
        is_alone = partition.followers is None and partition.leading_since == each.leading_since
        if self._acks == ALL and not result.error_code and not is_alone:
            self._ctx.waited_for = "followers"
            leader_replicas = self._ctx.services.replicas.leader_replicas
            leader_replicas.when_replicated(partition, each.leading_since, result, self._timeout_ms).then(
                partial(self._one_done, each)
            )
        else:
            self._one_done(each, result)

    def _one_done(self, done: _Late, result: AppendResult) -> None:
        if result.error_code:
            _translate(result, self._ctx.api_version)
        done.set(result)
        self._left_count -= 1
        if self._left_count:
            return
        for each in self._late:
            if each.release is not None:
                each.release()
        if self._acks:
            self.pending.complete(ProduceResponse(self._responses))
            return
        try:
            _close_on_error(self._responses)
        except UnanswerableError as error:
            self.pending.fail(error)
        else:
            self.pending.complete(None)


def _denial(ctx: RequestContext, request: ProduceRequest, attributes: int) -> ErrorCode:
    """Return the error of a producer that is not authorized for transactions or idempotent writes.

    Args:
        attributes: The attributes of all batches, combined, with `_IDEMPOTENT_BIT` if one has a producer id.
    """
    if attributes & TRANSACTIONAL_BIT:
        transactional_id = request.transactional_id
        if transactional_id is None or not ctx.may(_WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return _NO_ERROR
    if attributes & _IDEMPOTENT_BIT and not ctx.may(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return _NO_ERROR


def _attributes(data: PartitionProduceData) -> int:
    """Return the low attribute bits of a partition's first batch, with `_IDEMPOTENT_BIT`; 0 if it has none.

    Raises:
        ProtocolError: Records are missing. This is checked before any append, because a client sends everything again
            after its connection was closed.
    """
    records = data.records
    if not records:
        raise ProtocolError("Produce request without records")
    assert isinstance(records, memoryview)
    if len(records) < HEADER_BYTES or records[MAGIC_POSITION] != MAGIC:
        return 0
    # The first bit of a negative number is set.
    if records[PRODUCER_ID_POSITION] < 0x80:
        return records[ATTRIBUTES_POSITION + 1] | _IDEMPOTENT_BIT
    return records[ATTRIBUTES_POSITION + 1]


def _without_repetitions(topic_data: list[TopicProduceData]) -> list[TopicProduceData]:
    """Return each partition once; as in Kafka, the last entry of a repeated partition counts."""
    if len({topic.name for topic in topic_data}) == len(topic_data):
        for topic in topic_data:
            partition_data = topic.partition_data
            if len(partition_data) > 1 and len({data.index for data in partition_data}) < len(partition_data):
                break
        else:
            return topic_data
    by_topic: dict[str, dict[int, PartitionProduceData]] = {}
    for topic in topic_data:
        by_topic.setdefault(topic.name, {}).update((data.index, data) for data in topic.partition_data)
    return [TopicProduceData(name, list(by_index.values())) for name, by_index in by_topic.items()]


def _refusal(ctx: RequestContext, name: str, acks: int) -> ErrorCode:
    """Return the error of the request or the topic as a whole."""
    if acks not in _ACKS:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if name in INTERNAL_TOPICS and ctx.client_id != _ADMIN_CLIENT_ID:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return _NO_ERROR


def _request_error(ctx: RequestContext, records: memoryview) -> ErrorCode:
    """Return the error of a batch that this version of the request may not contain; the log checks all else."""
    if len(records) < HEADER_BYTES or records[MAGIC_POSITION] != MAGIC:
        return ErrorCode.NONE
    attributes = records[ATTRIBUTES_POSITION + 1]
    if (
        attributes & CODEC_MASK == Codec.ZSTD
        and _FIRST_VERSION_WITH_BATCHES <= ctx.api_version < _FIRST_VERSION_WITH_ZSTD
    ):
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    return ErrorCode.NONE


def _translate(result: AppendResult, api_version: int) -> None:
    """Replace an error code that the client's version does not know."""
    if result.error_code == ErrorCode.KAFKA_STORAGE_ERROR and api_version < _FIRST_VERSION_WITH_STORAGE_ERROR:
        result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


def _answer(index: int, result: AppendResult) -> PartitionProduceResponse:
    if result.message is None and not result.record_errors:
        return PartitionProduceResponse(
            index, result.error_code, result.base_offset, result.append_time_ms, result.log_start_offset
        )
    return PartitionProduceResponse(
        index,
        result.error_code,
        result.base_offset,
        result.append_time_ms,
        result.log_start_offset,
        [BatchIndexAndErrorMessage(batch_index, message) for batch_index, message in result.record_errors],
        result.message,
    )


def _close_on_error(responses: list[TopicProduceResponse]) -> None:
    for topic in responses:
        for answer in topic.partition_responses:
            if answer.error_code:
                name = ErrorCode(answer.error_code).name
                raise UnanswerableError(f"{name} for {topic.name}-{answer.index}, produced with acks=0")


def refuse(ctx: RequestContext, request: ProduceRequest, error_code: ErrorCode) -> ProduceResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    if request.acks == 0:
        raise UnanswerableError(f"{error_code.name} for a Produce request with acks=0")
    responses = []
    for topic in _without_repetitions(request.topic_data):
        answers = []
        for data in topic.partition_data:
            result = AppendResult(error_code)
            _translate(result, ctx.api_version)
            answers.append(_answer(data.index, result))
        responses.append(TopicProduceResponse(topic.name, answers))
    return ProduceResponse(responses)


HANDLER = Handler(ProduceRequest, 0, 8, produce, refuse, goes_on=True)
