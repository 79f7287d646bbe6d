"""AlterConfigs and IncrementalAlterConfigs, request by request: the answers and the nodes that Kafka 2.7.2 makes."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.configs import encode_change, encode_config
from tests.compat.altering import play
from tests.compat.conftest import TARGET
from tests.integration import live_broker
from tests.patience import PATIENCE_S
from tests.zookeeper_client import kazoo_client
from tools.kafka.java import run_tool
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

GOLDEN = Path(__file__).parents[1] / "golden/altered-configs.txt"
SETTINGS = {**ONE_BROKER, "offsets.topic.num.partitions": "1", "log.cleaner.dedupe.buffer.size": "4000000"}
PARENTS = (paths.CONFIG_TOPICS, paths.CONFIG_BROKERS, paths.CONFIG_CHANGES)
TOPICS = {"t": {}, "u": {}, "__consumer_offsets": {"cleanup.policy": "compact"}}

Ask = Callable[[str], list[str]]


def blocks() -> Iterator[tuple[str, list[str]]]:
    """The golden requests and what came of them."""
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    starts = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start], lines[start + 1 : end]


def is_same(told: list[str], expected: list[str]) -> bool:
    """Whether lines are the same, but for the order of settings in nodes and messages that are not compared."""
    return len(told) == len(expected) and all(
        line == wanted
        or (wanted.endswith(" ...") and line.startswith(wanted.removesuffix("...")))
        or ordered(line) == ordered(wanted)
        for line, wanted in zip(told, expected, strict=True)
    )


def ordered(line: str) -> str:
    match = re.match(r"(\s+/config/\S+ )(\{.*)", line)
    return line if match is None else match[1] + json.dumps(json.loads(match[2]), sort_keys=True)


def compare(ask: Ask) -> None:
    """Go through all of it; what is taken over a moment later (by Kafka after its answer, too) is asked for again."""
    wrong = []
    may_be_late = TARGET == "kafka"
    for request, expected in blocks():
        deadline = time.monotonic() + PATIENCE_S
        told = ask(request)
        while may_be_late and request.startswith("describe") and not is_same(told, expected):
            assert time.monotonic() < deadline, (request, told, expected)
            told = ask(request)
        may_be_late = TARGET == "kafka" or request.startswith("write")
        if not is_same(told, expected):
            wrong.append((request, told, expected))
    assert wrong == []


@pytest.fixture
def root_level() -> Iterator[None]:
    """The level of the root logger, which the requests change, is put back."""
    level = logging.root.level
    yield
    logging.root.setLevel(level)


@pytest.mark.skipif(TARGET == "kafka", reason="the other one is for Kafka")
@pytest.mark.usefixtures("root_level")
def test_answers_and_nodes_are_kafkas(tmp_path: Path) -> None:
    async def story(running: live_broker.Running) -> None:
        loop = asyncio.get_running_loop()

        async def read() -> dict[str, str]:
            found = {}
            for parent in PARENTS:
                for name in await running.registry.children(parent):
                    data, _ = await running.registry.get(paths.child(parent, name))
                    found[paths.child(parent, name)] = (data or b"").decode()
            return found

        def nodes() -> dict[str, str]:
            return asyncio.run_coroutine_threadsafe(read(), loop).result()

        def write(entity: str, settings: Mapping[str, str]) -> None:
            asyncio.run_coroutine_threadsafe(running.change(entity, settings), loop).result()

        for topic, configs in TOPICS.items():
            await running.create_topic(topic, configs)
        await asyncio.to_thread(compare, lambda request: play(running.servers, [request], nodes, write)[1:])

    live_broker.play(tmp_path, story, SETTINGS)


@pytest.mark.skipif(TARGET != "kafka", reason="shows that what is expected of us is right: needs Kafka")
def test_the_expected_answers_and_nodes_are_right() -> None:
    with QuickKafkaServer(config=SETTINGS) as server, kazoo_client(server.zookeeper_connect) as client:
        for topic, configs in TOPICS.items():
            options = [option for name, text in configs.items() for option in ("--config", f"{name}={text}")]
            size = ("--partitions", "1", "--replication-factor", "1")
            # Only by way of ZooKeeper does the tool create an internal topic.
            where = ("--zookeeper", server.zookeeper_connect)
            run_tool("kafka.admin.TopicCommand", *where, "--create", "--topic", topic, *size, *options)

        def nodes() -> dict[str, str]:
            names = [f"{parent}/{name}" for parent in PARENTS for name in client.get_children(parent)]
            return {name: client.get(name)[0].decode() for name in names}

        def write(entity: str, settings: Mapping[str, str]) -> None:
            client.ensure_path(paths.config(entity))
            client.set(paths.config(entity), encode_config(settings))
            client.create(f"{paths.CONFIG_CHANGES}/{paths.CONFIG_CHANGE_PREFIX}", encode_change(entity), sequence=True)

        compare(lambda request: play(server.bootstrap_servers, [request], nodes, write)[1:])
