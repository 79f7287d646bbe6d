"""`barnabas pipeline generate`, killed and started again: its stream goes on where it was."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from barnabas.clients import Admin, Consumer, Pool
from barnabas.clients.admin import EARLIEST, LATEST
from barnabas.core.types import TopicPartition
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.testing import Broker
from tests.patience import PATIENCE_S

OPTIONS = ["--duration", "600", "--rate", "10", "--users", "200", "--items", "300", "--partitions", "2"]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def start(broker: Broker, *options: str) -> subprocess.Popen[str]:
    words = ["generate", *OPTIONS, *options, "--bootstrap-server", broker.bootstrap_servers]
    return subprocess.Popen(
        [sys.executable, "-m", "barnabas.pipeline", *words], stdout=subprocess.PIPE, text=True, cwd="."
    )


def ids(broker: Broker) -> dict[TopicPartition, list[tuple[str, int]]]:
    """Give the mark and number of each record."""

    async def read() -> dict[TopicPartition, list[tuple[str, int]]]:
        found: dict[TopicPartition, list[tuple[str, int]]] = {}
        async with Pool(broker.bootstrap_servers) as pool:
            admin = Admin(pool)
            there = set(await admin.topics())
            partitions = [
                TopicPartition(each.topic, number)
                for each in EVENT_TYPES.values()
                if each.topic in there
                for number in range(len((await pool.topic(each.topic)).partitions))
            ]
            starts, ends = await admin.offsets(partitions, EARLIEST), await admin.offsets(partitions, LATEST)
            consumer = Consumer(pool, auto_offset_reset="none")
            consumer.assign({each: starts[each] for each in partitions})
            while any(len(found.get(each, [])) < ends[each] for each in partitions):
                for batch in await consumer.poll(1_000):
                    for record in batch.records:
                        mark, number = dict(record.headers)["id"].decode().split(":")
                        found.setdefault(batch.partition, []).append((mark, int(number)))
            await consumer.close()
        return found

    return asyncio.run(read())


@pytest.mark.parametrize("begin", [pytest.param("2026-03-06", marks=pytest.mark.whole), "now"])
def test_a_stream_that_was_killed_goes_on_with_no_event_twice_and_none_missing(broker: Broker, begin: str):
    with start(broker, "--start", begin, "--speed", "400") as first:
        while sum(map(len, ids(broker).values())) < 200:
            assert first.poll() is None
        first.kill()
    killed = ids(broker)
    killed_count = sum(map(len, killed.values()))
    with start(broker, "--start", begin) as second:
        said = second.communicate(timeout=PATIENCE_S)[0]
    found = ids(broker)
    whole_count = sum(map(len, found.values()))
    assert whole_count > killed_count
    assert f"done: {whole_count:,} events, {killed_count:,} of them already there" in said
    assert all(each == sorted(each) for each in found.values())
    assert all(each == found[partition][: len(each)] for partition, each in killed.items())
    assert sorted(number for each in found.values() for _, number in each) == list(range(1, whole_count + 1))
    assert len({mark for each in found.values() for mark, _ in each}) == 1
    # Once more sends nothing.
    with start(broker, "--start", begin) as third:
        assert f"{whole_count:,} of them already there" in third.communicate(timeout=PATIENCE_S)[0]
    assert ids(broker) == found
