"""`scripts/bench --hostile`: for how long hostile peers hold up the event loop, and with it every other client.

Each work runs on a broker of its own, which says when it stops how long its loop stood still at the longest (time in
which the machine had no core for it is left out). A goal that was missed ends with status 1.
"""

import argparse
import random
import re
import sys
from collections.abc import Callable
from typing import NamedTuple

from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.records.batch import Codec
from barnabas.testing import Broker
from tests.integration.hostile_peers import (
    ask,
    bomb,
    describe_one_very_often,
    fetch_of_many,
    golden_frames,
    half_frames,
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


class Work(NamedTuple):
    """One hostile thing to do.

    Attributes:
        goal_ms: A single request with as many elements as are allowed at all takes its time; others must not.
    """

    what: str
    goal_ms: int
    run: Callable[[Broker], object]


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


_COMPACTED = new_topic("t", cleanup_policy="compact")

WORKS = (
    Work("100,000 mutated frames", 50, _mutated_frames),
    Work("1,000 connections with half a frame", 50, _half_frames),
    Work("a fetch of 90,000 partitions", 500, lambda broker: ask(broker, fetch_of_many(), 11)),
    Work("a produce to 90,000 partitions", 500, lambda broker: ask(broker, produce_of_many(), 7)),
    Work("metadata of 90,000 topics", 500, lambda broker: ask(broker, metadata_of_many(), 4)),
    Work("configurations of one broker, 50,000 times", 500, lambda broker: ask(broker, describe_one_very_often(), 1)),
    Work("50,000 wrong topics, 20,000 right ones", 500, _new_topics),
    Work("1,000 partitions at once", 500, lambda broker: ask(broker, new_topics(["big"], 1_000), 4)),
    Work(
        "a bomb of 128 MiB, one record of it (gzip)",
        50,
        _long_append(_COMPACTED, lambda: bomb(Codec.GZIP, is_one_record=True), 7),
    ),
    Work(
        "a bomb of 128 MiB, 19 million records (zstd)",
        50,
        _long_append(_COMPACTED, lambda: bomb(Codec.ZSTD, is_one_record=False), 7),
    ),
    Work(
        "a bomb of 128 MiB, one record of it (lz4), converted down",
        50,
        _long_append(new_topic("t", message_format_version="0.10.0"), lambda: bomb(Codec.LZ4, is_one_record=True), 7),
    ),
    Work("Produce v1 of 50 MB, converted up", 50, _long_append(new_topic("t"), lambda: old_messages(100), 1)),
    Work(
        "Produce v1 of 50 MB, kept as it is",
        50,
        _long_append(new_topic("t", message_format_version="0.10.0"), lambda: old_messages(100), 1),
    ),
)


def longest_stall_ms(work: Work) -> int:
    """Do it to a new broker."""
    with Broker(config={"auto.create.topics.enable": "false"}) as broker:
        work.run(broker)
        broker.stop()
        return int(re.findall(r"longest stall of the event loop: (\d+) ms", broker.log_text())[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --hostile", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="how often each is done (default 3)")
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
