"""Records that come all the time, for those who look at a tail."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from tests.patience import PATIENCE_S

_TICK_S = 0.05


@contextmanager
def visits(servers: str, records_per_s: int) -> Iterator[None]:
    """Write to the topic `visits`, so many records a second."""
    ended = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": servers, "compression.type": "lz4", "log_level": 0})
        next_s = time.monotonic()
        while not ended.wait(max(next_s - time.monotonic(), 0)):
            next_s += _TICK_S
            for number in range(round(records_per_s * _TICK_S)):
                producer.produce("visits", b"visit %d" % number)
            producer.poll(0)
        producer.flush(PATIENCE_S)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield
    finally:
        ended.set()
        writing.join()
