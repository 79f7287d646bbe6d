"""Very many topics and partitions: creation, metadata requests, and restarts."""

import statistics
import time

from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from benchmarks.load.process import cpu, cpu_s, resident_mb
from benchmarks.load.raw import record_batch
from benchmarks.log_numbers.brokers import Measured
from benchmarks.log_numbers.wire import wait_until_led
from benchmarks.whole.wire import Peer, frame

Figures = dict[str, float]

_NEW_TOPIC_COUNT = 1_000
# The broker's internal topics complete the 10,000. A broker refuses partitions that need more than half of its 20,000
# file descriptors.
_TOPICS = {f"topic-{number}": 100 for number in range(99)}
_METADATA_COUNT, _METADATA_WARMUP = 60, 40
_TIMEOUT_MS = 110_000


def create(broker: Measured, topics: dict[str, int]) -> None:
    """Create topics with one request, and wait until they have leaders."""
    peer = Peer(broker.address)
    request = CreateTopicsRequest([CreatableTopic(name, count, 1) for name, count in topics.items()], _TIMEOUT_MS)
    errors = {result.error_code for result in peer.ask(request, 4).topics}
    peer.close()
    if errors != {0}:
        raise RuntimeError(f"topics could not be created: {sorted(errors)}")
    wait_until_led(broker.address, topics, lambda: False)


def produce_one_each(broker: Measured, topics: dict[str, int]) -> None:
    """Append a record to every partition."""
    peer, batch = Peer(broker.address), record_batch(100)
    for topic, count in topics.items():
        partitions = [PartitionProduceData(index, batch) for index in range(count)]
        answer = peer.ask(ProduceRequest(None, 1, 30_000, [TopicProduceData(topic, partitions)]), 7)
        errors = {each.error_code for response in answer.responses for each in response.partition_responses}
        if errors != {0}:
            raise RuntimeError(f"produce: errors {sorted(errors)}")
    peer.close()


def new_topics(broker: Measured) -> Figures:
    """1,000 topics with one request, until all have leaders."""
    broker.start()
    create(broker, {"warm": 1})
    before_s, start = cpu_s(broker.pid), time.perf_counter()
    create(broker, {f"topic-{number}": 1 for number in range(_NEW_TOPIC_COUNT)})
    return {"new_topics_s": time.perf_counter() - start, "new_topics_cpu": cpu(broker.pid) - before_s}


def partitions(broker: Measured) -> Figures:
    """Creation of 10,000 partitions, and metadata requests about them."""
    broker.start()
    before_mb, before_s, start = resident_mb(broker.pid), cpu(broker.pid), time.perf_counter()
    for topic, count in _TOPICS.items():
        create(broker, {topic: count})
    figures = {
        "new_partitions_s": time.perf_counter() - start,
        "new_partitions_cpu": cpu(broker.pid) - before_s,
        "partition_kb": (resident_mb(broker.pid) - before_mb) * 1e3 / sum(_TOPICS.values()),
    }
    return figures | _metadata(broker)


def restarts(broker: Measured) -> Figures:
    """10,000 partitions with a record each: restart after a stop, and after a kill."""
    broker.start()
    for topic, count in _TOPICS.items():
        create(broker, {topic: count})
    produce_one_each(broker, _TOPICS)
    start = time.perf_counter()
    broker.stop()
    figures = {"stop_s": time.perf_counter() - start}
    figures["start_clean_s"] = broker.start_and_serve_s(_TOPICS)
    figures["start_clean_cpu_s"] = cpu_s(broker.pid)
    broker.kill()
    figures["start_killed_s"] = broker.start_and_serve_s(_TOPICS)
    figures["start_killed_cpu_s"] = cpu_s(broker.pid)
    return figures


def _metadata(broker: Measured) -> Figures:
    peer, request, times_s, before_s = Peer(broker.address), frame(MetadataRequest(None), 8), [], 0.0
    for number in range(_METADATA_WARMUP + _METADATA_COUNT):
        if number == _METADATA_WARMUP:
            times_s.clear()
            before_s = cpu(broker.pid)
        start = time.perf_counter()
        peer.send(request)
        peer.receive()
        times_s.append(time.perf_counter() - start)
    used_s = cpu_s(broker.pid) - before_s
    peer.close()
    return {"metadata_ms": statistics.median(times_s) * 1e3, "metadata_cpu": used_s / _METADATA_COUNT * 1e3}
