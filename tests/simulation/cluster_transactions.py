"""Random histories of a cluster with transactions: those of `cluster.py`, and beside its producers and members

    producers    with transactional ids: write into several partitions, then commit or abort; some share an id, so one
                 of them is a zombie that is fenced
    reader       reads what is committed, all the time

What must hold of them is `checker.py`'s, too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode as E
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.records.builder import BatchBuilder
from tests.simulation.checker import IN_THE_END, Append, Read, Transaction
from tests.simulation.cluster import TOPIC, ClusterHistory
from tests.simulation.transactions import RefusedError, must_ask_again, read_committed

_TIMEOUT_MS = 3_000
_TRANSACTION_TIMEOUT_MS = 5_000
_MOST_TRIES = 150
_MOST_TO_END_S = 60


class ClusterTransactionHistory(ClusterHistory):
    """One history; `play` plays it."""

    def settings(self) -> dict[str, str]:
        return {
            "transaction.state.log.num.partitions": "2",
            "transaction.state.log.segment.bytes": "3000",
            "transaction.state.log.replication.factor": str(self.replica_count),
            "transaction.state.log.min.isr": str(self.min_insync),
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        }

    def begin(self, group: asyncio.TaskGroup) -> None:
        super().begin(group)
        dice = self.simulation.new_dice()
        for number in range(dice.randint(1, 2)):
            for twin in range(dice.randint(1, 2)):
                group.create_task(self._transact(f"x{number}", twin))
        group.create_task(self._watch_committed())

    # --- producers

    async def _transact(self, name: str, twin: int) -> None:
        dice = self.simulation.new_dice()
        count = 0
        async with Pool(self.servers, f"{name}{twin}", env=self.simulation.client(f"{name}{twin}")) as pool:
            while not self.is_over():
                # Two that take each other's place all the time would commit nothing.
                await asyncio.sleep(dice.uniform(2, 10) if twin else dice.choice((0.0, 0.2, 1.0)))
                count += 1
                try:
                    producer = await _Producer.begin(self, pool, name, f"{name}.{twin}.{count}")
                    while not self.is_over():
                        await self._one_transaction(producer, dice)
                        await asyncio.sleep(dice.choice((0.0, 0.01, 0.1, 1.0)))
                except BarnabasError as error:
                    self.simulation.note(f"{name}.{twin}.{count} begins anew: {error}")

    async def _one_transaction(self, producer: "_Producer", dice: Random) -> None:
        transactions, place = self.observed.transactions, len(self.observed.transactions)
        name = f"{producer.instance}-{place}"
        transactions.append(Transaction(name, (), False))
        partitions = [number for number in range(self.partition_count) if dice.random() < 0.7] or [0]
        await producer.add(partitions)
        for number in range(dice.randint(1, 5)):
            value = f"{name}.{number}"
            transactions[place] = transactions[place]._replace(values=(*transactions[place].values, value))
            await producer.produce(value, dice.choice(partitions))
            await asyncio.sleep(dice.choice((0.0, 0.0, 0.01, 0.3)))
        if dice.random() < 0.05:
            # Until it takes too long.
            await asyncio.sleep(_TRANSACTION_TIMEOUT_MS / 1000 + dice.random() * 3)
        is_commit = dice.random() < 0.7
        if is_commit:
            # Who is fenced may have committed by a request whose answer was lost.
            transactions[place] = transactions[place]._replace(is_committed=None)
        await producer.end(is_commit)
        transactions[place] = transactions[place]._replace(is_committed=is_commit)
        self.answered.set()
        self.outcome.counts["committed" if is_commit else "aborted"] += 1
        self.simulation.note(f"{name} {'committed' if is_commit else 'aborted'}")

    # --- the reader

    async def _watch_committed(self) -> None:
        positions = dict.fromkeys(self.partitions, 0)
        async with Pool(self.servers, "committed", env=self.simulation.client("committed")) as pool:
            while not self.is_over():
                for partition in self.partitions:
                    try:
                        positions[partition] = await self._read_some(pool, partition, positions[partition])
                    except BarnabasError as error:
                        self.simulation.note(f"the reader of {partition}: {error}")
                await asyncio.sleep(0.1)

    async def _read_some(self, pool: Pool, partition: TopicPartition, position: int, reader: str = "committed") -> int:
        try:
            values, following = await read_committed(await pool.leader(partition), partition.partition, position)
        except RefusedError:
            pool.forget(TOPIC)
            raise
        self.observed.committed += [Read(reader, str(partition), -1, value) for value in values]
        return following

    # --- the end

    async def come_to_rest(self) -> None:
        await super().come_to_rest()
        for _ in range(_MOST_TO_END_S * 2):
            if not any(self._open_transactions()):
                break
            await asyncio.sleep(0.5)
        self.outcome.violations += [f"a transaction hangs in {each}" for each in self._open_transactions()]
        # Their markers are to be everywhere.
        await super().come_to_rest()

    def _open_transactions(self) -> list[str]:
        return [
            str(key)
            for host in self.hosts
            for key, partition in self.hosted(host).items()
            if partition.is_leader and partition.last_stable_offset < partition.high_watermark
        ]

    async def read_in_the_end(self, pool: Pool) -> None:
        await super().read_in_the_end(pool)
        for key in self.partitions:
            # All is replicated, and no transaction is open; leaders may still change.
            end_offset = max(each[key].log.log_end_offset for each in map(self.hosted, self.hosts) if key in each)
            position = 0
            while position < end_offset:
                position = await self.until_it_works(
                    lambda key=key, position=position: self._read_some(pool, key, position, IN_THE_END)
                )


class _Producer:
    """A producer with a transactional id, which asks whoever leads or coordinates."""

    def __init__(self, history: ClusterHistory, pool: Pool, name: str, instance: str) -> None:
        self.instance = instance
        self._history = history
        self._pool = pool
        self._name = name
        self._producer_id = self._epoch = -1
        self._sequences: dict[int, int] = {}

    @classmethod
    async def begin(cls, history: ClusterHistory, pool: Pool, name: str, instance: str) -> "_Producer":
        producer = cls(history, pool, name, instance)

        async def attempt() -> int:
            channel = await pool.transaction_coordinator(name)
            request = InitProducerIdRequest(name, _TRANSACTION_TIMEOUT_MS)
            answer = await channel.send(request, InitProducerIdResponse, timeout_ms=_TIMEOUT_MS)
            producer._producer_id, producer._epoch = answer.producer_id, answer.producer_epoch
            return answer.error_code

        await producer._insist(attempt)
        return producer

    async def _insist(self, attempt: Callable[[], Awaitable[int]]) -> None:
        """Ask again while time may heal it.

        Raises:
            RefusedError: The answer is no, or nobody answered for long.
        """
        for _ in range(_MOST_TRIES):
            try:
                code = await attempt()
            except KafkaError as error:
                code = error.code
                if error.code is not E.NETWORK_EXCEPTION and not must_ask_again(code):
                    return
            else:
                if not must_ask_again(code):
                    return
            self._pool.forget(TOPIC)
            self._pool.forget_transaction_coordinator(self._name)
            await asyncio.sleep(0.1)
        raise RefusedError(E.CONCURRENT_TRANSACTIONS)

    async def add(self, partitions: list[int]) -> None:
        topics = [AddPartitionsToTxnTopic(TOPIC, partitions)]
        request = AddPartitionsToTxnRequest(self._name, self._producer_id, self._epoch, topics)

        async def attempt() -> int:
            channel = await self._pool.transaction_coordinator(self._name)
            answer = await channel.send(request, AddPartitionsToTxnResponse, timeout_ms=_TIMEOUT_MS)
            codes = [each.error_code for topic in answer.results for each in topic.results]
            return next((code for code in codes if code), 0)

        await self._insist(attempt)

    async def produce(self, value: str, number: int) -> None:
        history, partition = self._history, TopicPartition(TOPIC, number)
        sequence = self._sequences.get(number, 0)
        self._sequences[number] = sequence + 1
        appends, place = history.observed.appends, len(history.observed.appends)
        appends.append(Append(self.instance, str(partition), value, history.now_us(), None, None))

        async def attempt() -> int:
            builder = BatchBuilder(
                producer_id=self._producer_id, producer_epoch=self._epoch, base_sequence=sequence, is_transactional=True
            )
            builder.append(history.simulation.clock.now_ms(), None, value.encode())
            data = [TopicProduceData(TOPIC, [PartitionProduceData(number, memoryview(builder.build()))])]
            channel = await self._pool.leader(partition)
            request = ProduceRequest(self._name, -1, _TIMEOUT_MS, data)
            answer = await channel.send(request, ProduceResponse, timeout_ms=2 * _TIMEOUT_MS)
            (told,) = answer.responses[0].partition_responses
            if not told.error_code:
                appends[place] = appends[place]._replace(end=history.now_us(), offset=told.base_offset)
            return told.error_code

        await self._insist(attempt)

    async def end(self, is_commit: bool) -> None:
        request = EndTxnRequest(self._name, self._producer_id, self._epoch, is_commit)

        async def attempt() -> int:
            channel = await self._pool.transaction_coordinator(self._name)
            return (await channel.send(request, EndTxnResponse, timeout_ms=_TIMEOUT_MS)).error_code

        await self._insist(attempt)
