"""Why a group of librdkafka's and Java's own consumers rebalanced: told by us, and by the log of Kafka 2.7.2."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, TypeVar

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.admin_topics import NewPartitions
from barnabas.clients.pool import Pool
from barnabas.testing import Broker
from tests.compat.test_rebalance_reasons import CONFIG, KAFKAS_WORDS, told_by_kafka, told_by_us
from tests.patience import PATIENCE_S
from tools.kafka.java import java_command
from tools.kafka.server import ONE_BROKER, QuickKafkaServer

T = TypeVar("T")

CONSUMERS: Final = {"librdkafka": "topic.metadata.refresh.interval.ms", "java": "metadata.max.age.ms"}
"""Which clients, and how each calls what says how often it looks for new partitions."""
# Of who is to lose its session; no pause of a busy machine is so long.
SHORT_MS, LONG_MS = "3000", "30000"
# Reads until SIGTERM, and does what it is told on standard input.
LIBRDKAFKA: Final = """
import json, select, signal, sys
from confluent_kafka import Consumer
settings, topic = json.loads(sys.argv[1])
consumer, stopped = Consumer(settings), []
consumer.subscribe([topic])
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
while not stopped:
    if select.select([sys.stdin], [], [], 0)[0]:
        word, *topics = sys.stdin.readline().split() or [""]
        if word == "subscribe":
            consumer.subscribe(topics)
        elif word == "rest":
            signal.pause()
    consumer.poll(0.1)
consumer.close()
"""


class Stage:
    """A group, and the consumers that are in it."""

    def __init__(self, server: Broker | QuickKafkaServer, kind: str, group_id: str) -> None:
        self.server = server
        self.kind = kind
        self.group_id = self.topic = group_id
        self.processes: list[subprocess.Popen[str]] = []
        self.ask(lambda admin: admin.create_topic(NewTopic(self.topic, 1, 1)))

    def ask(self, work: Callable[[Admin], Awaitable[T]]) -> T:
        async def run() -> T:
            async with Pool(self.server.bootstrap_servers) as pool:
                return await work(Admin(pool))

        return asyncio.run(run())

    def start(self, count: int, *, session_ms: str = LONG_MS, **settings: str) -> subprocess.Popen[str]:
        """Start a consumer and wait until it is in the group, of so many."""
        named = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": "200", CONSUMERS[self.kind]: "300"}
        named |= {name.replace("_", "."): value for name, value in settings.items()}
        if self.kind == "java":
            words = ["--bootstrap-server", self.server.bootstrap_servers, "--topic", self.topic]
            words += ["--group", self.group_id]
            words += [part for name, value in named.items() for part in ("--consumer-property", f"{name}={value}")]
            command = java_command("kafka.tools.ConsoleConsumer", words, log_level="ERROR")
        else:
            named |= {"bootstrap.servers": self.server.bootstrap_servers, "group.id": self.group_id, "log_level": "0"}
            command = [sys.executable, "-c", LIBRDKAFKA, json.dumps([named, self.topic])]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.processes.append(process)
        self.until("Stable", count)
        return process

    def tell(self, process: subprocess.Popen[str], words: str) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{words}\n")
        process.stdin.flush()

    def until(self, state: str, count: int) -> None:
        """Wait until the group is in a state and has so many members."""
        deadline, seen = time.monotonic() + PATIENCE_S, None
        while seen != (state, count):
            assert time.monotonic() < deadline, seen
            described = self.ask(lambda admin: admin.describe_group(self.group_id))
            seen = described.state, len(described.members)

    def until_partitions(self, count: int) -> None:
        """Wait until so many partitions are assigned."""
        deadline, assigned = time.monotonic() + PATIENCE_S, -1
        while assigned != count:
            assert time.monotonic() < deadline, assigned
            described = self.ask(lambda admin: admin.describe_group(self.group_id))
            assigned = sum(len(each.assignment) for each in described.members)


def a_second_one_joins(stage: Stage) -> list[str]:
    stage.start(1)
    stage.start(2)
    return ["joined", "joined"]


def one_is_closed(stage: Stage) -> list[str]:
    stage.start(1)
    stage.start(2).terminate()
    stage.until("Stable", 1)
    return ["joined", "joined", "left"]


def one_is_killed(stage: Stage) -> list[str]:
    stage.start(1)
    stage.start(2, session_ms=SHORT_MS).kill()
    stage.until("Stable", 1)
    return ["joined", "joined", "session_expired"]


def one_stands_still(stage: Stage) -> list[str]:
    stage.start(1)
    stage.start(2, session_ms=SHORT_MS).send_signal(signal.SIGSTOP)
    stage.until("Stable", 1)
    return ["joined", "joined", "session_expired"]


def partitions_are_added(stage: Stage) -> list[str]:
    stage.start(1)
    stage.ask(lambda admin: admin.create_partitions({stage.topic: NewPartitions(3)}))
    stage.until_partitions(3)
    return ["joined", "leader_rejoined"]


def a_static_one_comes_back(stage: Stage) -> list[str]:
    first = stage.start(1, group_instance_id="i")
    first.terminate()
    first.wait(PATIENCE_S)
    stage.start(1, group_instance_id="i")
    return ["joined"]


def one_does_not_poll(stage: Stage) -> list[str]:
    stage.tell(stage.start(1, session_ms=SHORT_MS, max_poll_interval_ms=SHORT_MS), "rest")
    stage.until("Empty", 0)
    return ["joined", "left"]


def one_reads_another_topic(stage: Stage) -> list[str]:
    stage.ask(lambda admin: admin.create_topic(NewTopic(f"{stage.topic}-other", 2, 1)))
    stage.tell(stage.start(1), f"subscribe {stage.topic}-other")
    stage.until_partitions(2)
    return ["joined", "subscription_changed"]


Script = Callable[[Stage], list[str]]
BOTH: Final[list[Script]] = [
    *(a_second_one_joins, one_is_closed, one_is_killed, one_stands_still),
    *(partitions_are_added, a_static_one_comes_back),
]
SCRIPTS: Final = [(script, kind) for script in BOTH for kind in CONSUMERS]
SCRIPTS += [(one_does_not_poll, "librdkafka"), (one_reads_another_topic, "librdkafka")]
# In every run; each takes a JVM or waits for a session that ends.
SHORT: Final = [(one_is_closed, "java"), (one_is_killed, "librdkafka"), (partitions_are_added, "librdkafka")]


@pytest.fixture(scope="module")
def ours() -> Iterator[Broker]:
    with Broker(config={**ONE_BROKER, **CONFIG}) as broker:
        yield broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[QuickKafkaServer]:
    with QuickKafkaServer(config=CONFIG) as server:
        yield server


@contextmanager
def staged(server: Broker | QuickKafkaServer, kind: str, script: Script) -> Iterator[Stage]:
    with ExitStack() as stack:
        stage = Stage(server, kind, f"{kind}-{script.__name__}")
        try:
            yield stage
        finally:
            for process in stage.processes:
                stack.enter_context(process)
                process.kill()


@pytest.mark.parametrize(
    ("script", "kind"),
    [pytest.param(*each, marks=() if each in SHORT else pytest.mark.whole) for each in SCRIPTS],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_we_say_what_kafkas_log_says(script: Script, kind: str, ours: Broker, kafka: QuickKafkaServer) -> None:
    with staged(ours, kind, script) as stage:
        reasons = script(stage)
        assert [row["reason"] for row in told_by_us(ours, stage.group_id)] == reasons
    with staged(kafka, kind, script) as stage:
        script(stage)
        said = told_by_kafka(kafka, stage.group_id, len(reasons))
    assert len(said) == len(reasons)
    for reason, words in zip(reasons, said, strict=True):
        assert re.fullmatch(KAFKAS_WORDS[reason], words), (reason, words)
