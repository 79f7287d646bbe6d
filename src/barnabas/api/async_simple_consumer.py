"""The simple consumer for programs with an event loop: the methods of `SimpleConsumer` as coroutines.

One consumer uses one connection to one broker. It keeps no state about groups, other brokers or read positions; the
program keeps that state.

Brokers before 0.10.1 cut off a message that exceeds the fetch size. The consumer then fetches it again with twice the
size, up to `max_message_size`. Newer brokers return the first message of a response whole. If other partitions leave no
room for a partition's first message, the consumer fetches that partition alone.

Source: design and implementation documents, the simple consumer API; protocol guide, Fetch, ListOffsets, OffsetCommit,
OffsetFetch; KIP-74 (the first message is returned whole).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Self

from barnabas.api.broker_connection import BrokerConnection
from barnabas.api.broker_errors import (
    InvalidMessageError,
    broker_error,
    message_too_large,
    raise_for,
    raise_for_any,
)
from barnabas.api.message_set import MessageSet
from barnabas.api.simple_consumer_settings import SETTINGS
from barnabas.clients.channel import MAX_RESPONSE_BYTES
from barnabas.clients.environment import ClientEnvironment
from barnabas.clients.security import client_security
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import ConfigError
from barnabas.core.types import NO_OFFSET, TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages import fetch as fetching
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)

LATEST_TIME: Final = -1
"""As a time: the end of the log."""
EARLIEST_TIME: Final = -2
"""As a time: the start of the log."""
IN_ZOOKEEPER: Final = 0
"""As a version of commits: the offset is stored in ZooKeeper, as by consumers before 0.8.2."""

_CONSUMER: Final = -1
# Leaves room for the parts of a response that are not messages.
_MOST_BYTES: Final = MAX_RESPONSE_BYTES - 1024 * 1024
# From version 12 on, requests may name topics by id.
_FETCH_VERSION: Final = 11
_METADATA_THAT_CREATES_NOTHING: Final = 4
_METADATA_VERSION: Final = 8
_COORDINATOR_VERSION: Final = 2
_NO_SUCH_OFFSET: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
DEFAULT_MAX_MESSAGE_SIZE: Final = 64 * 1024 * 1024


class FetchRequest(NamedTuple):
    """A request to fetch from one partition.

    Attributes:
        topic, partition: The partition.
        offset: The offset of the first message.
        max_size: The maximum size in bytes; 0: `fetch.message.max.bytes`.
    """

    topic: str
    partition: int
    offset: int
    max_size: int = 0


class OffsetAndMetadata(NamedTuple):
    """A group's committed offset and its metadata text; offset -1: no offset is committed."""

    offset: int
    metadata: str = ""


Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]


class AsyncSimpleConsumer:
    """See `SimpleConsumer`: each method has the same result and errors as the method of the same name there."""

    def __init__(
        self,
        host: str,
        port: int,
        config: Mapping[str, object] | None = None,
        *,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        broker_version: str | None = None,
        env: ClientEnvironment | None = None,
    ) -> None:
        """Args:
        env: The environment; the system's own by default.

        Raises:
            ConfigError: A setting is invalid.
        """
        settings = SETTINGS.read(config or {})
        timeout_ms = settings.integer("socket.timeout.ms")
        self._max_wait_ms = settings.integer("fetch.wait.max.ms")
        if self._max_wait_ms >= timeout_ms:
            raise ConfigError(f"fetch.wait.max.ms={self._max_wait_ms} must be below socket.timeout.ms={timeout_ms}")
        if max_message_size > _MOST_BYTES:
            raise ConfigError(f"max_message_size={max_message_size} exceeds {_MOST_BYTES}, the limit of one answer")
        self._min_bytes = settings.integer("fetch.min.bytes")
        self._fetch_size = settings.integer("fetch.message.max.bytes")
        self._max_message_size = max(max_message_size, self._fetch_size)
        self._timeout_ms = timeout_ms
        self._broker = BrokerConnection(
            host,
            port,
            client_id=settings.text("client.id"),
            timeout_ms=timeout_ms,
            buffer_size=settings.integer("socket.receive.buffer.bytes"),
            security=client_security(settings.security),
            broker_version=broker_version,
            env=env,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._broker.close()

    # --- messages

    async def fetch(
        self,
        request: FetchRequest | str,
        partition: int = 0,
        offset: int = 0,
        max_size: int = 0,
        *,
        max_wait_ms: int | None = None,
        min_bytes: int | None = None,
    ) -> MessageSet:
        if isinstance(request, str):
            request = FetchRequest(request, partition, offset, max_size)
        (messages,) = await self.multifetch([request], max_wait_ms=max_wait_ms, min_bytes=min_bytes)
        messages.raise_for_error()
        return messages

    async def multifetch(
        self, requests: Sequence[FetchRequest], *, max_wait_ms: int | None = None, min_bytes: int | None = None
    ) -> list[MessageSet]:
        wait_ms = self._max_wait_ms if max_wait_ms is None else max_wait_ms
        if wait_ms >= self._timeout_ms:
            raise ValueError(f"max_wait_ms={wait_ms} must be below socket.timeout.ms={self._timeout_ms}")
        if len({request[:2] for request in requests}) < len(requests):
            raise ValueError("a fetch must name each partition only once")
        sized = [
            request._replace(max_size=min(request.max_size or self._fetch_size, _MOST_BYTES)) for request in requests
        ]
        if not sized:
            return []
        fetched = await self._fetch(sized, wait_ms, self._min_bytes if min_bytes is None else min_bytes)
        return [
            await self._fetch_alone(request, messages, is_alone=len(sized) == 1)
            for request, messages in zip(sized, fetched, strict=True)
        ]

    async def _fetch_alone(self, request: FetchRequest, messages: MessageSet, *, is_alone: bool) -> MessageSet:
        """Fetch one partition again if its first message did not fit; otherwise return `messages`."""
        if not is_alone and _is_left_out(messages):
            (messages,) = await self._fetch([request], 0, 0)
        return await self._fetch_larger(request, messages) if _is_truncated(messages) else messages

    async def _fetch(self, requests: Sequence[FetchRequest], max_wait_ms: int, min_bytes: int) -> list[MessageSet]:
        topics: dict[str, fetching.FetchTopic] = {}
        for topic, partition, offset, max_size in requests:
            asked = fetching.FetchPartition(partition, fetch_offset=offset, partition_max_bytes=max_size)
            topics.setdefault(topic, fetching.FetchTopic(topic)).partitions.append(asked)
        fetch = fetching.FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=min(sum(request.max_size for request in requests), _MOST_BYTES),
            topics=list(topics.values()),
        )
        throttled_ms = 0
        while True:
            response = await self._broker.ask(fetch, fetching.FetchResponse, max_version=_FETCH_VERSION)
            raise_for(response.error_code, "the fetch was refused")
            # A throttled answer has no partitions.
            if response.responses or not response.throttle_time_ms:
                break
            throttled_ms += response.throttle_time_ms
            if throttled_ms > self._timeout_ms:
                text = f"a quota throttles the fetch for longer than {self._timeout_ms} ms"
                raise broker_error(ErrorCode.REQUEST_TIMED_OUT, text)
            await asyncio.sleep(response.throttle_time_ms / 1000)
        answers = {
            (topic.topic, part.partition_index): part for topic in response.responses for part in topic.partitions
        }
        return [_message_set(request, answers.get(request[:2])) for request in requests]

    async def _fetch_larger(self, request: FetchRequest, messages: MessageSet) -> MessageSet:
        """Fetch again with twice the size until a message arrives whole."""
        while _is_truncated(messages):
            size, limit = request.max_size, self._max_message_size
            # If the broker converts the message's format, its size is unknown: it only exceeds the fetch size.
            wanted = max(messages.wanted_bytes or 0, size + 1)
            if wanted > limit:
                where = f"offset {request.offset} of {request.topic}-{request.partition}"
                error = message_too_large(where, wanted, limit)
                return MessageSet(fetch_offset=request.offset, high_watermark=messages.high_watermark, error=error)
            while size < wanted:
                size *= 2
            request = request._replace(max_size=min(size, limit))
            # The message exists, so the broker need not wait.
            (messages,) = await self._fetch([request], 0, 0)
        return messages

    # --- offsets of the log

    async def get_offsets_before(self, topic: str, partition: int, time: int, max_offsets: int = 1) -> list[int]:
        knows_segments = await self._broker.knows(ApiKey.LIST_OFFSETS, 0)
        if not knows_segments and time not in (LATEST_TIME, EARLIEST_TIME):
            raise broker_error(
                ErrorCode.UNSUPPORTED_VERSION, "the broker does not tell where segments begin: ask for one of the ends"
            )
        wanted = ListOffsetsPartition(partition, timestamp=time, max_num_offsets=max_offsets if knows_segments else 1)
        response = await self._broker.ask(
            ListOffsetsRequest(_CONSUMER, topics=[ListOffsetsTopic(topic, [wanted])]),
            ListOffsetsResponse,
            version=0 if knows_segments else None,
        )
        ((answer,),) = (each.partitions for each in response.topics)
        raise_for(answer.error_code, f"offsets of {topic}-{partition}")
        return answer.old_style_offsets if knows_segments else [answer.offset][:max_offsets]

    # --- offsets of groups

    async def commit_offsets(self, group_id: str, offsets: Offsets, *, version: int = IN_ZOOKEEPER) -> None:
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for (topic, partition), value in offsets.items():
            offset, metadata = value if isinstance(value, OffsetAndMetadata) else (value, "")
            committed = OffsetCommitRequestPartition(partition, offset, committed_metadata=metadata)
            topics.setdefault(topic, OffsetCommitRequestTopic(topic)).partitions.append(committed)
        if not topics:
            return
        response = await self._broker.ask(
            OffsetCommitRequest(group_id, topics=list(topics.values())), OffsetCommitResponse, version=version
        )
        codes = {
            TopicPartition(topic.name, part.partition_index): ErrorCode(part.error_code)
            for topic in response.topics
            for part in topic.partitions
        }
        raise_for_any(codes, f"cannot commit offsets of group {group_id}")

    async def fetch_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition | tuple[str, int]], *, version: int = IN_ZOOKEEPER
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        wanted = [TopicPartition(*each) for each in partitions]
        topics: dict[str, OffsetFetchRequestTopic] = {}
        for topic, partition in dict.fromkeys(wanted):
            topics.setdefault(topic, OffsetFetchRequestTopic(topic)).partition_indexes.append(partition)
        if not topics:
            return {}
        response = await self._broker.ask(
            OffsetFetchRequest(group_id, list(topics.values())), OffsetFetchResponse, version=version
        )
        text = f"cannot fetch offsets of group {group_id}"
        raise_for(response.error_code, text)
        found = dict.fromkeys(wanted, OffsetAndMetadata(NO_OFFSET))
        codes: dict[TopicPartition, ErrorCode] = {}
        for answered in response.topics:
            for part in answered.partitions:
                key = TopicPartition(answered.name, part.partition_index)
                codes[key] = ErrorCode(part.error_code)
                found[key] = OffsetAndMetadata(part.committed_offset, part.metadata or "")
        # With version 0, and 0.8.2 with version 1, this code means that no offset is stored, even if the partition
        # exists.
        raise_for_any({key: code for key, code in codes.items() if code != _NO_SUCH_OFFSET}, text)
        return found

    # --- leaders and coordinators

    async def find_leader(self, topic: str, partition: int) -> tuple[str, int]:
        # Older request versions create the topic if automatic creation is enabled.
        may_create = not await self._broker.knows(ApiKey.METADATA, _METADATA_THAT_CREATES_NOTHING)
        request = MetadataRequest([MetadataRequestTopic(topic)], allow_auto_topic_creation=may_create)
        response = await self._broker.ask(request, MetadataResponse, max_version=_METADATA_VERSION)
        what = f"partition {topic}-{partition}"
        for answer in response.topics:
            raise_for(answer.error_code, f"topic {topic}")
            for part in answer.partitions:
                if part.partition_index == partition:
                    leader = [each for each in response.brokers if each.node_id == part.leader_id]
                    if leader:
                        return leader[0].host, leader[0].port
                    raise broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"{what} has no leader")
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{what} does not exist")

    async def find_coordinator(self, group_id: str) -> tuple[str, int]:
        response = await self._broker.ask(
            FindCoordinatorRequest(group_id), FindCoordinatorResponse, max_version=_COORDINATOR_VERSION
        )
        raise_for(response.error_code, f"the coordinator of group {group_id}")
        return response.host, response.port


def _message_set(request: FetchRequest, answer: fetching.PartitionData | None) -> MessageSet:
    """Return the answer for one partition as a message set."""
    what = f"{request.topic}-{request.partition}"
    if answer is None:
        error = broker_error(ErrorCode.UNKNOWN_SERVER_ERROR, f"the broker did not answer for {what}")
        return MessageSet(fetch_offset=request.offset, error=error)
    code = ErrorCode(answer.error_code)
    assert answer.records is None or isinstance(answer.records, memoryview)
    return MessageSet(
        answer.records or b"",
        request.offset,
        high_watermark=answer.high_watermark,
        error=broker_error(code, f"cannot fetch offset {request.offset} of {what}: {code.name}") if code else None,
    )


def _is_truncated(messages: MessageSet) -> bool:
    """Return whether the set begins with a message but contains no whole one."""
    try:
        return messages.size_in_bytes > 0 and messages.error is None and messages.valid_bytes == 0
    except InvalidMessageError:
        # Iteration will report it.
        return False


def _is_left_out(messages: MessageSet) -> bool:
    """Return whether messages exist but none came: brokers from 0.10.1 on omit messages that do not fit."""
    return not messages.size_in_bytes and messages.error is None and messages.high_watermark > messages.fetch_offset
