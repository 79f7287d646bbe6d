"""A partition's writer: in which order it commits paths, batches and places."""

from typing import Any

import pytest

from barnabas.clients.mirror.batches import Outgoing
from barnabas.clients.mirror.offsets import TABLE_TOPIC, SourcePartition
from barnabas.clients.mirror.table import OffsetTable
from barnabas.clients.mirror.writer import PartitionWriter, Route
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from barnabas.wire.protocol.messages.end_txn import EndTxnResponse
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from barnabas.wire.protocol.wire import Message
from barnabas.wire.records.builder import BatchBuilder
from tests.unit.clients.memory_broker import MemoryBroker

ROUTE = Route(SourcePartition("m", "east", "views", 0), "eu", TopicPartition("views", 0), 1, 60_000)
BUSY_COUNT = 3


class Target:
    """A target with an empty table, whose coordinator is busy with a transaction's markers for some requests.

    Attributes:
        steps: Produced topics, and "complete" when a transaction's markers are written.
    """

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.broker = MemoryBroker(
            {
                ApiKey.LIST_OFFSETS: self._offsets,
                ApiKey.INIT_PRODUCER_ID: self._init,
                ApiKey.ADD_PARTITIONS_TO_TXN: self._begin,
                ApiKey.PRODUCE: self._produce,
                ApiKey.END_TXN: self._end,
            }
        )
        self._ids: list[str] = []
        self._busy: dict[str, int] = {}

    def _offsets(self, request: Any) -> Message:
        parts = [ListOffsetsPartitionResponse(0, 0, offset=0)]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(TABLE_TOPIC, parts)])

    def _init(self, request: Any) -> Message:
        self._ids.append(request.transactional_id)
        return InitProducerIdResponse(0, 0, len(self._ids), 0)

    def _begin(self, request: Any) -> Message:
        code, left = ErrorCode.NONE, self._busy.get(request.transactional_id, 0)
        if left:
            code = ErrorCode.CONCURRENT_TRANSACTIONS
            self._busy[request.transactional_id] = left - 1
        elif request.transactional_id in self._busy:
            del self._busy[request.transactional_id]
            self.steps.append("complete")
        return AddPartitionsToTxnResponse(
            0,
            [
                AddPartitionsToTxnTopicResult(
                    topic.name, [AddPartitionsToTxnPartitionResult(number, code) for number in topic.partitions]
                )
                for topic in request.topics
            ],
        )

    def _produce(self, request: Any) -> Message:
        (topic,) = request.topic_data
        self.steps.append(topic.name)
        return ProduceResponse([TopicProduceResponse(topic.name, [PartitionProduceResponse(0, 0, 0)])])

    def _end(self, request: Any) -> Message:
        if request.committed:
            self._busy[request.transactional_id] = BUSY_COUNT
        return EndTxnResponse(0, 0)


@pytest.mark.parametrize("path", [("east",), ("north", "east")], ids=["from the source", "from further away"])
def test_a_path_is_committed_with_all_markers_before_its_first_batch(path: tuple[str, ...]) -> None:
    target = Target()

    async def use(pool: Any) -> None:
        writer = await PartitionWriter.open(ROUTE, pool, OffsetTable(pool), 0)
        for offset in range(2):
            builder = BatchBuilder()
            builder.append(0, b"key", b"value")
            await writer.add(path, Outgoing(builder.build(), [offset]))
        await writer.commit(2, None)
        assert writer.position == 2

    target.broker.run(use)
    # The path; the batches; the place after them.
    assert target.steps == [TABLE_TOPIC, "complete", "views", "views", TABLE_TOPIC]
