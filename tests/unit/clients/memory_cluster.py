"""A cluster of three brokers in memory, on a loop whose time is free: leaders, coordinators and the controller move.

Each broker is a `MemoryBroker`; what they know of the cluster they share, but for what one is told to be behind in.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from barnabas.clients.environment import ClientEnvironment
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.testing.manual_clock import ManualClock
from barnabas.testing.simulation.loop import VirtualLoop
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from barnabas.wire.protocol.wire import Message
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from tests.unit.clients.memory_broker import MemoryBroker

IDS = (1, 2, 3)


class MemoryCluster:
    """Brokers 1, 2 and 3 at `broker-1:9092` and so on; topic `t` has as many partitions as `leaders` names.

    Attributes:
        leaders: Who leads each partition, as all brokers say.
        epochs: The leader epoch of each partition, as all brokers say; a request that names another one is refused.
        coordinator, controller: Who they are.
        registered: Which brokers are told of.
        silent: Those that stand still: they take a connection, and answer nothing.
        unaware: Those that have not heard of the topic.
        refusal: What a partition is refused with by who does not lead it.
        group_refusal: What a group is refused with by who does not coordinate it.
        brokers: What came to each is in its `requests`.
    """

    def __init__(self) -> None:
        self.leaders = [1, 2, 3]
        self.epochs = [5, 5, 5]
        self.coordinator = self.controller = 1
        self.registered = set(IDS)
        self.silent: set[int] = set()
        self.unaware: set[int] = set()
        self.refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
        self.group_refusal = ErrorCode.NOT_COORDINATOR
        self.brokers = {broker_id: self._broker(broker_id) for broker_id in IDS}

    def run(self, use: Callable[[Pool], Awaitable[None]], **options: Any) -> None:
        """Call `use` with a pool that begins at broker 1; what would wait for ever raises."""
        loop = VirtualLoop()  # type: ignore[abstract]  # it has what clients ask of a loop
        env = ClientEnvironment(ManualClock(), random.Random(1), self._dial)

        async def main() -> None:
            async with Pool("broker-1:9092,broker-2:9092,broker-3:9092", env=env, **options) as pool:
                await use(pool)

        try:
            loop.run_until_complete(main())
        finally:
            loop.close()
        assert loop.errors == []

    def asked(self, broker_id: int, api: ApiKey) -> int:
        """Return how many requests of an API a broker was sent."""
        return len(self.brokers[broker_id].requests[api])

    async def _dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, Any]:
        return await self.brokers[int(host.removeprefix("broker-"))].dial(host, port)

    def _broker(self, broker_id: int) -> MemoryBroker:
        answers: dict[ApiKey, Callable[[int, Any], Message | None]] = {
            ApiKey.METADATA: self._metadata,
            ApiKey.FIND_COORDINATOR: self._find_coordinator,
            ApiKey.PRODUCE: self._produce,
            ApiKey.FETCH: self._fetch,
            ApiKey.LIST_OFFSETS: self._list_offsets,
            ApiKey.OFFSET_COMMIT: self._commit,
            ApiKey.CREATE_TOPICS: self._create_topics,
        }

        def answering(answer: Callable[[int, Any], Message | None]) -> Callable[[Any], Message | None]:
            return lambda request: None if broker_id in self.silent else answer(broker_id, request)

        made = MemoryBroker({api: answering(answer) for api, answer in answers.items()})
        versions = made.answers[ApiKey.API_VERSIONS][0]
        made.answers[ApiKey.API_VERSIONS] = [answering(lambda _, request: versions(request))]
        return made

    def _metadata(self, broker_id: int, request: Any) -> Message:
        topics = []
        for asked in request.topics or []:
            parts = [
                MetadataResponsePartition(0, index, leader, self.epochs[index], list(IDS), list(IDS), [])
                for index, leader in enumerate(self.leaders)
            ]
            if broker_id in self.unaware:
                topics.append(MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, asked.name, partitions=[]))
            else:
                topics.append(MetadataResponseTopic(0, asked.name, partitions=parts))
        brokers = [MetadataResponseBroker(each, f"broker-{each}", 9092) for each in sorted(self.registered)]
        return MetadataResponse(0, brokers, "memory", self.controller, topics)

    def _find_coordinator(self, broker_id: int, request: Any) -> Message:
        return FindCoordinatorResponse(0, 0, None, self.coordinator, f"broker-{self.coordinator}", 9092)

    def _refusal(self, broker_id: int, partition: int) -> int:
        return 0 if self.leaders[partition] == broker_id else self.refusal

    def _epoch_refusal(self, broker_id: int, partition: int, epoch: int) -> int:
        """As `_refusal`, of a request that names an epoch."""
        if epoch < self.epochs[partition]:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > self.epochs[partition] else self._refusal(broker_id, partition)

    def _produce(self, broker_id: int, request: Any) -> Message:
        (topic,) = request.topic_data
        parts = [
            PartitionProduceResponse(each.index, self._refusal(broker_id, each.index), broker_id)
            for each in topic.partition_data
        ]
        return ProduceResponse([TopicProduceResponse(topic.name, partition_responses=parts)])

    def _fetch(self, broker_id: int, request: Any) -> Message | None:
        """One record in each partition, whose value is the broker that gave it."""
        (topic,) = request.topics
        parts = []
        for asked in topic.partitions:
            code = self._epoch_refusal(broker_id, asked.partition, asked.current_leader_epoch)
            builder = BatchBuilder(Codec.NONE, -1, -1, -1)
            builder.append(0, None, b"%d" % broker_id, ())
            records = b"" if code or asked.fetch_offset else bytes(builder.build())
            parts.append(PartitionData(asked.partition, code, 1, records=records))
        # A long poll, where there is nothing to say.
        is_empty = not any(each.error_code or each.records for each in parts)
        return None if is_empty else FetchResponse(responses=[FetchableTopicResponse(topic.topic, parts)])

    def _list_offsets(self, broker_id: int, request: Any) -> Message:
        (topic,) = request.topics
        parts = [
            ListOffsetsPartitionResponse(
                each.partition_index,
                self._epoch_refusal(broker_id, each.partition_index, each.current_leader_epoch),
                offset=broker_id,
            )
            for each in topic.partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(topic.name, parts)])

    def _commit(self, broker_id: int, request: Any) -> Message:
        (topic,) = request.topics
        code = 0 if broker_id == self.coordinator else self.group_refusal
        parts = [OffsetCommitResponsePartition(each.partition_index, code) for each in topic.partitions]
        return OffsetCommitResponse(0, [OffsetCommitResponseTopic(topic.name, parts)])

    def _create_topics(self, broker_id: int, request: Any) -> Message:
        code = 0 if broker_id == self.controller else ErrorCode.NOT_CONTROLLER
        return CreateTopicsResponse(0, [CreatableTopicResult(each.name, error_code=code) for each in request.topics])
