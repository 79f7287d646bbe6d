"""Fetchers: read the partitions that a consumer owns from their leaders into its streams.

One task finds leaders; one task per leader sends one long poll after another. Fetching uses the package's own channel
instead of librdkafka, for these reasons:

- Fetched bytes go unchanged into the streams' bounded queues, are decoded in the program's threads, and are discarded
  with their generation when the partition is released.
- The request has a field for every documented setting.
- Everything runs on a loop with virtual time.
- librdkafka has its own queues, which cannot be emptied in time for a rebalance, and decodes messages that may never be
  read.

Cost: a lower rate of small messages, because Python iterates over each of them.

Invariants:

- A chunk covers the offsets from a partition's fetch offset to its next one; the chunks of a partition come in order.
- Partitions that returned messages are requested after the others, so that a backlog of one does not delay them.
- Fetching for a full stream pauses: at most queued.max.message.chunks chunks wait in its queue, and one more of each of
  its partitions.

Source: design document, the consumer, fetch; Kafka 0.8.2.2, ConsumerFetcherManager and ConsumerFetcherThread.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from barnabas.api.broker_errors import InvalidMessageError, MessageSizeTooLargeError, OffsetOutOfRangeError
from barnabas.api.connector.cluster import Cluster
from barnabas.api.connector.stream import OwnedPartition
from barnabas.api.message_set import MessageSet
from barnabas.clients.admin_calls import EARLIEST, LATEST, grouped
from barnabas.clients.channel import Channel
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

log = logging.getLogger(__name__)

_RESETS = {"smallest": EARLIEST, "largest": LATEST}
_MOST_BYTES = 0x7FFFFFFF


@dataclass(slots=True, frozen=True)
class FetchOptions:
    """The settings of a connector that concern fetchers.

    Attributes:
        message_max_bytes: fetch.message.max.bytes: the fetch size per partition.
        min_bytes: fetch.min.bytes.
        wait_max_ms: fetch.wait.max.ms.
        refresh_leader_backoff_ms: refresh.leader.backoff.ms.
        offset_reset: auto.offset.reset.
    """

    message_max_bytes: int
    min_bytes: int
    wait_max_ms: int
    refresh_leader_backoff_ms: int
    offset_reset: str


class Fetchers:
    """All fetchers of one consumer; `start` and `stop` may alternate."""

    def __init__(self, cluster: Cluster, options: FetchOptions) -> None:
        self.options = options
        self.cluster = cluster
        self._leaderless: dict[TopicPartition, OwnedPartition] = {}
        self._wanted = asyncio.Event()
        self._leaders: dict[int, _LeaderFetcher] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, partitions: Iterable[OwnedPartition]) -> None:
        """Fetch these partitions from their fetch offsets on."""
        for partition in partitions:
            self.lose_leader(partition)
        self.run(self._find_leaders())

    def stop(self) -> None:
        """Stop fetching. Running polls end soon and add no messages of released partitions."""
        for task in self._tasks:
            task.cancel()
        self._leaders.clear()
        self._leaderless.clear()

    async def close(self) -> None:
        """Stop, and wait until running work ends."""
        self.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def note_room(self) -> None:
        """Resume fetching for a stream that has room again."""
        for leader in self._leaders.values():
            leader.wake.set()

    def lose_leader(self, partition: OwnedPartition) -> None:
        """Find a partition's leader again."""
        if not (partition.is_released or partition.is_failed):
            self._leaderless[partition.name] = partition
            self._wanted.set()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine until `stop`."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.critical("a fetcher ended", exc_info=error)

    def forget_leader(self, leader: "_LeaderFetcher") -> None:
        """Remove the fetcher of a broker that has no partitions left."""
        if self._leaders.get(leader.node_id) is leader:
            del self._leaders[leader.node_id]

    async def _find_leaders(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._assign_to_leaders()
            except BarnabasError as error:
                log.info("the leaders of %s are not known yet: %s", ", ".join(map(str, self._leaderless)), error)
            if self._leaderless:
                self._wanted.set()
            await asyncio.sleep(self.options.refresh_leader_backoff_ms / 1000)

    async def _assign_to_leaders(self) -> None:
        """Move each partition whose leader is known to that leader's fetcher. Raises KafkaError."""
        metadata = await self.cluster.pool.metadata(sorted({partition.topic for partition in self._leaderless}))
        for name, partition in list(self._leaderless.items()):
            topic = metadata.topics.get(name.topic)
            known = topic.partitions.get(name.partition) if topic is not None else None
            if known is None or known.leader_id not in metadata.brokers:
                continue
            del self._leaderless[name]
            leader = self._leaders.get(known.leader_id)
            if leader is None:
                leader = self._leaders[known.leader_id] = _LeaderFetcher(self, known.leader_id)
                leader.partitions[name] = partition
                self.run(leader.work())
            leader.partitions[name] = partition
            leader.wake.set()


class _LeaderFetcher:
    """The fetcher of one broker.

    Attributes:
        node_id: The broker's id.
        partitions: The partitions that it leads, in the order of the next request.
        wake: Set when a partition was added or a stream has room again.
    """

    def __init__(self, fetchers: Fetchers, node_id: int) -> None:
        self.partitions: dict[TopicPartition, OwnedPartition] = {}
        self.wake = asyncio.Event()
        self._fetchers = fetchers
        self._options = fetchers.options
        self.node_id = node_id

    async def work(self) -> None:
        """Fetch until no partition is left."""
        try:
            while self.partitions:
                self.wake.clear()
                ready = [each for each in self.partitions.values() if each.sink.has_room and not each.is_failed]
                if not ready:
                    await self.wake.wait()
                    continue
                try:
                    channel = await self._fetchers.cluster.pool.broker(self.node_id)
                    await self._find_offsets(channel, ready)
                    await self._fetch(channel, [each for each in ready if each.fetch_offset >= 0])
                except BarnabasError as error:
                    log.info("cannot fetch from broker %d: %s", self.node_id, error)
                    for partition in list(self.partitions.values()):
                        self._lose(partition)
        finally:
            self._fetchers.forget_leader(self)

    def _lose(self, partition: OwnedPartition) -> None:
        self.partitions.pop(partition.name, None)
        self._fetchers.lose_leader(partition)

    def _fail(self, partition: OwnedPartition, error: BarnabasError) -> None:
        """Pass an error to the program and stop reading the partition."""
        partition.is_failed = True
        self.partitions.pop(partition.name, None)
        partition.sink.fail(error)

    async def _find_offsets(self, channel: Channel, partitions: Iterable[OwnedPartition]) -> None:
        """Find start offsets for partitions without a fetch offset. Raises KafkaError, ProtocolError."""
        lost = [each for each in partitions if each.fetch_offset < 0]
        if not lost:
            return
        # differs from Kafka (other-offset-resets): other values raise an error, as the documents say.
        timestamp = _RESETS.get(self._options.offset_reset)
        if timestamp is None:
            for each in lost:
                self._fail(each, self._out_of_range(each))
            return
        topics = [
            ListOffsetsTopic(topic, [ListOffsetsPartition(number, -1, timestamp) for number in numbers])
            for topic, numbers in grouped(each.name for each in lost)
        ]
        response = await channel.send(ListOffsetsRequest(-1, 0, topics), ListOffsetsResponse)
        for topic in response.topics:
            for part in topic.partitions:
                found = self.partitions.get(TopicPartition(topic.name, part.partition_index))
                if found is None:
                    continue
                if part.error_code:
                    self._lose(found)
                    continue
                offset = part.old_style_offsets[0] if part.old_style_offsets else part.offset
                found.fetch_offset = offset
                found.begin_at(offset)
                log.info("%s is read from offset %d (%s)", found.name, offset, self._options.offset_reset)

    async def _fetch(self, channel: Channel, partitions: list[OwnedPartition]) -> None:
        """Send one long poll and store its messages. Raises KafkaError, ProtocolError."""
        if not partitions:
            return
        topics: dict[str, FetchTopic] = {}
        for each in partitions:
            entry = topics.setdefault(each.name.topic, FetchTopic(each.name.topic))
            entry.partitions.append(
                FetchPartition(
                    each.name.partition,
                    fetch_offset=each.fetch_offset,
                    partition_max_bytes=self._options.message_max_bytes,
                )
            )
        request = FetchRequest(
            max_wait_ms=self._options.wait_max_ms,
            min_bytes=self._options.min_bytes,
            max_bytes=min(len(partitions) * self._options.message_max_bytes, _MOST_BYTES),
            topics=list(topics.values()),
        )
        # From version 12 on, requests may name topics by id.
        response = await channel.send(request, FetchResponse, max_version=11)
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code))
        for topic in response.responses:
            for data in topic.partitions:
                found = self.partitions.get(TopicPartition(topic.topic, data.partition_index))
                if found is not None and not (found.is_failed or found.is_released):
                    self._take(found, data)

    def _take(self, partition: OwnedPartition, data: PartitionData) -> None:
        match data.error_code:
            case ErrorCode.NONE:
                self._take_messages(partition, data)
            case ErrorCode.OFFSET_OUT_OF_RANGE if self._options.offset_reset in _RESETS:
                offset = partition.fetch_offset
                if partition.sink.forget_offset(partition):
                    log.warning("%s: offset %d is not in the log", partition.name, offset)
                else:
                    # Until the program has read the queued messages, their offsets are stored: fetch again later.
                    self._lose(partition)
            case ErrorCode.OFFSET_OUT_OF_RANGE:
                self._fail(partition, self._out_of_range(partition))
            case _:
                log.info("%s: %s", partition.name, ErrorCode(data.error_code).name)
                self._lose(partition)

    def _take_messages(self, partition: OwnedPartition, data: PartitionData) -> None:
        if not data.records:
            return
        assert isinstance(data.records, memoryview)
        messages = MessageSet(data.records, partition.fetch_offset, high_watermark=data.high_watermark)
        try:
            next_offset = messages.next_offset
        except InvalidMessageError as error:
            self._fail(partition, error)
            return
        if next_offset == partition.fetch_offset and messages.is_partial:
            self._fail(partition, self._too_large(partition, messages))
            return
        partition.fetch_offset = next_offset
        # Brokers fill a response in the order of the request, so the next one begins with the other partitions.
        self.partitions[partition.name] = self.partitions.pop(partition.name)
        partition.sink.put(partition, messages)

    def _out_of_range(self, partition: OwnedPartition) -> OffsetOutOfRangeError:
        where = "no offset is stored" if partition.fetch_offset < 0 else f"offset {partition.fetch_offset} is gone"
        text = f"partition {partition.name}: {where}, and auto.offset.reset={self._options.offset_reset}"
        return OffsetOutOfRangeError(ErrorCode.OFFSET_OUT_OF_RANGE, text)

    def _too_large(self, partition: OwnedPartition, messages: MessageSet) -> MessageSizeTooLargeError:
        wanted, most = messages.wanted_bytes or -1, self._options.message_max_bytes
        text = (
            f"partition {partition.name}: the message at offset {partition.fetch_offset} needs {wanted} bytes, and "
            f"fetch.message.max.bytes is {most}"
        )
        return MessageSizeTooLargeError(ErrorCode.MESSAGE_TOO_LARGE, text, wanted_bytes=wanted, max_bytes=most)
