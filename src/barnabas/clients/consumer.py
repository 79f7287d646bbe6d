"""Consumer: reads records of chosen partitions, with one long poll per broker at a time.

Invariant: records of a partition come in order of offset, each once, from the position on. Control records are never
returned; with `is_read_committed`, neither are records of open or aborted transactions. Each batch's CRC is checked.
Each fetch carries the known leader epoch, so that a stale or replaced leader rejects it. Partitions that returned
records are requested after the others, so that a backlog of one does not delay them. A partition without a leader
delays no other, not even if its first position is still to be looked up.

Source: protocol guide, Fetch; design page, the consumer; KIP-320; KIP-98 for aborted transactions.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.channel import Channel
from barnabas.clients.pool import RETRY_BACKOFF_MS, Pool
from barnabas.core.error_code import RETRIABLE, ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.wire.records.formats import (
    batches_of_any_magic,
    is_any_crc_valid,
    iterate_any_records,
    read_any_header,
)
from barnabas.wire.records.record import Record


class FetchedBatch(NamedTuple):
    """Records of one batch, or of one message of the formats before batches."""

    partition: TopicPartition
    records: list[Record]
    is_log_append_time: bool


Fetched = list[FetchedBatch]


class Consumer:
    """Reads from positions that its user sets; `GroupMember` handles groups.

    Attributes:
        positions: The offset of the next record to be read, by partition, in the order of the next request.
        sought: Partitions whose position is still to be looked up: EARLIEST or LATEST.
        pause_reason: The latest error for which partitions were paused; empty: there was none.
        is_searching: Whether leaders and positions are looked up after `assign` or `seek`; False once an attempt fails.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        auto_offset_reset: str = "latest",
        fetch_max_wait_ms: int = 500,
        fetch_min_bytes: int = 1,
        fetch_max_bytes: int = 50 * 1024 * 1024,
        max_partition_fetch_bytes: int = 1024 * 1024,
        is_read_committed: bool = False,
    ) -> None:
        """Args:
        auto_offset_reset: Where to continue if a position was deleted: `earliest`, `latest` or `none` (raise).
        is_read_committed: Read up to the last stable offset, and skip records of aborted transactions.
        """
        self.positions: dict[TopicPartition, int] = {}
        self.sought: dict[TopicPartition, int] = {}
        self.is_searching = False
        self.pause_reason = ""
        self._pool = pool
        # Without retries: `poll` looks up again.
        self._admin = OffsetAdmin(pool, 0)
        self._reset = auto_offset_reset
        self._fetch_max_wait_ms = fetch_max_wait_ms
        self._fetch_min_bytes = fetch_min_bytes
        self._fetch_max_bytes = fetch_max_bytes
        self._max_partition_fetch_bytes = max_partition_fetch_bytes
        self._is_read_committed = is_read_committed
        self._polls: dict[Channel, asyncio.Task[FetchResponse]] = {}
        self._asked: dict[Channel, dict[TopicPartition, int]] = {}
        # One task for each topic whose leaders are requested, for each leader to which a connection is being opened,
        # and for each connection with lookups of positions. Other partitions are read meanwhile.
        self._searches: dict[str | int | Channel, asyncio.Task[None]] = {}
        self._pauses_until: dict[TopicPartition, float] = {}
        # The error of one partition while others returned records: raised by the next poll.
        self._failure: BarnabasError | None = None

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read only these partitions, from these offsets on."""
        self.positions = dict(positions)
        self.is_searching = True
        self.sought.clear()
        self._pauses_until.clear()
        self._failure = None

    def seek(self, partitions: Iterable[TopicPartition], offset: int) -> None:
        """Read these partitions from an offset on; `poll` looks up EARLIEST (the first record) and LATEST (the end)."""
        for partition in partitions:
            self.is_searching = True
            if offset < 0:
                self.sought[partition] = offset
            else:
                self.positions[partition] = offset
                self.sought.pop(partition, None)

    async def poll(self, timeout_ms: int) -> Fetched:
        """Wait for records.

        Returns:
            The first records, batch by batch; empty after `timeout_ms` without any.

        Raises:
            KafkaError: A permanent error, for example OFFSET_OUT_OF_RANGE with `auto_offset_reset=none`, or
                CORRUPT_MESSAGE for a batch with a wrong CRC. Records of other partitions are returned first.
            CorruptRecordsError: A batch cannot be read.
            ProtocolError: A response is malformed.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        while True:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            self._ask()
            left = deadline - loop.time()
            if left <= 0:
                return []
            waiting = [*self._polls.values(), *self._searches.values()]
            if not waiting:
                await asyncio.sleep(min(left, RETRY_BACKOFF_MS / 1000))
                continue
            done, _ = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            fetched: Fetched = []
            for channel in [channel for channel, task in self._polls.items() if task in done]:
                self._collect(channel, fetched)
            if fetched:
                return fetched

    async def close(self) -> None:
        """Cancel pending fetches."""
        tasks = [*self._polls.values(), *self._searches.values()]
        self._polls.clear()
        self._searches.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ask(self) -> None:
        """Start a long poll at each leader without one, and searches for unknown leaders and positions."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        wanted: dict[Channel, dict[TopicPartition, int]] = {}
        sought: dict[Channel, list[TopicPartition]] = {}
        for partition in dict.fromkeys([*self.positions, *self.sought]):
            if self._pauses_until.get(partition, 0.0) > now:
                continue
            channel = self._pool.known_leader(partition)
            if channel is None:
                leader_id = self._pool.known_leader_id(partition)
                key = partition.topic if leader_id is None else leader_id
                if key not in self._searches:
                    self._searches[key] = loop.create_task(self._search(key, partition))
            elif partition in self.sought:
                sought.setdefault(channel, []).append(partition)
            else:
                wanted.setdefault(channel, {})[partition] = self.positions[partition]
        for channel, partitions in sought.items():
            if channel not in self._searches:
                self._searches[channel] = loop.create_task(self._look_up(channel, partitions))
        for channel, offsets in wanted.items():
            # A lookup would wait behind a long poll on the same connection.
            if channel not in self._polls and channel not in self._searches:
                self._asked[channel] = offsets
                coroutine = channel.send(self._request(offsets), FetchResponse, max_version=11)
                self._polls[channel] = loop.create_task(coroutine)
        self.is_searching = self.is_searching and bool(self._searches)

    async def _search(self, key: str | int, partition: TopicPartition) -> None:
        try:
            await self._pool.leader(partition)
        except BarnabasError as error:
            self._pause([partition], error)
        finally:
            self._searches.pop(key, None)

    async def _look_up(self, channel: Channel, partitions: list[TopicPartition]) -> None:
        """Look up positions of partitions with the same leader."""
        try:
            for offset in (EARLIEST, LATEST):
                those = [each for each in partitions if self.sought.get(each) == offset]
                is_stable = offset == LATEST and self._is_read_committed
                found = await self._admin.offsets(those, offset, is_read_committed=is_stable)
                # Another position may have been set meanwhile.
                for partition, position in found.items():
                    if self.sought.get(partition) == offset:
                        self.positions[partition] = position
                        del self.sought[partition]
        except BarnabasError as error:
            self._pause(partitions, error)
        finally:
            self._searches.pop(channel, None)

    def _request(self, offsets: Mapping[TopicPartition, int]) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for partition, offset in offsets.items():
            entry = topics.setdefault(partition.topic, FetchTopic(partition.topic))
            epoch = self._pool.known_leader_epoch(partition)
            entry.partitions.append(
                FetchPartition(partition.partition, epoch, offset, partition_max_bytes=self._max_partition_fetch_bytes)
            )
        return FetchRequest(
            max_wait_ms=self._fetch_max_wait_ms,
            min_bytes=self._fetch_min_bytes,
            max_bytes=self._fetch_max_bytes,
            isolation_level=int(self._is_read_committed),
            topics=list(topics.values()),
        )

    def _collect(self, channel: Channel, fetched: Fetched) -> None:
        """Add a broker's response to `fetched`; keep an error in `_failure`."""
        task, asked = self._polls.pop(channel), self._asked.pop(channel)
        try:
            response = task.result()
            if response.error_code:
                code = ErrorCode(response.error_code)
                raise KafkaError(code, f"{channel.host}:{channel.port} refused Fetch: {code.name}")
        except BarnabasError as error:
            self._pause(asked, error)
            return
        for topic in response.responses:
            for data in topic.partitions:
                partition = TopicPartition(topic.topic, data.partition_index)
                # The position changed after the request was sent, so the response is outdated.
                if partition in self.sought or self.positions.get(partition) != asked.get(partition):
                    continue
                try:
                    if data.error_code:
                        self._handle_error(partition, ErrorCode(data.error_code))
                    else:
                        self._take_batches(partition, data, fetched)
                except BarnabasError as error:
                    self._failure = self._failure or error

    def _take_batches(self, partition: TopicPartition, data: PartitionData, fetched: Fetched) -> None:
        """Add a partition's batches, up to the first corrupt one, and advance its position past them."""
        position = self.positions[partition]
        if data.records is None:
            return
        assert isinstance(data.records, memoryview)
        if data.records:
            # Brokers fill a response in the order of the request, so the next one begins with the other partitions.
            self.positions[partition] = self.positions.pop(partition)
        begun = sorted(data.aborted_transactions or (), key=lambda each: each.first_offset, reverse=True)
        aborted: set[int] = set()
        for batch in batches_of_any_magic(data.records):
            if not is_any_crc_valid(batch):
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"partition {partition}: a batch has a wrong CRC")
            header = read_any_header(batch)
            while begun and begun[-1].first_offset <= header.last_offset:
                aborted.add(begun.pop().producer_id)
            if header.is_control:
                # An aborted transaction ends with its marker; the producer's next one may be committed.
                aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted):
                # A batch is sent whole, even if the position is within it.
                records = [record for record in iterate_any_records(batch) if record.offset >= position]
                if records:
                    fetched.append(FetchedBatch(partition, records, header.is_log_append_time))
            self.positions[partition] = max(self.positions[partition], header.last_offset + 1)

    def _handle_error(self, partition: TopicPartition, code: ErrorCode) -> None:
        error = KafkaError(code, f"partition {partition}: {code.name}")
        if code is not ErrorCode.OFFSET_OUT_OF_RANGE:
            self._pause([partition], error)
        elif self._reset != "none":
            self.seek([partition], EARLIEST if self._reset == "earliest" else LATEST)
        else:
            raise KafkaError(code, f"offset {self.positions[partition]} of partition {partition} is not in the log")

    def _pause(self, partitions: Iterable[TopicPartition], error: BarnabasError) -> None:
        """Pause partitions for a moment, then look for their leaders again; keep an error that is not retriable."""
        if not isinstance(error, KafkaError) or error.code not in RETRIABLE:
            self._failure = self._failure or error
            return
        self.is_searching = False
        self.pause_reason = error.message
        for partition in partitions:
            self._pool.forget(partition.topic)
            self._pauses_until[partition] = asyncio.get_running_loop().time() + RETRY_BACKOFF_MS / 1000
