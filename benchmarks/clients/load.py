"""One producer in its own process: sends messages, waits for all acknowledgements, and reports the time.

    python -m benchmarks.clients.load CLIENT HOST:PORT TOPIC COUNT SIZE BATCH

Prints one JSON object: messages per second from the first message to the last acknowledgement, and the CPU seconds of
this process over the same time. All clients use acks=1, no compression, and requests of BATCH messages; for clients
that count bytes, the batch size is converted.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

# Maximum size of a record without its value.
_RECORD_OVERHEAD_BYTES = 12
_BATCH_OVERHEAD_BYTES = 61
# Maximum number of unsent or unacknowledged messages of each client.
_MOST_UNSENT = 100_000


class Work(NamedTuple):
    """The messages to send.

    Attributes:
        batch: Number of messages in a batch.
    """

    address: str
    topic: str
    message_count: int
    value: bytes
    batch: int

    @property
    def batch_bytes(self) -> int:
        """Return the size of a batch in bytes."""
        return _BATCH_OVERHEAD_BYTES + self.batch * (len(self.value) + _RECORD_OVERHEAD_BYTES)


class Clock:
    """Measures time and CPU from the moment when the producer is ready and knows the topic."""

    def __init__(self) -> None:
        self.started_s = time.perf_counter()
        self.cpu_started_s = time.process_time()

    def figures(self, count: int) -> dict[str, float]:
        elapsed_s = time.perf_counter() - self.started_s
        return {"messages_per_s": count / elapsed_s, "cpu_s": time.process_time() - self.cpu_started_s}


def barnabas(work: Work, kind: str = "async") -> dict[str, float]:
    """Measure the documented producer; each call of `send` has a batch."""
    from barnabas.api import Producer
    from barnabas.api.producer import CallbackHandler, SendError

    class Failures(CallbackHandler):
        count = 0

        def on_failure(self, error: SendError) -> None:
            self.count += sum(len(data.messages) for data in error.failed)

    failures = Failures()
    settings: dict[str, object] = {
        "metadata.broker.list": work.address,
        "request.required.acks": 1,
        "producer.type": kind,
        "batch.num.messages": work.batch,
        # librdkafka's own default, as in the bare client, which does not wait for late answers either.
        "max.in.flight.requests.per.connection": 1_000_000,
    }
    if kind == "async":
        settings |= {"queue.buffering.max.messages": _MOST_UNSENT, "callback.handler": failures}
    producer = Producer(settings)
    producer.send(work.topic, None, [])
    clock = Clock()
    for _ in range(work.message_count // work.batch):
        producer.send(work.topic, None, [work.value] * work.batch)
    producer.close()
    figures = clock.figures(work.message_count)
    if failures.count:
        sys.exit(f"{failures.count} messages were not acknowledged")
    return figures


def confluent(work: Work, has_reports: bool = False) -> dict[str, float]:
    """Measure librdkafka through its own Python binding, used as documented."""
    from confluent_kafka import KafkaError, Message, Producer

    delivered = 0

    def report(error: KafkaError | None, _message: Message) -> None:
        nonlocal delivered
        delivered += error is None

    settings = {"acks": 1, "batch.num.messages": work.batch, "queue.buffering.max.messages": _MOST_UNSENT}
    producer = Producer({"bootstrap.servers": work.address, **settings})
    producer.list_topics(work.topic, 60)
    clock = Clock()
    produce = partial(producer.produce, on_delivery=report) if has_reports else producer.produce
    for number in range(work.message_count):
        while True:
            try:
                produce(work.topic, work.value)
                break
            except BufferError:
                producer.poll(0.1)
        if not number % work.batch:
            producer.poll(0)
    left = producer.flush(600)
    figures = clock.figures(work.message_count)
    if left or (has_reports and delivered != work.message_count):
        sys.exit(f"{left} messages were not acknowledged")
    return figures


def kafka_python(work: Work) -> dict[str, float]:
    """Measure kafka-python's KafkaProducer."""
    from kafka import KafkaProducer  # type: ignore[import-untyped]

    producer = KafkaProducer(bootstrap_servers=work.address, acks=1, batch_size=work.batch_bytes, linger_ms=5)
    producer.partitions_for(work.topic)
    clock = Clock()
    # Failures are visible only in futures; the last future of a partition also covers the earlier ones.
    for _ in range(work.message_count):
        last = producer.send(work.topic, work.value)
    producer.flush(600)
    figures = clock.figures(work.message_count)
    last.get(0)
    producer.close()
    return figures


def aiokafka(work: Work) -> dict[str, float]:
    """Measure aiokafka's AIOKafkaProducer."""
    from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

    async def run() -> dict[str, float]:
        producer = AIOKafkaProducer(
            bootstrap_servers=work.address, acks=1, max_batch_size=work.batch_bytes, linger_ms=5
        )
        await producer.start()
        await producer.partitions_for(work.topic)
        clock = Clock()
        for _ in range(work.message_count):
            last = await producer.send(work.topic, work.value)
        await producer.flush()
        figures = clock.figures(work.message_count)
        await last
        await producer.stop()
        return figures

    return asyncio.run(run())


CLIENTS: dict[str, Callable[[Work], dict[str, float]]] = {
    "barnabas": barnabas,
    "barnabas-sync": lambda work: barnabas(work, "sync"),
    "confluent": confluent,
    "confluent-reports": lambda work: confluent(work, has_reports=True),
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}


def main() -> None:
    client, address, topic = sys.argv[1:4]
    count, size, batch = map(int, sys.argv[4:7])
    print(json.dumps(CLIENTS[client](Work(address, topic, count, b"x" * size, batch))))


if __name__ == "__main__":
    main()
