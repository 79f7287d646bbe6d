"""Metadata (API key 3, v0-9): which brokers are alive, which topics there are, who leads their partitions.

A topic that is asked for by name and does not exist is created on the way where that is allowed; its metadata says
LEADER_NOT_AVAILABLE until it is there.

Source: protocol guide, Metadata; semantics, Metadata.
"""

from collections.abc import Collection, Mapping, Sequence

from barnabas.cluster.image import ClusterImage, PartitionState
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.requests.context import RequestContext
from barnabas.requests.fanout import in_slices
from barnabas.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Step, Steps
from barnabas.requests.table import Handler

NO_LEADER = -1
# Some 20 µs of a slice, which ends by time: what is looked at less often costs less.
_PARTITIONS_PER_STEP = 20

# Bits are 1 << operation code. Without an authorizer, everything that the resource knows is allowed.
_CLUSTER_OPERATIONS = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))
_TOPIC_OPERATIONS = sum(1 << code for code in (3, 4, 5, 6, 7, 8, 10, 11))
_NOT_ASKED = -(1 << 31)


@in_slices
def metadata(ctx: RequestContext, request: MetadataRequest) -> Steps[MetadataResponse]:
    """Answer from the image; wait only for the creation of topics to begin."""
    services = ctx.services
    image = services.cluster.image
    if request.topics is None or (ctx.api_version == 0 and not request.topics):
        yield from _respond(ctx, request, list(image.topics), {})
        return
    known: dict[str, None] = {}
    errors: dict[str, ErrorCode] = {}
    wanted = []
    may_create = request.allow_auto_topic_creation and services.config.auto_create_topics_enable
    for topic in request.topics:
        if ctx.is_large:
            yield MORE
        name = topic.name or ""
        if name in image.topics:
            known[name] = None
        elif name not in errors:
            errors[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if may_create or name in INTERNAL_TOPICS:
                wanted.append(name)
    if wanted:
        creating = services.spawner.spawn(
            services.topics.auto_create(wanted), lambda _: dict.fromkeys(wanted, ErrorCode.UNKNOWN_SERVER_ERROR)
        )
        yield Step(creating)
        errors |= creating.value
    yield from _respond(ctx, request, list(known), errors)


def _respond(
    ctx: RequestContext, request: MetadataRequest, known: Sequence[str], errors: Mapping[str, ErrorCode]
) -> Steps[MetadataResponse]:
    image = ctx.services.cluster.image
    listener_name = ctx.connection.listener_name
    operations = _TOPIC_OPERATIONS if request.include_topic_authorized_operations else _NOT_ASKED
    if len(known) + sum(map(image.partition_count, known)) > MOST_ELEMENTS_AT_ONCE:
        ctx.is_large = True
    reachable = {broker.broker_id for broker in image.brokers.values() if listener_name in broker.endpoints}
    topics = []
    for name in known:
        partitions = []
        for number, (index, state) in enumerate(image.topics.get(name, {}).items(), 1):
            partitions.append(_partition(image, reachable, ctx.api_version, index, state))
            if ctx.is_large and number % _PARTITIONS_PER_STEP == 0:
                yield MORE
        if ctx.is_large:
            yield MORE
        topics.append(
            MetadataResponseTopic(
                ErrorCode.NONE,
                name,
                is_internal=name in INTERNAL_TOPICS,
                partitions=partitions,
                topic_authorized_operations=operations,
            )
        )
    for name, error_code in errors.items():
        topics.append(MetadataResponseTopic(error_code, name, is_internal=name in INTERNAL_TOPICS))
        if ctx.is_large:
            yield MORE
    yield MetadataResponse(
        brokers=_brokers(image, listener_name),
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=_CLUSTER_OPERATIONS
        if request.include_cluster_authorized_operations
        else _NOT_ASKED,
    )


def _brokers(image: ClusterImage, listener_name: str) -> list[MetadataResponseBroker]:
    """The live brokers that can be reached through the listener that the client uses."""
    return [
        MetadataResponseBroker(broker.broker_id, *broker.endpoints[listener_name], broker.rack)
        for broker in image.brokers.values()
        if listener_name in broker.endpoints
    ]


def _partition(
    image: ClusterImage, reachable: Collection[int], api_version: int, index: int, state: PartitionState
) -> MetadataResponsePartition:
    replicas, isr = list(state.replicas), list(state.isr)
    error_code = ErrorCode.NONE if state.leader in reachable else _leader_error(image, api_version, state)
    if api_version == 0:
        # The oldest clients take every listed replica for a live one.
        replicas = [replica for replica in replicas if replica in reachable]
        isr = [replica for replica in isr if replica in reachable]
        if not error_code and (len(replicas) < len(state.replicas) or len(isr) < len(state.isr)):
            return MetadataResponsePartition(
                ErrorCode.REPLICA_NOT_AVAILABLE, index, state.leader, state.leader_epoch, replicas, isr
            )
    leader = NO_LEADER if error_code else state.leader
    return MetadataResponsePartition(error_code, index, leader, state.leader_epoch, replicas, isr, list(state.offline))


def _leader_error(image: ClusterImage, api_version: int, state: PartitionState) -> ErrorCode:
    if state.leader in image.brokers and api_version >= 6:
        return ErrorCode.LISTENER_NOT_FOUND
    return ErrorCode.LEADER_NOT_AVAILABLE


def refuse(ctx: RequestContext, request: MetadataRequest, error_code: ErrorCode) -> MetadataResponse:
    """The same answer for all that was asked: the request failed as a whole."""
    names = [topic.name or "" for topic in request.topics or ()]
    return MetadataResponse(
        controller_id=NO_LEADER,
        topics=[MetadataResponseTopic(error_code, name, is_internal=name in INTERNAL_TOPICS) for name in names],
        cluster_authorized_operations=_NOT_ASKED,
    )


HANDLER = Handler(MetadataRequest, 0, 9, metadata, refuse)
