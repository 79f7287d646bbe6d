"""The feeder against a broker, both killed at random points: each partition has every event, in order.

What was killed together with its answer may be there twice; it is known by its id.
"""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.clients import Admin, Consumer, Pool
from barnabas.clients.admin import EARLIEST, LATEST
from barnabas.core.types import TopicPartition
from barnabas.pipeline.sources.access_log_events import ACCESS_LOG_EVENTS, access_log_lines
from barnabas.pipeline.sources.feeder import FeedPlan, OtherLogError, feed, records_of
from barnabas.pipeline.sources.log_lines import file_lines
from barnabas.pipeline.sources.social import SitePlan
from barnabas.pipeline.sources.social import access_log_lines as made_up_lines
from barnabas.pipeline.sources.topics import BrokerTopics
from barnabas.testing import Broker
from tests.patience import PATIENCE_S, is_readable, until

PARTITION_COUNT = 12
LINE_COUNT = 6_000
KILL_COUNTS = [3, pytest.param(8, marks=pytest.mark.whole)]
SITE = "theatre.example"
PLAN = FeedPlan(ACCESS_LOG_EVENTS, partition_count=PARTITION_COUNT, give_up_s=PATIENCE_S)
TOPICS = ("page-views", "clicks", "searches", "logins", "page-views.dlq")
COUNTS = dict.fromkeys(TOPICS, PARTITION_COUNT)

# What a process of its own does: small batches, so that there is much to be killed between.
FEED = """
import dataclasses, sys
from pathlib import Path
from tests.integration.test_feeder import PLAN, SITE, BrokerTopics, access_log_lines, feed, file_lines
plan = dataclasses.replace(PLAN, lines_per_s=float(sys.argv[3]))
topics = BrokerTopics({"bootstrap.servers": sys.argv[1]})
feed(topics, plan, access_log_lines(file_lines(Path(sys.argv[2])), SITE))
"""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def lines() -> list[str]:
    made = list(islice(made_up_lines(SitePlan(duration_s=3 * LINE_COUNT)), LINE_COUNT))
    made[::100] = ["what?"] * len(made[::100])
    return made


@pytest.fixture
def access_log(tmp_path: Path, lines: list[str]) -> Path:
    path = tmp_path / "access.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def start(broker: Broker, access_log: Path, lines_per_s: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", FEED, broker.bootstrap_servers, str(access_log), str(lines_per_s)]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2])


def read(broker: Broker) -> dict[TopicPartition, list[str]]:
    """Give the ids of each partition's records, in order."""

    async def read_all() -> dict[TopicPartition, list[str]]:
        async with Pool(broker.bootstrap_servers, "reader") as pool:
            partitions = [TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITION_COUNT)]
            ends = await Admin(pool).offsets(partitions, LATEST)
            found: dict[TopicPartition, list[str]] = {partition: [] for partition in partitions}
            consumer = Consumer(pool, auto_offset_reset="none")
            consumer.assign(await Admin(pool).offsets([each for each in partitions if ends[each]], EARLIEST))
            while any(len(found[partition]) < ends[partition] for partition in partitions):
                for batch in await consumer.poll(1_000):
                    found[batch.partition] += [(dict(record.headers)["id"] or b"").decode() for record in batch.records]
            await consumer.close()
            return found

    return asyncio.run(read_all())


def expected(access_log: Path) -> dict[TopicPartition, list[str]]:
    ids: dict[TopicPartition, list[str]] = {
        TopicPartition(topic, number): [] for topic in TOPICS for number in range(PARTITION_COUNT)
    }
    for line in access_log_lines(file_lines(access_log), SITE):
        for record in records_of(line, PLAN, COUNTS):
            ids[record.partition].append(record.headers[0][1].decode())
    return ids


def without_repeats(ids: dict[TopicPartition, list[str]]) -> dict[TopicPartition, list[str]]:
    return {partition: list(dict.fromkeys(each)) for partition, each in ids.items()}


def test_every_event_is_there_once_in_order(broker: Broker, access_log: Path) -> None:
    topics = BrokerTopics({"bootstrap.servers": broker.bootstrap_servers})
    for _ in range(2):
        progress = feed(topics, PLAN, access_log_lines(file_lines(access_log), SITE))
        assert (progress.line_count, progress.refused_count) == (LINE_COUNT, LINE_COUNT // 100)
        assert read(broker) == expected(access_log)


def test_another_log_is_refused(broker: Broker, access_log: Path) -> None:
    topics = BrokerTopics({"bootstrap.servers": broker.bootstrap_servers})
    feed(topics, PLAN, access_log_lines(file_lines(access_log), SITE))
    access_log.write_text(access_log.read_text() + "\n")
    with pytest.raises(OtherLogError, match="append"):
        feed(topics, PLAN, access_log_lines(file_lines(access_log), SITE))


def test_a_topic_that_ends_with_a_transaction_is_appended_to(broker: Broker, access_log: Path) -> None:
    topics, partition = BrokerTopics({"bootstrap.servers": broker.bootstrap_servers}), TopicPartition("page-views", 0)
    topics.create(COUNTS)
    other = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "another-program"})
    other.init_transactions()
    other.begin_transaction()
    other.produce(partition.topic, b"of another program", partition=partition.partition)
    other.commit_transaction()
    with pytest.raises(OtherLogError, match="append"):
        feed(topics, PLAN, access_log_lines(file_lines(access_log), SITE))
    feed(topics, replace(PLAN, may_append=True), access_log_lines(file_lines(access_log), SITE))
    assert topics.last_records([partition])[partition].log_position is not None


def test_a_collector_stops_at_once_with_and_without_a_broker(broker: Broker) -> None:
    topics, name = BrokerTopics({"bootstrap.servers": broker.bootstrap_servers}), "host-metrics"
    partitions = [TopicPartition(name, number) for number in range(topics.create({name: 4})[name])]
    options = ("--interval", "3600", "--give-up", "3600", "--bootstrap-server", broker.bootstrap_servers)
    command = [sys.executable, "-m", "barnabas.pipeline", "collect", *options]
    for is_there, code in ((True, 0), (False, 130)):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                if is_there:
                    until(lambda: bool(topics.last_records(partitions)))
                else:
                    assert is_readable(process.stdout)
                    assert "trying again in" in process.stdout.readline()
                process.terminate()
                assert process.wait(PATIENCE_S) == code
            finally:
                process.kill()
        broker.stop()


@pytest.mark.parametrize("kill_count", KILL_COUNTS)
def test_feeder_and_broker_killed_at_random(broker: Broker, access_log: Path, kill_count: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    wanted = expected(access_log)
    total = sum(map(len, wanted.values()))
    killed = 0
    deadline = time.monotonic() + 4 * PATIENCE_S
    feeder = start(broker, access_log, 3_000)
    try:
        while killed < kill_count:
            # A random share of what is missing comes first; a feeder that is through ends by itself.
            goal = seen(broker) + dice.randrange(1, max(2, total // 12))
            while feeder.poll() is None and seen(broker) < min(goal, total):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            if dice.random() < 0.4:
                broker.kill()
                broker.start()
            else:
                feeder.kill()
                feeder.wait()
                feeder = start(broker, access_log, 3_000)
            killed += 1
        assert feeder.wait(2 * PATIENCE_S) == 0
    finally:
        if feeder.poll() is None:
            feeder.kill()
            feeder.wait()
    found = read(broker)
    assert without_repeats(found) == wanted
    repeats = sum(map(len, found.values())) - total
    print(f"{repeats} repeats of {total}")


def seen(broker: Broker) -> int:
    """Give the number of records that are in all topics together; 0 before they are there."""

    async def count() -> int:
        async with Pool(broker.bootstrap_servers, "counter") as pool:
            metadata = await Admin(pool).topics(list(TOPICS))
            if any(topic.error_code for topic in metadata.values()):
                return 0
            partitions = [TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITION_COUNT)]
            return sum((await Admin(pool).offsets(partitions, LATEST)).values())

    return asyncio.run(count())
