"""CreateTopics (API key 19, v0-6): create topics, or only validate the request.

Source: protocol guide, CreateTopics; semantics, topics and partitions.
"""

from collections import Counter

from barnabas.broker.administration.topic_rules import NewTopic
from barnabas.broker.administration.topics import TopicResult
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import shaped
from barnabas.broker.requests.table import Handler
from barnabas.core.config import TopicConfig
from barnabas.core.config.describe import describe_topic
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

_FIRST_VERSION_WITH_CONFIGS = 5
# Earlier versions are not refused above the quota, only throttled.
_FIRST_STRICT_VERSION = 6
_TOPICS_PER_TURN = 100
_MOST_MESSAGE_CHARACTERS = 1_000


def create_topics(
    ctx: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse | Pending[CreateTopicsResponse]:
    """Create topics; each topic has its own result."""
    if not ctx.services.topics.is_controller:
        return shaped(ctx, lambda: _refuse_all(request, ErrorCode.NOT_CONTROLLER))
    return ctx.services.spawner.spawn(_create(ctx, request))


async def _create(ctx: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    times_named = Counter(topic.name for topic in request.topics)
    wanted = []
    may_create_any = ctx.may_unlogged(Operation.CREATE, ResourceType.CLUSTER, CLUSTER)
    denied: dict[str, CreatableTopicResult] = {}
    async for topic in in_time_slices(request.topics, _TOPICS_PER_TURN):
        name = topic.name
        if times_named[name] > 1:
            continue
        if may_create_any or ctx.may(Operation.CREATE, ResourceType.TOPIC, name):
            wanted.append(_new_topic(topic))
        else:
            error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            denied[name] = CreatableTopicResult(name, error_code=error_code, error_message="Authorization failed.")
    quota = ctx.controller_quota(_FIRST_STRICT_VERSION)
    results = await ctx.services.topics.create(wanted, request.timeout_ms, request.validate_only, quota)
    ctx.throttle_by(quota)
    has_configs = ctx.api_version >= _FIRST_VERSION_WITH_CONFIGS
    by_name = dict(denied)
    async for result in in_time_slices(results, _TOPICS_PER_TURN):
        by_name[result.name] = _shape(result, has_configs)
    refused = denied.keys() | {name for name, count in times_named.items() if count > 1}
    answers = []
    async for topic in in_time_slices(request.topics, _TOPICS_PER_TURN):
        answer = by_name.get(topic.name) or CreatableTopicResult(
            topic.name, error_code=ErrorCode.INVALID_REQUEST, error_message="Found multiple entries for this topic."
        )
        # As in Kafka, not for a topic whose creation failed.
        is_told = answer.error_code == ErrorCode.NONE or topic.name in refused
        if is_told and not ctx.may_unlogged(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic.name):
            _hide_configs(answer)
        answers.append(answer)
    return CreateTopicsResponse(topics=answers)


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
        [(config.name, config.value) for config in topic.configs],
    )


def _shape(result: TopicResult, has_configs: bool) -> CreatableTopicResult:
    return CreatableTopicResult(
        result.name,
        error_code=result.error_code,
        # Shortened: it may repeat a name that is as long as the protocol's longest string.
        error_message=result.message and result.message[:_MOST_MESSAGE_CHARACTERS],
        num_partitions=result.partition_count,
        replication_factor=result.replication_factor,
        configs=[] if result.config is None or not has_configs else _configs(result.config),
    )


def _hide_configs(answer: CreatableTopicResult) -> None:
    """Replace a topic's settings in the result by an error code."""
    answer.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answer.num_partitions = answer.replication_factor = -1
    answer.configs = []


def _configs(config: TopicConfig) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(entry.name, entry.value, entry.is_read_only, entry.source, entry.is_sensitive)
        for entry in describe_topic(config)
    ]


def _refuse_all(request: CreateTopicsRequest, error_code: ErrorCode) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(topic.name, error_code=error_code, error_message=None) for topic in request.topics]
    )


def refuse(ctx: RequestContext, request: CreateTopicsRequest, error_code: ErrorCode) -> CreateTopicsResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return _refuse_all(request, error_code)


HANDLER = Handler(CreateTopicsRequest, 0, 6, create_topics, refuse, first_strict_version=_FIRST_STRICT_VERSION)
