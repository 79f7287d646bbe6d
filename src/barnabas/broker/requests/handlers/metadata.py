"""Metadata (API key 3, v0-9): live brokers, topics, and the leaders of partitions.

A topic that is requested by name and does not exist is created if that is allowed; its metadata is LEADER_NOT_AVAILABLE
until it exists. A broker that has just started answers once it has the controller's metadata: clients drop brokers and
topics that are not listed. A topic's part of the answer is encoded once and reused (`encoded_metadata.py`).

Source: protocol guide, Metadata; semantics, Metadata.
"""

from collections.abc import Collection, Generator, Mapping, Sequence

from barnabas.broker.cluster.image import ClusterImage, PartitionState
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.encoded_metadata import KindOfParts, MetadataAnswer, encoded_topic, with_rights
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Step, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import submit
from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.wire.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.security.authorizer import CLUSTER, OPERATIONS_OF, Operation, ResourceType

NO_LEADER = -1
# Some 20 µs. A slice ends by time, and fewer checks of the time cost less.
_PARTITIONS_PER_STEP = 20
# The lookup of a kept part takes 0.1 to 0.2 µs.
_KEPT_PER_STEP = 100
_MOST_KEPT_AT_ONCE = 5_000

_NOT_ASKED = -(1 << 31)


@in_slices
def metadata(ctx: RequestContext, request: MetadataRequest) -> Steps[MetadataResponse]:
    """Answer from the cluster image; wait for the image after a start, and until topic creation has begun."""
    services = ctx.services
    if not services.cluster_known.is_set():
        # differs from Kafka (early-metadata): Kafka returns empty metadata.
        yield Step(services.spawner.spawn(services.cluster_known.wait()))
    image = services.cluster.image
    if request.topics is None or (ctx.api_version == 0 and not request.topics):
        known_to_all = yield from _describable(ctx, list(image.topics))
        yield from _respond(ctx, request, known_to_all, {})
        return
    may_create_any = ctx.may_unlogged(Operation.CREATE, ResourceType.CLUSTER, CLUSTER)
    known: dict[str, None] = {}
    errors: dict[str, ErrorCode] = {}
    wanted = []
    may_create = request.allow_auto_topic_creation and services.config.auto_create_topics_enable
    for topic in request.topics:
        if ctx.is_large:
            yield MORE
        name = topic.name or ""
        if name in known or name in errors:
            continue
        if not ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
            # Whether or not the topic exists.
            errors[name] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif name in image.topics:
            known[name] = None
        elif may_create and not may_create_any and not ctx.may(Operation.CREATE, ResourceType.TOPIC, name):
            errors[name] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        else:
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


def _describable(ctx: RequestContext, names: list[str]) -> Generator[Step, None, list[str]]:
    """Return the topics that the principal may describe."""
    if ctx.services.authorizer.allows_everything:
        return names
    if len(names) > MOST_ELEMENTS_AT_ONCE:
        ctx.is_large = True
    found = []
    for number, name in enumerate(names):
        if ctx.may_unlogged(Operation.DESCRIBE, ResourceType.TOPIC, name):
            found.append(name)
        if ctx.is_large and number % _KEPT_PER_STEP == 0:
            yield MORE
    return found


def _respond(
    ctx: RequestContext, request: MetadataRequest, known: Sequence[str], errors: Mapping[str, ErrorCode]
) -> Steps[MetadataResponse]:
    services = ctx.services
    image = services.cluster.image
    listener_name = ctx.connection.listener_name
    with_operations = request.include_topic_authorized_operations
    kind = services.topic_parts.of(image, ctx.api_version, listener_name, with_operations)
    if len(known) > _MOST_KEPT_AT_ONCE:
        ctx.is_large = True
    parts: list[bytes] = []
    missing: list[tuple[int, str]] = []
    missing_elements = 0
    for number, name in enumerate(known):
        partitions = image.topics.get(name, {})
        part = kind.find(name, partitions)
        if part is None:
            missing.append((number, name))
            missing_elements += 1 + len(partitions)
            part = b""
        parts.append(part)
        if ctx.is_large and number % _KEPT_PER_STEP == 0:
            yield MORE
    if missing_elements > MOST_ELEMENTS_AT_ONCE:
        ctx.is_large = True
    for number, name in missing:
        parts[number] = yield from _encode(ctx, image, kind, name, with_operations)
    topics = []
    if with_operations and not services.authorizer.allows_everything:
        for number, name in enumerate(known):
            parts[number] = with_rights(ctx.api_version, parts[number], _rights(ctx, ResourceType.TOPIC, name))
            if ctx.is_large and number % _KEPT_PER_STEP == 0:
                yield MORE
    for name, error_code in errors.items():
        topic = MetadataResponseTopic(error_code, name, is_internal=name in INTERNAL_TOPICS)
        if error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            topic.is_internal = False
        elif with_operations:
            topic.topic_authorized_operations = _rights(ctx, ResourceType.TOPIC, name)
        if parts:
            parts.append(encoded_topic(ctx.api_version, topic))
        else:
            topics.append(topic)
        if ctx.is_large:
            yield MORE
    answer = MetadataAnswer(
        brokers=_brokers(image, listener_name),
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=_cluster_rights(ctx)
        if request.include_cluster_authorized_operations
        else _NOT_ASKED,
    )
    answer.parts = parts
    yield answer


def _rights(ctx: RequestContext, resource_type: ResourceType, name: str) -> int:
    """Return the operations that the principal may do on a resource, as bits."""
    return ctx.rights(resource_type, name) & OPERATIONS_OF[resource_type]


def _cluster_rights(ctx: RequestContext) -> int:
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER):
        return 0
    return _rights(ctx, ResourceType.CLUSTER, CLUSTER)


def _encode(
    ctx: RequestContext, image: ClusterImage, kind: KindOfParts, name: str, with_operations: bool
) -> Generator[Step, None, bytes]:
    """Make a topic's part of the answer, and keep it."""
    api_version = ctx.api_version
    states = image.topics.get(name, {})
    partitions = []
    for number, (index, state) in enumerate(states.items(), 1):
        partitions.append(_partition(image, kind.reachable, api_version, index, state))
        if ctx.is_large and number % _PARTITIONS_PER_STEP == 0:
            yield MORE
    topic = MetadataResponseTopic(
        ErrorCode.NONE,
        name,
        is_internal=name in INTERNAL_TOPICS,
        partitions=partitions,
        # The kept part contains all operations; `with_rights` replaces them for other principals.
        topic_authorized_operations=OPERATIONS_OF[ResourceType.TOPIC] if with_operations else _NOT_ASKED,
    )
    if len(partitions) > MOST_ELEMENTS_AT_ONCE:
        # Too long for one turn of the event loop.
        encoding = submit(ctx.services.slices.codec, lambda: encoded_topic(api_version, topic))
        yield Step(encoding)
        part = encoding.value
    else:
        if ctx.is_large:
            yield MORE
        part = encoded_topic(api_version, topic)
    kind.keep(name, states, part)
    return part


def _brokers(image: ClusterImage, listener_name: str) -> list[MetadataResponseBroker]:
    """Return the live brokers that are reachable through the client's listener."""
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
        # The oldest clients treat every listed replica as live.
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
    """Return the same error for every requested item: the request failed as a whole."""
    names = [topic.name or "" for topic in request.topics or ()]
    return MetadataResponse(
        controller_id=NO_LEADER,
        topics=[MetadataResponseTopic(error_code, name, is_internal=name in INTERNAL_TOPICS) for name in names],
        cluster_authorized_operations=_NOT_ASKED,
    )


HANDLER = Handler(MetadataRequest, 0, 9, metadata, refuse, response_class=MetadataAnswer)
