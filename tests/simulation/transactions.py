"""Random histories of transactions: the faults of `histories.py`, and what must hold of commits and aborts.

    producers    each with a transactional id: write some records and perhaps a group's offset, then commit or abort;
                 where an answer is missing they ask again, or begin anew and so fence themselves
    reader       reads what is committed all the time, and where it ends

In the end all is healed, and:

    - no transaction hangs: what is committed can be read to the end of each partition;
    - all records of a transaction that was said to be committed can be read, once, and none of one that was aborted; of
      one whose end nobody knows all or none;
    - what the reader saw in between is so in the end;
    - a group's offset is that of the last transaction that was committed with one;
    - the end of what can be read (the last stable offset) never went back, unless the power was cut.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

from barnabas.clients.channel import Channel
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.errors import BarnabasError
from barnabas.testing.simulation.world import PORT
from barnabas.wire.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from barnabas.wire.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from barnabas.wire.protocol.wire import Message
from barnabas.wire.records.batch import batches, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import MarkerType, read_marker
from barnabas.wire.records.record import iterate_records
from tests.simulation.histories import BROKER, SETTINGS, TOPIC, History

_TIMEOUT_MS = 3_000
_TRANSACTION_TIMEOUT_MS = 5_000
_COMMITTED = 1
# For the end of all transactions, half a second each: they time out within ten.
_MOST_LOOKS = 120
# How often a request is sent again, some hundredths of a second later, before its sender begins anew.
_MOST_TRIES = 500
# The client asks again: something is on its way, or the coordinator is.
_AGAIN = frozenset(
    (
        E.CONCURRENT_TRANSACTIONS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.NOT_COORDINATOR,
        E.NOT_LEADER_OR_FOLLOWER,
        E.LEADER_NOT_AVAILABLE,
        E.NOT_ENOUGH_REPLICAS,
        E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.REQUEST_TIMED_OUT,
    )
)


class RefusedError(BarnabasError):
    """The broker said no."""

    def __init__(self, code: E) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass
class Written:
    """One transaction, as its producer knows it.

    Attributes:
        values: What it wrote.
        offset: What it committed for its group; None: nothing.
        fate: Whether it was committed; None: nobody knows.
    """

    name: str
    values: list[str] = field(default_factory=list)
    offset: int | None = None
    fate: bool | None = False


class TransactionHistory(History):
    """One history; `play` plays it."""

    SETTINGS = SETTINGS | {
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.segment.bytes": "3000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        "request.timeout.ms": "2000",
    }

    def __init__(self, seed: int, duration_s: float = 60.0) -> None:
        super().__init__(seed, duration_s)
        self.transactions: list[Written] = []
        self.producer_names = [f"x{number}" for number in range(self.dice.randint(1, 3))]
        self.seen: set[str] = set()
        self.stable: dict[int, int] = {}
        self.power_cut_count = 0

    def _begin(self, group: asyncio.TaskGroup) -> None:
        for name in self.producer_names:
            group.create_task(self._transact(name))
        group.create_task(self._watch())

    async def _cut_power(self, dice: Random) -> None:
        await super()._cut_power(dice)
        # A reader may have got, or be about to get, what was not on disk yet.
        self.power_cut_count += 1
        self.stable.clear()

    # --- producers

    @asynccontextmanager
    async def _connected(self, name: str) -> AsyncIterator[Channel]:
        channel = await Channel.connect(BROKER, PORT, name, _TIMEOUT_MS, env=self.simulation.client(name))
        try:
            yield channel
        finally:
            await channel.close()

    async def _transact(self, name: str) -> None:
        dice = self.simulation.new_dice()
        known = (-1, -1)
        while not self._is_over():
            try:
                async with self._connected(name) as channel:
                    producer = await _Producer.begin(channel, name, known if dice.random() < 0.3 else (-1, -1))
                    self.outcome.counts["producers"] += 1
                    self.simulation.note(f"{name} is {producer.producer_id}:{producer.epoch}")
                    known = (producer.producer_id, producer.epoch)
                    while not self._is_over():
                        await self._one_transaction(producer, dice)
                        await asyncio.sleep(dice.choice((0.0, 0.01, 0.1, 1.0)))
            except BarnabasError as error:
                self.simulation.note(f"{name} begins anew: {error}")
                if isinstance(error, RefusedError) and error.code in (E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH):
                    known = (-1, -1)
                await asyncio.sleep(0.2)

    async def _one_transaction(self, producer: "_Producer", dice: Random) -> None:
        transaction = Written(f"{producer.name}-{len(self.transactions)}")
        self.transactions.append(transaction)
        partitions = [number for number in range(self.partition_count) if dice.random() < 0.7] or [0]
        await producer.add(partitions)
        for number in range(dice.randint(1, 5)):
            value = f"{transaction.name}.{number}"
            transaction.values.append(value)
            await producer.produce(value, dice.choice(partitions), self.simulation.clock.now_ms())
            await asyncio.sleep(dice.choice((0.0, 0.0, 0.01, 0.3)))
        if dice.random() < 0.4:
            transaction.offset = len(self.transactions)
            await producer.commit_offset(transaction.offset)
        if dice.random() < 0.05:
            # Until it takes too long.
            await asyncio.sleep(_TRANSACTION_TIMEOUT_MS / 1000 + dice.random() * 3)
        is_commit = dice.random() < 0.7
        if is_commit:
            transaction.fate = None
        await self._end(producer, transaction, is_commit)

    async def _end(self, producer: "_Producer", transaction: Written, is_commit: bool) -> None:
        """End it; who does not get an answer asks again, over another connection if need be."""
        channel: Channel | None = producer.channel
        while True:
            try:
                if channel is not None:
                    await producer.end(channel, is_commit)
                else:
                    async with self._connected(producer.name) as another:
                        await producer.end(another, is_commit)
            except RefusedError as error:
                if error.code is E.PRODUCER_FENCED:
                    # Nobody else has this id: the coordinator aborted it.
                    transaction.fate = False
                raise
            except BarnabasError as error:
                self.simulation.note(f"{transaction.name} ends again: {error}")
                self.outcome.counts["outcomes asked for again"] += 1
                channel = None
                await asyncio.sleep(0.2)
            else:
                break
        self.answered.set()
        transaction.fate = is_commit
        self.simulation.note(f"{transaction.name} {'committed' if is_commit else 'aborted'}")
        self.outcome.counts["committed" if is_commit else "aborted"] += 1

    # --- the reader

    async def _watch(self) -> None:
        positions = dict.fromkeys(range(self.partition_count), 0)
        while not self._is_over():
            try:
                async with self._connected("m0") as channel:
                    while not self._is_over():
                        for partition in range(self.partition_count):
                            await self._look(channel, partition, positions)
                        await asyncio.sleep(0.1)
            except BarnabasError as error:
                self.simulation.note(f"the reader begins anew: {error}")
                await asyncio.sleep(0.2)

    async def _look(self, channel: Channel, partition: int, positions: dict[int, int]) -> None:
        before, power_cut_count = self.stable.get(partition, 0), self.power_cut_count
        end_offset = await _end_offset(channel, partition, _COMMITTED)
        if power_cut_count == self.power_cut_count:
            if end_offset < before:
                self.outcome.violations.append(f"partition {partition} was stable to {before}, and is to {end_offset}")
            self.stable[partition] = end_offset
        values, positions[partition] = await read_committed(channel, partition, min(positions[partition], end_offset))
        self.seen.update(values)

    # --- what must hold

    async def _check(self, pool: Pool) -> None:
        for partition in range(self.partition_count):
            await self._until_it_works(lambda partition=partition: self._wait_until_stable(partition))
        visible: dict[str, int] = {}
        for partition in range(self.partition_count):
            for value in await self._until_it_works(lambda partition=partition: self._read_all(partition)):
                visible[value] = visible.get(value, 0) + 1
        violations = self.outcome.violations
        violations += [f"{value} can be read {count} times" for value, count in visible.items() if count > 1]
        committed = []
        for transaction in self.transactions:
            shown = [value in visible for value in transaction.values]
            if shown and any(shown) != all(shown):
                violations.append(f"{transaction.name} can be read in part: {shown}")
            if transaction.fate is not None and transaction.values and any(shown) != transaction.fate:
                violations.append(f"{transaction.name} was committed: {transaction.fate}; can be read: {any(shown)}")
            if any(shown):
                committed.append(transaction)
        known = {value for transaction in self.transactions for value in transaction.values}
        violations += [f"{value} was never written" for value in visible if value not in known]
        violations += [f"{value} was seen and is gone" for value in sorted(self.seen - visible.keys())]
        for name in self.producer_names:
            await self._check_offset(name, [each for each in committed if each.name.startswith(f"{name}-")])

    async def _check_offset(self, name: str, committed: list[Written]) -> None:
        expected = next((each.offset for each in reversed(committed) if each.offset is not None), None)
        found = await self._until_it_works(lambda: self._committed_offset(f"g-{name}"))
        if found != expected:
            self.outcome.violations.append(f"the offset of g-{name} is {found}, not {expected}")

    async def _committed_offset(self, group_id: str) -> int | None:
        """What a group has committed, once no transaction decides about it any more."""
        request = OffsetFetchRequest(group_id, [OffsetFetchRequestTopic(TOPIC, [0])], require_stable=True)
        async with self._connected("admin") as channel:
            for _ in range(_MOST_LOOKS):
                answer = await channel.send(request, OffsetFetchResponse)
                (partition,) = answer.topics[0].partitions
                error_code = answer.error_code or partition.error_code
                if error_code == E.NONE:
                    return None if partition.committed_offset < 0 else partition.committed_offset
                await asyncio.sleep(0.5)
        self.outcome.violations.append(f"a transaction hangs in {group_id}: {E(error_code).name}")
        return None

    async def _wait_until_stable(self, partition: int) -> None:
        async with self._connected("admin") as channel:
            for _ in range(_MOST_LOOKS):
                if await _end_offset(channel, partition, _COMMITTED) == await _end_offset(channel, partition, 0):
                    return
                await asyncio.sleep(0.5)
        self.outcome.violations.append(f"a transaction hangs in partition {partition}")

    async def _read_all(self, partition: int) -> list[str]:
        values: list[str] = []
        async with self._connected("admin") as channel:
            end_offset, position = await _end_offset(channel, partition, _COMMITTED), 0
            while position < end_offset:
                more, position = await read_committed(channel, partition, position)
                values += more
        return values


class _Producer:
    """A producer with a transactional id, over one connection."""

    def __init__(self, channel: Channel, name: str, producer_id: int, epoch: int) -> None:
        self.channel = channel
        self.name = name
        self.producer_id = producer_id
        self.epoch = epoch
        self._sequences: dict[int, int] = {}

    @classmethod
    async def begin(cls, channel: Channel, name: str, expected: tuple[int, int]) -> "_Producer":
        for _ in range(_MOST_TRIES):
            found = await _ask(channel, FindCoordinatorRequest(name, 1), FindCoordinatorResponse)
            if not found.error_code:
                request = InitProducerIdRequest(name, _TRANSACTION_TIMEOUT_MS, *expected)
                answer = await _ask(channel, request, InitProducerIdResponse)
                if not must_ask_again(answer.error_code):
                    return cls(channel, name, answer.producer_id, answer.producer_epoch)
            await asyncio.sleep(0.05)
        raise RefusedError(E.CONCURRENT_TRANSACTIONS)

    async def add(self, partitions: list[int]) -> None:
        request = AddPartitionsToTxnRequest(
            self.name, self.producer_id, self.epoch, [AddPartitionsToTxnTopic(TOPIC, partitions)]
        )
        for _ in range(_MOST_TRIES):
            answer = await _ask(self.channel, request, AddPartitionsToTxnResponse)
            codes = [each.error_code for topic in answer.results for each in topic.results]
            if not any(must_ask_again(code) for code in codes):
                return
            await asyncio.sleep(0.02)
        raise RefusedError(E.CONCURRENT_TRANSACTIONS)

    async def produce(self, value: str, partition: int, now_ms: int) -> None:
        sequence = self._sequences.get(partition, 0)
        builder = BatchBuilder(
            producer_id=self.producer_id, producer_epoch=self.epoch, base_sequence=sequence, is_transactional=True
        )
        builder.append(now_ms, None, value.encode())
        self._sequences[partition] = sequence + 1
        for _ in range(_MOST_TRIES):
            data = [TopicProduceData(TOPIC, [PartitionProduceData(partition, memoryview(builder.build()))])]
            answer = await _ask(self.channel, ProduceRequest(self.name, -1, _TIMEOUT_MS, data), ProduceResponse)
            if not must_ask_again(answer.responses[0].partition_responses[0].error_code):
                return
            await asyncio.sleep(0.02)
        raise RefusedError(E.CONCURRENT_TRANSACTIONS)

    async def commit_offset(self, offset: int) -> None:
        """Commit an offset for the producer's group in the transaction."""
        group = f"g-{self.name}"
        adding = AddOffsetsToTxnRequest(self.name, self.producer_id, self.epoch, group)
        place = TxnOffsetCommitRequestPartition(0, offset, -1, "")
        committing = TxnOffsetCommitRequest(
            self.name, group, self.producer_id, self.epoch, topics=[TxnOffsetCommitRequestTopic(TOPIC, [place])]
        )
        for _ in range(_MOST_TRIES):
            found = await _ask(self.channel, FindCoordinatorRequest(group, 0), FindCoordinatorResponse)
            if not found.error_code and not must_ask_again(
                (await _ask(self.channel, adding, AddOffsetsToTxnResponse)).error_code
            ):
                answer = await _ask(self.channel, committing, TxnOffsetCommitResponse)
                if not must_ask_again(answer.topics[0].partitions[0].error_code):
                    return
            await asyncio.sleep(0.02)
        raise RefusedError(E.CONCURRENT_TRANSACTIONS)

    async def end(self, channel: Channel, is_commit: bool) -> None:
        request = EndTxnRequest(self.name, self.producer_id, self.epoch, is_commit)
        for _ in range(_MOST_TRIES):
            answer = await _ask(channel, request, EndTxnResponse)
            if not must_ask_again(answer.error_code):
                return
            await asyncio.sleep(0.02)

        raise RefusedError(E.CONCURRENT_TRANSACTIONS)


async def _ask(channel: Channel, request: Message, answer: type):
    return await channel.send(request, answer, timeout_ms=_TIMEOUT_MS)


def must_ask_again(code: int) -> bool:
    """Return whether time may heal an error; it is none at all.

    Raises:
        RefusedError: It does not.
    """
    if code == E.NONE:
        return False
    if code in _AGAIN:
        return True
    raise RefusedError(E(code))


async def _end_offset(channel: Channel, partition: int, isolation: int) -> int:
    wanted = [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(partition, timestamp=-1)])]
    answer = await _ask(channel, ListOffsetsRequest(-1, isolation, wanted), ListOffsetsResponse)
    part = answer.topics[0].partitions[0]
    if part.error_code:
        raise RefusedError(E(part.error_code))
    return part.offset


async def read_committed(channel: Channel, partition: int, position: int) -> tuple[list[str], int]:
    """What can be read at a position as consumers of committed records do it, and where it goes on."""
    wanted = FetchTopic(TOPIC, [FetchPartition(partition, -1, position, -1, -1, 1 << 20)])
    request = FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, isolation_level=_COMMITTED, topics=[wanted]
    )
    answer = await _ask(channel, request, FetchResponse)
    part = answer.responses[0].partitions[0]
    if part.error_code:
        raise RefusedError(E(part.error_code))
    aborted = sorted((each.first_offset, each.producer_id) for each in part.aborted_transactions or [])
    in_aborted: set[int] = set()
    values = []
    for batch in batches(part.records or b""):
        header = read_header(batch)
        while aborted and aborted[0][0] <= header.last_offset:
            in_aborted.add(aborted.pop(0)[1])
        for record in iterate_records(batch):
            if header.is_control:
                marker = read_marker(record)
                if marker is not None and marker.marker_type is MarkerType.ABORT:
                    in_aborted.discard(header.producer_id)
            elif header.producer_id not in in_aborted and record.offset >= position:
                values.append(bytes(record.value or b"").decode())
        position = max(position, header.last_offset + 1)
    return values, position
