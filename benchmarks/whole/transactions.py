"""Transactions of ten records to one partition: AddPartitionsToTxn, Produce, EndTxn."""

import select
import statistics
import struct
import time
from collections import deque
from collections.abc import Generator, Sequence

import crc32c

from barnabas.wire.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.protocol.messages.end_txn import EndTxnRequest
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from benchmarks.load.process import cpu
from benchmarks.log_numbers.brokers import Measured
from benchmarks.whole.topics import create
from benchmarks.whole.wire import CONCURRENT_TRANSACTIONS, Peer, decoded, frame

Figures = dict[str, float]

TOPIC = "transactions"
_RECORD_COUNT, _RECORD_BYTES = 10, 100
_ALONE_COUNT, _ALONE_WARMUP, _TOGETHER_COUNT, _PRODUCER_COUNT = 600, 400, 3_000, 20
_TRANSACTIONAL = 0x10
_ADD_PARTITIONS, _END_TXN, _PRODUCE = 24, 26, 0
# Pause before a retry while the previous transaction is being completed. (The Java producer waits 20 ms.)
_RETRY_S = 0.001


def _records() -> bytes:
    records = b""
    for delta in range(_RECORD_COUNT):
        body = bytes((0, 0, delta << 1, 1)) + b"\xc8\x01" + b"x" * _RECORD_BYTES + b"\0"
        length = len(body) << 1
        records += bytes((length & 0x7F | 0x80, length >> 7)) + body
    return records


def _batch(records: bytes, producer_id: int, epoch: int, sequence: int) -> bytes:
    now_ms = int(time.time() * 1000)
    last = _RECORD_COUNT - 1
    tail = struct.pack(">hiqqqhii", _TRANSACTIONAL, last, now_ms, now_ms, producer_id, epoch, sequence, _RECORD_COUNT)
    tail += records
    return struct.pack(">qiibI", 0, 9 + len(tail), -1, 2, crc32c.crc32c(tail)) + tail


class Producer:
    """One transactional producer; its frames have the producer id and epoch from its coordinator.

    Attributes:
        peers: Its coordinator and its partition's leader, which may be the same connection.
    """

    def __init__(self, coordinator: Peer, leader: Peer, name: str, partition: int) -> None:
        self._coordinator, self._leader, self.peers = coordinator, leader, {coordinator, leader}
        given = coordinator.ask_until(InitProducerIdRequest(name, 60_000), 1, lambda answer: answer.error_code)
        self._name, self._partition, self._sequence = name, partition, 0
        self._producer_id, self._epoch = given.producer_id, given.producer_epoch
        self._add = frame(
            AddPartitionsToTxnRequest(
                name, given.producer_id, given.producer_epoch, [AddPartitionsToTxnTopic(TOPIC, [partition])]
            ),
            1,
        )
        self._end = frame(EndTxnRequest(name, given.producer_id, given.producer_epoch, committed=True), 1)
        self._records = _records()

    def transaction(self) -> Generator[tuple[Peer, bytes] | None, bytes, None]:
        """Yield the requests of one transaction in turn, and receive the responses; None: retry later."""
        while True:
            answer = decoded(_ADD_PARTITIONS, 1, (yield self._coordinator, self._add))
            error = answer.results[0].results[0].error_code
            if error != CONCURRENT_TRANSACTIONS:
                break
            yield None
        _check(error)
        batch = _batch(self._records, self._producer_id, self._epoch, self._sequence)
        data = [TopicProduceData(TOPIC, [PartitionProduceData(self._partition, batch)])]
        produce = frame(ProduceRequest(self._name, -1, 30_000, data), 7)
        answer = decoded(_PRODUCE, 7, (yield self._leader, produce))
        _check(answer.responses[0].partition_responses[0].error_code)
        self._sequence += _RECORD_COUNT
        _check(decoded(_END_TXN, 1, (yield self._coordinator, self._end)).error_code)


def _check(error: int) -> None:
    if error:
        raise RuntimeError(f"error {error} in a transaction")


def run(producers: Sequence[Producer], count: int) -> list[float]:
    """Run transactions of all producers until `count` are complete; return the seconds of each."""
    poller = select.epoll()
    times_s: list[float] = []
    asked_by = {peer.socket.fileno(): (peer, producer) for producer in producers for peer in producer.peers}
    running: dict[Producer, tuple[Generator[tuple[Peer, bytes] | None, bytes, None], float]] = {}
    waiting: deque[tuple[float, Producer]] = deque()

    def begin(producer: Producer) -> None:
        steps = producer.transaction()
        running[producer] = steps, time.perf_counter()
        go_on(producer, next(steps))

    def go_on(producer: Producer, request: tuple[Peer, bytes] | None) -> None:
        if request is None:
            waiting.append((time.perf_counter() + _RETRY_S, producer))
        else:
            peer, data = request
            peer.send(data)

    for descriptor in asked_by:
        poller.register(descriptor, select.EPOLLIN)
    for producer in producers:
        begin(producer)
    # Complete the running transactions, so that later ones need not wait for them.
    while running:
        while waiting and waiting[0][0] <= time.perf_counter():
            _, producer = waiting.popleft()
            go_on(producer, next(running[producer][0]))
        for descriptor, _ in poller.poll(max(0.0, waiting[0][0] - time.perf_counter()) if waiting else 60.0):
            peer, producer = asked_by[descriptor]
            steps, start = running[producer]
            try:
                go_on(producer, steps.send(peer.receive()))
            except StopIteration:
                times_s.append(time.perf_counter() - start)
                if len(times_s) <= count - len(producers):
                    begin(producer)
                else:
                    del running[producer]
    poller.close()
    return times_s


def transactions(broker: Measured) -> Figures:
    """One producer alone, then twenty at once, each with its own partition."""
    broker.start()
    create(broker, {TOPIC: _PRODUCER_COUNT})
    producers = []
    for number in range(_PRODUCER_COUNT):
        peer, name = Peer(broker.address), f"producer-{number}"
        peer.ask_until(FindCoordinatorRequest(name, 1), 1, lambda answer: answer.error_code)
        producers.append(Producer(peer, peer, name, number))
    run(producers[:1], _ALONE_WARMUP)
    alone_s = run(producers[:1], _ALONE_COUNT)
    run(producers, _TOGETHER_COUNT // 3)
    start, before_s = time.perf_counter(), cpu(broker.pid)
    together_s = run(producers, _TOGETHER_COUNT)
    elapsed_s = time.perf_counter() - start
    return {
        "transaction_p50_ms": statistics.median(alone_s) * 1e3,
        "transactions_p50_ms": statistics.median(together_s) * 1e3,
        "transactions_per_s": _TOGETHER_COUNT / elapsed_s,
        "transaction_cpu": (cpu(broker.pid) - before_s) / _TOGETHER_COUNT * 1e6,
    }
