"""Fetchers: in which order a broker is asked for partitions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.api.connector.cluster import Cluster
from barnabas.api.connector.decoders import DefaultDecoder
from barnabas.api.connector.fetcher import Fetchers, FetchOptions
from barnabas.api.connector.stream import KafkaStream, OwnedPartition
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.clients.pool import Pool
from barnabas.core.config.listeners import Endpoint
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.registry import paths
from barnabas.wire.registry.bootstrap import create_with_parents
from barnabas.wire.registry.znodes.brokers import BrokerRegistration, encode_registration
from tests.unit.clients.memory_broker import MemoryBroker
from tests.unit.memory_registry import memory_registry

OPTIONS = FetchOptions(1_000, 1, 100, 10, "smallest")


def play(story: Callable[[Fetchers, MemoryBroker], Awaitable[None]]) -> None:
    made = MemoryBroker({})

    async def run(pool: Pool) -> None:
        registry = await memory_registry()
        await register(registry)
        cluster = Cluster(registry, lambda servers: pool, "PLAINTEXT")
        await cluster.refresh()
        fetchers = Fetchers(cluster, OPTIONS)
        await story(fetchers, made)
        await fetchers.close()
        await registry.close()

    made.run(run)


async def register(registry: EmbeddedRegistry) -> None:
    await create_with_parents(registry, paths.BROKER_IDS)
    endpoint = Endpoint("PLAINTEXT", "memory", 9092, "PLAINTEXT")
    await registry.create(paths.broker(0), encode_registration(BrokerRegistration(0, (endpoint,))))


pytestmark = pytest.mark.played(by=play)


async def test_a_partition_that_returned_messages_is_requested_after_the_others(
    fetchers: Fetchers, broker: MemoryBroker, /
) -> None:
    """Brokers fill a response in the order of the request: a backlog of one partition must not delay the others."""

    def fetch(request: Any) -> FetchResponse:
        first = request.topics[0].partitions[0]
        batch = BatchBuilder(Codec.NONE)
        batch.append(0, None, b"x", ())
        part = PartitionData(first.partition, 0, 9, records=bytes(batch.build(first.fetch_offset)))
        return FetchResponse(responses=[FetchableTopicResponse("t", [part])])

    broker.partition_count = 3
    broker.will_answer({ApiKey.FETCH: fetch})
    stream = KafkaStream(6, lambda: None, 0, DefaultDecoder(), DefaultDecoder())
    fetchers.start(OwnedPartition(TopicPartition("t", number), stream, 0) for number in range(3))
    # The fetcher pauses once the stream is full.
    await asyncio.sleep(60)
    read = [next(stream) for _ in range(6)]
    assert [(each.partition, each.offset) for each in read] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
