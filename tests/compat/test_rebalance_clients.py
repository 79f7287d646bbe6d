"""Why a group of librdkafka's and Java's own consumers rebalanced: told by us, and by the log of Kafka 2.7.2."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.admin_groups import GroupDescription
from barnabas.clients.admin_replicas import ReplicaAdmin
from barnabas.clients.admin_topics import NewPartitions
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from barnabas.wire.protocol.messages.describe_groups import DescribeGroupsRequest
from tests.clusters import Members, cluster_of, servers_of
from tests.commands import run
from tests.compat.raw import ask
from tests.compat.test_cli_explain import verdicts
from tests.compat.test_rebalance_reasons import CONFIG, KAFKAS_WORDS, told_by_kafka, told_by_us
from tests.patience import PATIENCE_S, until
from tools.kafka.jars import KAFKA
from tools.kafka.java import compiled, java_command
from tools.kafka.server import ONE_BROKER, QuickKafkaServer
from tools.kafka.zookeeper import ZooKeeper

T = TypeVar("T")

CONSUMERS: Final = {"librdkafka": "topic.metadata.refresh.interval.ms", "java": "metadata.max.age.ms"}
"""Which clients, and how each calls what says how often it looks for new partitions."""
# Of who is to lose its session; no pause of a busy machine is so long.
SHORT_MS, LONG_MS = "3000", "30000"
TURNED_AWAY: Final = 3
"""The exit code of a consumer whose group is full."""
# As java/ObedientConsumer.java: reads until SIGTERM, and does what it is told on standard input.
LIBRDKAFKA: Final = f"""
import select, signal, sys
from confluent_kafka import Consumer, KafkaError
topic, *settings = sys.argv[1:]
consumer, stopped = Consumer(dict(setting.split("=", 1) for setting in settings)), []
consumer.subscribe([topic])
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
while not stopped:
    if select.select([sys.stdin], [], [], 0)[0]:
        word, *topics = sys.stdin.readline().split() or [""]
        if word == "subscribe":
            consumer.subscribe(topics)
        elif word == "rest":
            signal.pause()
    message = consumer.poll(0.1)
    if message and message.error() and message.error().code() == KafkaError.GROUP_MAX_SIZE_REACHED:
        sys.exit({TURNED_AWAY})
consumer.close()
"""


class Stage:
    """A group, and the consumers that are in it."""

    def __init__(self, servers: Members, kind: str, group_id: str) -> None:
        self.servers = servers
        self.kind = kind
        self.group_id = self.topic = group_id
        self.processes: list[subprocess.Popen[str]] = []
        self.ask(lambda admin: admin.create_topic(NewTopic(self.topic, 1, 1)))

    def ask(self, work: Callable[[Admin], Awaitable[T]]) -> T:
        async def run() -> T:
            async with Pool(servers_of(self.servers)) as pool:
                return await work(Admin(pool))

        return asyncio.run(run())

    def described(self) -> GroupDescription:
        return self.ask(lambda admin: admin.describe_group(self.group_id))

    def start(self, count: int, *, session_ms: str = LONG_MS, **settings: str) -> subprocess.Popen[str]:
        """Start a consumer and wait until it is in the group, of so many."""
        process = self.launch(session_ms=session_ms, **settings)
        self.until("Stable", count)
        return process

    def launch(self, *, session_ms: str = LONG_MS, **settings: str) -> subprocess.Popen[str]:
        """Start a consumer."""
        named = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": "200", CONSUMERS[self.kind]: "300"}
        named |= {"bootstrap.servers": servers_of(self.servers), "group.id": self.group_id}
        named |= {name.replace("_", "."): value for name, value in settings.items()}
        if self.kind == "librdkafka":
            named["log_level"] = "0"
        words = [self.topic, *(f"{name}={value}" for name, value in named.items())]
        if self.kind == "java":
            classes = compiled(Path(__file__).with_name("java") / "ObedientConsumer.java", KAFKA)
            command = java_command("ObedientConsumer", words, extra_classpath=classes, log_level="ERROR")
        else:
            command = [sys.executable, "-c", LIBRDKAFKA, *words]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.processes.append(process)
        return process

    def tell(self, process: subprocess.Popen[str], words: str) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{words}\n")
        process.stdin.flush()

    def until(self, state: str, count: int) -> None:
        """Wait until the group is in a state and has so many members."""
        until(lambda: (found := self.described()).state == state and len(found.members) == count)

    def until_partitions(self, count: int) -> None:
        """Wait until so many partitions are assigned."""
        until(lambda: sum(len(each.assignment) for each in self.described().members) == count)

    def move_coordinator(self, broker_id: int) -> None:
        """Have a broker coordinate the group, and wait until it does."""

        async def move(admin: Admin) -> None:
            # Who asks first has the topic made.
            await admin.retry(lambda: admin.pool.coordinator(self.group_id))
            moves = {TopicPartition(GROUP_OFFSETS_TOPIC, 0): [broker_id]}
            moved = await ReplicaAdmin(admin.pool).alter_reassignments(moves)
            assert [error for error, _ in moved.values()] == [ErrorCode.NONE]

        self.ask(move)
        wanted = [ErrorCode.NONE if each == broker_id else ErrorCode.NOT_COORDINATOR for each in self.servers]
        until(lambda: self.errors_of_all() == wanted)

    def errors_of_all(self) -> list[int]:
        """Return what each broker says that is asked about the group: one is its coordinator."""
        request = DescribeGroupsRequest([self.group_id])
        answers = [ask(each.bootstrap_servers, request, 0) for each in self.servers.values()]
        return [answer.groups[0].error_code for answer in answers]


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


def one_does_not_come_back(stage: Stage) -> list[str]:
    stage.start(1, max_poll_interval_ms=SHORT_MS).send_signal(signal.SIGSTOP)
    stage.launch(max_poll_interval_ms=SHORT_MS)
    stage.until("PreparingRebalance", 2)
    stage.until("Stable", 1)
    return ["joined", "joined"]


def one_too_many_comes(stage: Stage) -> list[str]:
    stage.start(1)
    stage.start(2)
    assert stage.launch().wait(PATIENCE_S) == TURNED_AWAY
    stage.until("Stable", 2)
    return ["joined", "joined"]


def the_coordinator_moves(stage: Stage) -> list[str]:
    """Nothing rebalances for that."""
    stage.move_coordinator(1)
    only = stage.start(1, session_ms=SHORT_MS, max_poll_interval_ms=SHORT_MS)
    stage.move_coordinator(2)
    stage.until("Stable", 1)
    stage.tell(only, "rest")
    stage.until("Empty", 0)
    return ["joined", "left"]


def the_coordinator_moves_meanwhile(stage: Stage) -> list[str]:
    """Who was not in the group yet joins again, at the next one."""
    stage.move_coordinator(1)
    first = stage.start(1)
    first.send_signal(signal.SIGSTOP)
    stage.launch()
    stage.until("PreparingRebalance", 2)
    stage.move_coordinator(2)
    first.send_signal(signal.SIGCONT)
    stage.until("Stable", 2)
    return ["joined", "joined", "joined"]


def the_next_coordinator_lets_in_fewer(stage: Stage) -> list[str]:
    stage.move_coordinator(1)
    consumers = [stage.start(count) for count in (1, 2, 3)]
    stage.move_coordinator(2)
    stage.until("Stable", 2)
    until(lambda: [consumer.poll() for consumer in consumers].count(TURNED_AWAY) == 1)
    return ["joined", "joined", "joined", "too_many_members"]


Script = Callable[[Stage], list[str]]
ALONE: Final[list[Script]] = [
    *(a_second_one_joins, one_is_closed, one_is_killed, one_stands_still, partitions_are_added),
    *(a_static_one_comes_back, one_does_not_poll, one_reads_another_topic, one_too_many_comes),
]
SCRIPTS: Final = [(script, kind) for script in ALONE for kind in CONSUMERS]
# librdkafka's max.poll.interval.ms is no shorter than its session.
SCRIPTS += [(one_does_not_come_back, "java")]
# In every run; each takes a JVM or waits for a session that ends.
SHORT: Final = [(one_is_closed, "java"), (one_is_killed, "librdkafka"), (partitions_are_added, "librdkafka")]
OF_A_CLUSTER: Final[list[Script]] = [
    *(the_coordinator_moves, the_coordinator_moves_meanwhile, the_next_coordinator_lets_in_fewer)
]
MOVED: Final = {"coordinator-moved": r"Loading group metadata for {} with generation \d+ "}
MISSED: Final = {"poll-interval-exceeded": r"Group {} remove dynamic members who haven't joined: Set\(.+\)"}
# Its log says nothing of who was turned away.
TURNED: Final = {"refused-limit": ""}
BESIDE: Final[dict[Script, dict[str, str]]] = {
    one_does_not_come_back: {
        "poll-interval-exceeded": r"Group {} remove dynamic members who haven't joined: Set\(.+\)"
    },
    one_too_many_comes: TURNED,
    the_coordinator_moves_meanwhile: MOVED,
    the_next_coordinator_lets_in_fewer: MOVED | TURNED,
}
"""What `barnabas explain` says beside the reasons, with what is in Kafka's log."""


@pytest.fixture(scope="module")
def ours() -> Iterator[Members]:
    with Broker(config={**ONE_BROKER, **CONFIG, "group.max.size": "2"}) as broker:
        yield {0: broker}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Members]:
    with QuickKafkaServer(config={**CONFIG, "group.max.size": "2"}) as server:
        yield {0: server}


@pytest.fixture(scope="module")
def two_of_ours(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZooKeeper) -> Iterator[Members]:
    with two("barnabas", tmp_path_factory.mktemp("ours"), zookeeper) as members:
        yield members


@pytest.fixture(scope="module")
def two_kafkas(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZooKeeper) -> Iterator[Members]:
    with two("kafka", tmp_path_factory.mktemp("kafka"), zookeeper) as members:
        yield members


@contextmanager
def two(kind: str, directory: Path, zookeeper: ZooKeeper) -> Iterator[Members]:
    """Two brokers of a kind, the second of which lets two members into a group."""
    settings = {**ONE_BROKER, **CONFIG, "offsets.topic.num.partitions": "1", "min.insync.replicas": "1"}
    del settings["broker.id"]
    connect = f"{zookeeper.connect}/two-{kind}"
    with cluster_of((kind,) * 2, directory, connect, settings, {2: {"group.max.size": "2"}}) as members:
        yield members


@contextmanager
def staged(servers: Members, kind: str, script: Script) -> Iterator[Stage]:
    with ExitStack() as stack:
        stage = Stage(servers, kind, f"{kind}-{script.__name__}")
        try:
            yield stage
        finally:
            for process in stage.processes:
                stack.enter_context(process)
                process.kill()


def told_by_explain(servers: Members, group_id: str) -> set[str]:
    """Return the verdicts that are about a group, but for what sums them up."""
    found: list[dict[str, Any]] = []
    for question in (("group", group_id), ("refused",)):
        ran = run("explain", *question, "--bootstrap-server", servers_of(servers), "--json")
        assert ran.returncode == 0, ran.stderr
        found += [each for each in json.loads(ran.stdout)["findings"] if f"group {group_id}" in each["text"]]
    return set(verdicts(found)) - {"rebalanced", "rebalances-often"}


def compare(script: Script, kind: str, ours: Members, kafka: Members) -> None:
    beside = BESIDE.get(script, {})
    with staged(ours, kind, script) as stage:
        reasons = script(stage)
        rows = [row for broker in ours.values() for row in told_by_us(broker, stage.group_id)]
        assert [row["reason"] for row in rows] == reasons
        told = {reason.replace("_", "-") for reason in reasons}
        assert told_by_explain(ours, stage.group_id) == told | beside.keys()
    with staged(kafka, kind, script) as stage:
        script(stage)
        said = told_by_kafka(kafka.values(), stage.group_id, len(reasons))
    assert len(said) == len(reasons)
    for reason, words in zip(reasons, said, strict=True):
        assert re.fullmatch(KAFKAS_WORDS[reason], words), (reason, words)
    log = "".join(server.log_text() for server in kafka.values())
    for words in beside.values():
        assert re.search(words.format(stage.group_id), log), words


@pytest.mark.parametrize(
    ("script", "kind"),
    [pytest.param(*each, marks=() if each in SHORT else pytest.mark.whole) for each in SCRIPTS],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_we_say_what_kafkas_log_says(script: Script, kind: str, ours: Members, kafka: Members) -> None:
    compare(script, kind, ours, kafka)


@pytest.mark.whole
@pytest.mark.parametrize("kind", CONSUMERS)
@pytest.mark.parametrize("script", OF_A_CLUSTER, ids=lambda script: script.__name__)
def test_we_say_what_two_kafkas_logs_say(script: Script, kind: str, two_of_ours: Members, two_kafkas: Members) -> None:
    compare(script, kind, two_of_ours, two_kafkas)
