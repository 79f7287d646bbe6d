"""AddPartitionsToTxn (API key 24, v0-2): the partitions that a transaction is about to write to.

Source: protocol guide, AddPartitionsToTxn; semantics, transactions.
"""

from collections.abc import Mapping

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices, shaped
from barnabas.broker.requests.handlers.end_txn import translate
from barnabas.broker.requests.slices import MORE, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from barnabas.wire.security.authorizer import Operation, ResourceType


@in_slices
def add_partitions_to_txn(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Steps[AddPartitionsToTxnResponse]:
    """Add all partitions or none: an error of one partition refuses the others."""
    transactional_id = request.transactional_id
    if not ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        yield shaped(ctx, lambda: _response(request, {}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    errors: dict[TopicPartition, ErrorCode] = {}
    partitions = []
    for topic in request.topics:
        may_write = topic.name not in INTERNAL_TOPICS and ctx.may(Operation.WRITE, ResourceType.TOPIC, topic.name)
        if ctx.is_large:
            yield MORE
        for index in topic.partitions:
            key = TopicPartition(topic.name, index)
            partitions.append(key)
            if not may_write:
                errors[key] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif ctx.services.cluster.image.partition(*key) is None:
                errors[key] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if ctx.is_large:
                yield MORE
    if errors:
        yield shaped(ctx, lambda: _response(request, errors, ErrorCode.OPERATION_NOT_ATTEMPTED))
        return
    adding = ctx.services.transactions.add_partitions(
        transactional_id, request.producer_id, request.producer_epoch, frozenset(partitions)
    )
    if ctx.is_large:
        yield Step(adding)
        error_code = translate(adding.value.error_code, ctx.api_version)
        yield shaped(ctx, lambda: _response(request, {}, error_code))
        return
    yield adding.shaped(lambda answer: _response(request, {}, translate(answer.error_code, ctx.api_version)))


def _response(
    request: AddPartitionsToTxnRequest, errors: Mapping[TopicPartition, ErrorCode], others: ErrorCode
) -> AddPartitionsToTxnResponse:
    """Return the answer for each partition of the request.

    Args:
        errors: The errors of single partitions.
        others: The error of the others.
    """
    results = []
    for topic in request.topics:
        name = topic.name
        answers = [
            AddPartitionsToTxnPartitionResult(index, errors.get(TopicPartition(name, index), others))
            for index in topic.partitions
        ]
        results.append(AddPartitionsToTxnTopicResult(name, answers))
    return AddPartitionsToTxnResponse(results=results)


def refuse(
    ctx: RequestContext, request: AddPartitionsToTxnRequest, error_code: ErrorCode
) -> AddPartitionsToTxnResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _response(request, {}, error_code)


HANDLER = Handler(AddPartitionsToTxnRequest, 0, 2, add_partitions_to_txn, refuse, goes_on=True)
