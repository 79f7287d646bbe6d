"""`scripts/bench --hostile`: measure how long hostile peers block the event loop, and with it every other client.

Each work runs on its own broker. When the broker stops, it reports the longest stall of its event loop, without the
time in which the machine had no core for it. Exits with status 1 if a goal is missed.
"""

import argparse
import random
import re
import sys
from collections.abc import Callable
from typing import NamedTuple

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.wire.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.protocol.messages.metadata import MetadataRequest
from barnabas.wire.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.wire.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.protocol.wire import Message
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from tests.integration.hostile_peers import (
    ask,
    bomb,
    committed_offsets_of_many,
    describe_one_very_often,
    epochs_of_many,
    fetch_of_many,
    golden_frames,
    groups_of_many,
    half_frames,
    large_batch,
    list_offsets_of_many,
    metadata_of_many,
    mutated,
    new_topic,
    new_topics,
    old_messages,
    produce_of_many,
    produce_to,
    send_all,
)

SEED = 1
FRAME_COUNT = 100_000
ROUND_COUNT = 1_000
PARTITION_COUNT = 2_000
# The watchdog samples every 10 to 50 ms: it measures a stall in full only if the stall begins just before a sample.
REPEATS = 5
GOAL_MS = 50


class Work(NamedTuple):
    """One hostile load.

    Attributes:
        goal_ms: Maximum permitted stall of the event loop.
    """

    what: str
    goal_ms: int
    run: Callable[[Broker], object]


def _asking(make: Callable[[], Message], version: int) -> Callable[[Broker], object]:
    """Return a load that sends a request several times and waits for the answers."""

    def run(broker: Broker) -> None:
        request = make()
        for _ in range(REPEATS):
            if ask(broker, request, version) is None:
                raise RuntimeError(f"{request.SCHEMA_NAME} was not answered")

    return run


def _mutated_frames(broker: Broker) -> None:
    source = mutated(random.Random(SEED), golden_frames())
    for _ in range(FRAME_COUNT // ROUND_COUNT):
        send_all(broker, [next(source) for _ in range(ROUND_COUNT)])


def _half_frames(broker: Broker) -> None:
    sockets = half_frames(broker, 1_000)
    ask(broker, MetadataRequest(None), 4)
    for sock in sockets:
        sock.close()
    ask(broker, MetadataRequest(None), 4)


def _new_topics(broker: Broker) -> None:
    ask(broker, new_topics([f"t {number}" for number in range(50_000)]), 4)
    ask(broker, new_topics([f"t{number}" for number in range(20_000)], validate_only=True), 4)


def _long_append(
    topic: CreateTopicsRequest, make_records: Callable[[], bytes], version: int
) -> Callable[[Broker], object]:
    def run(broker: Broker) -> None:
        records = make_records()
        ask(broker, topic, 4)
        ask(broker, produce_to("t", records), version)

    return run


def _many_of_one_topic(broker: Broker) -> None:
    """All requests about partitions, on a topic with very many partitions."""
    ask(broker, new_topics(["many"], PARTITION_COUNT), 4)
    while ask(broker, FindCoordinatorRequest("g"), 0).error_code:
        pass
    partitions = range(PARTITION_COUNT)
    batch = BatchBuilder()
    batch.append(0, b"key", b"value")
    data = bytes(batch.build())
    produced = ProduceRequest(
        None, 1, 1_000, [TopicProduceData("many", [PartitionProduceData(each, data) for each in partitions])]
    )
    fetched = [FetchPartition(each, partition_max_bytes=1_000) for each in partitions]
    committed = [OffsetCommitRequestPartition(each, 1) for each in partitions]
    for _ in range(REPEATS):
        ask(broker, produced, 7)
        ask(broker, FetchRequest(max_wait_ms=100, topics=[FetchTopic("many", partitions=fetched)]), 11)
        ask(broker, OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("many", committed)]), 6)
        ask(broker, OffsetFetchRequest("g", None), 5)
        ask(broker, MetadataRequest(None), 4)


_COMPACTED = new_topic("t", cleanup_policy="compact")

WORKS = (
    Work("100,000 mutated frames", GOAL_MS, _mutated_frames),
    Work("1,000 connections with half a frame", GOAL_MS, _half_frames),
    Work("a fetch of 90,000 partitions", GOAL_MS, _asking(fetch_of_many, 11)),
    Work("a produce to 90,000 partitions", GOAL_MS, _asking(produce_of_many, 7)),
    Work("metadata of 90,000 topics", GOAL_MS, _asking(metadata_of_many, 4)),
    Work("the offsets of 90,000 partitions", GOAL_MS, _asking(list_offsets_of_many, 4)),
    Work("90,000 committed offsets", GOAL_MS, _asking(committed_offsets_of_many, 5)),
    Work("the epochs of 90,000 partitions", GOAL_MS, _asking(epochs_of_many, 3)),
    Work("90,000 groups", GOAL_MS, _asking(groups_of_many, 4)),
    Work("configurations of one broker, 50,000 times", GOAL_MS, _asking(describe_one_very_often, 1)),
    Work("50,000 wrong topics, 20,000 right ones", GOAL_MS, _new_topics),
    Work("1,000 partitions at once", GOAL_MS, lambda broker: ask(broker, new_topics(["big"], 1_000), 4)),
    Work(f"everything with {PARTITION_COUNT:,} partitions", GOAL_MS, _many_of_one_topic),
    Work(
        "a bomb of 128 MiB, one record of it (gzip)",
        GOAL_MS,
        _long_append(_COMPACTED, lambda: bomb(Codec.GZIP, is_one_record=True), 7),
    ),
    Work(
        "a bomb of 128 MiB, 19 million records (zstd)",
        GOAL_MS,
        _long_append(_COMPACTED, lambda: bomb(Codec.ZSTD, is_one_record=False), 7),
    ),
    Work(
        "a bomb of 128 MiB, one record of it (lz4), converted down",
        GOAL_MS,
        _long_append(new_topic("t", message_format_version="0.10.0"), lambda: bomb(Codec.LZ4, is_one_record=True), 7),
    ),
    Work("a batch of 50 MB, kept as it is", GOAL_MS, _long_append(new_topic("t"), large_batch, 7)),
    Work("Produce v1 of 50 MB, converted up", GOAL_MS, _long_append(new_topic("t"), lambda: old_messages(100), 1)),
    Work(
        "Produce v1 of 50 MB, kept as it is",
        GOAL_MS,
        _long_append(new_topic("t", message_format_version="0.10.0"), lambda: old_messages(100), 1),
    ),
)


def longest_stall_ms(work: Work) -> int:
    """Run the load on a new broker; return the longest stall."""
    with Broker(config={"auto.create.topics.enable": "false", "offsets.topic.num.partitions": "1"}) as broker:
        work.run(broker)
        broker.stop()
        return int(re.findall(r"longest stall of the event loop: (\d+) ms", broker.log_text())[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --hostile", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="how many times each work runs (default 3)")
    runs = parser.parse_args().runs
    print("| hostile peers | longest stall of the event loop, ms (median of runs, lowest-highest) | goal |")
    print("| --- | --- | --- |")
    is_missed = False
    for work in WORKS:
        stalls = sorted(longest_stall_ms(work) for _ in range(runs))
        median = stalls[len(stalls) // 2]
        is_missed = is_missed or median > work.goal_ms
        print(f"| {work.what} | {median} ({stalls[0]}-{stalls[-1]}) | at most {work.goal_ms} |", flush=True)
    return 1 if is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
