"""Produce through librdkafka: large batches, little client cost.

    python -m benchmarks.load.librdkafka HOST:PORT TOPIC COUNT SIZE [name=value ...]

Prints one JSON object with `mb_per_s`.
"""

import json
import sys
import time

from confluent_kafka import KafkaError, Message, Producer


def main() -> None:
    address, topic, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    settings = dict(argument.split("=", 1) for argument in sys.argv[5:])
    producer = Producer({"bootstrap.servers": address, "queue.buffering.max.messages": 500_000, **settings})
    value, delivered_count = b"x" * size, 0

    def delivered(error: KafkaError | None, _message: Message) -> None:
        nonlocal delivered_count
        if error is None:
            delivered_count += 1

    start = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush(120)
    elapsed_s = time.perf_counter() - start
    if delivered_count != count:
        sys.exit(f"{delivered_count} of {count} records were acknowledged")
    print(json.dumps({"mb_per_s": count * size / elapsed_s / 1e6}))


if __name__ == "__main__":
    main()
